//! Options of the store.

use std::fmt;
use std::time::Duration;

/// Options of an SQLite store.
///
/// ```
/// use std::time::Duration;
///
/// use haft_stores::{SqliteOptions, Synchronous};
///
/// let options = SqliteOptions::default()
///     .synchronous(Synchronous::Normal)
///     .busy_timeout(Duration::from_secs(30));
/// assert_eq!(options.queue, 1024);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// Which failures a commit survives. The default is [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// How long to wait while other processes write to the file. The default is 25 seconds, which is less than the time
    /// that a turn gives its store.
    pub busy_timeout: Duration,
    /// How many writes can be queued before callers have to wait; at least 1. The default is 1024.
    pub queue: usize,
    /// The maximum size of the file. There is no limit by default.
    pub max_bytes: Option<u64>,
    /// The secret of gates, from which the key of the store follows. By default it is in the file `gate.key` next to the
    /// database, which is created with it.
    pub secret: Option<[u8; 32]>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(25),
            queue: 1024,
            max_bytes: None,
            secret: None,
        }
    }
}

impl SqliteOptions {
    /// Sets which failures a commit survives.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets how long to wait while another process writes to the file.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how many writes can be queued before callers have to wait; at least 1.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes;
        self
    }

    /// Sets the maximum size of the file. Writes that need more space fail.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }

    /// Sets the secret of gates, from which the key of the store follows.
    #[must_use]
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("synchronous", &self.synchronous)
            .field("busy_timeout", &self.busy_timeout)
            .field("queue", &self.queue)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// Which failures a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// A crash of the process and a power failure: every transaction is flushed to the disk, except those that only
    /// renew or release leases.
    #[default]
    Full,
    /// A crash of the process. A power failure can undo the last commits, each as a whole.
    Normal,
}

impl Synchronous {
    pub(super) fn pragma_value(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}
