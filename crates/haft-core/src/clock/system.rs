//! The clock of the machine: the only place that reads it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Clock, ClockReading, Timestamp};

use crate::invariant::OrReport as _;

/// The clock of the machine.
///
/// Its monotonic time counts from the first time that any `SystemClock` of the process was asked
/// for it, so all of them agree.
///
/// ```
/// use haft_core::clock::{Clock, SystemClock, Timestamp};
///
/// let clock = SystemClock::new();
/// let before = clock.monotonic();
/// assert!(clock.now() > Timestamp::EPOCH);
/// assert!(clock.monotonic() >= before);
/// ```
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

    /// Asks the machine once: the wall time is reckoned from the monotonic one, and compared with the
    /// machine's wall clock once a second. A wall clock that is set is followed within that second.
    fn read(&self) -> ClockReading {
        /// Wall time minus monotonic time, in microseconds.
        static OFFSET: AtomicI64 = AtomicI64::new(0);
        /// Monotonic microseconds until which the offset holds.
        static HOLDS_UNTIL: AtomicI64 = AtomicI64::new(i64::MIN);

        let monotonic = self.monotonic();
        let since = i64::try_from(monotonic.as_micros())
            .or_report("a process runs for less than 292,000 years", i64::MAX);
        if since < HOLDS_UNTIL.load(Ordering::Acquire)
            && let Ok(wall) = Timestamp::from_micros(since + OFFSET.load(Ordering::Relaxed))
        {
            return ClockReading { wall, monotonic };
        }
        let wall = self.now();
        OFFSET.store(wall.as_micros().saturating_sub(since), Ordering::Relaxed);
        HOLDS_UNTIL.store(since.saturating_add(1_000_000), Ordering::Release);
        ClockReading { wall, monotonic }
    }
}
