//! Detects calls that are repeated too often.

use std::num::NonZeroUsize;

use haft_core::BoxFuture;
use haft_core::call::ToolCall;
use haft_core::context::DispatchContext;
use haft_core::event::LogLevel;
use haft_core::pipeline::{BoxError, Middleware, Next};

use super::{completed_calls, with_notice};

/// See [`repetition_guard`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RepetitionGuard {
    max: NonZeroUsize,
    then: OnRepetition,
}

/// What happens when a call was made too often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnRepetition {
    /// The dispatch fails, with the call and how often it was made.
    #[default]
    Nack,
    /// The model gets a notice instead of the result, and continues.
    Explain,
}

/// For the output of a dispatch: notices when the same call, arguments included, is made more than `max` times in a
/// turn (at least once). The dispatch then fails; [`RepetitionGuard::then`] selects a milder reaction.
///
/// Calls are the same if their call ids are, so that neither the order of keys nor the spelling of numbers hides a
/// repetition. The agent's own [`identical_calls`](crate::turn::Limits::identical_calls) is the last resort.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::middleware::repetition_guard;
/// use haft::turn::TurnOutcome;
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
/// let script = r#"{"steps": [{"call": {"roll": {}}}, {"call": {"roll": {}}}, {"say": "4!"}]}"#;
/// let agent = Agent::builder(ScriptExecutor::parse(script)?)
///     .tool(roll)
///     .dispatch_output("repetition", repetition_guard(1))
///     .build()?;
/// let report = agent.turn([]).system("You play.").report().await?;
/// assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
/// # Ok(())
/// # }
/// ```
pub fn repetition_guard(max: usize) -> RepetitionGuard {
    let max = NonZeroUsize::new(max).unwrap_or(NonZeroUsize::MIN);
    RepetitionGuard { max, then: OnRepetition::default() }
}

impl RepetitionGuard {
    /// What happens when a call was made too often.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::middleware::{OnRepetition, repetition_guard};
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
    /// let script = r#"{"steps": [{"call": {"roll": {}}}, {"call": {"roll": {}}}, {"say": "4!"}]}"#;
    /// let agent = Agent::builder(ScriptExecutor::parse(script)?)
    ///     .tool(roll)
    ///     .dispatch_output("repetition", repetition_guard(1).then(OnRepetition::Explain))
    ///     .build()?;
    /// assert_eq!(agent.turn([]).system("You play.").report().await?.text(), "4!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(mut self, then: OnRepetition) -> Self {
        self.then = then;
        self
    }

    fn explanation(self, ctx: &DispatchContext, call: &ToolCall) -> String {
        let tool = call.tool();
        let times = ctx.turn().occurrence_in_turn(call.id());
        format!(
            "`{tool}` was called {times} times with the same arguments, at most {} are of use",
            self.max
        )
    }
}

impl Middleware<DispatchContext> for RepetitionGuard {
    fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        let guard = *self;
        Box::pin(async move {
            let too_often = |call: &&std::sync::Arc<ToolCall>| {
                u64::from(ctx.turn().occurrence_in_turn(call.id())) > guard.max.get() as u64
            };
            let calls: Vec<_> = completed_calls(&ctx).collect();
            for call in calls.iter().filter(too_often) {
                let explanation = guard.explanation(&ctx, call);
                ctx.log(LogLevel::Warn, "repetition-guard", &explanation, None);
                if guard.then == OnRepetition::Explain {
                    let notice = format!(
                        "{explanation}; the result is the one you have already, do something else"
                    );
                    ctx.turn()
                        .store_tool_call(with_notice(call, notice, ctx.clock().now()))
                        .await?;
                } else if ctx.signal().is_none() {
                    next.nack(explanation)?;
                }
            }
            next.run().await
        })
    }
}
