//! How turns end, and how that is reported.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::answer::{AnswerError, decode_answer};
use haft_core::args::FromArgs;
use haft_core::call::{CallState, RecordId, ToolCall};
use haft_core::context::{HistoryError, RecordError, Signal};
use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::event::{DispatchStatus, ErrorReport};
use haft_core::pipeline::Stage;
use haft_core::record::{LoadError, Message};
use haft_core::step::ExecutorDescription;
use haft_core::store::{
    GateId, StopReason, StoreError, StoreWrite, SummaryUpdate, TurnId, TurnStatus,
};
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};

use super::limits::Limit;
use super::recorder::is_store_failure;
use super::stopped::{TurnStopped, write_stop};

/// How a turn ended, and its results.
///
/// A turn that fails is a report, too. [`into_result`](Self::into_result) makes it an error, so that `?` ends the program
/// with the reason. Printing a report prints the reply of the assistant, or why there is none.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::TurnOutcome;
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
/// let script = ScriptExecutor::parse(r#"{"steps": [{"call": {"roll": {}}}, {"say": "4!"}]}"#)?;
/// let agent = Agent::builder(script).tool(roll).build()?;
/// let report = agent.turn([]).system("Play.").report().await?.into_result()?;
/// assert_eq!((report.outcome.clone(), report.to_string().as_str()), (TurnOutcome::Completed, "4!"));
/// assert_eq!((report.iterations, report.calls.len()), (2, 1));
/// assert_eq!(report.unknown_calls().count(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnReport {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// The messages of the assistant, in order.
    pub messages: Vec<Arc<Message>>,
    /// What it cost.
    pub usage: Usage,
    /// How many iterations it had.
    pub iterations: u32,
    /// The calls it made, in order.
    pub calls: Vec<Arc<ToolCall>>,
    /// What went wrong, if something did.
    pub error: Option<ErrorReport>,
    /// Whether only this attempt to run the turn ended, and the turn can be resumed: the executor or the store failed
    /// temporarily.
    pub is_resumable: bool,
    /// How long it took, waits at gates included. For a resumed turn: since it was resumed.
    pub duration: Duration,
}

/// The reply of the assistant, if the turn completed; otherwise how and why the turn stopped.
impl fmt::Display for TurnReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.outcome == TurnOutcome::Completed {
            return f.write_str(self.text());
        }
        write_stop(self, f)?;
        match self.error.as_ref().and_then(|error| error.cause.as_ref()) {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl TurnReport {
    /// The report of a turn that completed. Every other turn is an error: `turn.report().await?.into_result()?` ends
    /// the program with the reason.
    ///
    /// # Errors
    ///
    /// The turn failed, was cancelled, reached a limit, or waits. The error has the report.
    pub fn into_result(self) -> Result<Self, TurnStopped> {
        match self.outcome {
            TurnOutcome::Completed => Ok(self),
            _ => Err(TurnStopped::new(self)),
        }
    }

    /// The text of the last message of the assistant.
    #[must_use]
    pub fn text(&self) -> &str {
        let last = self.messages.last().and_then(|message| message.content());
        last.map_or("", |text| text.as_str())
    }

    /// Decodes the last message of a completed turn as a type that derives `ToolArgs`, or as a
    /// [`serde_json::Value`].
    ///
    /// # Errors
    ///
    /// The turn has not completed, or the message does not fit the schema of the type.
    pub fn answer<T: FromArgs>(&self) -> Result<T, AnswerError> {
        match &self.outcome {
            TurnOutcome::Completed => decode_answer(self.text()),
            outcome => Err(AnswerError::NotCompleted { status: outcome.to_string() }),
        }
    }

    /// The status of the turn in its store, if it has ended.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        self.outcome.status()
    }

    /// Calls whose outcome is unknown: their handlers were running when a process died. They must not be repeated
    /// blindly.
    pub fn unknown_calls(&self) -> impl Iterator<Item = RecordId> {
        let unknown = self.calls.iter().filter(|call| call.state() == CallState::Unknown);
        unknown.map(|call| call.id())
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TurnOutcome {
    /// The dispatch was acknowledged.
    Completed,
    /// Something failed. The report has the error, with its code and its causes.
    Failed {
        /// The message of the error.
        reason: String,
    },
    /// It was cancelled.
    Cancelled {
        /// The reason.
        reason: String,
    },
    /// It reached a limit.
    LimitReached {
        /// The limit.
        limit: Limit,
    },
    /// It has not ended: it waits at gates that nothing in this process settles, and the agent does not wait for them
    /// ([`GatePolicy::Suspend`](super::GatePolicy::Suspend)). Settle them and resume the turn.
    Waiting {
        /// The gates.
        gates: Vec<GateId>,
    },
}

/// The outcome in words, with the reason: `completed`, or `cancelled: the user left`.
impl fmt::Display for TurnOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
            Self::Cancelled { reason } => write!(f, "cancelled: {reason}"),
            Self::LimitReached { limit } => write!(f, "reached its limit of {limit}"),
            Self::Waiting { gates } => {
                let gates: Vec<&str> = gates.iter().map(GateId::as_str).collect();
                write!(f, "waiting at {}", gates.join(", "))
            }
        }
    }
}

impl TurnOutcome {
    fn failed(error: &ErrorReport) -> Self {
        Self::Failed { reason: error.message.to_string() }
    }

    pub(super) fn status(&self) -> TurnStatus {
        match self {
            Self::Completed => TurnStatus::Completed,
            Self::Failed { .. } => TurnStatus::Failed,
            Self::Cancelled { .. } => TurnStatus::Cancelled,
            Self::LimitReached { .. } => TurnStatus::LimitReached,
            Self::Waiting { .. } => TurnStatus::Waiting,
        }
    }
}

/// How a turn, or an attempt to run it, ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conclusion {
    pub(super) outcome: TurnOutcome,
    /// Boxed, because a conclusion is moved often and rarely has one.
    pub(super) error: Option<Box<ErrorReport>>,
    /// Whether the turn ended. If not, only this attempt to run it did, and the turn can be resumed.
    pub(super) is_final: bool,
}

impl Conclusion {
    pub(super) fn completed() -> Self {
        Self::stored(TurnOutcome::Completed, None)
    }

    pub(super) fn failed(error: impl Into<Box<ErrorReport>>) -> Self {
        let error = error.into();
        Self { outcome: TurnOutcome::failed(&error), error: Some(error), is_final: true }
    }

    pub(super) fn cancelled(reason: String) -> Self {
        Self::stored(TurnOutcome::Cancelled { reason }, None)
    }

    /// The attempt to run a turn that waits at gates.
    pub(super) fn waiting(gates: Vec<GateId>) -> Self {
        Self::stored(TurnOutcome::Waiting { gates }, None).resumable()
    }

    /// The end of a turn as it is journaled.
    pub(super) fn stored(outcome: TurnOutcome, error: Option<ErrorReport>) -> Self {
        Self { outcome, error: error.map(Box::new), is_final: true }
    }

    /// Marks this as the end of an attempt only: the turn itself has not ended.
    pub(super) fn resumable(self) -> Self {
        Self { is_final: false, ..self }
    }

    /// The attempt to run a turn for which something could not be stored. A backend that fails ends the attempt and not
    /// the turn.
    pub(super) fn not_stored(error: &RecordError) -> Self {
        let is_final = !is_store_failure(error);
        let error = ErrorReport::of(error).at(FailurePoint::Store.as_str());
        Self { is_final, ..Self::failed(error) }
    }

    /// The conclusion of a turn whose end could not be stored: it did not happen.
    pub(super) fn not_ended(self, error: ErrorReport) -> Self {
        let outcome = match self.outcome {
            TurnOutcome::Completed => TurnOutcome::failed(&error),
            other => other,
        };
        let error = self.error.or_else(|| Some(Box::new(error)));
        Self { outcome, error, is_final: false }
    }

    pub(super) fn is_completed(&self) -> bool {
        self.outcome == TurnOutcome::Completed
    }

    pub(super) fn dispatch_status(&self) -> DispatchStatus {
        match self.outcome {
            TurnOutcome::Completed => DispatchStatus::Ack,
            TurnOutcome::Failed { .. } => DispatchStatus::Nack,
            TurnOutcome::Cancelled { .. } | TurnOutcome::Waiting { .. } => DispatchStatus::Aborted,
            TurnOutcome::LimitReached { .. } => DispatchStatus::LimitReached,
        }
    }
}

/// How a dispatch ends that was signalled.
impl From<Signal> for Conclusion {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Nack { error } => Self::failed(error),
            _ => Self::completed(),
        }
    }
}

impl From<Limit> for Conclusion {
    fn from(limit: Limit) -> Self {
        let message = format!("the turn came to its limit of {limit}");
        let error = ErrorReport::coded(codes::LIMIT_REACHED, message);
        Self::stored(TurnOutcome::LimitReached { limit }, Some(error))
    }
}

/// Where in a turn something failed, as error reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailurePoint {
    Stage(Stage),
    Executor,
    Store,
    /// The tools that query artifacts could not be made.
    Forge,
    /// The turn itself: a broken invariant.
    Turn,
}

impl FailurePoint {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Stage(stage) => stage.as_str(),
            Self::Executor => "executor",
            Self::Store => "store",
            Self::Forge => "forge",
            Self::Turn => "turn",
        }
    }
}

/// The topics of log events that a turn emits by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogTopic {
    TurnEnd,
    ApprovalOutdated,
    StandingApproval,
    BrokenInvariant,
    History,
}

impl LogTopic {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::TurnEnd => "turn-end",
            Self::ApprovalOutdated => "approval-outdated",
            Self::StandingApproval => "standing-approval",
            Self::BrokenInvariant => "broken-invariant",
            Self::History => "history",
        }
    }
}

/// A turn could not be created or resumed. Nothing was run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The input was refused.
    #[error("the turn was refused: `{field}`: {reason}")]
    Invalid {
        /// The part of the input.
        field: &'static str,
        /// Why it was refused.
        reason: String,
    },
    /// The store failed, or another process runs the turn.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored record cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The input cannot be stored.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The request of a step cannot be rendered.
    #[error("the request cannot be rendered: {}", .error.message)]
    NotRendered {
        /// Why.
        error: ErrorReport,
    },
    /// No agent is known for the agent of the turn.
    #[error("turn `{turn}` cannot be run: {reason}")]
    NoAgent {
        /// The turn.
        turn: TurnId,
        /// Why there is no agent.
        reason: String,
    },
    /// Another executor began the turn, and this agent may not change that.
    #[error("turn `{turn}` was begun by {stored}: {}", .differences.join("; "))]
    OtherExecutor {
        /// The turn.
        turn: TurnId,
        /// The executor that took its steps so far.
        stored: Box<ExecutorDescription>,
        /// The executor of this agent.
        given: Box<ExecutorDescription>,
        /// Everything in which the two differ.
        differences: Vec<String>,
    },
}

haft_core::debug_as_message!(TurnError);

impl From<HistoryError> for TurnError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Load(error) => Self::Load(error),
            HistoryError::Store(error) => Self::Store(error),
            other => Self::invalid("history", other),
        }
    }
}

impl TurnError {
    /// The error of a [`AgentSource`](crate::worker::AgentSource) that has no agent for a turn.
    pub fn no_agent(turn: &TurnId, reason: impl fmt::Display) -> Self {
        Self::NoAgent { turn: turn.clone(), reason: reason.to_string() }
    }

    /// The writes that leave a turn alone for a while that could not be run, and say why.
    pub(crate) fn interrupt_writes(&self, delay: Duration) -> Vec<StoreWrite> {
        let stop = StopReason::from(&ErrorReport::of(self));
        let update = SummaryUpdate::default().stop(stop);
        vec![StoreWrite::Summary(update), StoreWrite::Interrupt { delay }]
    }

    pub(super) fn invalid(field: &'static str, reason: impl fmt::Display) -> Self {
        Self::Invalid { field, reason: reason.to_string() }
    }
}

impl Coded for TurnError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => codes::INVALID_TURN_CONTEXT,
            Self::Store(error) => error.code(),
            Self::Load(error) => error.code(),
            Self::Record(error) => error.code(),
            Self::NotRendered { error } => {
                error.code.clone().unwrap_or(codes::LLM_EXECUTION_EXECUTOR_ERROR)
            }
            Self::NoAgent { .. } | Self::OtherExecutor { .. } => codes::INVALID_TURN_RUNNER_CONFIG,
        }
    }
}
