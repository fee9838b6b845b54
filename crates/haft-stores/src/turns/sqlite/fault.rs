//! What can go wrong inside the store.

use std::io;

use haft_core::store::StoreError;
use rusqlite::ErrorCode;

/// Either what the contract knows, or what SQLite says.
#[derive(Debug)]
pub(super) enum Fault {
    Refused(StoreError),
    Sqlite(Cause),
}

/// What SQLite says. One cause can fail many writes.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Cause {
    message: String,
    code: Option<ErrorCode>,
}

impl Fault {
    pub(super) fn into_error(self, doing: &str) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(cause) => cause.into_error(doing),
        }
    }
}

impl Cause {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// Says what failed, before the reason.
    pub(super) fn context(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), code: self.code }
    }

    pub(super) fn into_error(self, doing: &str) -> StoreError {
        if self.code == Some(ErrorCode::DatabaseCorrupt) {
            return damaged("the turns", self.message);
        }
        let retryable =
            matches!(self.code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
        StoreError::Backend { doing: doing.to_owned(), retryable, source: Box::new(self) }
    }
}

/// What is stored is not what this store writes.
pub(super) fn damaged(what: impl Into<String>, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { what: what.into(), reason: reason.into() }
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        Self { message: error.to_string(), code: error.sqlite_error_code() }
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => {
                Self::Refused(damaged("the turns", error.to_string()))
            }
            error => Self::Sqlite(error.into()),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<Cause> for Fault {
    fn from(cause: Cause) -> Self {
        Self::Sqlite(cause)
    }
}
