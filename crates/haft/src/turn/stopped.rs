//! The error of a turn that did not complete.

use std::error::Error;
use std::fmt;

use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::store::GateId;

use super::report::{TurnOutcome, TurnReport};

/// A turn did not complete. This is the error of [`TurnReport::into_result`], and it has the report.
///
/// The message names the turn, says how and why it stopped, and whether it can be resumed. `Debug`, which a program
/// prints whose `main` returns an error, adds the causes.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let executor = async |_: StepContext| Err::<Step, _>(StepError::new("the model has no power"));
/// let agent = Agent::builder(executor).build()?;
/// let stopped = agent.turn([]).system("You help.").id("r-7").report().await?.into_result().unwrap_err();
/// assert_eq!(stopped.to_string(), "turn `r-7` failed: the executor failed: the model has no power");
/// assert_eq!((stopped.report.iterations, stopped.report.is_resumable), (1, false));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TurnStopped {
    /// The report of the turn.
    pub report: Box<TurnReport>,
    /// The causes of the error of the report, as one text.
    cause: Option<StopCause>,
}

impl TurnStopped {
    pub(super) fn new(report: TurnReport) -> Self {
        let cause = report.error.as_ref().and_then(|error| error.cause.as_ref());
        let cause = cause.map(|cause| StopCause(cause.to_string()));
        Self { report: Box::new(report), cause }
    }
}

impl fmt::Display for TurnStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_stop(&self.report, f)
    }
}

haft_core::debug_as_message!(TurnStopped);

impl Error for TurnStopped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

impl Coded for TurnStopped {
    fn code(&self) -> ErrorCode {
        let known = self.report.error.as_ref().and_then(|error| error.code.clone());
        known.unwrap_or(match self.report.outcome {
            TurnOutcome::Cancelled { .. } => codes::TURN_CANCELLED,
            TurnOutcome::Waiting { .. } => codes::TURN_WAITING,
            _ => codes::TURN_FAILED,
        })
    }

    /// Whether the turn can be resumed without anything that somebody must do first.
    fn retryable(&self) -> bool {
        self.report.is_resumable && !matches!(self.report.outcome, TurnOutcome::Waiting { .. })
    }
}

/// Writes how and why a turn that did not complete stopped.
pub(super) fn write_stop(report: &TurnReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "turn `{}` ", report.turn)?;
    match &report.outcome {
        TurnOutcome::Waiting { gates } => return write_gates(gates, f),
        TurnOutcome::Failed { reason } if report.is_resumable => {
            write!(f, "was interrupted: {reason}")?;
        }
        TurnOutcome::Cancelled { reason } => write!(f, "was cancelled: {reason}")?,
        outcome => write!(f, "{outcome}")?,
    }
    match report.is_resumable {
        true => f.write_str("; the turn has not ended and can be resumed from its store"),
        false => Ok(()),
    }
}

fn write_gates(gates: &[GateId], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let gates: Vec<String> = gates.iter().map(|gate| format!("`{gate}`")).collect();
    let noun = if gates.len() == 1 { "gate" } else { "gates" };
    write!(f, "waits for a decision at the {noun} {}; ", gates.join(", "))?;
    f.write_str("decide, and resume the turn")
}

/// The causes of an error, which are known as text only.
#[derive(Clone, Debug)]
struct StopCause(String);

impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for StopCause {}
