//! Builds a generation from its events.

use std::sync::Arc;

use haft_core::usage::Usage;
use serde_json::Value;

use super::{
    FinishReason, GeneratedCall, GeneratedReasoning, Generation, GenerationEvent, GenerationOutcome,
};

/// The maximum number of bytes of text, of reasoning, of the arguments of all calls, of their ids and names, and of opaque
/// payloads, each.
pub const MAX_GENERATED_BYTES: usize = 8 * 1024 * 1024;

/// The maximum number of calls of one response.
pub const MAX_GENERATED_CALLS: usize = 1024;

/// Builds a generation from its events. Events can arrive in any order; an event that exceeds a limit is an error.
///
/// ```
/// use haft_providers::generation::{GenerationAssembler, GenerationEvent};
///
/// let mut assembler = GenerationAssembler::new();
/// assembler.push(GenerationEvent::TextDelta("Hel"))?;
/// assembler.push(GenerationEvent::TextDelta("lo!"))?;
/// assert_eq!(assembler.generation().text, "Hello!");
/// assert!(!assembler.is_over(), "the response has no end yet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct GenerationAssembler {
    generation: Generation,
    /// The slot of each call.
    slots: Vec<u32>,
    reasoning_bytes: usize,
    argument_bytes: usize,
    /// Of the ids and names of calls.
    name_bytes: usize,
    /// Of opaque payloads, as JSON.
    payload_bytes: usize,
    finished: bool,
    ended: bool,
}

/// A response that exceeds the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the answer has more than {MAX_GENERATED_BYTES} bytes of {what} or more than {MAX_GENERATED_CALLS} calls"
)]
#[non_exhaustive]
pub struct ResponseTooLarge {
    /// What there is too much of: `text`, `reasoning`, `arguments`, `names`, `payloads` or `calls`.
    pub what: &'static str,
}

impl GenerationAssembler {
    /// An empty generation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// The response is too large. No further event should be added.
    pub fn push(&mut self, event: GenerationEvent<'_>) -> Result<(), ResponseTooLarge> {
        match event {
            GenerationEvent::Start { id, model } => {
                let known = |text: Option<&str>| text.map(str::to_owned);
                self.generation.id = known(id).or_else(|| self.generation.id.take());
                self.generation.model = known(model).or_else(|| self.generation.model.take());
            }
            GenerationEvent::TextDelta(text) => {
                check_size(self.generation.text.len() + text.len(), "text")?;
                self.generation.text.push_str(text);
            }
            GenerationEvent::ReasoningDelta { channel, text } => {
                self.reasoning_bytes += text.len();
                check_size(self.reasoning_bytes, "reasoning")?;
                self.channel(channel).text.push_str(text);
            }
            GenerationEvent::ReasoningPayload { channel, payload, tag } => {
                let replaced = payload_bytes(self.channel(channel).opaque.as_ref());
                let opaque = Some((payload, Arc::from(tag)));
                replace_bytes(&mut self.payload_bytes, replaced, payload_bytes(opaque.as_ref()));
                check_size(self.payload_bytes, "payloads")?;
                self.channel(channel).opaque = opaque;
            }
            GenerationEvent::CallDelta { slot, id, name, arguments } => {
                self.argument_bytes += arguments.len();
                check_size(self.argument_bytes, "arguments")?;
                let id = id.filter(|id| !id.is_empty());
                self.count_names(slot, id, name)?;
                let call = self.call(slot)?;
                if let Some(id) = id {
                    call.id = Some(id.to_owned());
                }
                if let Some(name) = name {
                    name.clone_into(&mut call.name);
                }
                call.arguments.push_str(arguments);
            }
            GenerationEvent::CallPayload { slot, payload, tag } => {
                let replaced = payload_bytes(self.call(slot)?.opaque.as_ref());
                let opaque = Some((payload, Arc::from(tag)));
                replace_bytes(&mut self.payload_bytes, replaced, payload_bytes(opaque.as_ref()));
                check_size(self.payload_bytes, "payloads")?;
                self.call(slot)?.opaque = opaque;
            }
            GenerationEvent::CallEnd { slot } => self.call(slot)?.complete = true,
            GenerationEvent::Usage(usage) => {
                self.generation.usage = merge_usage(self.generation.usage, usage)
            }
            GenerationEvent::Finish { finish, reason } => {
                self.finished = true;
                self.generation.finish = finish;
                self.generation.finish_reason = Some(reason.to_owned());
            }
            GenerationEvent::End => self.ended = true,
        }
        Ok(())
    }

    /// Whether the provider has ended the response.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether the generation has a reason to end, or the provider has ended the response. Nothing is missing then.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.finished || self.ended
    }

    /// The generation so far.
    #[must_use]
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Returns the generation and its outcome. One that has neither a reason to end nor an end was interrupted.
    #[must_use]
    pub fn finish(mut self) -> (Generation, GenerationOutcome) {
        self.generation.reasoning =
            without_repetitions(std::mem::take(&mut self.generation.reasoning));
        let over = self.finished || self.ended;
        let outcome = outcome_of(&self.generation, over);
        (self.generation, outcome)
    }

    fn channel(&mut self, channel: &str) -> &mut GeneratedReasoning {
        let all = &mut self.generation.reasoning;
        let at = all.iter().position(|it| it.channel == channel).unwrap_or_else(|| {
            all.push(GeneratedReasoning {
                channel: channel.to_owned(),
                ..GeneratedReasoning::default()
            });
            all.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed a line above")]
        &mut all[at]
    }

    /// Counts the id and the name of a call, which replace those that it had.
    fn count_names(
        &mut self,
        slot: u32,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), ResponseTooLarge> {
        let call = self.call(slot)?;
        let old_id = call.id.as_ref().filter(|_| id.is_some()).map_or(0, String::len);
        let old_name = name.map_or(0, |_| call.name.len());
        let added = id.map_or(0, str::len) + name.map_or(0, str::len);
        replace_bytes(&mut self.name_bytes, old_id + old_name, added);
        check_size(self.name_bytes, "names")
    }

    fn call(&mut self, slot: u32) -> Result<&mut GeneratedCall, ResponseTooLarge> {
        let known = self.slots.iter().position(|it| *it == slot);
        let at = match known {
            Some(at) => at,
            None if self.slots.len() >= MAX_GENERATED_CALLS => {
                return Err(ResponseTooLarge { what: "calls" });
            }
            None => {
                // In the order of their slots, which is that of the model, whichever comes first.
                let at = self.slots.partition_point(|it| *it < slot);
                self.slots.insert(at, slot);
                self.generation.calls.insert(at, GeneratedCall::default());
                at
            }
        };
        self.generation.calls.get_mut(at).ok_or(ResponseTooLarge { what: "calls" })
    }
}

const fn check_size(bytes: usize, what: &'static str) -> Result<(), ResponseTooLarge> {
    if bytes > MAX_GENERATED_BYTES { Err(ResponseTooLarge { what }) } else { Ok(()) }
}

/// The bytes of a payload as JSON.
fn payload_bytes(opaque: Option<&(Value, Arc<str>)>) -> usize {
    opaque.map_or(0, |(payload, _)| payload.to_string().len())
}

const fn replace_bytes(total: &mut usize, replaced: usize, added: usize) {
    *total = total.saturating_sub(replaced).saturating_add(added);
}

/// Merges two reports of usage: each field as it was reported last.
fn merge_usage(known: Usage, said: Usage) -> Usage {
    let later = |known: u64, said: u64| if said == 0 { known } else { said };
    let (prompt, completion) =
        (later(known.prompt, said.prompt), later(known.completion, said.completion));
    let sum = prompt.saturating_add(completion);
    let total = later(known.total, said.total).max(sum);
    Usage::new(prompt, completion)
        .with_total(total)
        .with_cached(later(known.cached, said.cached))
        .with_cache_creation(later(known.cache_creation, said.cache_creation))
        .with_reasoning(later(known.reasoning, said.reasoning))
}

/// Removes blank reasoning and repetitions: gateways send the same text in several fields.
fn without_repetitions(all: Vec<GeneratedReasoning>) -> Vec<GeneratedReasoning> {
    let mut kept: Vec<GeneratedReasoning> = Vec::new();
    for one in all {
        let is_blank = one.text.trim().is_empty() && one.opaque.is_none();
        let is_known = one.opaque.is_none() && kept.iter().any(|it| it.text == one.text);
        if !is_blank && !is_known {
            kept.push(one);
        }
    }
    kept
}

fn outcome_of(generation: &Generation, over: bool) -> GenerationOutcome {
    if !over {
        return GenerationOutcome::Truncated;
    }
    match generation.finish {
        Some(FinishReason::Length) => GenerationOutcome::Truncated,
        Some(FinishReason::Refused) => GenerationOutcome::Refused,
        Some(FinishReason::Filtered) => GenerationOutcome::Filtered,
        Some(FinishReason::ContextOverflow) => GenerationOutcome::ContextOverflow,
        _ if !generation.calls.is_empty() => GenerationOutcome::ToolCalls,
        Some(FinishReason::Paused) => GenerationOutcome::Completed,
        _ if generation.text.trim().is_empty() => GenerationOutcome::Empty,
        _ => GenerationOutcome::Completed,
    }
}
