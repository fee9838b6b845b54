//! Decodes responses, whole and streamed.

use std::sync::Arc;

use haft_core::invariant::OrReport as _;
use haft_core::usage::Usage;
use serde_json::Value;
use serde_json::de::{SliceRead, StrRead};

use super::wire::{CallDelta, Choice, Chunk, Delta, ProviderFault};
use super::{EXTRA_CONTENT_TAG, ReasoningField};
use crate::dialect::{DecodeError, ResponseDecoder, StreamEvent};
use crate::dialects::shared::{malformed_response, reported_error};
use crate::generation::{FinishReason, GenerationEvent, MAX_GENERATED_CALLS};

/// Decodes one response. A text without escapes costs no allocation.
pub(super) struct ChatDecoder {
    fields: Arc<[ReasoningField]>,
    begun: bool,
    /// Whether a part of the response was decoded.
    has_parts: bool,
    refused: bool,
    /// The calls so far; at most one more than a response may have.
    slots: Vec<CallSlot>,
}

/// What is known of a call.
struct CallSlot {
    /// The provider's number, which need not be unique.
    index: Option<u64>,
    id: String,
    name: String,
    has_arguments: bool,
}

type Report<'t> = &'t mut dyn FnMut(GenerationEvent<'_>);

impl ChatDecoder {
    pub(super) fn new(fields: Arc<[ReasoningField]>) -> Self {
        Self { fields, begun: false, has_parts: false, refused: false, slots: Vec::new() }
    }

    fn decode_chunk(&mut self, chunk: &Chunk<'_>, report: Report<'_>) -> Result<(), DecodeError> {
        self.has_parts = true;
        if let Some(error) = &chunk.error {
            return Err(provider_error(error));
        }
        if !self.begun && chunk.id.get().or(chunk.model.get()).is_some() {
            self.begun = true;
            report(GenerationEvent::Start { id: chunk.id.get(), model: chunk.model.get() });
        }
        if let Some(usage) = chunk.usage.as_deref().and_then(usage) {
            report(GenerationEvent::Usage(usage));
        }
        match &chunk.choice {
            Some(choice) => self.decode_choice(choice, report),
            None => Ok(()),
        }
    }

    fn decode_choice(
        &mut self,
        choice: &Choice<'_>,
        report: Report<'_>,
    ) -> Result<(), DecodeError> {
        self.decode_delta(&choice.delta, report)?;
        if let Some(reason) = choice.finish_reason.get() {
            for slot in 0..self.slots.len() {
                report(GenerationEvent::CallEnd { slot: number(slot) });
            }
            let finish = match reason {
                _ if self.refused => Some(FinishReason::Refused),
                "stop" => Some(FinishReason::Stop),
                "tool_calls" => Some(FinishReason::ToolCalls),
                "length" => Some(FinishReason::Length),
                "content_filter" => Some(FinishReason::Filtered),
                _ => None,
            };
            report(GenerationEvent::Finish { finish, reason });
        }
        Ok(())
    }

    fn decode_delta(&mut self, delta: &Delta<'_>, report: Report<'_>) -> Result<(), DecodeError> {
        for field in self.fields.iter() {
            let text = match field {
                ReasoningField::Reasoning => delta.reasoning.get(),
                ReasoningField::ReasoningContent => delta.reasoning_content.get(),
            };
            if let Some(text) = text {
                report(GenerationEvent::ReasoningDelta { channel: field.as_str(), text });
            }
        }
        if let Some(text) = delta.content.get() {
            report(GenerationEvent::TextDelta(text));
        }
        if let Some(text) = delta.refusal.get() {
            self.refused = true;
            report(GenerationEvent::TextDelta(text));
        }
        delta.tool_calls.iter().flatten().try_for_each(|call| self.decode_call(call, report))
    }

    fn decode_call(&mut self, call: &CallDelta<'_>, report: Report<'_>) -> Result<(), DecodeError> {
        let id = call.id.get();
        let at = self.slot_of(call.index, id);
        let Some(slot) = self.slots.get_mut(at) else { return Ok(()) };
        let new_id = id.filter(|_| slot.id.is_empty());
        if let Some(id) = new_id {
            id.clone_into(&mut slot.id);
        }
        let (name, arguments) = match call.function() {
            Some(function) => (function.name.get(), function.arguments()?),
            None => (None, None),
        };
        let arguments = arguments.as_deref().unwrap_or_default();
        // A name comes once, in some streams in every piece, in others in pieces of its own.
        let new_name = name.filter(|name| *name != slot.name && !slot.has_arguments);
        if let Some(name) = new_name {
            if slot.name.len().saturating_add(name.len()) > MAX_NAME {
                let reason = format!("the name of a call has more than {MAX_NAME} bytes");
                return Err(DecodeError::Malformed(reason));
            }
            slot.name.push_str(name);
        }
        slot.has_arguments |= !arguments.is_empty();
        let name = new_name.is_some().then_some(slot.name.as_str());
        if new_id.is_some() || name.is_some() || !arguments.is_empty() {
            report(GenerationEvent::CallDelta { slot: number(at), id: new_id, name, arguments });
        }
        if let Some(extra) = &call.extra_content {
            let (slot, payload) = (number(at), extra.clone());
            report(GenerationEvent::CallPayload { slot, payload, tag: EXTRA_CONTENT_TAG });
        }
        Ok(())
    }

    /// The call that a piece belongs to. Some servers give all calls the same number and distinguish them by id; others
    /// do not number them at all.
    fn slot_of(&mut self, index: Option<u64>, id: Option<&str>) -> usize {
        // The response is refused for its last slot, and which calls the rest of it has does not matter.
        if self.slots.len() > MAX_GENERATED_CALLS {
            return MAX_GENERATED_CALLS;
        }
        let is_same = |slot: &CallSlot| {
            let same_id = id.is_none_or(|id| slot.id.is_empty() || slot.id == id);
            let same_index = index.is_none() || slot.index.is_none() || slot.index == index;
            same_id && same_index
        };
        // The newest one first: pieces without an id belong to the call that began last.
        let known = match (index, id) {
            (None, None) => self.slots.len().checked_sub(1),
            _ => self.slots.iter().rposition(is_same),
        };
        known.unwrap_or_else(|| {
            let (id, name) = (String::new(), String::new());
            self.slots.push(CallSlot { index, id, name, has_arguments: false });
            self.slots.len() - 1
        })
    }
}

impl ResponseDecoder for ChatDecoder {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: Report<'_>,
    ) -> Result<(), DecodeError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            // Not a model that says nothing, but a gateway that has lost its response.
            if !self.has_parts {
                return Err(DecodeError::Malformed("it ends before it begins".to_owned()));
            }
            report(GenerationEvent::End);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let mut chunk = Chunk::default();
        let read = chunk.read_json(StrRead::new(data));
        read.map_err(|error| malformed_response(&error.to_string()))?;
        if event.name == Some("error") && chunk.error.is_none() {
            let error = serde_json::from_str(data).unwrap_or_default();
            return Err(provider_error(&error));
        }
        self.decode_chunk(&chunk, report)
    }

    fn decode_whole(&mut self, body: &[u8], report: Report<'_>) -> Result<(), DecodeError> {
        let mut chunk = Chunk::default();
        let read = chunk.read_json(SliceRead::new(body));
        read.map_err(|error| malformed_response(&error.to_string()))?;
        if chunk.choice.is_none() && chunk.error.is_none() && chunk.usage.is_none() {
            return Err(DecodeError::Malformed("`choices` is missing or empty".to_owned()));
        }
        self.decode_chunk(&chunk, report)?;
        report(GenerationEvent::End);
        Ok(())
    }
}

fn number(slot: usize) -> u32 {
    u32::try_from(slot).or_report("a response has fewer than 2^32 calls", u32::MAX)
}

/// What the provider says about its failure; a string or an object.
fn provider_error(error: &Value) -> DecodeError {
    let fault: ProviderFault = serde_json::from_value(error.clone()).unwrap_or_default();
    let kind = fault.code.or(fault.kind);
    let message = match error.as_str() {
        Some(text) => text.to_owned(),
        None => fault.message.unwrap_or_else(|| error.to_string()),
    };
    let retryable = match kind.as_deref() {
        Some(kind) => {
            RETRYABLE.iter().any(|word| kind.contains(word))
                || kind.starts_with('5')
                || kind == "429"
        }
        None => false,
    };
    reported_error(kind.as_deref(), &message, retryable)
}

/// The maximum number of bytes of the name of a call.
const MAX_NAME: usize = 4 * 1024;

/// Kinds of failures that pass.
const RETRYABLE: [&str; 5] = ["server_error", "overloaded", "rate_limit", "timeout", "unavailable"];

/// The usage that a response reports.
fn usage(value: &Value) -> Option<Usage> {
    let tokens = |path: &str| value.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let known = value.is_object().then(|| {
        let usage = Usage::new(tokens("/prompt_tokens"), tokens("/completion_tokens"));
        let total = tokens("/total_tokens");
        let usage = if total == 0 { usage } else { usage.with_total(total) };
        let cached = tokens("/prompt_tokens_details/cached_tokens");
        let cached = if cached == 0 { tokens("/prompt_cache_hit_tokens") } else { cached };
        let reasoning = tokens("/completion_tokens_details/reasoning_tokens");
        usage.with_cached(cached).with_reasoning(reasoning)
    });
    known.filter(|usage| !usage.is_empty())
}
