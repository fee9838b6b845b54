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
    /// Approves the call with other arguments.
    ApproveEdited(Value),
    /// Approves the call and later calls like it.
    ApproveAlways(StandingApproval),
    /// Denies the call, for a reason that the model receives.
    Deny(String),
    /// Asks for the choices.
    ListChoices,
    /// A reply with a mistake, which is explained before the question is asked again.
    Mistaken(String),
}

/// How long a standing approval for an agent holds if the user does not say otherwise.
pub(crate) const DEFAULT_GRANT_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The choices of [`GateReply::ListChoices`].
pub(super) const CHOICES: &str = "replies:
  y   approve this call
  n   deny it, as an empty line does; `n TEXT` tells the model why, as in: n use the other file
  e   approve it with other arguments, as in: e {\"name\": \"value\"}
  t   approve every call of this tool in this turn
  ts  approve the calls of this tool with the same arguments in this turn
  a   approve every call of this tool by this agent, for 30 days
  as  approve the calls of this tool with the same arguments by this agent, for 30 days
`haft grants` lists the standing approvals and revokes them.";

/// Reads the reply to a gate. Standing approvals need a store that outlives the turn.
pub(super) fn parse_reply(gate: &Gate, reply: &str, stores_grants: bool) -> GateReply {
    if expects_approval(gate) {
        return parse_approval(gate, reply, gate.approval && stores_grants);
    }
    if reply.is_empty() {
        return GateReply::Deny(NO.to_owned());
    }
    // A reply that is not JSON is a string, which then needs no quotes.
    GateReply::Resolve(serde_json::from_str(reply).unwrap_or_else(|_| reply.into()))
}

/// The reason of a user who gives none.
const NO: &str = "the user said no";

fn parse_approval(gate: &Gate, reply: &str, offers_more: bool) -> GateReply {
    if is_yes(reply) {
        return GateReply::Resolve(Value::Bool(true));
    }
    let (word, rest) = reply.split_once([' ', ',']).unwrap_or((reply, ""));
    let rest = rest.trim();
    match word.to_lowercase().as_str() {
        "" => return GateReply::Deny(NO.to_owned()),
        "n" | "no" => {
            return GateReply::Deny(if rest.is_empty() { NO } else { rest }.to_owned());
        }
        "e" if offers_more => return parse_edit(gate, rest),
        _ => {}
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
        // Neither approved nor denied: a slip of the finger must not decide.
        _ => {
            let more = if offers_more { ", ? lists more choices" } else { "" };
            let text = format!("`{reply}` is not a choice: y approves the call, n denies it{more}");
            GateReply::Mistaken(text)
        }
    }
}

/// Reads the arguments that the user gives in place of the proposed ones. The gate checks them against the schema.
fn parse_edit(gate: &Gate, arguments: &str) -> GateReply {
    if arguments.is_empty() {
        let proposed = gate.payload.get("arguments").unwrap_or(&gate.payload);
        return GateReply::Mistaken(format!("write the arguments after it: e {proposed}"));
    }
    match serde_json::from_str(arguments) {
        Ok(arguments) => GateReply::ApproveEdited(arguments),
        Err(error) => GateReply::Mistaken(format!("the arguments are not valid JSON: {error}")),
    }
}

/// Whether a gate expects an approval and no other value.
pub(crate) fn expects_approval(gate: &Gate) -> bool {
    gate.approval || gate.schema.as_ref().is_some_and(|it| it["type"] == "boolean")
}

#[cfg(test)]
mod tests {
    use haft::turn::{Gate, GateRequest, Timestamp};
    use serde_json::json;

    use super::{GateReply, NO, parse_reply};

    #[test]
    fn replies_are_read() {
        let request = GateRequest::new("May I?")
            .payload(json!({"tool": "touch", "arguments": {"name": "made"}}));
        let id = "g".parse().unwrap();
        let turn = "t".parse().unwrap();
        let mut gate = Gate::open(id, turn, request, Timestamp::EPOCH).unwrap();
        gate.approval = true;
        let deny = |reason: &str| GateReply::Deny(reason.to_owned());
        for (reply, read) in [
            ("y", GateReply::Resolve(true.into())),
            ("Yes", GateReply::Resolve(true.into())),
            ("", deny(NO)),
            ("n", deny(NO)),
            ("n use the other file", deny("use the other file")),
            ("No, ask ada first", deny("ask ada first")),
            ("?", GateReply::ListChoices),
            ("e {\"name\": \"other\"}", GateReply::ApproveEdited(json!({"name": "other"}))),
            (
                "e",
                GateReply::Mistaken("write the arguments after it: e {\"name\":\"made\"}".into()),
            ),
        ] {
            assert_eq!(parse_reply(&gate, reply, true), read, "{reply}");
        }
        assert!(matches!(parse_reply(&gate, "e {name", true), GateReply::Mistaken(_)));
        for reply in ["what", "yy", "nope, never"] {
            let read = parse_reply(&gate, reply, true);
            assert!(
                matches!(read, GateReply::Mistaken(text) if text.contains("? lists")),
                "{reply}"
            );
        }
        // One call of `haft call` has no store, and its arguments are on the command line.
        let read = parse_reply(&gate, "e {}", false);
        assert!(matches!(read, GateReply::Mistaken(text) if !text.contains("? lists")));
    }
}
