//! Repeats what other processes keep from happening.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::error::{SqliteCause, SqliteError};

/// An error that can mean that another process is using the file.
pub(super) trait MaybeBusy {
    fn is_busy(&self) -> bool;
}

impl MaybeBusy for SqliteCause {
    fn is_busy(&self) -> bool {
        is_busy_code(self.code())
    }
}

impl MaybeBusy for SqliteError {
    fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(cause) if cause.is_busy())
    }
}

impl MaybeBusy for rusqlite::Error {
    fn is_busy(&self) -> bool {
        is_busy_code(self.sqlite_error_code())
    }
}

/// Whether an error with this code may not occur again. SQLite reports a locking protocol error if it loses the race for
/// a place in the log many times in a row.
pub(super) const fn is_busy_code(code: Option<ErrorCode>) -> bool {
    matches!(
        code,
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// Lets a connection wait for a lock. The wait is short, because the waits of SQLite have the same length in every
/// process, and some operations do not wait at all: [`retry_while_busy`] does the rest.
pub(super) fn set_lock_wait(
    connection: &Connection,
    timeout: Duration,
) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(timeout.min(MAX_LOCK_WAIT))
}

/// Runs an operation again while it fails because another process uses the file, until the timeout has passed. The
/// pauses between the attempts grow and have a random length, so that many processes do not meet again and again.
#[expect(
    clippy::disallowed_methods,
    reason = "the time of other processes is waited for, not replayed"
)]
pub(super) fn retry_while_busy<T, E: MaybeBusy>(
    timeout: Duration,
    mut operation: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let started = Instant::now();
    let mut pause = MIN_PAUSE;
    loop {
        let result = operation();
        let left = timeout.saturating_sub(started.elapsed());
        match result {
            Err(error) if error.is_busy() && !left.is_zero() => {
                thread::sleep(random_part(pause).min(left));
                pause = (pause * 2).min(MAX_PAUSE);
            }
            result => return result,
        }
    }
}

/// A random duration up to the given one.
fn random_part(pause: Duration) -> Duration {
    // Without randomness the pause has its full length.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    pause.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// How long SQLite itself waits for a lock.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(1);
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(250);
