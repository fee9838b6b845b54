//! Why a query of YAML fails.

use crate::jsonpath::PathError;
use haft_core::error::{Coded, ErrorCode, codes};

use crate::error::{ContentError, impl_from_spool_error};
use crate::table::InvalidSql;

/// A query of YAML failed. Lines and columns are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// The text is not YAML, or exceeds the limits of nesting or size.
    #[error(
        "the content is not valid YAML at line {line}, column {column}: {reason}; the lines around it \
         can still be read as text"
    )]
    Syntax {
        /// The line.
        line: u64,
        /// The character in that line.
        column: u64,
        /// What is wrong.
        reason: Box<str>,
    },
    /// One document is too large to be parsed.
    #[error(
        "the document that begins at line {line}, column 1 is larger than {limit} bytes, the most that \
         is parsed; search it and read parts of it as text"
    )]
    TooLarge {
        /// The line that the document begins with.
        line: u64,
        /// How many bytes one document may have.
        limit: usize,
    },
    /// There are several documents, but the content was declared to be a single one.
    #[error(
        "a second document begins at line {line}, column 1, but the content was declared to be a \
         single document; read it as a stream of documents"
    )]
    SeveralDocuments {
        /// The line that the second document begins with.
        line: u64,
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

impl_from_spool_error!(YamlError);

impl Coded for YamlError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Path(_) | Self::Sql(_) => codes::INVALID_TOOL_ARGS,
            Self::Content(error) => error.code(),
            Self::Syntax { .. } | Self::TooLarge { .. } | Self::SeveralDocuments { .. } => {
                codes::TOOL_DOWNSTREAM_ERROR
            }
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Content(error) => error.retryable(),
            _ => false,
        }
    }
}
