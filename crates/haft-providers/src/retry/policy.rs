//! What is tried again, when, and how often.

use std::time::Duration;

/// What is tried again, when, and how often. Nothing is once bytes of a body were handed out.
///
/// The n-th delay is `base_delay` doubled n-1 times, at most `max_delay`, and up to a tenth more or less, so that
/// clients that failed together do not come back together. A provider that says when to come back is not asked earlier:
/// if that is later than `max_delay`, the request fails at once and says so. Nor is one asked again that says that the
/// quota is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RetryPolicy {
    /// How often a request is sent at most, the first time included; 3. Zero counts as one.
    pub max_attempts: u32,
    /// The first delay; 500 ms.
    pub base_delay: Duration,
    /// The longest delay; 30 s.
    pub max_delay: Duration,
    /// How long after the beginning the last attempt may begin; 2 minutes. Each attempt has the limits of its transport.
    pub budget: Duration,
    /// Statuses that are worth another attempt: 408, 409, 425, 429, 500, 502, 503, 504 and 520 to 529.
    pub statuses: Vec<u16>,
    /// Whether what the provider says about when, and about whether at all, is heeded; it is.
    pub hints: Hints,
}

/// Whether `retry-after`, `retry-after-ms` and `x-should-retry` are heeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hints {
    /// They are.
    Heed,
    /// They are not: only the policy counts.
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
            hints: Hints::Heed,
        }
    }
}

impl RetryPolicy {
    /// Everything is tried once.
    pub fn never() -> Self {
        Self::default().max_attempts(1)
    }

    /// Sets how often a request is sent at most.
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

    /// Sets how long after the beginning the last attempt may begin.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Sets which statuses are worth another attempt.
    pub fn statuses(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.statuses = statuses.into_iter().collect();
        self
    }

    /// Sets whether what the provider says is heeded.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    /// The delay after so many failed attempts, without jitter and without what the provider says.
    pub(super) fn backoff(&self, failed: u32) -> Duration {
        let factor = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base_delay.saturating_mul(factor).min(self.max_delay)
    }
}
