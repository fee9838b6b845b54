//! Questions of tools for the user of the client: gates as elicitations.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use haft::turn::Approver;
use haft_core::BoxFuture;
use haft_core::gate::{Gate, GateDecision};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest,
};
use rmcp::service::Peer;
use serde_json::{Value, json};

use super::pending::{PendingCalls, QuestionChannel};

/// How long a user may take to reply to an elicitation.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The field of the form of a question whose decision is not an object.
const VALUE_FIELD: &str = "value";

/// The key of an approval. A question of another server, which names it itself, cannot have it.
const APPROVAL_KEY: &str = "approval";

/// The field of the form that approves a call.
const APPROVE_FIELD: &str = "approve";

/// Asks the user of the client that waits for the call.
#[derive(Debug)]
pub(super) struct ClientApprover {
    pending: Arc<PendingCalls>,
}

impl ClientApprover {
    pub(super) fn new(pending: Arc<PendingCalls>) -> Self {
        Self { pending }
    }
}

impl Approver for ClientApprover {
    fn decide(&self, gate: Gate) -> BoxFuture<'_, Option<GateDecision>> {
        Box::pin(async move {
            let call = self.pending.get(&gate.turn)?;
            let reply = match &call.channel {
                QuestionChannel::Elicitation(_) if !call.has_forms => {
                    return Some(rejected("the client cannot ask its user"));
                }
                QuestionChannel::Elicitation(peer) => ask_client(peer, &gate).await,
                QuestionChannel::InputRequired { replies, is_continued } => {
                    // An approval counts only if the client was asked for it.
                    if gate.approval && !is_continued {
                        return None;
                    }
                    let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
                    let reply = replies.remove(&input_key(&gate))?;
                    serde_json::from_value(reply).ok()
                }
            };
            let decision = decide(&gate, reply?);
            match &call.channel {
                // The client has replied, and is not asked again.
                QuestionChannel::Elicitation(_) => {
                    Some(decision.unwrap_or_else(|| {
                        rejected("the reply has not the form that was asked for")
                    }))
                }
                QuestionChannel::InputRequired { .. } => decision,
            }
        })
    }
}

/// Sends an elicitation to a client that has a connection. A client that does not reply rejects.
async fn ask_client(peer: &Peer<RoleServer>, gate: &Gate) -> Option<ElicitResult> {
    let asked = peer.create_elicitation_with_timeout(form(gate), Some(REPLY_TIMEOUT)).await;
    Some(asked.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
}

/// The question of a gate as part of an `input_required` result, with its key.
pub(super) fn input_request(gate: &Gate) -> (String, InputRequest) {
    (input_key(gate), InputRequest::Elicitation(ElicitRequest::new(form(gate))))
}

/// The key under which the reply to a question comes back: `approval`, the `name` in the payload of the gate, or its
/// id.
fn input_key(gate: &Gate) -> String {
    if gate.approval {
        return APPROVAL_KEY.to_owned();
    }
    let is_plain = |it: &str| {
        (1..=64).contains(&it.len())
            && it != APPROVAL_KEY
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    let name = gate.payload.get("name").and_then(Value::as_str).filter(|it| is_plain(it));
    name.map_or_else(|| gate.id.to_string(), str::to_owned)
}

fn form(gate: &Gate) -> ElicitRequestParams {
    let message = match &gate.call {
        Some(call) if gate.approval => {
            let preview = gate.preview.as_ref().map(|it| format!("\n\n{it}"));
            let preview = preview.unwrap_or_default();
            format!("{}{}\n\n{} {}", gate.reason, visible(&preview), call.tool, call.accepted)
        }
        _ => gate.reason.clone(),
    };
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: form_schema(gate),
    }
}

/// A text whose control characters, also those that change the direction of writing, are shown and have no effect.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for ch in text.trim_end().chars() {
        let is_direction = matches!(ch, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match ch {
            '\n' | '\t' => shown.push(ch),
            _ if ch.is_control() || is_direction => shown.extend(ch.escape_unicode()),
            _ => shown.push(ch),
        }
    }
    shown
}

/// The schema of the form: that of the gate if clients can show it, or one field for the whole decision.
fn form_schema(gate: &Gate) -> ElicitationSchema {
    if let Some(schema) = own_schema(gate) {
        return schema;
    }
    let field = match &gate.schema {
        _ if is_approval(gate) => {
            json!({APPROVE_FIELD: {"type": "boolean", "title": "Approve", "default": false}})
        }
        schema => json!({VALUE_FIELD: {
            "type": "string",
            "title": "Decision",
            "description": format!("JSON text that meets this schema: {}", schema.as_ref().unwrap_or(&Value::Null)),
        }}),
    };
    let required: Vec<&String> = field.as_object().into_iter().flat_map(|it| it.keys()).collect();
    let schema = json!({"type": "object", "properties": field, "required": required});
    serde_json::from_value(schema).unwrap_or_else(|_| ElicitationSchema::new(Default::default()))
}

/// Whether a gate is decided by yes or no.
fn is_approval(gate: &Gate) -> bool {
    let schema_type = gate.schema.as_ref().map(|it| it.get("type").and_then(Value::as_str));
    gate.approval || schema_type.is_none_or(|it| it == Some("boolean"))
}

/// The schema of a gate that is an object of simple fields.
fn own_schema(gate: &Gate) -> Option<ElicitationSchema> {
    let schema = gate.schema.clone()?;
    schema.get("properties")?;
    serde_json::from_value(schema).ok()
}

/// The decision that a reply stands for, or `None` if it does not meet the schema, so that the user is asked again.
fn decide(gate: &Gate, reply: ElicitResult) -> Option<GateDecision> {
    match reply.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Decline => return Some(rejected("the user declined")),
        _ => return Some(rejected("the user did not reply")),
    }
    let content = reply.content.unwrap_or_default();
    let value = match &gate.schema {
        _ if own_schema(gate).is_some() => content,
        _ if is_approval(gate) => match content.get(APPROVE_FIELD) {
            Some(Value::Bool(false)) => return Some(rejected("the user did not approve")),
            Some(Value::Bool(true)) => Value::Bool(true),
            _ => return None,
        },
        _ => serde_json::from_str(content.get(VALUE_FIELD)?.as_str()?).ok()?,
    };
    gate.check(&value).is_ok().then_some(GateDecision::Resolved { value })
}

fn rejected(reason: &str) -> GateDecision {
    GateDecision::Rejected { reason: reason.to_owned() }
}
