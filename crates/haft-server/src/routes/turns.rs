//! Turns: lists, one turn, its rows, one call.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use super::{Shared, parse_turn};
use crate::error::{ApiError, ApiResult};
use crate::extract::{PathParams, QueryParams};
use crate::wire::{
    CallFilter, CallPage, CallView, ConversationPage, RowMatches, RowPage, RowRange, RowSearch,
    StepPage, TurnCounts, TurnDetail, TurnFacts, TurnFilter, TurnPage,
};

pub(super) async fn list_turns(
    State(shared): Shared,
    QueryParams(filter): QueryParams<TurnFilter>,
) -> ApiResult<TurnPage> {
    Ok(Json(shared.list_turns(&filter).await?))
}

pub(super) async fn count_turns(
    State(shared): Shared,
    QueryParams(filter): QueryParams<TurnFilter>,
) -> ApiResult<TurnCounts> {
    Ok(Json(shared.count_turns(&filter).await?))
}

pub(super) async fn list_conversations(
    State(shared): Shared,
    QueryParams(filter): QueryParams<TurnFilter>,
) -> ApiResult<ConversationPage> {
    Ok(Json(shared.list_conversations(&filter).await?))
}

pub(super) async fn show_turn(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(range): QueryParams<RowRange>,
) -> ApiResult<TurnDetail> {
    Ok(Json(shared.load_detail(&parse_turn(&turn)?, &range).await?))
}

pub(super) async fn show_facts(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
) -> ApiResult<TurnFacts> {
    Ok(Json(shared.load_facts(&parse_turn(&turn)?).await?))
}

pub(super) async fn read_rows(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(range): QueryParams<RowRange>,
) -> ApiResult<RowPage> {
    Ok(Json(shared.read_turn(&parse_turn(&turn)?).await?.row_page(&range)))
}

pub(super) async fn find_rows(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(search): QueryParams<RowSearch>,
) -> ApiResult<RowMatches> {
    Ok(Json(shared.read_turn(&parse_turn(&turn)?).await?.find_rows(&search.search)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StepRange {
    start: usize,
    count: Option<usize>,
}

/// How many steps a page has by default.
const DEFAULT_STEPS: usize = 100;

pub(super) async fn list_steps(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(range): QueryParams<StepRange>,
) -> ApiResult<StepPage> {
    let read = shared.read_turn(&parse_turn(&turn)?).await?;
    Ok(Json(read.step_page(range.start, range.count.unwrap_or(DEFAULT_STEPS))))
}

pub(super) async fn list_calls(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(filter): QueryParams<CallFilter>,
) -> ApiResult<CallPage> {
    Ok(Json(shared.read_turn(&parse_turn(&turn)?).await?.call_page(&filter)))
}

pub(super) async fn show_call(
    State(shared): Shared,
    PathParams((turn, record)): PathParams<(String, String)>,
) -> ApiResult<CallView> {
    let call = shared.read_turn(&parse_turn(&turn)?).await?.call_view(&record);
    Ok(Json(
        call.ok_or_else(|| ApiError::not_found(format!("turn `{turn}` has no call `{record}`")))?,
    ))
}
