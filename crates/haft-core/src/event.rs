//! What observers see.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::Args;
use crate::call::CallId;
use crate::clock::Timestamp;
use crate::schema::{Change, Problems};
use crate::tool::ToolName;

/// One thing that happened, with everything needed to tell whose it is and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// The turn.
    pub turn: Arc<str>,
    /// The dispatch within the turn.
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

/// The things that can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// The arguments of a call were accepted and its handler is about to run.
    ToolExecutionStart {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call.
        call_id: CallId,
        /// The accepted arguments.
        args: Args,
        /// What coercion changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// When the call began.
        started_at: Timestamp,
    },
    /// A handler has ended.
    ToolExecutionEnd {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call, the same as at the start.
        call_id: CallId,
        /// When the call began.
        started_at: Timestamp,
        /// How long it took.
        #[serde(rename = "durationMs", with = "milliseconds")]
        duration: Duration,
        /// Whether it failed.
        is_error: bool,
    },
    /// The arguments of a call were refused; the handler was not called.
    ToolExecutionRejected {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call.
        call_id: CallId,
        /// Every problem.
        problems: Problems,
    },
    /// Something that a handler or middleware wants to be seen.
    Log {
        /// How much it matters.
        level: Level,
        /// What sort of message it is, for filters.
        #[serde(rename = "kind")]
        topic: String,
        /// The message.
        message: String,
        /// Data that goes with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<Value>,
    },
}

/// How much a log message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Level {
    /// For whoever debugs.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

/// Someone who wants to see events.
///
/// Called in the order of the sequence numbers, on the task that caused the event: hand work that takes
/// time to a channel. A panic is caught and ends nothing.
pub trait Observer: Send + Sync {
    /// Sees one event.
    fn observe(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}

/// Durations as fractional milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.as_secs_f64() * 1000.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(serde::de::Error::custom)
    }
}
