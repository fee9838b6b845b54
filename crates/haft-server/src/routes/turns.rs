//! Turns: lists, one turn, one call.

use axum::Json;
use axum::extract::{Path, Query, State};

use super::{Shared, parse_turn};
use crate::error::{ApiError, ApiResult};
use crate::timeline::ReadTurn;
use crate::wire::{CallView, ConversationRow, TurnDetail, TurnFilter, TurnPage};

pub(super) async fn list_turns(
    State(shared): Shared,
    Query(filter): Query<TurnFilter>,
) -> ApiResult<TurnPage> {
    let agents = |turn: &_| shared.agent_of(turn);
    Ok(Json(shared.index.list_turns(&shared.runner, &filter, &agents, shared.now()).await?))
}

/// The conversations of a page of turns, those with the newest turns first.
pub(super) async fn list_conversations(
    State(shared): Shared,
    Query(filter): Query<TurnFilter>,
) -> ApiResult<Vec<ConversationRow>> {
    let agents = |turn: &_| shared.agent_of(turn);
    let page = shared.index.list_turns(&shared.runner, &filter, &agents, shared.now()).await?;
    let mut rows: Vec<ConversationRow> = Vec::new();
    for turn in page.turns {
        let Some(id) = turn.conversation.clone() else { continue };
        match rows.iter_mut().find(|row| row.id == id) {
            Some(row) => row.turns.push(turn),
            None => rows.push(ConversationRow { id, title: turn.title.clone(), turns: vec![turn] }),
        }
    }
    Ok(Json(rows))
}

pub(super) async fn show_turn(
    State(shared): Shared,
    Path(turn): Path<String>,
) -> ApiResult<TurnDetail> {
    Ok(Json(shared.load_detail(&parse_turn(&turn)?).await?))
}

pub(super) async fn show_call(
    State(shared): Shared,
    Path((turn, record)): Path<(String, String)>,
) -> ApiResult<CallView> {
    let stored = shared.load_turn(&parse_turn(&turn)?).await?;
    let read = ReadTurn::new(&stored, shared.now())?;
    let call = read.call_view(&record);
    Ok(Json(
        call.ok_or_else(|| ApiError::not_found(format!("turn `{turn}` has no call `{record}`")))?,
    ))
}
