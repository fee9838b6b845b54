//! The clock of the machine: the only place that reads it.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Clock, Timestamp};

/// The clock of the machine.
///
/// Its monotonic time counts from the first time that any `SystemClock` of the process was asked
/// for it, so all of them agree.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemClock;

impl SystemClock {
    /// The clock of the machine.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take")]
    fn now(&self) -> Timestamp {
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp::EPOCH.saturating_add(since),
            Err(before) => Timestamp::EPOCH.saturating_sub(before.duration()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take")]
    fn monotonic(&self) -> Duration {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        ORIGIN.get_or_init(Instant::now).elapsed()
    }
}
