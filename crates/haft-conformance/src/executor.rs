//! The contract of executors.

use std::collections::BTreeSet;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::DispatchContext;
use haft_core::step::{DispatchExecutor, Step, StepContext, StepError};

use haft_core::contract::ContractViolation;

/// Checks executors. `make` builds an executor that can take the first step of a turn, each time the same one.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
///
/// async fn greet(ctx: StepContext) -> Result<Step, StepError> {
///     Ok(Step::done().say(ctx.message("Hello.")?))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft_conformance::ContractViolation> {
/// haft_conformance::executor(|| greet).await
/// # }
/// ```
///
/// # Errors
///
/// The first promise of [`DispatchExecutor`] that is not kept.
pub async fn executor<E: DispatchExecutor>(
    make: impl Fn() -> E + Send + Sync,
) -> Result<(), ContractViolation> {
    steps_repeat_their_ids(&make).await?;
    steps_of_two_turns_are_apart(&make).await?;
    a_dropped_step_leaves_nothing(&make).await?;
    a_cancelled_step_ends(&make).await
}

/// A process that dies before a step is stored takes it again, and its records must be the same records.
async fn steps_repeat_their_ids<E: DispatchExecutor>(
    make: &(impl Fn() -> E + Send + Sync),
) -> Result<(), ContractViolation> {
    let first = take_step(&make(), &context("turn-1")).await?;
    let second = take_step(&make(), &context("turn-1")).await?;
    let promise = "a step that is taken again has records of the same ids";
    ContractViolation::ensure_equal(promise, &record_ids(&second), &record_ids(&first))?;
    let distinct: BTreeSet<String> = record_ids(&first).into_iter().collect();
    let promise = "the records of a step have ids of their own";
    ContractViolation::ensure_equal(promise, &distinct.len(), &record_ids(&first).len())
}

async fn steps_of_two_turns_are_apart<E: DispatchExecutor>(
    make: &(impl Fn() -> E + Send + Sync),
) -> Result<(), ContractViolation> {
    let executor = make();
    let one = take_step(&executor, &context("turn-1")).await?;
    let other = take_step(&executor, &context("turn-2")).await?;
    let ids: BTreeSet<String> = record_ids(&one).into_iter().collect();
    let shared: Vec<String> =
        record_ids(&other).into_iter().filter(|id| ids.contains(id)).collect();
    ContractViolation::ensure_equal("records of two turns share no id", &shared, &Vec::new())
}

async fn a_dropped_step_leaves_nothing<E: DispatchExecutor>(
    make: &(impl Fn() -> E + Send + Sync),
) -> Result<(), ContractViolation> {
    let executor = make();
    let ctx = context("turn-1");
    {
        let mut dropped = executor.step(StepContext::new(ctx.clone()));
        let waker = std::task::Waker::noop();
        let _ = dropped.as_mut().poll(&mut std::task::Context::from_waker(waker));
    }
    let found = ctx.turn().messages().all().len() + ctx.turn().tool_calls().all().len();
    ContractViolation::ensure_equal("only the loop stores what a step says", &found, &0)
}

async fn a_cancelled_step_ends<E: DispatchExecutor>(
    make: &(impl Fn() -> E + Send + Sync),
) -> Result<(), ContractViolation> {
    let token = Cancellation::new();
    token.cancel(CancelReason::Deadline);
    let ctx = DispatchContext::builder("turn-1").cancellation(token).build();
    let executor = make();
    let step = executor.step(StepContext::new(ctx));
    let limit = std::time::Duration::from_secs(30);
    match tokio::time::timeout(limit, step).await {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(ContractViolation::new("a step of a cancelled turn ends", "it went on for 30 s"))
        }
    }
}

fn context(turn: &str) -> DispatchContext {
    DispatchContext::builder(turn).build()
}

async fn take_step(
    executor: &impl DispatchExecutor,
    ctx: &DispatchContext,
) -> Result<Step, ContractViolation> {
    let step = executor.step(StepContext::new(ctx.clone())).await;
    step.map_err(|error: StepError| {
        ContractViolation::new("an executor takes its first step", error.message())
    })
}

fn record_ids(step: &Step) -> Vec<String> {
    let messages = step.messages.iter().map(|message| message.id().to_string());
    messages.chain(step.thoughts.iter().map(|thought| thought.id().to_string())).collect()
}
