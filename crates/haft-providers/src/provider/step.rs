//! Builds the step of a generation.

use haft_core::args::RawArgs;
use haft_core::error::codes as core_codes;
use haft_core::event::{ErrorReport, EventKind, GenerationStats};
use haft_core::record::{Message, MessageRole, Record as _, Thought};
use haft_core::step::{NextAction, ProposedCall, Step, StepContext};

use super::ProviderError;
use super::response::FinishedResponse;
use crate::codes;
use crate::generation::{
    FinishReason, GeneratedCall, GeneratedReasoning, Generation, GenerationOutcome,
};
use crate::options::ControlOptions;
use crate::wire_names::WireNames;

/// Builds the step of a response: thoughts, then the message, then the calls.
pub(super) fn build_step(
    ctx: &StepContext,
    dialect: &'static str,
    control: &ControlOptions,
    names: &WireNames,
    response: FinishedResponse,
) -> Result<Step, ProviderError> {
    let FinishedResponse { generation, outcome, message_id, thought: shown } = response;
    emit_generation_events(ctx, dialect, control, &generation, outcome);
    if outcome == GenerationOutcome::ContextOverflow {
        let what = "the provider stopped because the context window is full".to_owned();
        return Err(ProviderError::Overflow { what });
    }
    let mut step = Step::new().usage(generation.usage);
    for reasoning in generation.reasoning {
        let id = match &shown {
            Some((channel, id)) if *channel == reasoning.channel => id.clone(),
            _ => ctx.next_id("thought"),
        };
        step = step.think(thought(ctx, id, reasoning)?);
    }
    if !generation.text.trim().is_empty() {
        step = step.say(message(ctx, message_id, &generation.text)?);
    }
    if outcome == GenerationOutcome::ToolCalls {
        for call in generation.calls {
            step = step.call(proposed_call(call, names));
        }
    }
    step.then = match outcome {
        GenerationOutcome::Completed if generation.finish != Some(FinishReason::Paused) => {
            NextAction::Done
        }
        GenerationOutcome::Completed | GenerationOutcome::ToolCalls => NextAction::Continue,
        outcome => NextAction::failed(generation_error(outcome, generation.finish)),
    };
    Ok(step)
}

/// The error of a generation that is no response: a program can tell what would help by its code.
fn generation_error(outcome: GenerationOutcome, finish: Option<FinishReason>) -> ErrorReport {
    let (code, message) = match outcome {
        GenerationOutcome::Truncated if finish == Some(FinishReason::Length) => (
            core_codes::LLM_RESPONSE_TOO_LONG,
            "the answer is longer than allowed; it was cut off, and none of its calls was made",
        ),
        GenerationOutcome::Refused => {
            (core_codes::LLM_RESPONSE_REFUSED, "the model refused to answer")
        }
        GenerationOutcome::Filtered => {
            (core_codes::LLM_RESPONSE_FILTERED, "the provider filtered the answer")
        }
        GenerationOutcome::Empty => {
            (core_codes::LLM_RESPONSE_EMPTY, "the model answered with nothing")
        }
        GenerationOutcome::ContextOverflow => {
            (codes::PROVIDER_CONTEXT_OVERFLOW, "the context window is full")
        }
        _ => (
            core_codes::LLM_RESPONSE_TRUNCATED,
            "the answer broke off before its end; none of its calls was made",
        ),
    };
    ErrorReport::coded(code, message)
}

/// Emits the usage of a generation, and a warning if it is not a success.
fn emit_generation_events(
    ctx: &StepContext,
    dialect: &'static str,
    control: &ControlOptions,
    generation: &Generation,
    outcome: GenerationOutcome,
) {
    let model = generation.model.as_deref().unwrap_or(&control.model);
    let mut stats = GenerationStats::new(generation.usage).provider(dialect).model(model);
    stats.finish_reason = generation.finish_reason.as_deref().map(Into::into);
    stats.response_id = generation.id.as_deref().map(Into::into);
    ctx.report_generation(stats);
    if !matches!(outcome, GenerationOutcome::Completed | GenerationOutcome::ToolCalls) {
        let calls = generation.calls.len();
        ctx.dispatch().emit_with(|| EventKind::Warning {
            source: dialect.into(),
            topic: format!("generation-{}", outcome.as_str()).into(),
            message: format!("the generation is no answer; {calls} calls of it are not made")
                .into(),
            payload: None,
        });
    }
}

fn thought(
    ctx: &StepContext,
    id: String,
    reasoning: GeneratedReasoning,
) -> Result<Thought, ProviderError> {
    let thought = Thought::new(id, reasoning.text, ctx.dispatch().clock().now());
    let thought = match reasoning.opaque {
        Some((payload, tag)) => thought.with_payload(payload).with_replay_compatibility(tag),
        None => thought,
    };
    Ok(thought.checked()?)
}

fn message(ctx: &StepContext, id: String, text: &str) -> Result<Message, ProviderError> {
    let now = ctx.dispatch().clock().now();
    Ok(Message::new(id, MessageRole::Assistant, now).with_content(text).checked()?)
}

/// The proposal of a call, with the name of the tool in the registry.
fn proposed_call(call: GeneratedCall, names: &WireNames) -> ProposedCall {
    let name = if call.name.is_empty() { "(unnamed)" } else { names.tool_name(&call.name) };
    let mut proposed = ProposedCall::new(name, RawArgs::text(&call.arguments));
    proposed.provider_id = call.id;
    proposed.payload = call.opaque;
    proposed
}
