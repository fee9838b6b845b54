//! What the user may reply to the question of a gate.

use std::time::Duration;

use haft::turn::{Clock as _, Gate, StandingApproval, SystemClock};
use serde_json::Value;

use crate::keyboard::is_yes;

/// A reply of the user.
#[derive(Debug, PartialEq)]
pub(super) enum GateReply {
    /// Approves the call, or gives the value that the gate expects.
    Resolve(Value),
    /// Approves the call and later calls like it.
    ApproveAlways(StandingApproval),
    Deny,
    /// Asks for the choices.
    ListChoices,
}

/// How long a standing approval for an agent holds if the user does not say otherwise.
pub(crate) const DEFAULT_GRANT_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The choices of [`GateReply::ListChoices`].
pub(super) const CHOICES: &str = "\
  y   approve this call
  n   deny it (also with an empty line)
  t   approve every call of this tool in this turn
  ts  approve the calls of this tool with the same arguments in this turn
  a   approve every call of this tool by this agent, for 30 days
  as  approve the calls of this tool with the same arguments by this agent, for 30 days
`haft grants` lists the standing approvals and revokes them.";

/// Reads the reply to a gate. Standing approvals need a store that outlives the turn.
pub(super) fn parse_reply(gate: &Gate, reply: &str, stores_grants: bool) -> GateReply {
    if expects_approval(gate) {
        return parse_approval(reply, gate.approval && stores_grants);
    }
    if reply.is_empty() {
        return GateReply::Deny;
    }
    // A reply that is not JSON is a string, which then needs no quotes.
    GateReply::Resolve(serde_json::from_str(reply).unwrap_or_else(|_| reply.into()))
}

fn parse_approval(reply: &str, offers_more: bool) -> GateReply {
    if is_yes(reply) {
        return GateReply::Resolve(Value::Bool(true));
    }
    let for_agent = || {
        let end = SystemClock::new().now().saturating_add(DEFAULT_GRANT_TIME);
        StandingApproval::for_agent().until(end)
    };
    match reply.to_lowercase().as_str() {
        "?" if offers_more => GateReply::ListChoices,
        "t" if offers_more => GateReply::ApproveAlways(StandingApproval::in_turn().any_arguments()),
        "ts" if offers_more => GateReply::ApproveAlways(StandingApproval::in_turn()),
        "a" if offers_more => GateReply::ApproveAlways(for_agent().any_arguments()),
        "as" if offers_more => GateReply::ApproveAlways(for_agent()),
        _ => GateReply::Deny,
    }
}

/// Whether a gate expects an approval and no other value.
pub(super) fn expects_approval(gate: &Gate) -> bool {
    gate.approval || gate.schema.as_ref().is_some_and(|it| it["type"] == "boolean")
}
