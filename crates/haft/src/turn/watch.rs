//! Time that counts: waiting is bounded, and waiting at a gate is not counted.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use haft_core::cancel::{CancelReason, Cancellation};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Measures work, without the time that is spent waiting at gates. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Stopwatch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
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
        Self(Arc::new(Shared { began: Instant::now(), pauses, resumed }))
    }

    /// Stops until the pause is dropped.
    pub(super) fn pause(&self) -> Pause {
        self.pauses(|pauses| {
            pauses.open += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self.clone())
    }

    /// Time from beginning to now, pauses included.
    pub(super) fn elapsed(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// How much has been worked until now.
    pub(super) fn worked(&self) -> Duration {
        self.pauses(|pauses| {
            let waiting = pauses.since.map_or(Duration::ZERO, |since| since.elapsed());
            self.0.began.elapsed().saturating_sub(pauses.total + waiting)
        })
    }

    /// Ready once this much has been worked.
    pub(super) async fn reaches(&self, limit: Duration) {
        loop {
            let resumed = self.0.resumed.notified();
            match self.left(limit) {
                Left::Waiting => resumed.await,
                Left::Work(Duration::ZERO) => return,
                Left::Work(left) => sleep(left).await,
            }
        }
    }

    /// Whether this much has been worked.
    pub(super) fn has_reached(&self, limit: Duration) -> bool {
        matches!(self.left(limit), Left::Work(Duration::ZERO))
    }

    fn left(&self, limit: Duration) -> Left {
        self.pauses(|pauses| {
            if pauses.since.is_some() {
                return Left::Waiting;
            }
            let worked = self.0.began.elapsed().saturating_sub(pauses.total);
            Left::Work(limit.saturating_sub(worked))
        })
    }

    fn pauses<T>(&self, run: impl FnOnce(&mut Pauses) -> T) -> T {
        run(&mut self.0.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Left {
    Waiting,
    Work(Duration),
}

/// Time that does not count.
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

/// Waits. A clock dates records; how long to wait is the runtime's business, which tests can drive.
#[expect(clippy::disallowed_methods, reason = "the one place where turns wait for time")]
pub(super) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Runs work beside the turns that need it. It must come to an end by itself when none does.
#[expect(clippy::disallowed_methods, reason = "the one place where turns start such work")]
pub(super) fn beside(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// Work on a task or a thread of its own; nothing comes of it if it panics. Dropping this ends the task. A
/// thread cannot be stopped, but whatever waits on it can: it ends then too.
#[derive(Debug)]
pub(super) struct Task<T> {
    handle: JoinHandle<Option<T>>,
    /// Tells a thread, by being dropped, that nobody waits for it.
    _wanted: Option<oneshot::Sender<()>>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts it on a task.
    #[expect(clippy::disallowed_methods, reason = "what is started ends when this is dropped")]
    pub(super) fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { handle: tokio::spawn(async { Some(work.await) }), _wanted: None }
    }

    /// Starts it on a thread for work that blocks.
    pub(super) fn start_blocking(work: impl Future<Output = T> + Send + 'static) -> Self {
        let (wanted, given_up) = oneshot::channel();
        let runtime = Handle::current();
        let work = async {
            tokio::select! {
                biased;
                done = work => Some(done),
                _ = given_up => None,
            }
        };
        let handle = tokio::task::spawn_blocking(move || runtime.block_on(work));
        Self { handle, _wanted: Some(wanted) }
    }
}

impl<T> Future for Task<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(cx).map(|joined| joined.ok().flatten())
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

/// Why something was not waited for any longer.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// Its time was up.
    Deadline,
    /// It was cancelled, and did not end by itself.
    Cancelled(CancelReason),
    /// It panicked; what the panic said.
    Panicked(String),
}

/// Waits for work until the watch has counted `limit`, or until it was cancelled and `grace` has passed.
/// Panics are caught.
pub(super) async fn bounded<T>(
    work: impl Future<Output = T> + Unpin,
    watch: &Stopwatch,
    limit: Duration,
    cancellation: &Cancellation,
    grace: Duration,
) -> Result<T, Interrupted> {
    let mut work = Guarded(work);
    let late = async {
        let reason = cancellation.cancelled().await;
        // Boxed, because it is seldom needed and every wait would have to make room for it.
        Box::pin(sleep(grace)).await;
        reason
    };
    tokio::select! {
        biased;
        done = &mut work => done.map_err(Interrupted::Panicked),
        () = watch.reaches(limit) => Err(Interrupted::Deadline),
        reason = late => Err(Interrupted::Cancelled(reason)),
    }
}

/// A future whose panics are an error: what the panic said.
pub(super) struct Guarded<F>(pub(super) F);

impl<F: Future + Unpin> Future for Guarded<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = Pin::new(&mut self.0);
        match catch_unwind(AssertUnwindSafe(|| inner.poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic_text(panic.as_ref()))),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
