//! How a dispatch ends: acknowledged once, or refused once.

use crate::error::codes;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::error::{Coded, ErrorCode};
use crate::event::{DispatchStatus, ErrorReport};

/// How a dispatch was signalled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// It succeeded.
    Ack,
    /// It failed.
    Nack {
        /// Why. It has a code.
        error: Box<ErrorReport>,
    },
}

impl Signal {
    /// A nack. A reason in words has the code `E_LLM_EXECUTION_NACKED`.
    #[must_use]
    pub fn nack(error: impl Into<ErrorReport>) -> Self {
        Self::Nack { error: Box::new(error.into().or_code(codes::LLM_EXECUTION_NACKED)) }
    }
}

/// A dispatch was not signalled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// It was signalled before.
    #[error("the dispatch was signalled before, with {}", match .signal { Signal::Ack => "an ack", Signal::Nack { .. } => "a nack" })]
    AlreadySignalled {
        /// How it was signalled the first time.
        signal: Signal,
    },
}

impl Coded for SignalError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::AlreadySignalled { .. } => codes::LLM_EXECUTION_ALREADY_SIGNALLED,
        }
    }
}

type Callback = Box<dyn FnOnce() + Send>;
type SettledCallback = Box<dyn FnOnce(DispatchStatus) + Send>;

#[derive(Default)]
struct SignalState {
    signal: Option<Signal>,
    pending: Option<Signal>,
    next: u64,
    callbacks: Vec<(u64, Callback)>,
    settled: Vec<SettledCallback>,
}

/// The signal of a dispatch and who waits for it. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Signals(Arc<Mutex<SignalState>>);

/// A callback that waits for an ack. Dropping this keeps it waiting; cancelling removes it.
pub struct AckSubscription {
    id: u64,
    state: Weak<Mutex<SignalState>>,
}

impl Signals {
    pub(super) fn get(&self) -> Option<Signal> {
        lock(&self.0, |state| state.signal.clone())
    }

    pub(super) fn pending(&self) -> Option<Signal> {
        lock(&self.0, |state| state.pending.clone())
    }

    pub(super) fn set_pending(&self, signal: Option<Signal>) {
        lock(&self.0, |state| state.pending = signal);
    }

    pub(super) fn on_settled(&self, callback: SettledCallback) {
        lock(&self.0, |state| state.settled.push(callback));
    }

    pub(super) fn notify_settled(&self, status: DispatchStatus) {
        for callback in lock(&self.0, |state| std::mem::take(&mut state.settled)) {
            let _ = catch_unwind(AssertUnwindSafe(|| callback(status)));
        }
    }

    pub(super) fn ack(&self) -> Result<(), SignalError> {
        for (_, callback) in self.settle(Signal::Ack)? {
            // A callback that panics does not keep the others from running.
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
        Ok(())
    }

    pub(super) fn nack(&self, error: ErrorReport) -> Result<(), SignalError> {
        self.settle(Signal::nack(error)).map(drop)
    }

    pub(super) fn on_ack(&self, callback: Callback) -> AckSubscription {
        let (id, late) = lock(&self.0, |state| {
            let id = state.next;
            state.next += 1;
            match &state.signal {
                None => {
                    // Nearly always it is the only one, and thousands of turns run at once.
                    state.callbacks.reserve_exact(usize::from(state.callbacks.is_empty()));
                    state.callbacks.push((id, callback));
                    (id, None)
                }
                Some(Signal::Ack) => (id, Some(callback)),
                Some(Signal::Nack { .. }) => (id, None),
            }
        });
        if let Some(callback) = late {
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
        AckSubscription { id, state: Arc::downgrade(&self.0) }
    }

    /// Sets the signal and hands out the callbacks, which must not run under the lock.
    fn settle(&self, signal: Signal) -> Result<Vec<(u64, Callback)>, SignalError> {
        lock(&self.0, |state| match &state.signal {
            Some(signal) => Err(SignalError::AlreadySignalled { signal: signal.clone() }),
            None => {
                state.signal = Some(signal);
                Ok(std::mem::take(&mut state.callbacks))
            }
        })
    }
}

impl AckSubscription {
    /// Removes the callback. Does nothing if it has run already.
    pub fn cancel(self) {
        if let Some(state) = self.state.upgrade() {
            let removed = lock(&state, |state| {
                let at = state.callbacks.iter().position(|(id, _)| *id == self.id);
                at.map(|at| state.callbacks.remove(at))
            });
            // Dropped outside the lock: what a callback owns may have a say when it goes.
            drop(removed);
        }
    }
}

impl fmt::Debug for AckSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AckSubscription({})", self.id)
    }
}

fn lock<T>(state: &Mutex<SignalState>, body: impl FnOnce(&mut SignalState) -> T) -> T {
    body(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
}
