//! Blocking reads of content, whether it is on this machine or remote.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use bytes::Bytes;
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::spool::{LocalRead, SpoolError};
use tokio::sync::Semaphore;

use crate::blocking::run_blocking;
use crate::content_view::ContentView;
use crate::scan::{CancelOnDrop, check_cancelled, read_error, read_exact_local, too_short};

/// Content that is read from a thread that may block.
pub(super) struct BlockingSource {
    reads: SourceKind,
    cancellation: Cancellation,
    length: u64,
}

enum SourceKind {
    Local(Arc<dyn LocalRead>),
    Remote(Arc<ReadBridge>),
}

impl BlockingSource {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Fills the buffer with the bytes from `offset` on, which must exist.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SpoolError> {
        check_cancelled(&self.cancellation)?;
        match &self.reads {
            SourceKind::Local(local) => read_exact_local(&**local, offset, buffer),
            SourceKind::Remote(bridge) => copy(&bridge.read(offset, buffer.len())?, buffer),
        }
    }
}

fn copy(from: &[u8], to: &mut [u8]) -> Result<(), SpoolError> {
    if from.len() != to.len() {
        return Err(too_short());
    }
    to.copy_from_slice(from);
    Ok(())
}

/// How many queries on remote content run at the same time. Each has a thread, which mostly waits for reads.
static QUERY_THREADS: Semaphore = Semaphore::const_new(128);

/// Runs blocking work that reads the content. Dropping the future stops the work at its next read.
pub(super) async fn run<T: Send + 'static>(
    content: &ContentView,
    work: impl FnOnce(BlockingSource) -> T + Send + 'static,
) -> Result<T, SpoolError> {
    let guard = CancelOnDrop(content.cancellation.child());
    let length = content.byte_length();
    let token = guard.0.clone();
    if let Some(local) = content.reader.local() {
        let source =
            BlockingSource { reads: SourceKind::Local(local), cancellation: token, length };
        return run_blocking(move || Ok(work(source))).await.map_err(read_error);
    }
    let bridge = Arc::new(ReadBridge::default());
    let closer = CloseOnDrop(Arc::clone(&bridge));
    let result = Arc::new(Mutex::new(None));
    let thread_bridge = Arc::clone(&bridge);
    let slot = Arc::clone(&result);
    let thread_work = move || {
        let done = FinishOnDrop(Arc::clone(&thread_bridge));
        let source = BlockingSource {
            reads: SourceKind::Remote(thread_bridge),
            cancellation: token,
            length,
        };
        let worked = work(source);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
        drop(done);
    };
    // Not a blocking thread of the runtime: their number is limited, and the reads that this one waits for may need them.
    let permit =
        QUERY_THREADS.acquire().await.map_err(|error| read_error(io::Error::other(error)))?;
    let thread = thread::Builder::new().name("haft-query".to_owned());
    let thread_work = move || {
        thread_work();
        drop(permit);
    };
    drop(thread.spawn(thread_work).map_err(read_error)?);
    while let Some((offset, len)) = bridge.wanted().await {
        let read = content.reader.read_at(offset, len).await;
        bridge.answer(read);
    }
    drop(closer);
    let worked = result.lock().unwrap_or_else(PoisonError::into_inner).take();
    worked.ok_or_else(|| read_error(io::Error::other("the work on the content broke off")))
}

/// Hands read requests from a blocked thread to a future, and the bytes back to the thread.
#[derive(Default)]
struct ReadBridge {
    state: Mutex<BridgeState>,
    changed: Condvar,
}

#[derive(Default)]
struct BridgeState {
    wanted: Option<(u64, usize)>,
    answer: Option<Result<Bytes, SpoolError>>,
    /// The future was dropped.
    closed: bool,
    /// The work is done.
    done: bool,
    waker: Option<Waker>,
}

impl ReadBridge {
    fn state(&self) -> MutexGuard<'_, BridgeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by the thread: requests bytes and waits for them.
    fn read(&self, offset: u64, len: usize) -> Result<Bytes, SpoolError> {
        let mut state = self.state();
        state.wanted = Some((offset, len));
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        loop {
            if let Some(answer) = state.answer.take() {
                return answer;
            }
            if state.closed {
                return Err(SpoolError::Cancelled { reason: CancelReason::Requested });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Called by the future: waits for the next request; `None` when the work is done.
    async fn wanted(&self) -> Option<(u64, usize)> {
        poll_fn(|cx| {
            let mut state = self.state();
            if let Some(wanted) = state.wanted.take() {
                return Poll::Ready(Some(wanted));
            }
            if state.done {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn answer(&self, answer: Result<Bytes, SpoolError>) {
        self.state().answer = Some(answer);
        self.changed.notify_all();
    }
}

/// Wakes the thread when the future is dropped.
struct CloseOnDrop(Arc<ReadBridge>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_all();
    }
}

/// Wakes the future when the work is done or has panicked.
struct FinishOnDrop(Arc<ReadBridge>);

impl Drop for FinishOnDrop {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.done = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}
