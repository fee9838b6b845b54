//! What the model saw in a step, and what it responded.

use axum::Json;
use axum::extract::State;
use haft::Agent;
use haft::executors::NextAction;
use haft::stores::TurnId;
use haft::turn::{RenderedRequest, TurnError};
use serde_json::Value;

use super::{Shared, parse_turn};
use crate::agents::AgentPurpose;
use crate::error::{ApiError, ApiResult};
use crate::extract::PathParams;
use crate::request_parts::{BodyPart, body_parts, compare_parts};
use crate::shared::ApiShared;
use crate::stored::token_usage;
use crate::timeline::ReadTurn;
use crate::wire::{RequestView, ResponseView};

pub(super) async fn show_request(
    State(shared): Shared,
    PathParams((turn, step)): PathParams<(String, u32)>,
) -> ApiResult<RequestView> {
    let id = parse_turn(&turn)?;
    let read = shared.read_turn(&id).await?;
    let iteration =
        step.checked_sub(1).ok_or_else(|| ApiError::invalid("steps are counted from 1"))?;
    let agent = load_agent_of_step(&shared, &read, iteration).await?;
    let rendered = render(&agent, &id, iteration).await?;
    let missing =
        || ApiError::not_found("this step sent no request: a script takes its steps without one");
    let rendered = rendered.ok_or_else(missing)?;
    let tiers = |provider_id: &str| read.tier_of_provider_id(provider_id);
    let parse = |request: &RenderedRequest| -> (Value, Vec<BodyPart>) {
        let body: Value = serde_json::from_slice(&request.request.body).unwrap_or(Value::Null);
        let parts = body_parts(&body, &tiers);
        (body, parts)
    };
    let before = match iteration.checked_sub(1) {
        Some(before) => render(&agent, &id, before).await.ok().flatten().map(|it| parse(&it).1),
        None => None,
    };
    let (body, parts) = parse(&rendered);
    let (parts, reuse) = compare_parts(&parts, before.as_deref());
    let identical = rendered.is_identical();
    let request = rendered.request;
    Ok(Json(RequestView {
        step,
        sha256: request.sha256(),
        bytes: request.body.len() as u64,
        model: request.model,
        options: request.options,
        tools: request.tools,
        identical,
        parts,
        kept: reuse.kept,
        lost: reuse.lost,
        lost_because: reuse.lost_because,
        body,
    }))
}

async fn render(
    agent: &Agent,
    id: &TurnId,
    iteration: u32,
) -> Result<Option<RenderedRequest>, ApiError> {
    match agent.render_request(id, iteration).await {
        Err(TurnError::Invalid { reason, .. }) => Err(ApiError::not_found(reason)),
        rendered => Ok(rendered?),
    }
}

/// The agent that renders a step: that of the turn with the executor that took the step, else the agent of
/// the server.
async fn load_agent_of_step(
    shared: &ApiShared,
    read: &ReadTurn,
    iteration: u32,
) -> Result<Agent, ApiError> {
    let history = read.history();
    let taken = history.steps.iter().find(|it| it.iteration == iteration);
    let begun_by = Some(taken.map_or(&history.executor, |step| &step.executor));
    shared.build_agent_of(read.agent.as_deref(), begun_by, AgentPurpose::Show).await
}

pub(super) async fn show_response(
    State(shared): Shared,
    PathParams((turn, step)): PathParams<(String, u32)>,
) -> ApiResult<ResponseView> {
    let read = shared.read_turn(&parse_turn(&turn)?).await?;
    let (history, row, items) = read.response(step).ok_or_else(|| {
        ApiError::not_found(format!("there is no step {step}: the turn has {}", read.step_count()))
    })?;
    let then = match &history.then {
        NextAction::Done => "done",
        NextAction::Fail(_) => "fail",
        _ => "continue",
    };
    Ok(Json(ResponseView {
        step,
        model: history.model.clone(),
        items,
        usage: token_usage(history.usage),
        model_ms: row.model_ms,
        then: then.to_owned(),
    }))
}
