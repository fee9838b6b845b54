//! How stores and readers fail.

use crate::error::codes;
use std::io;

use super::SpoolKey;
use crate::cancel::CancelReason;
use crate::error::{Coded, ErrorCode};
use crate::failure::FailureError;

/// A store or a reader could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// The file system, the network or whatever holds the bytes failed.
    #[error("could not {doing} the stored content of `{key}`")]
    Io {
        /// Whose content.
        key: SpoolKey,
        /// What was being done: `write`, `read`, …
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The store as a whole could not be used.
    #[error("could not {doing} the spool store")]
    Store {
        /// What was being done: `open`, `list`, …
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The store was opened for reading only.
    #[error("could not {doing}: the spool store is open for reading only")]
    ReadOnly {
        /// What was to be done: `write`, `delete`, …
        doing: &'static str,
    },
    /// The stream that was to be stored broke off. Nothing was stored.
    #[error("the content of `{key}` broke off after {received} bytes: {failure}")]
    Source {
        /// Whose content.
        key: SpoolKey,
        /// How much had come.
        received: u64,
        /// The error of the stream.
        #[source]
        failure: FailureError,
    },
    /// There is more content than the store takes. Nothing was stored.
    #[error("the content of `{key}` is larger than the limit of {limit} bytes")]
    TooLarge {
        /// Whose content.
        key: SpoolKey,
        /// What the store takes.
        limit: u64,
    },
    /// The bytes were changed by another program, so the result of a query could be wrong.
    #[error("the stored content of `{key}` was changed from outside: {how}")]
    Changed {
        /// Whose content.
        key: SpoolKey,
        /// What is not as it was.
        how: String,
    },
    /// The bytes of a line index are not one. It can be built again from the content.
    #[error("a line index is damaged: {reason}")]
    DamagedIndex {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The work was cancelled.
    #[error("reading was cancelled: {reason}")]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
}

impl SpoolError {
    /// An error of reading or writing, or the spool error that was wrapped in it.
    #[must_use]
    pub fn io(key: &SpoolKey, doing: &'static str, source: io::Error) -> Self {
        match source.downcast::<Self>() {
            Ok(inner) => inner,
            Err(source) => Self::Io { key: key.clone(), doing, source },
        }
    }
}

/// For [`LocalRead`](super::LocalRead), whose errors are those of I/O.
impl From<SpoolError> for io::Error {
    fn from(error: SpoolError) -> Self {
        Self::other(error)
    }
}

impl Coded for SpoolError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Source { .. } => codes::TOOL_DOWNSTREAM_ERROR,
            Self::Cancelled { .. } => codes::TOOL_CANCELLED,
            Self::Io { .. }
            | Self::Store { .. }
            | Self::ReadOnly { .. }
            | Self::TooLarge { .. }
            | Self::Changed { .. }
            | Self::DamagedIndex { .. } => codes::STORE,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Source { failure, .. } => failure.failure().is_retryable(),
            Self::ReadOnly { .. }
            | Self::TooLarge { .. }
            | Self::Changed { .. }
            | Self::DamagedIndex { .. } => false,
            Self::Io { .. } | Self::Store { .. } | Self::Cancelled { .. } => {
                self.code().retryable()
            }
        }
    }
}
