//! Putting an answer together from its pieces.

use std::sync::Arc;

use haft_core::usage::Usage;

use super::{Event, Finish, GeneratedCall, Generation, Outcome, Reasoning};

/// Most bytes of text, of reasoning, and of the arguments of all calls, each.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Most calls of one answer.
pub const MAX_CALLS: usize = 1024;

/// Puts an answer together. Pieces can come in any order; what is missing is missing, and what is too much is an error.
#[derive(Debug, Default)]
pub struct Assembler {
    generation: Generation,
    /// The slot of each call.
    slots: Vec<u32>,
    reasoning_bytes: usize,
    argument_bytes: usize,
    finished: bool,
    ended: bool,
}

/// An answer that is longer than may be held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer has more than {MAX_BYTES} bytes of {what} or more than {MAX_CALLS} calls")]
#[non_exhaustive]
pub struct AnswerTooLarge {
    /// What there is too much of.
    pub what: &'static str,
}

impl Assembler {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a piece.
    ///
    /// # Errors
    ///
    /// The answer is too long. Nothing more should be taken.
    pub fn push(&mut self, event: Event<'_>) -> Result<(), AnswerTooLarge> {
        match event {
            Event::Begin { id, model } => {
                let known = |text: Option<&str>| text.map(str::to_owned);
                self.generation.id = known(id).or_else(|| self.generation.id.take());
                self.generation.model = known(model).or_else(|| self.generation.model.take());
            }
            Event::Text(text) => {
                fits(self.generation.text.len() + text.len(), "text")?;
                self.generation.text.push_str(text);
            }
            Event::Reasoning { channel, text } => {
                self.reasoning_bytes += text.len();
                fits(self.reasoning_bytes, "reasoning")?;
                self.channel(channel).text.push_str(text);
            }
            Event::ReasoningOpaque { channel, payload, tag } => {
                self.channel(channel).opaque = Some((payload, Arc::from(tag)));
            }
            Event::Call { slot, id, name, arguments } => {
                self.argument_bytes += arguments.len();
                fits(self.argument_bytes, "arguments")?;
                let call = self.call(slot)?;
                if let Some(id) = id.filter(|id| !id.is_empty()) {
                    call.id = Some(id.to_owned());
                }
                if let Some(name) = name {
                    name.clone_into(&mut call.name);
                }
                call.arguments.push_str(arguments);
            }
            Event::CallOpaque { slot, payload, tag } => {
                self.call(slot)?.opaque = Some((payload, Arc::from(tag)));
            }
            Event::CallEnd { slot } => self.call(slot)?.complete = true,
            Event::Usage(usage) => self.generation.usage = merged(self.generation.usage, usage),
            Event::Finish { finish, reason } => {
                self.finished = true;
                self.generation.finish = finish;
                self.generation.finish_reason = Some(reason.to_owned());
            }
            Event::End => self.ended = true,
        }
        Ok(())
    }

    /// Whether the provider has said that the answer is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether the model has said why it ended, or the provider that the answer is over. Nothing is missing then.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.finished || self.ended
    }

    /// What has come so far.
    #[must_use]
    pub const fn so_far(&self) -> &Generation {
        &self.generation
    }

    /// The answer, and what came of it. One that has neither a reason to end nor an end broke off.
    #[must_use]
    pub fn finish(mut self) -> (Generation, Outcome) {
        self.generation.reasoning = distinct(std::mem::take(&mut self.generation.reasoning));
        let over = self.finished || self.ended;
        let outcome = outcome(&self.generation, over);
        (self.generation, outcome)
    }

    fn channel(&mut self, channel: &str) -> &mut Reasoning {
        let all = &mut self.generation.reasoning;
        let at = all.iter().position(|it| it.channel == channel).unwrap_or_else(|| {
            all.push(Reasoning { channel: channel.to_owned(), ..Reasoning::default() });
            all.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed a line above")]
        &mut all[at]
    }

    fn call(&mut self, slot: u32) -> Result<&mut GeneratedCall, AnswerTooLarge> {
        let known = self.slots.iter().position(|it| *it == slot);
        let at = match known {
            Some(at) => at,
            None if self.slots.len() >= MAX_CALLS => return Err(AnswerTooLarge { what: "calls" }),
            None => {
                // In the order of their slots, which is that of the model, whichever comes first.
                let at = self.slots.partition_point(|it| *it < slot);
                self.slots.insert(at, slot);
                self.generation.calls.insert(at, GeneratedCall::default());
                at
            }
        };
        self.generation.calls.get_mut(at).ok_or(AnswerTooLarge { what: "calls" })
    }
}

const fn fits(bytes: usize, what: &'static str) -> Result<(), AnswerTooLarge> {
    if bytes > MAX_BYTES { Err(AnswerTooLarge { what }) } else { Ok(()) }
}

/// What is known of the cost: each field as it was said last.
fn merged(known: Usage, said: Usage) -> Usage {
    let later = |known: u64, said: u64| if said == 0 { known } else { said };
    let (prompt, completion) =
        (later(known.prompt, said.prompt), later(known.completion, said.completion));
    let sum = prompt.saturating_add(completion);
    let total = later(known.total, said.total).max(sum);
    Usage::new(prompt, completion)
        .with_total(total)
        .with_cached(later(known.cached, said.cached))
        .with_reasoning(later(known.reasoning, said.reasoning))
}

/// The thoughts without blank ones, and each text once: gateways say the same in several fields.
fn distinct(all: Vec<Reasoning>) -> Vec<Reasoning> {
    let mut kept: Vec<Reasoning> = Vec::new();
    for one in all {
        let is_blank = one.text.trim().is_empty() && one.opaque.is_none();
        let is_known = one.opaque.is_none() && kept.iter().any(|it| it.text == one.text);
        if !is_blank && !is_known {
            kept.push(one);
        }
    }
    kept
}

fn outcome(generation: &Generation, over: bool) -> Outcome {
    if !over {
        return Outcome::Truncated;
    }
    match generation.finish {
        Some(Finish::Length) => Outcome::Truncated,
        Some(Finish::Refused) => Outcome::Refused,
        Some(Finish::Filtered) => Outcome::Filtered,
        Some(Finish::ContextOverflow) => Outcome::ContextOverflow,
        _ if !generation.calls.is_empty() => Outcome::ToolCalls,
        Some(Finish::Paused) => Outcome::Answer,
        _ if generation.text.trim().is_empty() => Outcome::Empty,
        _ => Outcome::Answer,
    }
}
