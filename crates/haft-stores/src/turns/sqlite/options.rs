//! How a file is used.

use std::time::Duration;

/// How an SQLite store uses its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What commits survive.
    pub synchronous: Synchronous,
    /// How long to wait for others who write to the file.
    pub busy_timeout: Duration,
    /// How many writes can wait for the disk before who writes more has to wait too; at least 1.
    pub queue: usize,
    /// How large the file may become; without limit if not said.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(5),
            queue: 1024,
            max_bytes: None,
        }
    }
}

impl SqliteOptions {
    /// What commits survive.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long to wait for others who write to the file.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How many writes can wait for the disk before who writes more has to wait too; at least 1.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes;
        self
    }

    /// How large the file may become. Writes that need more fail.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }
}

/// What commits survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// The end of the process and the loss of power: every transaction is brought to the disk, but for those
    /// that only renew leases or give them back, for which a loss of power does not matter.
    #[default]
    Full,
    /// The end of the process. A loss of power can take the last commits back, each as a whole.
    Normal,
}

impl Synchronous {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}
