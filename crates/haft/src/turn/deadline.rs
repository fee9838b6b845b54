//! Deadlines: every wait of a turn is bounded, and time spent at gates does not count.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haft_core::cancel::{CancelReason, Cancellation};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::sync::sleep;

/// Measures working time: the time since its start without pauses.
#[derive(Debug)]
pub(super) struct Stopwatch {
    began: Instant,
    pauses: Mutex<Pauses>,
}

#[derive(Debug, Default)]
struct Pauses {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), pauses: Mutex::default() }
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

    /// Whether this much working time has passed.
    pub(super) fn has_reached(&self, limit: Duration) -> bool {
        self.worked() >= limit
    }

    /// Ready once this much working time has passed. Until then the timer wakes the task in time to look again.
    pub(super) fn poll_reached(
        &self,
        limit: Duration,
        timer: &TaskTimer,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let now = Instant::now();
        let (worked, is_paused) =
            self.pauses(|pauses| (pauses.worked(self.began, now), pauses.since.is_some()));
        let left = limit.saturating_sub(worked);
        if left.is_zero() && !is_paused {
            return Poll::Ready(());
        }
        // A pause may end at any time, and only makes the limit come later.
        let left = if is_paused { left.max(PAUSED_INTERVAL) } else { left };
        timer.wake_after(now, left, cx);
        Poll::Pending
    }

    fn pauses<T>(&self, run: impl FnOnce(&mut Pauses) -> T) -> T {
        run(&mut self.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// While a stopwatch is paused just before a limit, it is looked at no more often than this.
const PAUSED_INTERVAL: Duration = Duration::from_secs(1);

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
            }
        });
    }
}

/// Wakes one task for all of its deadlines. Most waits end long before their deadline, so the timer is not set again
/// for each of them: it fires at the earliest deadline so far or earlier, and each wait then checks its stopwatch.
#[derive(Debug, Default)]
pub(super) struct TaskTimer(Mutex<Option<RunningTimer>>);

/// A timer that was started, and what it wakes.
#[derive(Debug)]
struct RunningTimer {
    sleep: Pin<Box<Sleep>>,
    waker: Waker,
}

impl TaskTimer {
    /// Wakes the task after this time at the latest.
    fn wake_after(&self, now: Instant, time: Duration, cx: &mut Context<'_>) {
        // A time that no clock can show never comes.
        let Some(at) = now.checked_add(time) else { return };
        let mut timer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *timer {
            Some(set) if set.is_ahead(now, at) && set.waker.will_wake(cx.waker()) => {}
            Some(set) => set.set(at, cx),
            None => {
                let (sleep, waker) = (Box::pin(sleep_until(at)), cx.waker().clone());
                timer.insert(RunningTimer { sleep, waker }).set(at, cx);
            }
        }
    }
}

impl RunningTimer {
    /// Whether it has not fired yet and will fire at this time at the latest.
    fn is_ahead(&self, now: Instant, at: Instant) -> bool {
        let deadline = self.sleep.deadline();
        now < deadline && deadline <= at
    }

    /// Sets it to this time, unless it is set to an earlier one that is still ahead.
    fn set(&mut self, at: Instant, cx: &mut Context<'_>) {
        self.waker.clone_from(cx.waker());
        if self.sleep.deadline() > at {
            self.sleep.as_mut().reset(at);
        }
        if self.sleep.as_mut().poll(cx).is_ready() {
            // It was set for an earlier wait.
            self.sleep.as_mut().reset(at);
            if self.sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
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

/// What bounds a wait.
#[derive(Clone, Copy)]
pub(super) struct WaitBounds<'w> {
    pub(super) watch: &'w Stopwatch,
    /// The timer of the task that waits.
    pub(super) timer: &'w TaskTimer,
    /// What the stopwatch shows at the deadline.
    pub(super) limit: Duration,
    pub(super) cancellation: &'w Cancellation,
    /// How long cancelled work has to end by itself.
    pub(super) grace: Duration,
}

/// Waits for work until the stopwatch has measured the limit, or until the turn was cancelled and the grace has passed.
/// Panics are caught.
pub(super) fn with_deadline<T>(
    work: impl Future<Output = T> + Unpin,
    bounds: WaitBounds<'_>,
) -> impl Future<Output = Result<T, WaitError>> {
    let mut work = CatchUnwind(work);
    async move {
        let reason = {
            let mut cancelled = bounds.cancellation.cancelled();
            let ended = poll_fn(|cx| match poll_bounded(&mut work, &bounds, cx) {
                Poll::Ready(ended) => Poll::Ready(Ok(ended)),
                Poll::Pending => Pin::new(&mut cancelled).poll(cx).map(Err),
            });
            match ended.await {
                Ok(ended) => return ended,
                Err(reason) => reason,
            }
        };
        // Boxed, because it is seldom needed and every wait would have to make room for it.
        Box::pin(end_cancelled(work, bounds, reason)).await
    }
}

/// Lets work that was cancelled end by itself, until the grace or the deadline has passed.
async fn end_cancelled<T>(
    mut work: CatchUnwind<impl Future<Output = T> + Unpin>,
    bounds: WaitBounds<'_>,
    reason: CancelReason,
) -> Result<T, WaitError> {
    let grace = std::pin::pin!(sleep(bounds.grace));
    tokio::select! {
        biased;
        ended = poll_fn(|cx| poll_bounded(&mut work, &bounds, cx)) => ended,
        () = grace => Err(WaitError::Cancelled(reason)),
    }
}

/// The result of work, or that its deadline has passed.
fn poll_bounded<T>(
    work: &mut CatchUnwind<impl Future<Output = T> + Unpin>,
    bounds: &WaitBounds<'_>,
    cx: &mut Context<'_>,
) -> Poll<Result<T, WaitError>> {
    match Pin::new(work).poll(cx) {
        Poll::Ready(done) => Poll::Ready(done.map_err(WaitError::Panicked)),
        Poll::Pending => {
            let WaitBounds { watch, timer, limit, .. } = *bounds;
            watch.poll_reached(limit, timer, cx).map(|()| Err(WaitError::Deadline))
        }
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
