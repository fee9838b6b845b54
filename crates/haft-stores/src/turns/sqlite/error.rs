//! Errors inside the store.

use std::io;

use haft_core::store::StoreError;
use rusqlite::ErrorCode;

use super::busy::is_busy_code;

/// An error that the contract defines, or one of SQLite.
#[derive(Debug)]
pub(super) enum SqliteError {
    Store(StoreError),
    Sqlite(SqliteCause),
}

/// An error of SQLite or of the file system. It can be cloned, because one error can fail many writes.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct SqliteCause {
    message: String,
    code: Option<ErrorCode>,
}

impl SqliteError {
    pub(super) fn into_store_error(self, doing: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(cause) => cause.into_store_error(doing),
        }
    }
}

impl SqliteCause {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    pub(super) const fn code(&self) -> Option<ErrorCode> {
        self.code
    }

    pub(super) fn into_store_error(mut self, doing: &str) -> StoreError {
        if self.code == Some(ErrorCode::DatabaseCorrupt) {
            return damaged_error("the turns", self.message);
        }
        let retryable = is_busy_code(self.code);
        if retryable {
            self.message.push_str(" by another process, which is busy, stopped or hangs");
        }
        StoreError::Backend { doing: doing.to_owned(), retryable, source: Box::new(self) }
    }
}

/// The error for stored data that this store did not write.
pub(super) fn damaged_error(what: impl Into<String>, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { what: what.into(), reason: reason.into() }
}

impl From<rusqlite::Error> for SqliteCause {
    fn from(error: rusqlite::Error) -> Self {
        let mut message = message_without_sql(&error);
        if let Some(operation) = error.sqlite_error().and_then(failed_operation) {
            message.push_str(operation);
        }
        Self { message, code: error.sqlite_error_code() }
    }
}

/// What the system could not do when SQLite says only `disk I/O error`.
fn failed_operation(error: &rusqlite::ffi::Error) -> Option<&'static str> {
    use rusqlite::ffi;
    Some(match error.extended_code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => ": a file cannot be read",
        ffi::SQLITE_IOERR_WRITE => ": a file cannot be written",
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => {
            ": what was written cannot be made durable"
        }
        ffi::SQLITE_IOERR_TRUNCATE => ": a file cannot be made shorter",
        ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMOPEN | ffi::SQLITE_IOERR_SHMMAP => {
            ": the file of shared memory next to the database cannot grow"
        }
        ffi::SQLITE_IOERR_DELETE => ": a file cannot be removed",
        _ => return None,
    })
}

/// The message of an error without the statement that failed, which says nothing to a user.
fn message_without_sql(error: &rusqlite::Error) -> String {
    match error {
        #[cfg(feature = "sqlite-bundled")]
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => cut_statement(&other.to_string()).to_owned(),
    }
}

/// Cuts the statement off that an error of the system's library has after its message: `no such table: a in SELECT 1 FROM
/// a at offset 14`.
fn cut_statement(message: &str) -> &str {
    const FIRST_WORDS: [&str; 11] = [
        "ALTER", "BEGIN", "CREATE", "DELETE", "DROP", "INSERT", "PRAGMA", "SELECT", "UPDATE",
        "VACUUM", "WITH",
    ];
    let Some((before, _)) = message.rsplit_once(" at offset ") else { return message };
    let statement = before.match_indices(" in ").find(|(at, separator)| {
        let (_, rest) = before.split_at(*at);
        let rest = rest.strip_prefix(separator).unwrap_or(rest).trim_start();
        FIRST_WORDS.iter().any(|word| rest.starts_with(word))
    });
    statement.and_then(|(at, _)| message.get(..at)).unwrap_or(message)
}

impl From<io::Error> for SqliteCause {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => {
                Self::Store(damaged_error("the turns", error.to_string()))
            }
            error => Self::Sqlite(error.into()),
        }
    }
}

impl From<StoreError> for SqliteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SqliteCause> for SqliteError {
    fn from(cause: SqliteCause) -> Self {
        Self::Sqlite(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::cut_statement;

    #[test]
    fn statements_are_cut_off_whatever_they_begin_with() {
        for statement in ["CREATE TABLE a (b)", "\n  SELECT 1 FROM a", "UPDATE a SET b = 1 in c"] {
            let message = format!("no such table: a in {statement} at offset 3");
            assert_eq!(cut_statement(&message), "no such table: a");
        }
        for message in ["database is locked", "near \"in\": syntax error", "full in SELECT"] {
            assert_eq!(cut_statement(message), message);
        }
    }
}
