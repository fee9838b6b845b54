//! Events, and the observers that receive them.
//!
//! Every [`Event`] says to which turn, dispatch and iteration it belongs, its number in the turn, and when it happened.
//! What happened is its [`EventKind`].
//!
//! Everything in an event is bounded: texts are [`BoundedText`], data and arguments are [`BoundedValue`], results are a
//! [`ResultSummary`], and a stream of text has a maximum length.

mod bound;
mod kind;
mod report;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::bound::{BoundedText, BoundedValue};
pub(crate) use self::bound::{listed_changes, listed_problems};
pub use self::kind::{EventKind, EventName};
pub use self::report::{
    DispatchStatus, ErrorReport, GateResult, GenerationStats, LogLevel, ResultKind, ResultSummary,
    StreamDelta, StreamState, ToolCallReport,
};
use crate::clock::Timestamp;

/// One thing that happened, with everything needed to tell whose it is and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// The turn.
    pub turn: Arc<str>,
    /// The dispatch within the turn; the turn's own name for what happens outside of a dispatch.
    pub dispatch: Arc<str>,
    /// The iteration within the dispatch, from zero.
    pub iteration: u32,
    /// Place in the turn's order of events, from zero.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event of a turn, outside of any dispatch.
    #[must_use]
    pub fn new(turn: impl Into<Arc<str>>, sequence: u64, at: Timestamp, kind: EventKind) -> Self {
        let turn = turn.into();
        Self { dispatch: Arc::clone(&turn), turn, iteration: 0, sequence, at, kind }
    }

    /// The same event, in an iteration of a dispatch.
    #[must_use]
    pub fn within(mut self, dispatch: impl Into<Arc<str>>, iteration: u32) -> Self {
        self.dispatch = dispatch.into();
        self.iteration = iteration;
        self
    }
}

/// Receives the events of turns.
///
/// Called on the task that caused the event, one event of a turn at a time and in the order of their sequence numbers:
/// the calls of a turn that run in parallel wait for each other here. Hand slow work to a channel. An event that an
/// observer emits itself is delivered after the one that it observes. A panic is caught and does not end the turn.
pub trait Observer: Send + Sync {
    /// Sees one event.
    fn observe(&self, event: &Event);

    /// Whether this observer would drop every event right now. When all of them would, the event is not
    /// even made, and no sequence number is spent on it.
    fn is_idle(&self) -> bool {
        false
    }
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}
