//! How a turn ended.

use haft_core::error::codes;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallState, RecordId, ToolCall};
use haft_core::context::RecordError;
use haft_core::error::{Coded, ErrorCode};
use haft_core::event::{DispatchStatus, ErrorReport};
use haft_core::record::{LoadError, Message};
use haft_core::spool::SpoolError;
use haft_core::store::{StoreError, TurnId, TurnStatus};
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};

use super::limits::Limit;

/// How a turn ended, and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnReport {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub outcome: Outcome,
    /// What the assistant said in it, in order.
    pub messages: Vec<Arc<Message>>,
    /// What it cost.
    pub usage: Usage,
    /// How many iterations it had.
    pub iterations: u32,
    /// The calls it made, in order.
    pub calls: Vec<Arc<ToolCall>>,
    /// What went wrong, if something did.
    pub error: Option<ErrorReport>,
    /// How long it took, also at gates. Of a resumed turn: since then.
    pub duration: Duration,
}

impl TurnReport {
    /// What the assistant said last.
    #[must_use]
    pub fn text(&self) -> &str {
        let last = self.messages.last().and_then(|message| message.content());
        last.map_or("", |text| text.as_str())
    }

    /// Calls of which nobody knows what they did: their handlers were running when a process died, and
    /// must not be repeated blindly.
    pub fn unknown_calls(&self) -> impl Iterator<Item = RecordId> {
        let unknown = self.calls.iter().filter(|call| call.state() == CallState::Unknown);
        unknown.map(|call| call.id())
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// It did what it was to do.
    Completed,
    /// Something failed; the report has the error.
    Failed,
    /// It was cancelled.
    Cancelled {
        /// Why.
        reason: String,
    },
    /// A limit stopped it.
    LimitReached {
        /// Which.
        limit: Limit,
    },
}

impl Outcome {
    pub(super) fn status(&self) -> TurnStatus {
        match self {
            Self::Completed => TurnStatus::Completed,
            Self::Failed => TurnStatus::Failed,
            Self::Cancelled { .. } => TurnStatus::Cancelled,
            Self::LimitReached { .. } => TurnStatus::LimitReached,
        }
    }
}

/// How a dispatch ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) error: Option<ErrorReport>,
    /// Whether the turn is over, or only this attempt to run it: what could not be written down did not
    /// happen.
    pub(super) over: bool,
}

impl Ended {
    pub(super) fn completed() -> Self {
        Self { outcome: Outcome::Completed, error: None, over: true }
    }

    pub(super) fn failed(error: ErrorReport) -> Self {
        Self { outcome: Outcome::Failed, error: Some(error), over: true }
    }

    /// Something could not be kept.
    pub(super) fn unkept(error: &RecordError) -> Self {
        let over = !matches!(
            error,
            RecordError::Store(StoreError::Backend { .. } | StoreError::LeaseLost { .. })
                | RecordError::Spool(SpoolError::Io { .. } | SpoolError::Store { .. })
        );
        Self { over, ..Self::failed(ErrorReport::of(error).at("store")) }
    }

    pub(super) fn cancelled(reason: impl fmt::Display) -> Self {
        let outcome = Outcome::Cancelled { reason: reason.to_string() };
        Self { outcome, error: None, over: true }
    }

    pub(super) fn limit(limit: Limit) -> Self {
        let error = ErrorReport::coded(
            codes::LIMIT_REACHED,
            format!("the turn came to its limit of {limit}"),
        );
        let outcome = Outcome::LimitReached { limit };
        Self { outcome, error: Some(error), over: true }
    }

    pub(super) fn status(&self) -> DispatchStatus {
        match self.outcome {
            Outcome::Completed => DispatchStatus::Ack,
            Outcome::Failed => DispatchStatus::Nack,
            Outcome::Cancelled { .. } => DispatchStatus::Aborted,
            Outcome::LimitReached { .. } => DispatchStatus::LimitReached,
        }
    }
}

/// A turn could not begin, or could not be gone on with. Nothing was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The input was refused.
    #[error("the turn was refused: `{field}`: {reason}")]
    Invalid {
        /// Which part of the input.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The store failed, or somebody else runs the turn.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The input cannot be kept.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl TurnError {
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
        }
    }
}
