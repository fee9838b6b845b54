//! From an answer to a step.

use std::sync::Arc;

use haft_core::args::RawArgs;
use haft_core::event::{EventKind, GenerationStats};
use haft_core::record::{Identity, Message, MessageRole, Thought};
use haft_core::step::{NextAction, ProposedCall, Step, StepContext};

use super::ProviderError;
use super::hearing::Heard;
use crate::dialect::Dialect;
use crate::generation::{Finish, GeneratedCall, Generation, Outcome, Reasoning};
use crate::names::WireNames;
use crate::options::Control;

/// The step that an answer is: what was thought, then what was said, then the calls.
pub(super) fn step<D: Dialect>(
    cx: &StepContext,
    dialect: &D,
    control: &Control,
    names: &WireNames,
    heard: Heard,
) -> Result<Step, ProviderError> {
    let Heard { generation, outcome, message_id, thought: shown } = heard;
    tell(cx, dialect.name(), control, &generation, outcome);
    if outcome == Outcome::ContextOverflow {
        let what = "the provider stopped because the context window is full".to_owned();
        return Err(ProviderError::Overflow { code: dialect.codes().overflow, what });
    }
    let speaker = Speaker { cx, control };
    let mut step = Step::new().usage(generation.usage);
    for reasoning in generation.reasoning {
        let id = match &shown {
            Some((channel, id)) if *channel == reasoning.channel => id.clone(),
            _ => cx.next_id("thought"),
        };
        step = step.think(speaker.thought(id, reasoning)?);
    }
    if !generation.text.trim().is_empty() {
        step = step.say(speaker.message(message_id, &generation.text)?);
    }
    if outcome == Outcome::ToolCalls {
        for call in generation.calls {
            step = step.call(proposed(call, names));
        }
    }
    step.then = match outcome {
        Outcome::Answer if control.auto_ack && generation.finish != Some(Finish::Paused) => {
            NextAction::Done
        }
        Outcome::Answer | Outcome::ToolCalls => NextAction::Continue,
        Outcome::Truncated if generation.finish == Some(Finish::Length) => NextAction::Fail(
            "the answer is longer than allowed; it was cut off, and none of its calls was made"
                .into(),
        ),
        Outcome::Truncated => NextAction::Fail(
            "the answer broke off before its end; none of its calls was made".into(),
        ),
        Outcome::Refused => NextAction::Fail("the model refused to answer".into()),
        Outcome::Filtered => NextAction::Fail("the provider filtered the answer".into()),
        Outcome::Empty => NextAction::Fail("the model answered with nothing".into()),
        Outcome::ContextOverflow => NextAction::Fail("the context window is full".into()),
    };
    Ok(step)
}

/// Tells observers what the answer cost and whether something is wrong with it.
fn tell(
    cx: &StepContext,
    dialect: &'static str,
    control: &Control,
    generation: &Generation,
    outcome: Outcome,
) {
    cx.dispatch().emit_with(|| {
        let model = generation.model.as_deref().unwrap_or(&control.model);
        let stats = GenerationStats::new(generation.usage).provider(dialect).model(model);
        EventKind::GenerationStats(match generation.finish_reason.as_deref() {
            Some(reason) => stats.finish_reason(reason),
            None => stats,
        })
    });
    if !matches!(outcome, Outcome::Answer | Outcome::ToolCalls) {
        let calls = generation.calls.len();
        cx.dispatch().emit_with(|| EventKind::Warning {
            source: dialect.into(),
            topic: format!("generation-{}", outcome.as_str()).into(),
            message: format!("the generation is no answer; {calls} calls of it are not made")
                .into(),
            payload: None,
        });
    }
}

struct Speaker<'s> {
    cx: &'s StepContext,
    control: &'s Control,
}

impl Speaker<'_> {
    /// The agent, if it has another name than the one that records have by themselves.
    fn identity(&self) -> Result<Option<Identity>, ProviderError> {
        let name = &self.control.how.self_identity;
        let is_usual = **name == *MessageRole::Assistant.as_str();
        Ok(if is_usual { None } else { Some(Identity::named(Arc::clone(name))?) })
    }

    fn thought(&self, id: String, reasoning: Reasoning) -> Result<Thought, ProviderError> {
        let mut thought =
            Thought::builder(id, self.cx.dispatch().clock().now()).content(reasoning.text);
        if let Some((payload, tag)) = reasoning.opaque {
            thought = thought.payload(payload).replay_compatibility(tag);
        }
        if let Some(identity) = self.identity()? {
            thought = thought.identity(identity);
        }
        Ok(thought.build()?)
    }

    fn message(&self, id: String, text: &str) -> Result<Message, ProviderError> {
        let message =
            Message::builder(id, MessageRole::Assistant, self.cx.dispatch().clock().now())
                .content(text);
        Ok(match self.identity()? {
            Some(identity) => message.identity(identity).build()?,
            None => message.build()?,
        })
    }
}

/// A call as the loop takes it: by the name that the registry knows.
fn proposed(call: GeneratedCall, names: &WireNames) -> ProposedCall {
    let name = if call.name.is_empty() { "(unnamed)" } else { names.tool(&call.name) };
    let mut proposed = ProposedCall::new(name, RawArgs::text(&call.arguments));
    proposed.provider_id = call.id;
    proposed.payload = call.opaque;
    proposed
}
