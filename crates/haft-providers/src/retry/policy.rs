//! When a request is retried, and how often.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// When a request is retried, and how often.
///
/// A [`RetryClient`](super::RetryClient) does not retry a request once bytes of a body were returned. A provider also
/// retries a response that breaks off, stalls or cannot be read, with the attempts that are left; no call of such a
/// response is made.
///
/// The n-th delay is `base_delay` doubled n-1 times, at most `max_delay`, and up to a tenth more or less, so that clients
/// that failed together do not retry together. If the provider says when to retry, the request is not sent earlier; if that
/// is later than `max_delay`, the request fails at once. A request is not retried if the quota is exhausted.
///
/// ```
/// use haft_providers::retry::RetryPolicy;
///
/// let policy = RetryPolicy::default().max_attempts(5);
/// assert!(policy.statuses.contains(&429));
/// assert_eq!(RetryPolicy::never().max_attempts, 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RetryPolicy {
    /// The maximum number of attempts, the first one included; 3. Zero counts as one.
    pub max_attempts: u32,
    /// The first delay; 500 ms.
    pub base_delay: Duration,
    /// The longest delay; 30 s.
    pub max_delay: Duration,
    /// How long after the first attempt the last one may begin; 2 minutes. Each attempt has the limits of its transport.
    pub budget: Duration,
    /// Statuses that are retried: 408, 409, 425, 429, 500, 502, 503, 504 and 520 to 529.
    pub statuses: Vec<u16>,
    /// Whether the hints of the provider are honored; they are by default.
    pub hints: RetryHints,
}

/// Whether `retry-after`, `retry-after-ms` and `x-should-retry` are honored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryHints {
    /// They are honored.
    Honor,
    /// They are ignored: only the policy counts.
    Ignore,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let statuses = [408, 409, 425, 429, 500, 502, 503, 504];
        Self {
            max_attempts: 3,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            budget: Duration::from_secs(120),
            statuses: statuses.into_iter().chain(520..=529).collect(),
            hints: RetryHints::Honor,
        }
    }
}

impl RetryPolicy {
    /// A policy without retries.
    ///
    /// ```
    /// use haft_providers::retry::RetryPolicy;
    ///
    /// assert_eq!(RetryPolicy::never().max_attempts, 1);
    /// ```
    pub fn never() -> Self {
        Self::default().max_attempts(1)
    }

    /// Sets the maximum number of attempts.
    pub fn max_attempts(mut self, most: u32) -> Self {
        self.max_attempts = most;
        self
    }

    /// Sets the first delay.
    pub fn base_delay(mut self, delay: Duration) -> Self {
        self.base_delay = delay;
        self
    }

    /// Sets the longest delay.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Sets how long after the first attempt the last one may begin.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Sets which statuses are retried.
    ///
    /// ```
    /// use haft_providers::retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::default().statuses([429, 503]);
    /// assert_eq!(policy.statuses, [429, 503]);
    /// ```
    pub fn statuses(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.statuses = statuses.into_iter().collect();
        self
    }

    /// Sets whether the hints of the provider are honored.
    pub fn hints(mut self, hints: RetryHints) -> Self {
        self.hints = hints;
        self
    }

    /// The delay after `failed` attempts, without jitter and hints.
    pub(super) fn backoff(&self, failed: u32) -> Duration {
        let factor = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base_delay.saturating_mul(factor).min(self.max_delay)
    }
}

/// A source of random differences between delays: the same seed gives the same ones.
#[derive(Debug)]
pub(super) struct Jitter(AtomicU64);

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Up to a tenth more or less.
    pub(super) fn spread_around(&self, delay: Duration) -> Duration {
        delay.mul_f64(0.9 + 0.2 * self.next())
    }

    /// Up to a tenth more.
    pub(super) fn spread_above(&self, delay: Duration) -> Duration {
        delay.mul_f64(1.0 + 0.1 * self.next())
    }

    /// From zero to one; the generator is SplitMix64, of which only the upper bits are used.
    fn next(&self) -> f64 {
        let step = 0x9E37_79B9_7F4A_7C15_u64;
        let mut z = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        f64::from((z >> 32) as u32) / f64::from(u32::MAX)
    }
}
