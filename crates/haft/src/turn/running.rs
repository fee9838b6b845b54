//! A turn that runs on a task of its own.

use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::answer::AnswerError;
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::event::{Event, EventKind};
use tokio::task::JoinHandle;

use super::TurnError;
use super::report::TurnReport;
use super::task::spawn_detached;
use crate::events::Subscription;

/// A turn that runs, with its events. Awaiting it gives its [`Answer`](crate::Answer), as awaiting a [`Turn`](super::Turn) does.
///
/// Dropping it lets the turn run on. A reader that is slower than the turn misses events, and never stalls it.
///
/// ```
/// use haft::Agent;
/// use haft::executors::ScriptExecutor;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> haft::Result<()> {
/// let script = ScriptExecutor::parse("steps:\n  - say: Hello, Ada!\n")?;
/// let mut turn = Agent::builder(script).build()?.turn("Hi").start();
/// let mut events = 0;
/// while turn.next_event().await.is_some() {
///     events += 1;
/// }
/// assert!(events > 2, "a turn begins, says something and ends");
/// assert_eq!(turn.await?.to_string(), "Hello, Ada!");
/// # Ok(())
/// # }
/// ```
pub struct RunningTurn<T = String> {
    task: JoinHandle<Result<TurnReport, TurnError>>,
    events: Subscription,
    cancellation: Cancellation,
    pub(crate) decode: fn(&TurnReport) -> Result<T, AnswerError>,
}

impl<T> RunningTurn<T> {
    /// Runs a turn on a task.
    pub(super) fn spawn(
        work: BoxFuture<'static, Result<TurnReport, TurnError>>,
        events: Subscription,
        cancellation: Cancellation,
        decode: fn(&TurnReport) -> Result<T, AnswerError>,
    ) -> Self {
        Self { task: spawn_detached(work), events, cancellation, decode }
    }

    /// The next event of the turn. Returns `None` after the last one.
    pub async fn next_event(&mut self) -> Option<Arc<Event>> {
        loop {
            if let Some(event) = self.events.next().await?.event() {
                return Some(event);
            }
        }
    }

    /// The next piece of the assistant's reply as it streams in. Returns `None` at the end of the turn.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let script = ScriptExecutor::parse("steps:\n  - say: Hello, Ada!\n")?;
    /// let mut turn = Agent::builder(script).build()?.turn("Hi").start();
    /// let mut text = String::new();
    /// while let Some(piece) = turn.next_text().await {
    ///     text.push_str(&piece);
    /// }
    /// assert_eq!(text, "Hello, Ada!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_text(&mut self) -> Option<String> {
        loop {
            if let EventKind::Message(part) = &self.next_event().await?.kind
                && !part.delta.is_empty()
            {
                return Some(part.delta.to_string());
            }
        }
    }

    /// Cancels the turn. Its end is that of a turn that was cancelled.
    pub fn cancel(&self, reason: impl Into<CancelReason>) {
        self.cancellation.cancel(reason);
    }

    /// Waits for the end of the turn and reports how it ended, whatever its outcome.
    ///
    /// # Errors
    ///
    /// As [`Turn::report`](super::Turn::report).
    pub async fn report(self) -> Result<TurnReport, TurnError> {
        match self.task.await {
            Ok(ended) => ended,
            Err(error) => Err(TurnError::invalid("task", error)),
        }
    }
}

impl<T> fmt::Debug for RunningTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningTurn").field("task", &self.task).finish_non_exhaustive()
    }
}
