//! Gates: what waits, and the decision.

use axum::Json;
use axum::extract::{Path, State};
use haft::stores::GateId;
use haft::turn::Gate;
use serde_json::Value;

use super::Shared;
use crate::error::{ApiError, ApiResult, field_problems};
use crate::shared::ApiShared;
use crate::timeline::{ReadTurn, gate_view};
use crate::wire::{
    FieldProblem, GateCheck, GateChoice, GateDecisionRequest, GateProposal, GateView,
};

pub(super) async fn list_gates(State(shared): Shared) -> ApiResult<Vec<GateView>> {
    let mut views = Vec::new();
    for gate in shared.runner.gates().open_gates(None).await? {
        let title = match shared.runner.load_turn(&gate.turn).await? {
            Some(stored) => {
                ReadTurn::new(&stored, shared.now()).ok().map(|it| it.to_row(None).title)
            }
            None => None,
        };
        views.push(gate_view(&gate, None, title.as_deref()));
    }
    Ok(Json(views))
}

/// Validates a value with the code that decides.
pub(super) async fn check_gate(
    State(shared): Shared,
    Path(gate): Path<String>,
    Json(proposal): Json<GateProposal>,
) -> ApiResult<GateCheck> {
    let gate = find_gate(&shared, &gate).await?;
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
    Path(gate): Path<String>,
    Json(decision): Json<GateDecisionRequest>,
) -> ApiResult<GateView> {
    shared.check_access()?;
    let id = parse_gate(&gate)?;
    let gate = find_gate(&shared, &gate).await?;
    let (gates, by) = (shared.runner.gates(), shared.actor.as_str());
    let needs = |field: &str| ApiError::invalid(format!("this decision needs `{field}`"));
    match decision.choice {
        GateChoice::Approve => gates.resolve(&id, Value::Bool(true), by).await?,
        GateChoice::ApproveEdited => {
            let arguments = decision.arguments.ok_or_else(|| needs("arguments"))?;
            gates.approve_edited(&id, &arguments, by).await?;
        }
        GateChoice::Resolve => {
            let value = decision.value.ok_or_else(|| needs("value"))?;
            gates.resolve(&id, value, by).await?;
        }
        GateChoice::Deny => {
            let guidance = decision.guidance.unwrap_or_default();
            let reason =
                if guidance.trim().is_empty() { "it was not approved" } else { guidance.trim() };
            gates.reject(&id, reason, by).await?;
        }
    }
    super::actions::resume_after_decision(&shared, &gate.turn).await;
    let mut view = gate_view(&gate, None, None);
    let is_denied = decision.choice == GateChoice::Deny;
    view.decision = Some(if is_denied { "rejected" } else { "resolved" }.to_owned());
    view.decided_by = Some(shared.actor.clone());
    Ok(Json(view))
}

fn parse_gate(text: &str) -> Result<GateId, ApiError> {
    text.parse().map_err(|error| ApiError::invalid(format!("the id of the gate: {error}")))
}

async fn find_gate(shared: &ApiShared, id: &str) -> Result<Gate, ApiError> {
    let id = parse_gate(id)?;
    let open = shared.runner.gates().open_gates(None).await?;
    let closed = || {
        let status = axum::http::StatusCode::CONFLICT;
        ApiError::new(
            status,
            "E_API_GATE_CLOSED",
            "the gate was decided elsewhere, or its turn waits no longer",
        )
    };
    open.into_iter().find(|gate| gate.id == id).ok_or_else(closed)
}
