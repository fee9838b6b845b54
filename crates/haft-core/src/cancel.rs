//! Stopping work: a tree of cancellation tokens that needs no runtime.
//!
//! A turn has a token, each dispatch a child of it, each tool call a child of that. Cancelling one
//! cancels everything below it and nothing above it.
//!
//! ```
//! use haft_core::cancel::{CancelReason, Cancellation};
//!
//! let turn = Cancellation::new();
//! let call = turn.child();
//! call.cancel("the user pressed stop");
//! assert!(call.is_cancelled() && !turn.is_cancelled());
//!
//! turn.cancel(CancelReason::Deadline);
//! assert_eq!(turn.child().reason(), Some(CancelReason::Deadline));
//! assert_eq!(call.reason(), Some(CancelReason::from("the user pressed stop")));
//! ```

mod ordered;
mod wait;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use self::ordered::Ordered;
pub use self::wait::CancelledFuture;

/// Why something was cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// It was requested without a reason.
    Requested,
    /// Its time was up.
    Deadline,
    /// The process or the runner is going down.
    Shutdown,
    /// Any other reason, in words.
    Other(Arc<str>),
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "cancelled on request",
            Self::Deadline => "the deadline has passed",
            Self::Shutdown => "shutting down",
            Self::Other(reason) => reason,
        })
    }
}

impl From<&str> for CancelReason {
    fn from(reason: &str) -> Self {
        Self::Other(reason.into())
    }
}

impl From<String> for CancelReason {
    fn from(reason: String) -> Self {
        Self::Other(reason.into())
    }
}

/// A token of the tree. Clones are the same token; [`Cancellation::child`] makes a new one.
///
/// A token lives as long as a clone, a descendant or a waiting future of it. A parent does not
/// keep its children alive: one that is dropped leaves no trace in it.
#[derive(Clone)]
pub struct Cancellation {
    node: Arc<CancelNode>,
}

struct CancelNode {
    /// Set once, after `state.reason`, so that asking costs one load.
    cancelled: AtomicBool,
    state: Mutex<CancelState>,
    /// Strong, so that a token stays linked to its ancestors when those in between have no handle.
    parent: Option<Arc<Self>>,
    /// The key of this node in its parent's `children`.
    key: u64,
}

#[derive(Default)]
struct CancelState {
    reason: Option<CancelReason>,
    children: Ordered<Weak<CancelNode>>,
    /// In order of registration, which is the order in which they are woken.
    wakers: Ordered<Waker>,
    next_key: u64,
}

impl Cancellation {
    /// A new root.
    #[must_use]
    pub fn new() -> Self {
        Self { node: Arc::new(CancelNode::new(None, None, 0)) }
    }

    /// A new token below this one. It is cancelled already if this one is.
    #[must_use]
    pub fn child(&self) -> Self {
        let mut state = self.node.lock();
        let key = state.take_key();
        let parent = Arc::clone(&self.node);
        let node = Arc::new(CancelNode::new(Some(parent), state.reason.clone(), key));
        if state.reason.is_none() {
            state.children.insert(key, Arc::downgrade(&node));
        }
        Self { node }
    }

    /// Cancels this token and everything below it, then wakes who waits for them. The first reason
    /// stays; cancelling again does nothing.
    pub fn cancel(&self, reason: impl Into<CancelReason>) {
        let reason = reason.into();
        let mut wakers = Vec::new();
        let mut nodes = vec![Arc::clone(&self.node)];
        while let Some(node) = nodes.pop() {
            let mut state = node.lock();
            if state.reason.is_some() {
                continue;
            }
            state.reason = Some(reason.clone());
            node.cancelled.store(true, Ordering::Release);
            wakers.extend(state.wakers.take());
            let children = state.children.take();
            drop(state);
            // Reversed, so that the oldest child is popped first.
            nodes.extend(children.into_iter().rev().filter_map(|child| child.upgrade()));
        }
        // Only now, without a lock: a waker runs code of others, which may ask for this tree.
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether this token or one above it was cancelled. One atomic load.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.node.cancelled.load(Ordering::Acquire)
    }

    /// The reason for the cancellation, or `None` if the token is not cancelled.
    #[must_use]
    pub fn reason(&self) -> Option<CancelReason> {
        // Tokens are asked often and cancelled once: spare the lock.
        if self.is_cancelled() { self.node.lock().reason.clone() } else { None }
    }

    /// A future that is ready as soon as this token is cancelled, with the reason.
    ///
    /// The future owns its state and can outlive the token. Dropping it unregisters the waker.
    ///
    /// ```
    /// use haft_core::cancel::{CancelReason, Cancellation};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let token = Cancellation::new();
    /// token.cancel(CancelReason::Shutdown);
    /// token.cancelled().await;
    /// assert_eq!(token.reason(), Some(CancelReason::Shutdown));
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancelled(&self) -> CancelledFuture {
        CancelledFuture::new(Arc::clone(&self.node))
    }
}

impl CancelNode {
    fn new(parent: Option<Arc<Self>>, reason: Option<CancelReason>, key: u64) -> Self {
        let cancelled = AtomicBool::new(reason.is_some());
        let state = CancelState { reason, ..CancelState::default() };
        Self { cancelled, state: Mutex::new(state), parent, key }
    }

    /// Nothing panics while the lock is held, and if it did the state would still be whole.
    fn lock(&self) -> MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CancelState {
    fn take_key(&mut self) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        key
    }
}

/// Leaves the parent. A loop, because a long chain whose only handle goes would otherwise recurse
/// as deep as it is long.
impl Drop for CancelNode {
    fn drop(&mut self) {
        let mut key = self.key;
        let mut parent = self.parent.take();
        while let Some(node) = parent {
            node.lock().children.remove(key);
            key = node.key;
            parent = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}

impl Default for Cancellation {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("reason", &self.reason()).finish_non_exhaustive()
    }
}
