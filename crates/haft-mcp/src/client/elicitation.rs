//! Questions of a server, which become gates of the turn.

use std::sync::Arc;

use haft_core::gate::{GateError, GateRequest};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use super::handler::RunningCall;

/// Where a question comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    pub(super) server: &'a str,
    /// The name that the server gave the question, which the gate passes on.
    pub(super) question: Option<&'a str>,
}

/// Asks the question at a gate. A refusal, a missing decision and a context without gates are answers as well.
pub(super) async fn answer_elicitation(
    asker: Asker<'_>,
    call: &Arc<RunningCall>,
    request: ElicitRequestParams,
) -> ElicitResult {
    let defaults = match &request {
        ElicitRequestParams::FormElicitationParams { requested_schema, .. } => {
            Some(default_values(&serde_json::to_value(requested_schema).unwrap_or_default()))
        }
        _ => None,
    };
    let Some(gate) = gate_request(asker, request) else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let waiting = call.begin_question();
    let decision = call.ctx.ask(gate).await;
    drop(waiting);
    match decision {
        Ok(value) => match defaults {
            Some(defaults) => {
                let content = with_defaults(value, defaults);
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            None => ElicitResult::new(ElicitationAction::Accept),
        },
        Err(GateError::Rejected { .. }) => ElicitResult::new(ElicitationAction::Decline),
        Err(_) => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// The gate of a question, or `None` for one of an unknown sort.
fn gate_request(asker: Asker<'_>, request: ElicitRequestParams) -> Option<GateRequest> {
    let Asker { server, question } = asker;
    let mut payload = Map::from_iter([("server".to_owned(), server.into())]);
    payload.extend(question.map(|name| ("name".to_owned(), name.into())));
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(&requested_schema).ok()?;
            let message = bounded(&message);
            let reason = format!("The MCP server `{server}` asks: {message}");
            payload.insert("message".to_owned(), message.into());
            Some(GateRequest::new(reason).payload(payload.into()).schema(schema))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let message = bounded(&message);
            let reason =
                format!("The MCP server `{server}` asks you to open {url} yourself: {message}");
            payload.insert("message".to_owned(), message.into());
            payload.insert("url".to_owned(), url.into());
            let schema = json!({"type": "boolean", "const": true});
            Some(GateRequest::new(reason).payload(payload.into()).schema(schema))
        }
        _ => None,
    }
}

/// The defaults of the fields of a form.
fn default_values(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone()))).collect()
}

/// A form in which fields that were left out have their defaults.
fn with_defaults(value: Value, mut defaults: Map<String, Value>) -> Value {
    match value {
        Value::Object(given) => {
            defaults.extend(given);
            Value::Object(defaults)
        }
        other => other,
    }
}

/// A message of a server on one line, and not longer than a person reads.
fn bounded(message: &str) -> String {
    let mut characters = message.chars().map(|it| if it.is_control() { ' ' } else { it });
    let mut text: String = characters.by_ref().take(MAX_MESSAGE).collect();
    if characters.next().is_some() {
        text.push('…');
    }
    text
}

/// The value of a response in `inputResponses`.
pub(super) fn input_response(result: &ElicitResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

/// The maximum number of characters of a question.
const MAX_MESSAGE: usize = 2000;
