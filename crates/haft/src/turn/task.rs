//! Runs work on tasks of its own, or on blocking threads where it may block.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::task::JoinHandle;
use tracing::instrument::{Instrument as _, WithSubscriber as _};

/// Work on a task or on threads for blocking work, without a result if it panics. Dropping this ends the work: a task
/// is aborted; a thread cannot be stopped, but the future that it polls is dropped.
#[derive(Debug)]
pub(super) enum Task<T> {
    Spawned(AbortOnDrop<T>),
    Blocking(BlockingTask<T>),
}

impl<T: Send + 'static> Task<T> {
    /// Starts work on a task.
    #[expect(clippy::disallowed_methods, reason = "what is started ends when this is dropped")]
    pub(super) fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Spawned(AbortOnDrop(tokio::spawn(in_current_trace(work))))
    }

    /// Starts work that may block on threads for such work.
    pub(super) fn start_blocking(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Blocking(BlockingTask::start(Box::pin(in_current_trace(work))))
    }
}

impl<T: Send + 'static> Future for Task<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Spawned(task) => Pin::new(&mut task.0).poll(cx).map(Result::ok),
            Self::Blocking(task) => task.poll_result(cx),
        }
    }
}

/// A task that is aborted when this is dropped. Blocking work that has not started never starts then.
#[derive(Debug)]
pub(super) struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type BoxedWork<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future whose polls may block. Each poll takes a thread for blocking work, and no thread is held while the future
/// waits: the number of these threads is limited, and what the future waits for may need one of them too.
pub(super) struct BlockingTask<T> {
    state: BlockingState<T>,
    wakes: Arc<Wakes>,
}

enum BlockingState<T> {
    /// A thread polls the future.
    Polling(AbortOnDrop<PolledWork<T>>),
    /// The future waits to be woken.
    Waiting(BoxedWork<T>),
    Ended,
}

/// The result of polling work on a thread.
enum PolledWork<T> {
    Done(T),
    Pending(BoxedWork<T>),
}

impl<T> fmt::Debug for BlockingTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingTask").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> BlockingTask<T> {
    fn start(work: BoxedWork<T>) -> Self {
        let wakes = Arc::new(Wakes::default());
        Self { state: BlockingState::start_poll(work, &wakes), wakes }
    }

    /// The result of the work, or `None` if it panicked.
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            self.state = match mem::replace(&mut self.state, BlockingState::Ended) {
                BlockingState::Polling(mut thread) => match Pin::new(&mut thread.0).poll(cx) {
                    Poll::Ready(Ok(PolledWork::Done(done))) => return Poll::Ready(Some(done)),
                    Poll::Ready(Ok(PolledWork::Pending(work))) => BlockingState::Waiting(work),
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = BlockingState::Polling(thread);
                        return Poll::Pending;
                    }
                },
                BlockingState::Waiting(work) => {
                    if self.wakes.poll_woken(cx).is_pending() {
                        self.state = BlockingState::Waiting(work);
                        return Poll::Pending;
                    }
                    BlockingState::start_poll(work, &self.wakes)
                }
                BlockingState::Ended => return Poll::Ready(None),
            };
        }
    }
}

impl<T: Send + 'static> BlockingState<T> {
    fn start_poll(mut work: BoxedWork<T>, wakes: &Arc<Wakes>) -> Self {
        let waker = Waker::from(Arc::clone(wakes));
        Self::Polling(AbortOnDrop(tokio::task::spawn_blocking(move || {
            match work.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(done) => PolledWork::Done(done),
                Poll::Pending => PolledWork::Pending(work),
            }
        })))
    }
}

/// Remembers that a future was woken, also while a thread still polls it.
#[derive(Debug, Default)]
struct Wakes(Mutex<WakeState>);

#[derive(Debug, Default)]
struct WakeState {
    is_woken: bool,
    waiter: Option<Waker>,
}

impl Wakes {
    fn poll_woken(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if mem::take(&mut state.is_woken) {
            return Poll::Ready(());
        }
        state.waiter = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waiter = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_woken = true;
            state.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

/// Work that continues the trace of its caller on another task: in the span that is current now, with the collector
/// that is current now.
pub(super) fn in_current_trace<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    work.in_current_span().with_current_subscriber()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    /// A runtime with one thread for blocking work.
    fn runtime() -> Runtime {
        Builder::new_current_thread().max_blocking_threads(1).build().unwrap()
    }

    #[test]
    fn a_wake_during_a_poll_is_not_lost() {
        let mut polls = 0;
        let work = poll_fn(move |cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls < 4 { Poll::Pending } else { Poll::Ready(polls) }
        });
        assert_eq!(runtime().block_on(async { Task::start_blocking(work).await }), Some(4));
    }

    #[test]
    fn a_panic_is_no_result() {
        let work = async { panic!("broken") };
        let done: Option<()> = runtime().block_on(async { Task::start_blocking(work).await });
        assert_eq!(done, None);
    }

    #[test]
    fn work_that_has_not_begun_never_runs_after_a_drop() {
        let has_run = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_run);
        runtime().block_on(async {
            let (release, released) = mpsc::channel::<()>();
            let first = Task::start_blocking(async move { released.recv().is_err() });
            drop(Task::start_blocking(async move { noted.store(true, Ordering::SeqCst) }));
            drop(release);
            assert_eq!(first.await, Some(true));
            assert_eq!(Task::start_blocking(async { 1 }).await, Some(1));
        });
        assert!(!has_run.load(Ordering::SeqCst));
    }
}
