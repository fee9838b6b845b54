//! Waiting for a token.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{CancelNode, CancelReason};

/// Ready when its token is cancelled; made by [`Cancellation::cancelled`].
///
/// It registers one waker, however often it is polled, and takes it back when it is dropped.
///
/// [`Cancellation::cancelled`]: super::Cancellation::cancelled
#[must_use = "a future does nothing unless it is awaited"]
pub struct CancelledFuture {
    node: Arc<CancelNode>,
    /// The key of the waker in the node's `wakers`.
    key: Option<u64>,
}

impl CancelledFuture {
    pub(super) fn new(node: Arc<CancelNode>) -> Self {
        Self { node, key: None }
    }
}

impl Future for CancelledFuture {
    type Output = CancelReason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CancelReason> {
        let this = &mut *self;
        // Wakers are cloned and dropped outside the lock, because both run code of others: the
        // last clone of a waker may drop a task that holds another future of this node.
        let mut fresh = None;
        loop {
            let mut state = this.node.lock();
            if let Some(reason) = &state.reason {
                return Poll::Ready(reason.clone());
            }
            let known = this.key.and_then(|key| state.wakers.get(key));
            if known.is_some_and(|waker| waker.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            let Some(waker) = fresh.take() else {
                drop(state);
                fresh = Some(cx.waker().clone());
                continue;
            };
            let key = this.key.unwrap_or_else(|| state.take_key());
            this.key = Some(key);
            let old = state.wakers.insert(key, waker);
            drop(state);
            drop(old);
            return Poll::Pending;
        }
    }
}

impl Drop for CancelledFuture {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.node.lock().wakers.remove(key);
            drop(waker);
        }
    }
}

impl fmt::Debug for CancelledFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.node.lock().reason.clone();
        f.debug_struct("Cancelled").field("reason", &reason).finish_non_exhaustive()
    }
}
