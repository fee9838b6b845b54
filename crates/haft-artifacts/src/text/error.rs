//! Why a query of text fails.

use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::spool::SpoolError;

/// A query failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The pattern is not a regular expression, or is too large.
    #[error("the pattern cannot be used: {problem}{}", .hint.map(|it| format!("; {it}")).unwrap_or_default())]
    Pattern {
        /// What is wrong with it, and where.
        problem: String,
        /// What to write instead.
        hint: Option<&'static str>,
    },
    /// The content could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for TextError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Pattern { .. } => codes::INVALID_TOOL_ARGS,
            Self::Spool(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Pattern { .. } => false,
            Self::Spool(error) => error.retryable(),
        }
    }
}
