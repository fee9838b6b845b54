//! The executor that follows a script.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::cancel::Cancellation;
use haft_core::step::{
    DispatchExecutor, ExecutorDescription, NextAction, ProposedCall, Step, StepContext, StepError,
};
use haft_core::stream::{StreamError, StreamPart};

use super::template::{Placeholder, PlaceholderValues, Template};
use super::{InvalidScript, Script, ScriptStall, ScriptStep, StepEnd};

/// Takes the steps of a [`Script`], one in every iteration.
///
/// The number of the iteration selects the step, so that a resumed turn continues with the right one, and one script
/// can drive any number of turns.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::Agent;
/// use haft::Tool;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = ScriptExecutor::parse(r#"{"steps": [
///     {"call": {"roll_dice": {}}},
///     {"expect": {"roll_dice": {"matches": "^[1-6]$"}}, "say": "You rolled {{ last.roll_dice }}."}
/// ]}"#)?;
/// let dice = Tool::builder("roll_dice").description("Rolls.").handler(|| "4").build()?;
///
/// let agent = Agent::builder(script).tool(dice).build()?;
/// let report = agent.turn([]).system("You play.").report().await?;
/// assert_eq!(report.text(), "You rolled 4.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ScriptExecutor {
    script: Arc<Script>,
}

impl ScriptExecutor {
    /// Follows a script.
    ///
    /// ```
    /// use haft::executors::{Script, ScriptExecutor};
    ///
    /// let executor = ScriptExecutor::new(Script::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?);
    /// assert_eq!(executor.script().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script: Arc::new(script) }
    }

    /// Reads a script, as [`Script::parse`] does, and follows it.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn parse(text: &str) -> Result<Self, InvalidScript> {
        Script::parse(text).map(Self::new)
    }

    /// The script.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }
}

impl From<Script> for ScriptExecutor {
    fn from(script: Script) -> Self {
        Self::new(script)
    }
}

impl DispatchExecutor for ScriptExecutor {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let number = ctx.dispatch().iteration().saturating_add(1);
            let step = usize::try_from(ctx.dispatch().iteration())
                .ok()
                .and_then(|n| self.script.steps.get(n));
            let Some(step) = step else {
                let steps = self.script.len();
                return Err(StepError::new(format!(
                    "the script is over: it has {steps} steps, and a step {number} was asked for"
                )));
            };
            step.take(&ctx).await.map_err(|error| error.at(number))
        })
    }

    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::script(self.script.name(), self.script.hash())
    }
}

/// Why a step did not happen.
enum StepStop {
    /// The script says so.
    Failed { reason: String, retryable: bool },
    /// Something differs from what the script expects.
    Wrong(StepError),
}

impl StepStop {
    fn at(self, step: u32) -> StepError {
        match self {
            Self::Failed { reason, retryable: true } => StepError::new(reason).retryable(),
            Self::Failed { reason, .. } => StepError::new(reason),
            Self::Wrong(error) => {
                StepError::new(format!("step {step} of the script: {}", error.message()))
            }
        }
    }
}

impl From<StepError> for StepStop {
    fn from(error: StepError) -> Self {
        Self::Wrong(error)
    }
}

impl ScriptStep {
    async fn take(&self, ctx: &StepContext) -> Result<Step, StepStop> {
        for expectation in &self.expect {
            expectation.check_call(ctx).await?;
        }
        if let Some(stall) = self.stall {
            stall.wait(ctx.dispatch().cancellation()).await?;
        }
        let filling = self.placeholder_values(ctx).await?;
        let mut step = Step::new().usage(self.usage);
        let voice = ScriptStreams::new(ctx, self);
        for thought in &self.think {
            let thought = ctx.thought(thought.fill(&filling)).map_err(StepError::from)?;
            voice.stream_text(
                StepContext::report_thought,
                thought.id().as_str(),
                thought.content().as_str(),
            )?;
            step = step.think(thought);
        }
        for text in &self.say {
            let text = text.fill(&filling);
            let message = ctx.message(text.as_str()).map_err(StepError::from)?;
            voice.stream_text(StepContext::report_message, message.id().as_str(), &text)?;
            step = step.say(message);
        }
        for call in &self.call {
            step = step.call(ProposedCall::new(call.tool.clone(), call.args.fill(&filling)));
        }
        step.then = match &self.end {
            StepEnd::Continue => NextAction::Continue,
            StepEnd::Done => NextAction::Done,
            StepEnd::Nack(reason) => NextAction::failed(reason.fill(&filling)),
            StepEnd::Fail { reason, retryable } => {
                let reason = reason.fill(&filling);
                let retryable = *retryable;
                return Err(StepStop::Failed { reason, retryable });
            }
        };
        Ok(step)
    }

    /// The values of the placeholders of the step.
    async fn placeholder_values(&self, ctx: &StepContext) -> Result<PlaceholderValues, StepError> {
        let mut holes: BTreeSet<&Placeholder> = BTreeSet::new();
        let texts = self.think.iter().chain(&self.say);
        texts.for_each(|text: &Template| text.collect_placeholders(&mut holes));
        self.call.iter().for_each(|call| call.args.collect_placeholders(&mut holes));
        if let StepEnd::Nack(reason) | StepEnd::Fail { reason, .. } = &self.end {
            reason.collect_placeholders(&mut holes);
        }
        let mut filling = PlaceholderValues::new();
        for hole in holes {
            filling.insert(hole.clone(), hole.value(ctx).await?);
        }
        Ok(filling)
    }
}

/// Reports the text of a step to observers, piece by piece.
struct ScriptStreams<'s> {
    ctx: &'s StepContext,
    pieces: usize,
    /// Whether the step fails, so that its text is aborted.
    breaks: bool,
}

type StreamReporter = fn(&StepContext, &str, &str, StreamPart) -> Result<(), StreamError>;

impl<'s> ScriptStreams<'s> {
    fn new(ctx: &'s StepContext, step: &ScriptStep) -> Self {
        let breaks = matches!(step.end, StepEnd::Fail { .. });
        Self { ctx, pieces: step.pieces, breaks }
    }

    fn stream_text(&self, report: StreamReporter, id: &str, text: &str) -> Result<(), StepError> {
        let mut pieces = split_into_pieces(text, self.pieces).into_iter().peekable();
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none() && !self.breaks;
            report(self.ctx, id, piece, if last { StreamPart::Last } else { StreamPart::More })?;
        }
        Ok(())
    }
}

/// Splits a text into `count` pieces of about the same length, or into its characters if it has fewer.
fn split_into_pieces(text: &str, count: usize) -> Vec<&str> {
    let characters = text.chars().count();
    let count = count.clamp(1, characters.max(1));
    let mut rest = text;
    let mut left = characters;
    let mut all = Vec::with_capacity(count);
    for pieces in (1..=count).rev() {
        let length = left.div_ceil(pieces);
        let cut = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let Some((piece, after)) = rest.split_at_checked(cut) else { break };
        all.push(piece);
        (rest, left) = (after, left - length);
    }
    all
}

impl ScriptStall {
    #[expect(clippy::disallowed_methods, reason = "a script says how long to wait, not until when")]
    async fn wait(self, cancellation: &Cancellation) -> Result<(), StepError> {
        let over = async {
            match self {
                Self::For(time) => tokio::time::sleep(time).await,
                Self::Forever => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => Ok(()),
            _ = cancellation.cancelled() => Err(StepError::new("cancelled while it stalled")),
        }
    }
}
