//! Decodes responses, whole and streamed: one JSON value per line, of which the last one says `"done": true`.

use std::borrow::Cow;

use haft_core::json::ValueRef;
use haft_core::usage::Usage;

use crate::dialect::{DecodeError, ResponseDecoder, StreamEvent};
use crate::dialects::shared::{malformed_response, parse_body, parse_text, reported_error};
use crate::generation::{FinishReason, GenerationEvent};

/// Decodes one response.
#[derive(Default)]
pub(super) struct OllamaDecoder {
    begun: bool,
    /// How many calls there are so far.
    calls: u32,
}

type Report<'t> = &'t mut dyn FnMut(GenerationEvent<'_>);

impl OllamaDecoder {
    fn decode_line(&mut self, line: ValueRef<'_>, report: Report<'_>) -> Result<(), DecodeError> {
        let member = |key| line.get(key).filter(|it| !it.is_null());
        if let Some(error) = member("error") {
            return Err(provider_error(error));
        }
        let (message, done) = (member("message"), member("done"));
        if message.is_none() && done.is_none() {
            let reason = "a line has neither `message` nor `done` nor `error`";
            return Err(malformed_response(reason));
        }
        let text = |key| line.get(key).and_then(ValueRef::as_str);
        if !self.begun && text("model").is_some() {
            self.begun = true;
            report(GenerationEvent::Start { id: None, model: text("model") });
        }
        if let Some(message) = message {
            self.decode_message(message, report)?;
        }
        if done.and_then(ValueRef::as_bool) == Some(true) {
            let tokens = |key| line.get(key).and_then(ValueRef::as_u64).unwrap_or_default();
            let usage = Usage::new(tokens("prompt_eval_count"), tokens("eval_count"));
            if !usage.is_empty() {
                report(GenerationEvent::Usage(usage));
            }
            let reason = text("done_reason").unwrap_or("stop");
            let finish = match reason {
                "stop" if self.calls > 0 => Some(FinishReason::ToolCalls),
                "stop" => Some(FinishReason::Stop),
                "length" => Some(FinishReason::Length),
                _ => None,
            };
            report(GenerationEvent::Finish { finish, reason });
            report(GenerationEvent::End);
        }
        Ok(())
    }

    fn decode_message(
        &mut self,
        message: ValueRef<'_>,
        report: Report<'_>,
    ) -> Result<(), DecodeError> {
        let given = |key| message.get(key).and_then(ValueRef::as_str).filter(|it| !it.is_empty());
        if let Some(text) = given("thinking") {
            report(GenerationEvent::ReasoningDelta { channel: "thinking", text });
        }
        if let Some(text) = given("content") {
            report(GenerationEvent::TextDelta(text));
        }
        let calls = message.get("tool_calls").into_iter().flat_map(ValueRef::elements);
        for call in calls {
            let function = call.get("function");
            let function = function.ok_or_else(|| malformed_response("a call has no function"))?;
            let slot = self.calls;
            self.calls = self.calls.saturating_add(1);
            let arguments = &*arguments(function.get("arguments"));
            let id = call.get("id").and_then(ValueRef::as_str);
            let name = function.get("name").and_then(ValueRef::as_str);
            report(GenerationEvent::CallDelta { slot, id, name, arguments });
            report(GenerationEvent::CallEnd { slot });
        }
        Ok(())
    }
}

impl ResponseDecoder for OllamaDecoder {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: Report<'_>,
    ) -> Result<(), DecodeError> {
        self.decode_line(parse_text(event.data)?.root(), report)
    }

    fn decode_whole(&mut self, body: &[u8], report: Report<'_>) -> Result<(), DecodeError> {
        self.decode_line(parse_body(body)?.root(), report)
    }
}

/// The arguments of a call as text: an object, or from some servers a text that contains one.
fn arguments(value: Option<ValueRef<'_>>) -> Cow<'_, str> {
    match value.filter(|it| !it.is_null()) {
        None => "{}".into(),
        Some(value) => match value.as_str() {
            Some(text) => text.into(),
            None => value.to_string().into(),
        },
    }
}

/// What the server says about its failure: a text, from some servers an object. It has no codes, so that the words decide
/// whether a retry may help.
fn provider_error(error: ValueRef<'_>) -> DecodeError {
    let text = error.as_str().or_else(|| error.get("message").and_then(ValueRef::as_str));
    let message = text.map_or_else(|| error.to_string(), str::to_owned);
    let lower = message.to_lowercase();
    let retryable = RETRYABLE.iter().any(|word| lower.contains(word));
    reported_error(None, &message, retryable)
}

/// Whether an error says that the prompt does not fit into the context.
pub(super) fn is_overflow_message(text: &str) -> bool {
    let text = text.to_lowercase();
    OVERFLOW.iter().any(|words| text.contains(words))
}

/// How versions of the server say that a prompt is too long.
const OVERFLOW: [&str; 3] =
    ["exceeds the context length", "exceeds maximum context length", "context length exceeded"];

/// Words in temporary failures: the model is being loaded, another model has replaced it, or its process ended.
const RETRYABLE: [&str; 6] =
    ["loading", "busy", "overloaded", "timed out", "runner", "connection reset"];
