//! Why a stash refused.

use super::{MAX_DEPTH, MAX_GAP_INDEX, StashPath};
use crate::error::codes;
use crate::error::{Coded, ErrorCode};
use crate::json::ValueKind;

/// Why a [`Stash`](super::Stash) refused. A refused write changes nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StashError {
    /// A stash starts from an object and nothing else.
    #[error("a stash starts from an object, found {}", .found.name())]
    InvalidInitialValue {
        /// What was given.
        found: ValueKind,
    },
    /// A write would have to go through a string, number, boolean or null.
    #[error("cannot write `{path}`: `{at}` has no members, it is of type {}", .found.name())]
    NotAContainer {
        /// Where the write was to go.
        path: StashPath,
        /// The part of the path that is in the way.
        at: StashPath,
        /// What is there.
        found: ValueKind,
    },
    /// A write into an array names an element by something else than an index.
    #[error("cannot write `{path}`: `{at}` is not an index of the array that it is in")]
    NotAnIndex {
        /// Where the write was to go.
        path: StashPath,
        /// The path up to the bad index.
        at: StashPath,
    },
    /// A write would leave a hole too large to be meant.
    #[error(
        "cannot write `{path}`: the index of `{at}` is past the end of the array and past \
         {MAX_GAP_INDEX}; store an object there first if these are keys"
    )]
    IndexTooLarge {
        /// Where the write was to go.
        path: StashPath,
        /// The path up to the bad index.
        at: StashPath,
    },
    /// The path has no segments, which is the store itself.
    #[error("the stash itself cannot be replaced: the path has no segments")]
    EmptyPath,
    /// The value would be nested deeper than JSON readers accept.
    #[error("`{path}` would be nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// Where the write was to go.
        path: StashPath,
    },
    /// The value has no JSON form: NaN, an infinity, a key that is not text.
    #[error("the value for `{path}` is not JSON: {reason}")]
    NotJson {
        /// Where the write was to go.
        path: StashPath,
        /// What is wrong with it.
        reason: String,
    },
    /// The stored value is not of the type that was asked for.
    #[error("`{path}` does not hold the type that was asked for")]
    WrongType {
        /// Where the value is.
        path: StashPath,
        /// What did not fit.
        source: serde_json::Error,
    },
}

impl Coded for StashError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidInitialValue { .. } => codes::INVALID_INITIAL_REGISTRY_VALUE,
            Self::NotAContainer { .. } => codes::REGISTRY_NOT_A_CONTAINER,
            Self::NotAnIndex { .. } | Self::IndexTooLarge { .. } | Self::EmptyPath => {
                codes::REGISTRY_PATH
            }
            Self::TooDeep { .. } => codes::REGISTRY_TOO_DEEP,
            Self::NotJson { .. } => codes::REGISTRY_NOT_JSON,
            Self::WrongType { .. } => codes::REGISTRY_WRONG_TYPE,
        }
    }
}
