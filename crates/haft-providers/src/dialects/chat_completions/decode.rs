//! Answers, whole and in pieces.

mod wire;

use std::sync::Arc;

use haft_core::usage::Usage;
use serde_json::Value;

use self::wire::{CallDelta, Choice, Chunk, Delta, Fault};
use super::ReasoningField;
use crate::dialect::{AnswerError, Decoder};
use crate::generation::{Event, Finish};

/// Reads one answer. A piece that lies within one event costs no allocation unless it has escapes.
pub(super) struct ChatDecoder {
    fields: Arc<[ReasoningField]>,
    begun: bool,
    refused: bool,
    /// The calls so far.
    slots: Vec<Slot>,
}

/// What is known of a call.
struct Slot {
    /// The provider's number, which need not be unique.
    index: Option<u64>,
    id: String,
    name: String,
    has_arguments: bool,
}

type Tell<'t> = &'t mut dyn FnMut(Event<'_>);

impl ChatDecoder {
    pub(super) fn new(fields: Arc<[ReasoningField]>) -> Self {
        Self { fields, begun: false, refused: false, slots: Vec::new() }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, tell: Tell<'_>) -> Result<(), AnswerError> {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(provider_error(&error));
        }
        if !self.begun && chunk.id.get().or(chunk.model.get()).is_some() {
            self.begun = true;
            tell(Event::Begin { id: chunk.id.get(), model: chunk.model.get() });
        }
        if let Some(usage) = chunk.usage.as_ref().and_then(usage) {
            tell(Event::Usage(usage));
        }
        match chunk.choices {
            Some(choice) => self.choice(choice, tell),
            None => Ok(()),
        }
    }

    fn choice(&mut self, choice: Choice<'_>, tell: Tell<'_>) -> Result<(), AnswerError> {
        if let Some(delta) = choice.delta {
            self.delta(&delta, tell)?;
        }
        if let Some(reason) = choice.finish_reason.get() {
            for slot in 0..self.slots.len() {
                tell(Event::CallEnd { slot: number(slot) });
            }
            let finish = match reason {
                _ if self.refused => Some(Finish::Refused),
                "stop" => Some(Finish::Stop),
                "tool_calls" | "function_call" => Some(Finish::ToolCalls),
                "length" => Some(Finish::Length),
                "content_filter" => Some(Finish::Filtered),
                _ => None,
            };
            tell(Event::Finish { finish, reason });
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta<'_>, tell: Tell<'_>) -> Result<(), AnswerError> {
        for field in self.fields.iter() {
            let text = match field {
                ReasoningField::Reasoning => delta.reasoning.get(),
                ReasoningField::ReasoningContent => delta.reasoning_content.get(),
            };
            if let Some(text) = text {
                tell(Event::Reasoning { channel: field.as_str(), text });
            }
        }
        if let Some(text) = delta.content.get() {
            tell(Event::Text(text));
        }
        if let Some(text) = delta.refusal.get() {
            self.refused = true;
            tell(Event::Text(text));
        }
        for call in delta.tool_calls.iter().flatten() {
            self.call(call, tell)?;
        }
        match &delta.function_call {
            Some(function) => self.call(&CallDelta::legacy(function), tell),
            None => Ok(()),
        }
    }

    fn call(&mut self, call: &CallDelta<'_>, tell: Tell<'_>) -> Result<(), AnswerError> {
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
            slot.name.push_str(name);
        }
        slot.has_arguments |= !arguments.is_empty();
        let name = new_name.is_some().then_some(slot.name.as_str());
        if new_id.is_some() || name.is_some() || !arguments.is_empty() {
            tell(Event::Call { slot: number(at), id: new_id, name, arguments });
        }
        Ok(())
    }

    /// The call that a piece belongs to. Some number all their calls alike and tell them apart by id, some do not
    /// number them at all.
    fn slot_of(&mut self, index: Option<u64>, id: Option<&str>) -> usize {
        let is_same = |slot: &Slot| {
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
            self.slots.push(Slot { index, id, name, has_arguments: false });
            self.slots.len() - 1
        })
    }
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        event: Option<&str>,
        data: &str,
        tell: Tell<'_>,
    ) -> Result<(), AnswerError> {
        let data = data.trim();
        if data == "[DONE]" {
            tell(Event::End);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if event == Some("error") && chunk.error.is_none() {
            let error = serde_json::from_str(data).unwrap_or_default();
            return Err(provider_error(&error));
        }
        self.chunk(chunk, tell)
    }

    fn whole(&mut self, body: &[u8], tell: Tell<'_>) -> Result<(), AnswerError> {
        let chunk: Chunk<'_> = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
        self.chunk(chunk, tell)?;
        tell(Event::End);
        Ok(())
    }
}

fn number(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}

fn malformed(error: &serde_json::Error) -> AnswerError {
    AnswerError::Malformed(error.to_string())
}

/// What the provider says about its failure; a string or an object.
fn provider_error(error: &Value) -> AnswerError {
    let fault: Fault = serde_json::from_value(error.clone()).unwrap_or_default();
    let kind = fault.code.or(fault.kind);
    let message = match error.as_str() {
        Some(text) => text.to_owned(),
        None => fault.message.unwrap_or_else(|| error.to_string()),
    };
    let message = message.chars().take(MAX_MESSAGE).collect();
    let retryable = match kind.as_deref() {
        Some(kind) => {
            RETRYABLE.iter().any(|word| kind.contains(word))
                || kind.starts_with('5')
                || kind == "429"
        }
        None => false,
    };
    AnswerError::Provider { kind, message, retryable }
}

/// Most characters of a message.
const MAX_MESSAGE: usize = 1000;

/// Kinds of failures that pass.
const RETRYABLE: [&str; 5] = ["server_error", "overloaded", "rate_limit", "timeout", "unavailable"];

/// What an answer says it cost. Nothing if it says nothing.
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
