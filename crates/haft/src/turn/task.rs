//! Runs the code of tools on tasks of its own, or on threads where it may block.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};
use tracing::instrument::{Instrument as _, WithSubscriber as _};

/// Work on a task or on a thread. Dropping this ends the work: a task is aborted; a thread cannot be stopped, but work
/// that has not started never starts.
#[derive(Debug)]
pub(super) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    /// Starts work on a task.
    #[expect(clippy::disallowed_methods, reason = "what is started ends when this is dropped")]
    pub(super) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(in_current_trace(work)))
    }

    /// Starts work on a thread for work that may block. The thread is held until the work ends, and the number of these
    /// threads is limited: the work must not wait for anything that needs one of them.
    pub(super) fn spawn_blocking(work: impl Future<Output = T> + Send + 'static) -> Self {
        let runtime = Handle::current();
        let work = in_current_trace(work);
        Self(tokio::task::spawn_blocking(move || runtime.block_on(work)))
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts work on a task that goes on when nobody waits for it.
#[expect(clippy::disallowed_methods, reason = "the caller wants the work to outlive it")]
pub(super) fn spawn_detached<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    tokio::spawn(in_current_trace(work))
}

/// Work that continues the trace of its caller on another task: in the span that is current now, with the collector
/// that is current now.
pub(super) fn in_current_trace<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    work.in_current_span().with_current_subscriber()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    /// A runtime with one thread for blocking work.
    fn runtime() -> Runtime {
        Builder::new_current_thread().max_blocking_threads(1).build().unwrap()
    }

    #[test]
    fn a_panic_is_an_error() {
        let work = async { panic!("broken") };
        let done: Result<(), _> = runtime().block_on(async { Task::spawn_blocking(work).await });
        assert!(done.unwrap_err().to_string().contains("broken"));
    }

    #[test]
    fn work_that_has_not_begun_never_runs_after_a_drop() {
        let has_run = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_run);
        runtime().block_on(async {
            let (release, released) = mpsc::channel::<()>();
            let first = Task::spawn_blocking(async move { released.recv().is_err() });
            drop(Task::spawn_blocking(async move { noted.store(true, Ordering::SeqCst) }));
            drop(release);
            assert!(first.await.unwrap());
            assert_eq!(Task::spawn_blocking(async { 1 }).await.unwrap(), 1);
        });
        assert!(!has_run.load(Ordering::SeqCst));
    }
}
