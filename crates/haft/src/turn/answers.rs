//! Checks the answers of turns that must end with JSON in a given format.

use haft_core::answer::AnswerFormat;
use haft_core::context::DispatchContext;
use haft_core::error::codes;
use haft_core::event::{ErrorReport, LogLevel};
use haft_core::record::{Identity, InvalidRecord, Message, MessageRole, Record as _};
use haft_core::schema::{Problem, Problems};
use haft_core::step::{NextAction, Step};

/// The end of the ids of messages that tell the model what is wrong with its answer.
const CORRECTION: &str = "/correction";

/// Checks the last message of a step that would end a turn with a format for its answer. If the message does not fit,
/// the model is told what is wrong and asked again, until it has no attempts left.
///
/// Corrections are messages of the step, so that a resumed turn counts the same attempts.
pub(super) fn check_answer(ctx: &DispatchContext, step: Step) -> Step {
    if step.then != NextAction::Done || !step.calls.is_empty() || ctx.signal().is_some() {
        return step;
    }
    // Most turns have no stash, and need no path into it.
    if ctx.stash().is_empty() {
        return step;
    }
    let Some(stored) = ctx.stash().get(AnswerFormat::STASH_KEY) else { return step };
    let checked = match AnswerFormat::from_stored(stored) {
        Ok(format) => correct_answer(ctx, step, &format),
        Err(error) => Ok(fail(step, error.to_string())),
    };
    checked.unwrap_or_else(|error| Step::failed(ErrorReport::of(&error)))
}

fn correct_answer(
    ctx: &DispatchContext,
    step: Step,
    format: &AnswerFormat,
) -> Result<Step, InvalidRecord> {
    let text = step.messages.last().and_then(Message::content);
    let problems = match text.map(|text| format.check(text.as_str())) {
        Some(Ok(_)) => return Ok(step),
        Some(Err(problems)) => problems,
        None => Problems::from(Problem::new("", "one JSON object").found("no message")),
    };
    let is_correction = |id: &str| id.starts_with(ctx.turn_id()) && id.ends_with(CORRECTION);
    let earlier = ctx.turn().messages().all();
    let attempts = 1 + earlier.iter().filter(|it| is_correction(it.id().as_str())).count();
    if attempts as u64 >= u64::from(format.attempts().get()) {
        let problems = problems.to_text("the answer");
        return Ok(fail(step, format!("no valid answer in {attempts} attempts:\n{problems}")));
    }
    let notice = format!(
        "the answer does not fit its schema (attempt {attempts} of {}); the model is asked again",
        format.attempts()
    );
    ctx.log(LogLevel::Warn, "answer-check", &notice, None);
    let id = format!("{}/{}{CORRECTION}", ctx.turn_id(), ctx.iteration());
    let correction = Message::new(id, MessageRole::User, ctx.clock().now())
        .with_content(AnswerFormat::correction(&problems))
        .with_identity(Identity::named("haft")?)
        .checked()?;
    let mut step = step.say(correction);
    step.then = NextAction::Continue;
    Ok(step)
}

/// Fails the dispatch because the model gave no valid answer. Its messages are stored.
fn fail(mut step: Step, reason: String) -> Step {
    step.then = NextAction::failed(ErrorReport::coded(codes::LLM_RESPONSE_INVALID, reason));
    step
}
