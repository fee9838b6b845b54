//! Deadlines: every wait of a turn is bounded, and time spent at gates does not count.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::tool::PanicError;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::sync::sleep;

/// Measures working time: the time since its start without pauses.
#[derive(Debug)]
pub(super) struct Stopwatch {
    began: Instant,
    pauses: Mutex<Pauses>,
    /// Notified when the last pause ends.
    resumed: Notify,
}

#[derive(Debug, Default)]
struct Pauses {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), pauses: Mutex::default(), resumed: Notify::new() }
    }

    /// Pauses until the returned guard is dropped.
    pub(super) fn pause(&self) -> Pause<'_> {
        self.pauses(|pauses| {
            pauses.open += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self)
    }

    /// The time since the start, pauses included.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The working time so far.
    pub(super) fn worked(&self) -> Duration {
        self.pauses(|pauses| pauses.worked(self.began, Instant::now()))
    }

    /// How long it was paused so far.
    pub(super) fn paused(&self) -> Duration {
        self.pauses(|pauses| {
            pauses.total + pauses.since.map_or(Duration::ZERO, |since| since.elapsed())
        })
    }

    /// Whether this much working time has passed.
    pub(super) fn has_reached(&self, limit: Duration) -> bool {
        self.worked() >= limit
    }

    /// Waits until this much working time has passed. That is never during a pause.
    pub(super) async fn reached(&self, limit: Duration) {
        loop {
            // Before the look at the pauses, so that no end of a pause is missed.
            let resumed = self.resumed.notified();
            let now = Instant::now();
            let (worked, is_paused) =
                self.pauses(|pauses| (pauses.worked(self.began, now), pauses.since.is_some()));
            let left = limit.saturating_sub(worked);
            if is_paused {
                resumed.await;
            } else if left.is_zero() {
                return;
            } else {
                sleep(left).await;
            }
        }
    }

    fn pauses<T>(&self, run: impl FnOnce(&mut Pauses) -> T) -> T {
        run(&mut self.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Pauses {
    fn worked(&self, began: Instant, now: Instant) -> Duration {
        let until = self.since.unwrap_or(now);
        until.saturating_duration_since(began).saturating_sub(self.total)
    }
}

/// A pause of a stopwatch.
#[derive(Debug)]
pub(super) struct Pause<'w>(&'w Stopwatch);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.pauses(|pauses| {
            pauses.open = pauses.open.saturating_sub(1);
            if pauses.open == 0
                && let Some(since) = pauses.since.take()
            {
                pauses.total += since.elapsed();
                self.0.resumed.notify_waiters();
            }
        });
    }
}

/// Why a wait ended without a result.
#[derive(Debug)]
pub(super) enum WaitError {
    /// The deadline passed.
    Deadline,
    /// The turn was cancelled, and the work did not end by itself.
    Cancelled(CancelReason),
    /// The work panicked.
    Panicked(PanicError),
}

/// Awaits work until its deadline has passed, or until the turn was cancelled and the work did not end by itself within
/// the grace.
pub(super) async fn with_deadline<T>(
    work: impl Future<Output = T>,
    deadline: impl Future<Output = ()>,
    cancellation: &Cancellation,
    grace: Duration,
) -> Result<T, WaitError> {
    let cancelled = async {
        let reason = cancellation.cancelled().await;
        sleep(grace).await;
        reason
    };
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = deadline => Err(WaitError::Deadline),
        reason = cancelled => Err(WaitError::Cancelled(reason)),
    }
}
