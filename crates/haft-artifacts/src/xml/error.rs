//! Why a query of XML fails.

use crate::jsonpath::PathError;
use haft_core::error::{Coded, ErrorCode, codes};

use crate::error::{ContentError, impl_from_spool_error};
use crate::table::InvalidSql;

/// A query of XML failed. Lines and columns are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// The text is not XML, or is nested too deeply.
    #[error("the content is not valid XML at line {line}, column {column}: {reason}; {hint}")]
    Syntax {
        /// The line.
        line: u64,
        /// The character in that line.
        column: u64,
        /// What is wrong.
        reason: Box<str>,
        /// What to do about it.
        hint: &'static str,
    },
    /// The projection is too large for memory.
    #[error(
        "the XML is too large for paths: at line {line}, column {column} it reaches {limit} bytes as \
         JSON, the most that is held; its root, keys, tags and length can be asked for at any size, and \
         parts of it can be searched and read as text"
    )]
    TooLarge {
        /// The line where the limit was reached.
        line: u64,
        /// The character in that line.
        column: u64,
        /// How many bytes the projection may have.
        limit: usize,
    },
    /// The projection is nested deeper than JSON may be.
    #[error(
        "the XML is nested too deeply for paths: as JSON it has more than {limit} levels; its root, \
         keys, tags and length can be asked for, and it can be searched and read as text"
    )]
    TooDeep {
        /// How many levels the projection may have.
        limit: usize,
    },
    /// There is no element.
    #[error(
        "the document has no element: it is empty up to its end at line {line}, column {column}; there is nothing to ask it for"
    )]
    Empty {
        /// The last line.
        line: u64,
        /// The character after the end.
        column: u64,
    },
    /// The path is not valid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The SQL is not valid, or its result cannot be held.
    #[error(transparent)]
    Sql(#[from] InvalidSql),
    /// The content cannot be read as text.
    #[error(transparent)]
    Content(#[from] ContentError),
}

impl_from_spool_error!(XmlError);

impl Coded for XmlError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Path(_) | Self::Sql(_) => codes::INVALID_TOOL_ARGS,
            Self::Content(error) => error.code(),
            Self::Syntax { .. }
            | Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::Empty { .. } => codes::TOOL_DOWNSTREAM_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Content(error) => error.retryable(),
            _ => false,
        }
    }
}

/// A syntax error before its line and column are known.
#[derive(Debug)]
pub(super) struct XmlFault {
    pub(super) reason: Box<str>,
    pub(super) hint: &'static str,
}

impl XmlFault {
    pub(super) fn new(reason: impl Into<Box<str>>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint }
    }
}

/// A line and column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// The position after some text.
    pub(super) fn after(self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let last = memchr::memrchr(b'\n', bytes);
        let tail = last.and_then(|at| text.get(at + 1..)).unwrap_or(text);
        let column = tail.chars().count() as u64;
        match last {
            Some(_) => Self {
                line: self.line + haft_core::spool::count_newlines(bytes),
                column: column + 1,
            },
            None => Self { column: self.column + column, ..self },
        }
    }

    pub(super) fn syntax_error(self, fault: XmlFault) -> XmlError {
        let XmlFault { reason, hint } = fault;
        XmlError::Syntax { line: self.line, column: self.column, reason, hint }
    }
}
