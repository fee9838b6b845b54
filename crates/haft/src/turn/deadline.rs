//! Deadlines: every wait of a turn is bounded, and time spent at gates does not count.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use haft_core::cancel::{CancelReason, Cancellation};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::sync::sleep;

/// Measures working time: the time since its start without pauses. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Stopwatch(Arc<StopwatchState>);

#[derive(Debug)]
struct StopwatchState {
    began: Instant,
    pauses: Mutex<Pauses>,
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
        let (pauses, resumed) = (Mutex::default(), Notify::new());
        Self(Arc::new(StopwatchState { began: Instant::now(), pauses, resumed }))
    }

    /// Pauses until the returned guard is dropped.
    pub(super) fn pause(&self) -> Pause {
        self.pauses(|pauses| {
            pauses.open += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self.clone())
    }

    /// The time since the start, pauses included.
    pub(super) fn elapsed(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// The working time so far.
    pub(super) fn worked(&self) -> Duration {
        self.pauses(|pauses| {
            let waiting = pauses.since.map_or(Duration::ZERO, |since| since.elapsed());
            self.0.began.elapsed().saturating_sub(pauses.total + waiting)
        })
    }

    /// Waits until this much working time has passed.
    pub(super) async fn reaches(&self, limit: Duration) {
        loop {
            let resumed = self.0.resumed.notified();
            match self.remaining(limit) {
                Remaining::Paused => resumed.await,
                Remaining::Work(Duration::ZERO) => return,
                Remaining::Work(left) => sleep(left).await,
            }
        }
    }

    /// Whether this much working time has passed.
    pub(super) fn has_reached(&self, limit: Duration) -> bool {
        matches!(self.remaining(limit), Remaining::Work(Duration::ZERO))
    }

    fn remaining(&self, limit: Duration) -> Remaining {
        self.pauses(|pauses| {
            if pauses.since.is_some() {
                return Remaining::Paused;
            }
            let worked = self.0.began.elapsed().saturating_sub(pauses.total);
            Remaining::Work(limit.saturating_sub(worked))
        })
    }

    fn pauses<T>(&self, run: impl FnOnce(&mut Pauses) -> T) -> T {
        run(&mut self.0.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is left until a limit.
enum Remaining {
    /// Unknown while the stopwatch is paused.
    Paused,
    Work(Duration),
}

/// A pause of a stopwatch.
#[derive(Debug)]
pub(super) struct Pause(Stopwatch);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.pauses(|pauses| {
            pauses.open = pauses.open.saturating_sub(1);
            if pauses.open == 0
                && let Some(since) = pauses.since.take()
            {
                pauses.total += since.elapsed();
            }
        });
        self.0.0.resumed.notify_waiters();
    }
}

/// Why a wait ended without a result.
#[derive(Debug)]
pub(super) enum WaitError {
    /// The deadline passed.
    Deadline,
    /// The turn was cancelled, and the work did not end by itself.
    Cancelled(CancelReason),
    /// The work panicked, with this message.
    Panicked(String),
}

/// Waits for work until the stopwatch has measured `limit`, or until the turn was cancelled and `grace` has passed.
/// Panics are caught.
pub(super) async fn with_deadline<T>(
    work: impl Future<Output = T> + Unpin,
    watch: &Stopwatch,
    limit: Duration,
    cancellation: &Cancellation,
    grace: Duration,
) -> Result<T, WaitError> {
    let mut work = CatchUnwind(work);
    let late = async {
        let reason = cancellation.cancelled().await;
        // Boxed, because it is seldom needed and every wait would have to make room for it.
        Box::pin(sleep(grace)).await;
        reason
    };
    tokio::select! {
        biased;
        done = &mut work => done.map_err(WaitError::Panicked),
        () = watch.reaches(limit) => Err(WaitError::Deadline),
        reason = late => Err(WaitError::Cancelled(reason)),
    }
}

/// A future whose panics are errors, with the message of the panic.
pub(super) struct CatchUnwind<F>(pub(super) F);

impl<F: Future + Unpin> Future for CatchUnwind<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = Pin::new(&mut self.0);
        match catch_panic(|| inner.poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// Calls a function whose panic is an error, with the message of the panic.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_text(panic.as_ref()))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
