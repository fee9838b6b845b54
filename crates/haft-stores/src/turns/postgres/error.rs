//! Errors of the server and of the pool.

use deadpool_postgres::PoolError;
use haft_core::store::StoreError;
use tokio_postgres::error::SqlState;

/// An error that the contract defines, or one of the server.
#[derive(Debug)]
pub(super) enum PostgresError {
    Store(StoreError),
    Server(tokio_postgres::Error),
    Pool(PoolError),
}

impl PostgresError {
    pub(super) fn into_store_error(self, doing: &str) -> StoreError {
        let (retryable, source): (bool, Box<dyn std::error::Error + Send + Sync>) = match self {
            Self::Store(error) => return error,
            Self::Server(error) => (is_retryable(&error), Box::new(error)),
            Self::Pool(PoolError::Backend(error)) => (is_retryable(&error), Box::new(error)),
            Self::Pool(error) => (matches!(error, PoolError::Timeout(_)), Box::new(error)),
        };
        StoreError::Backend { doing: doing.to_owned(), retryable, source }
    }

    /// Whether the server ended this transaction because of a conflict, so that it can be repeated at once.
    pub(super) fn is_conflict(&self) -> bool {
        let Self::Server(error) = self else { return false };
        let code = error.code();
        code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
            || code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
    }
}

/// Whether the same may succeed later: the server is away, starts, stops or is overloaded, or two transactions met.
fn is_retryable(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        // Not an answer of the server: the connection failed.
        return true;
    };
    ["08", "40", "53", "55", "57"].iter().any(|class| code.code().starts_with(class))
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<StoreError> for PostgresError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<PoolError> for PostgresError {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}
