//! Why a query of JSON fails.

use haft_core::error::codes;
use std::fmt;

use crate::jsonpath::{PathError, VisitsExhausted};
use haft_core::error::{Coded, ErrorCode};
use haft_core::json::ParseErrorKind;
use haft_core::spool::SpoolError;

use super::JsonNotation;
use crate::table::InvalidSql;

/// A query of JSON failed. The text of every variant tells a model what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The path is not valid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The SQL is not valid, or its result cannot be held.
    #[error(transparent)]
    Sql(#[from] InvalidSql),
    /// The content is not JSON in its notation.
    #[error(transparent)]
    Content(#[from] InvalidJson),
    /// A result would need more of the content in memory than is allowed.
    #[error("{what}; {hint}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// What to query instead.
        hint: &'static str,
    },
    /// The path reads more values than one query may.
    #[error("the path looks at too many values; name more of the way to what you look for")]
    TooMuchWork,
    /// The content could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for JsonError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Path(_) | Self::Sql(_) | Self::TooLarge { .. } | Self::TooMuchWork => {
                codes::INVALID_TOOL_ARGS
            }
            Self::Content(_) => codes::TOOL_DOWNSTREAM_ERROR,
            Self::Spool(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Spool(error) => error.retryable(),
            _ => false,
        }
    }
}

/// Content that is not JSON, with the position of the error.
///
/// ```text
/// not JSON: expected `,` or `}` but found 'x' at line 3, column 5 (both counted from 1; byte 17)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidJson {
    /// The declared notation, or else the one in which the content can be read furthest.
    pub notation: JsonNotation,
    /// The line, counted from one.
    pub line: u64,
    /// The column in characters, counted from one.
    pub column: u64,
    /// The offset in bytes, counted from zero.
    pub offset: u64,
    /// What is wrong there, in words.
    pub reason: String,
    /// Whether the content ends there, for example because it was cut off.
    pub truncated: bool,
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column, offset) = (self.line, self.column, self.offset);
        match self.notation {
            JsonNotation::Json => write!(f, "the content is not JSON")?,
            JsonNotation::Jsonl => write!(f, "line {line} is not a JSON value")?,
        }
        write!(
            f,
            ": {} at line {line}, column {column} (counted from 1; byte {offset})",
            self.reason
        )?;
        f.write_str(if self.truncated {
            "; it seems to be cut off: query it as lines of text"
        } else {
            "; look at that line, and query the content as lines of text"
        })
    }
}

impl std::error::Error for InvalidJson {}

/// A syntax error at an offset in the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonFault {
    pub(super) reason: FaultReason,
    pub(super) offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultReason {
    Syntax(ParseErrorKind),
    Other(&'static str),
}

impl FaultReason {
    pub(super) fn is_truncation(self) -> bool {
        self == Self::Syntax(ParseErrorKind::Truncated)
    }
}

impl fmt::Display for FaultReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(kind) => kind.fmt(f),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// Why a scan ends early.
#[derive(Debug)]
pub(super) enum ScanError {
    Fault(JsonFault),
    Query(JsonError),
}

impl From<JsonFault> for ScanError {
    fn from(fault: JsonFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<SpoolError> for ScanError {
    fn from(error: SpoolError) -> Self {
        Self::Query(error.into())
    }
}

impl From<JsonError> for ScanError {
    fn from(error: JsonError) -> Self {
        Self::Query(error)
    }
}

impl From<InvalidSql> for ScanError {
    fn from(error: InvalidSql) -> Self {
        Self::Query(error.into())
    }
}

impl From<VisitsExhausted> for ScanError {
    fn from(_: VisitsExhausted) -> Self {
        Self::Query(JsonError::TooMuchWork)
    }
}
