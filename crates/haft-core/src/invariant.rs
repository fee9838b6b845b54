//! Reports broken invariants: states that the code rules out and that nevertheless occurred.
//!
//! Library code does not panic on such a state. It falls back to a harmless value and reports the fact here, so
//! that a bug does not turn into wrong output without a trace. In a debug build a report panics. In a release build
//! it increments a process-wide counter and calls the hook of the application, if one is set; this crate itself
//! writes no logs.
//!
//! ```
//! use haft_core::invariant::OrReport as _;
//!
//! let text = "naïve";
//! let (cut, _) = text.char_indices().nth(3).unwrap_or_default();
//! let head = text.get(..cut).or_report("a character begins at a boundary", text);
//! assert_eq!(head, "naï");
//! assert_eq!(haft_core::invariant::report_count(), 0);
//! ```

#[cfg(test)]
mod tests;

use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
static HOOK: OnceLock<fn(&BrokenInvariant)> = OnceLock::new();

/// A broken invariant and the code that noticed it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BrokenInvariant {
    /// The sentence that should be true.
    pub invariant: &'static str,
    /// The place in the source that noticed the violation.
    pub location: &'static Location<'static>,
}

/// Unwraps a value that an invariant promises, or reports the broken invariant and falls back.
pub trait OrReport<T>: Sized {
    /// Returns the value. If there is none, reports that `invariant` does not hold and returns `fallback`.
    #[track_caller]
    fn or_report(self, invariant: &'static str, fallback: T) -> T;

    /// Returns the value. If there is none, reports that `invariant` does not hold and returns the default value.
    #[track_caller]
    fn or_report_default(self, invariant: &'static str) -> T
    where
        T: Default;
}

impl<T> OrReport<T> for Option<T> {
    #[inline]
    #[track_caller]
    fn or_report(self, invariant: &'static str, fallback: T) -> T {
        if let Some(value) = self {
            return value;
        }
        report(invariant);
        fallback
    }

    #[inline]
    #[track_caller]
    fn or_report_default(self, invariant: &'static str) -> T
    where
        T: Default,
    {
        if let Some(value) = self {
            return value;
        }
        report(invariant);
        T::default()
    }
}

impl<T, E> OrReport<T> for Result<T, E> {
    #[inline]
    #[track_caller]
    fn or_report(self, invariant: &'static str, fallback: T) -> T {
        self.ok().or_report(invariant, fallback)
    }

    #[inline]
    #[track_caller]
    fn or_report_default(self, invariant: &'static str) -> T
    where
        T: Default,
    {
        self.ok().or_report_default(invariant)
    }
}

/// Reports that an invariant does not hold: counts the report, calls the hook, and panics in a debug build.
#[cold]
#[inline(never)]
#[track_caller]
pub fn report(invariant: &'static str) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    let broken = BrokenInvariant { invariant, location: Location::caller() };
    if let Some(hook) = HOOK.get() {
        hook(&broken);
    }
    debug_assert!(false, "broken invariant at {}: {invariant}", broken.location);
}

/// Returns the number of reports since the start of the process.
#[must_use]
pub fn report_count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Sets the function that every later report calls, for example to write a log entry.
///
/// The first call wins. Returns whether this call set the hook.
#[must_use = "a hook that was set before stays"]
pub fn set_hook(hook: fn(&BrokenInvariant)) -> bool {
    HOOK.set(hook).is_ok()
}
