//! Gates: what waits, and the decision.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use haft::stores::GateId;
use haft::turn::{Gate, GateDecision, GateSettlement, GrantScope, ListedGrant, StandingApproval};
use serde_json::Value;

use super::Shared;
use crate::error::{ApiError, ApiResult, field_problems};
use crate::extract::{JsonBody, PathParams};
use crate::shared::{Actor, ApiShared};
use crate::timeline::gate_view;
use crate::wire::{
    AlwaysRequest, FieldProblem, GateCheck, GateChoice, GateDecisionRequest, GateProposal,
    GateView, GrantRow, GrantedScope,
};

pub(super) async fn list_gates(State(shared): Shared) -> ApiResult<Vec<GateView>> {
    let mut views = Vec::new();
    for gate in shared.turns.gates().open_gates(None).await? {
        let summary = shared.turns.load_summary(&gate.turn).await?;
        let title = summary.and_then(|it| it.first_words);
        views.push(gate_view(&gate, None, title.as_deref()));
    }
    Ok(Json(views))
}

/// Validates a value with the code that decides.
pub(super) async fn check_gate(
    State(shared): Shared,
    PathParams(gate): PathParams<String>,
    JsonBody(proposal): JsonBody<GateProposal>,
) -> ApiResult<GateCheck> {
    let gate = find_gate(&shared, &parse_gate(&gate)?).await?;
    let problems = match (&proposal.arguments, &proposal.value) {
        (Some(arguments), _) => match gate.check_arguments(arguments) {
            Ok(()) => Vec::new(),
            Err(haft::turn::InvalidEdit::Problems(problems)) => field_problems(&problems),
            Err(other) => vec![FieldProblem { pointer: String::new(), message: other.to_string() }],
        },
        (None, Some(value)) => {
            gate.check(value).err().as_ref().map(field_problems).unwrap_or_default()
        }
        (None, None) => return Err(ApiError::invalid("send `arguments` or `value`")),
    };
    Ok(Json(GateCheck { problems }))
}

pub(super) async fn decide_gate(
    State(shared): Shared,
    PathParams(gate): PathParams<String>,
    Actor(actor): Actor,
    JsonBody(decision): JsonBody<GateDecisionRequest>,
) -> ApiResult<GateView> {
    shared.check_submit()?;
    let id = parse_gate(&gate)?;
    let settled = settle_gate(&shared, &id, &decision, &actor).await;
    let (gate, settlement) = match (shared.turns.gates().load_gate(&id).await?, settled) {
        (Some((gate, Some(settlement))), Ok(())) => (gate, settlement),
        // A client that repeats a request whose response was lost gets the response.
        (Some((gate, Some(settlement))), Err(_))
            if is_repeated(&shared, &decision, &settlement, &actor) =>
        {
            (gate, settlement)
        }
        (_, Err(error)) => return Err(error),
        (_, Ok(())) => return Err(closed_gate()),
    };
    super::actions::resume_after_decision(&shared, &gate.turn).await;
    Ok(Json(gate_view(&gate, Some(&settlement), None)))
}

/// Settles a gate that is open.
async fn settle_gate(
    shared: &ApiShared,
    id: &GateId,
    decision: &GateDecisionRequest,
    by: &str,
) -> Result<(), ApiError> {
    find_gate(shared, id).await?;
    let gates = shared.turns.gates();
    match decision.choice {
        GateChoice::Approve => match &decision.always {
            Some(always) => gates.approve_always(id, standing_approval(shared, always), by).await?,
            None => gates.resolve(id, Value::Bool(true), by).await?,
        },
        GateChoice::ApproveEdited => {
            gates
                .approve_edited(id, required(decision.arguments.as_ref(), "arguments")?, by)
                .await?
        }
        GateChoice::Resolve => {
            let value = required(decision.value.as_ref(), "value")?.clone();
            gates.resolve(id, value, by).await?;
        }
        GateChoice::Deny => gates.reject(id, denial_reason(decision), by).await?,
    }
    Ok(())
}

fn required<'v>(value: Option<&'v Value>, field: &str) -> Result<&'v Value, ApiError> {
    value.ok_or_else(|| ApiError::invalid(format!("this decision needs `{field}`")))
}

fn denial_reason(decision: &GateDecisionRequest) -> &str {
    let guidance = decision.guidance.as_deref().map(str::trim).unwrap_or_default();
    if guidance.is_empty() { "it was not approved" } else { guidance }
}

/// Whether a gate is settled with this decision of this person.
fn is_repeated(
    shared: &ApiShared,
    decision: &GateDecisionRequest,
    settlement: &GateSettlement,
    by: &str,
) -> bool {
    let wanted = match decision.choice {
        GateChoice::Approve | GateChoice::ApproveEdited => {
            GateDecision::Resolved { value: Value::Bool(true) }
        }
        GateChoice::Resolve => {
            GateDecision::Resolved { value: decision.value.clone().unwrap_or_default() }
        }
        GateChoice::Deny => GateDecision::Rejected { reason: denial_reason(decision).to_owned() },
    };
    let is_edited = decision.choice == GateChoice::ApproveEdited;
    let edited = decision.arguments.as_ref().filter(|_| is_edited);
    let is_approval = decision.choice == GateChoice::Approve;
    let always = decision.always.as_ref().filter(|_| is_approval);
    let wanted_standing = always.map(|it| standing_approval(shared, it));
    let standing = |it: &StandingApproval| (it.scope, it.any_arguments);
    settlement.repeats(&wanted, edited, by)
        && settlement.always.as_ref().map(standing) == wanted_standing.as_ref().map(standing)
}

/// How long an approval for all turns of an agent holds by default.
const AGENT_GRANT_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

fn standing_approval(shared: &ApiShared, always: &AlwaysRequest) -> StandingApproval {
    let (approval, default_time) = match always.scope {
        GrantedScope::Turn => (StandingApproval::in_turn(), None),
        GrantedScope::Agent => (StandingApproval::for_agent(), Some(AGENT_GRANT_TIME)),
    };
    let approval = if always.any_arguments { approval.any_arguments() } else { approval };
    match always.expires_seconds.map(Duration::from_secs).or(default_time) {
        Some(time) => approval.until(shared.now().saturating_add(time)),
        None => approval,
    }
}

/// The standing approvals, also those that no longer hold.
pub(super) async fn list_grants(State(shared): Shared) -> ApiResult<Vec<GrantRow>> {
    let listed = shared.turns.gates().grants().await?;
    Ok(Json(listed.iter().map(grant_row).collect()))
}

pub(super) async fn revoke_grant(
    State(shared): Shared,
    PathParams(grant): PathParams<String>,
) -> ApiResult<Vec<GrantRow>> {
    shared.check_submit()?;
    let listed = shared.turns.gates().grants().await?;
    let missing = || ApiError::not_found(format!("there is no standing approval `{grant}`"));
    let found = listed.iter().find(|it| it.id.to_string() == grant).ok_or_else(missing)?;
    shared.turns.gates().revoke_grant(found.id).await?;
    list_grants(State(shared)).await
}

fn grant_row(listed: &ListedGrant) -> GrantRow {
    let grant = listed.grant.as_ref();
    let holder = |scope| grant.filter(|it| it.scope == scope).map(|it| it.holder.clone());
    let arguments = grant.and_then(|it| it.arguments.as_deref());
    GrantRow {
        id: listed.id.to_string(),
        tool: grant.map(|it| it.tool.clone()),
        turn: holder(GrantScope::Turn),
        agent: holder(GrantScope::Agent),
        arguments: arguments.and_then(|text| serde_json::from_str(text).ok()),
        by: grant.map(|it| it.by.clone()),
        given_at: grant.map(|it| it.at.to_string()),
        expires_at: grant.and_then(|it| it.expires_at).map(|it| it.to_string()),
        refusal: listed.refusal.map(|it| it.to_string()),
    }
}

fn parse_gate(text: &str) -> Result<GateId, ApiError> {
    text.parse().map_err(|error| ApiError::invalid(format!("the id of the gate: {error}")))
}

/// Finds a gate that is open.
async fn find_gate(shared: &ApiShared, id: &GateId) -> Result<Gate, ApiError> {
    match shared.turns.gates().load_gate(id).await? {
        Some((gate, None)) => Ok(gate),
        _ => Err(closed_gate()),
    }
}

fn closed_gate() -> ApiError {
    let message = "the gate was decided elsewhere, or its turn waits no longer";
    ApiError::new(axum::http::StatusCode::CONFLICT, "E_API_GATE_CLOSED", message)
}
