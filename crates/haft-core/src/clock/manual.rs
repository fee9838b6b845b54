//! A clock that moves only when a test or program moves it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Clock, Timestamp};

/// A clock that is moved by hand, for tests and for replay.
///
/// ```
/// use std::time::Duration;
/// use haft_core::clock::{Clock, ManualClock, Timestamp};
///
/// let clock = ManualClock::new("2026-01-31T12:00:00.000000Z".parse()?);
/// clock.advance(Duration::from_millis(1500));
/// assert_eq!(clock.now().to_string(), "2026-01-31T12:00:01.500000Z");
/// assert_eq!(clock.monotonic(), Duration::from_millis(1500));
/// # Ok::<(), haft_core::clock::InvalidTimestamp>(())
/// ```
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<ManualState>,
}

#[derive(Clone, Copy, Debug)]
struct ManualState {
    now: Timestamp,
    monotonic: Duration,
}

impl ManualClock {
    /// A clock that shows `now`; its monotonic time starts at zero.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self { state: Mutex::new(ManualState { now, monotonic: Duration::ZERO }) }
    }

    /// Lets time pass: both times move on. At the end of their range they stop.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.now = state.now.saturating_add(by);
        state.monotonic = state.monotonic.saturating_add(by);
    }

    /// Sets the wall time, also backwards. The monotonic time stays, as on a real machine.
    pub fn set(&self, now: Timestamp) {
        self.lock().now = now;
    }

    fn lock(&self) -> MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock that shows the Unix epoch.
impl Default for ManualClock {
    fn default() -> Self {
        Self::new(Timestamp::EPOCH)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn monotonic(&self) -> Duration {
        self.lock().monotonic
    }
}
