//! Time as a part that can be exchanged, so that runs can be tested and replayed.

mod manual;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod system;
mod timestamp;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::manual::ManualClock;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use self::system::SystemClock;
pub use self::timestamp::{InvalidTimestamp, Timestamp};

/// A source of time. All code that needs the time takes a clock.
///
/// On `wasm32-unknown-unknown` there is no system clock, so the embedder must supply one.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The wall time, for records. It can jump, also backwards, when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// The time since some fixed moment, for measuring. It never goes backwards, and only
    /// differences between readings of the same clock mean anything.
    fn monotonic(&self) -> Duration;

    /// Reads both times at once. A clock that can do this more cheaply than by two calls overrides it.
    fn read(&self) -> ClockReading {
        ClockReading { wall: self.now(), monotonic: self.monotonic() }
    }
}

/// The wall time and the monotonic time of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "clocks of others build it")]
pub struct ClockReading {
    /// The wall time.
    pub wall: Timestamp,
    /// The time since the clock's fixed moment.
    pub monotonic: Duration,
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }

    fn read(&self) -> ClockReading {
        (**self).read()
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }

    fn read(&self) -> ClockReading {
        (**self).read()
    }
}

/// The clock of a context that was given none: the system's, where there is one.
pub(crate) fn default_clock() -> Arc<dyn Clock> {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    return Arc::new(SystemClock::new());
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    return Arc::new(ManualClock::new(Timestamp::EPOCH));
}
