//! Failures that the content of every text format can cause.

use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::spool::SpoolError;

/// The content cannot be read as text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The content is UTF-16 or UTF-32.
    #[error(
        "the content is not UTF-8 at line 1, column 1: it begins with the mark of UTF-16 or UTF-32; \
         convert it to UTF-8 first"
    )]
    Encoding,
    /// The store cannot read the content, or the query was cancelled.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for ContentError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Encoding => codes::TOOL_DOWNSTREAM_ERROR,
            Self::Spool(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Encoding => false,
            Self::Spool(error) => error.retryable(),
        }
    }
}

/// Implements `From<SpoolError>` for an error of a format that has a variant for [`ContentError`].
macro_rules! impl_from_spool_error {
    ($error:ty) => {
        impl From<haft_core::spool::SpoolError> for $error {
            fn from(error: haft_core::spool::SpoolError) -> Self {
                Self::Content(error.into())
            }
        }
    };
}

pub(crate) use impl_from_spool_error;
