//! Why a query of YAML has no answer.

use haft_core::error::codes;
use haft_core::error::{Coded, ErrorCode};
use haft_core::jsonpath::PathError;
use haft_core::spool::SpoolError;

/// A query of YAML could not be answered. Lines and columns are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// The text is not YAML, or nests or repeats more than is read.
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
    /// One document is larger than is read at once.
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
    /// There are several documents where exactly one was promised.
    #[error(
        "a second document begins at line {line}, column 1, but the content was declared to be a \
         single document; read it as a stream of documents"
    )]
    SeveralDocuments {
        /// The line that the second document begins with.
        line: u64,
    },
    /// The content is UTF-16 or UTF-32.
    #[error(
        "the content is not UTF-8 at line 1, column 1: it begins with the mark of UTF-16 or UTF-32; \
         convert it to UTF-8 first"
    )]
    Encoding,
    /// The path is not one.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The content could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for YamlError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Path(_) => codes::INVALID_TOOL_ARGS,
            Self::Spool(error) => error.code(),
            Self::Syntax { .. }
            | Self::TooLarge { .. }
            | Self::SeveralDocuments { .. }
            | Self::Encoding => codes::TOOL_DOWNSTREAM_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Spool(error) => error.retryable(),
            _ => false,
        }
    }
}
