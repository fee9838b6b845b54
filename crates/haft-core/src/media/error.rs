//! What can be wrong with media.

use crate::error::codes;
use std::fmt;

use crate::error::{Coded, ErrorCode};
use crate::failure::FailureError;

/// A media item that was refused, with every problem with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidMedia {
    /// What is wrong. Never empty.
    pub faults: Vec<MediaFault>,
}

impl std::error::Error for InvalidMedia {}

impl fmt::Display for InvalidMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the medium was refused: ")?;
        for (n, fault) in self.faults.iter().enumerate() {
            let between = if n == 0 { "" } else { "; " };
            write!(f, "{between}{fault}")?;
        }
        Ok(())
    }
}

impl Coded for InvalidMedia {
    fn code(&self) -> ErrorCode {
        codes::INVALID_INITIAL_MEDIA_VALUE
    }
}

/// One thing that is wrong with a media item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MediaFault {
    /// The file has no name.
    #[error("`filename` is empty")]
    EmptyFilename,
    /// The file has no type.
    #[error("`mimeType` is empty")]
    EmptyMimeType,
    /// The id is empty.
    #[error("`id` is empty")]
    EmptyId,
    /// A key of the stash is empty.
    #[error("a key of `stash` is empty")]
    EmptyStashKey,
}

/// What can go wrong when media are stored, loaded and read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediaError {
    /// A stored media item is not a valid one.
    #[error(transparent)]
    Invalid(#[from] InvalidMedia),
    /// No resolver exists for a stored descriptor.
    #[error("no resolver is registered for the reader `{tag}`")]
    NoResolver {
        /// The tag of the descriptor.
        tag: String,
    },
    /// A resolver refused a stored descriptor.
    #[error("the reader `{tag}` could not be made again: {failure}")]
    Unresolvable {
        /// The tag of the descriptor.
        tag: String,
        /// The error of the resolver.
        #[source]
        failure: FailureError,
    },
    /// There are more bytes than were asked for.
    #[error("`{filename}` has more than {limit} bytes")]
    TooLarge {
        /// The file.
        filename: String,
        /// The maximum number of bytes that were accepted.
        limit: u64,
    },
    /// The bytes could not be read.
    #[error("`{filename}` could not be read: {failure}")]
    Read {
        /// The file.
        filename: String,
        /// The error of the reader.
        #[source]
        failure: FailureError,
    },
}

impl Coded for MediaError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(error) => error.code(),
            Self::NoResolver { .. } => codes::NO_READER_RESOLVER,
            Self::Unresolvable { .. } => codes::NOT_A_MEDIA_READER,
            Self::TooLarge { .. } | Self::Read { .. } => codes::TOOL_DOWNSTREAM_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Read { failure, .. } => failure.failure().is_retryable(),
            other => other.code().retryable(),
        }
    }
}
