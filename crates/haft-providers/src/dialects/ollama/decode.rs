//! Decodes responses, whole and streamed: one JSON value per line, of which the last one says `"done": true`.

use haft_core::usage::Usage;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Line, MessageDelta};
use crate::dialect::{DecodeError, ResponseDecoder, StreamEvent};
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
    fn decode_line(&mut self, line: &Line, report: Report<'_>) -> Result<(), DecodeError> {
        if let Some(error) = &line.error {
            return Err(provider_error(error));
        }
        if !self.begun && line.model.is_some() {
            self.begun = true;
            report(GenerationEvent::Start { id: None, model: line.model.as_deref() });
        }
        if let Some(message) = &line.message {
            self.decode_message(message, report)?;
        }
        if line.done == Some(true) {
            let tokens = |count: Option<u64>| count.unwrap_or_default();
            let usage = Usage::new(tokens(line.prompt_eval_count), tokens(line.eval_count));
            if !usage.is_empty() {
                report(GenerationEvent::Usage(usage));
            }
            let reason = line.done_reason.as_deref().unwrap_or("stop");
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
        message: &MessageDelta,
        report: Report<'_>,
    ) -> Result<(), DecodeError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(text) = given(&message.thinking) {
            report(GenerationEvent::ReasoningDelta { channel: "thinking", text: &text });
        }
        if let Some(text) = given(&message.content) {
            report(GenerationEvent::TextDelta(&text));
        }
        for call in message.tool_calls.iter().flatten() {
            let slot = self.calls;
            self.calls = self.calls.saturating_add(1);
            let arguments = arguments(call.function.arguments.as_deref())?;
            let (id, name) = (call.id.as_deref(), call.function.name.as_deref());
            report(GenerationEvent::CallDelta { slot, id, name, arguments: &arguments });
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
        self.decode_whole(event.data.as_bytes(), report)
    }

    fn decode_whole(&mut self, body: &[u8], report: Report<'_>) -> Result<(), DecodeError> {
        let line: Line = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
        let is_known = line.message.is_some() || line.done.is_some() || line.error.is_some();
        if !is_known {
            let reason = "a line has neither `message` nor `done` nor `error`";
            return Err(DecodeError::Malformed(reason.to_owned()));
        }
        self.decode_line(&line, report)
    }
}

fn malformed(error: &serde_json::Error) -> DecodeError {
    DecodeError::Malformed(error.to_string())
}

/// The arguments of a call as text: an object, or a text that contains one.
fn arguments(raw: Option<&RawValue>) -> Result<String, DecodeError> {
    let Some(raw) = raw.map(RawValue::get).filter(|raw| *raw != "null") else {
        return Ok("{}".to_owned());
    };
    if raw.starts_with('"') {
        return serde_json::from_str(raw).map_err(|error| malformed(&error));
    }
    Ok(raw.to_owned())
}

/// What the server says about its failure. It has no codes, so that the words decide whether a retry may help.
fn provider_error(error: &Value) -> DecodeError {
    let text = error.as_str().or_else(|| error.pointer("/message").and_then(Value::as_str));
    let message = text.map_or_else(|| error.to_string(), str::to_owned);
    let message: String = message.chars().take(MAX_MESSAGE).collect();
    let lower = message.to_lowercase();
    let retryable = RETRYABLE.iter().any(|word| lower.contains(word));
    DecodeError::Provider { kind: None, message, retryable }
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

/// The maximum number of characters of a message.
const MAX_MESSAGE: usize = 1000;
