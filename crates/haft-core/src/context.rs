//! What a handler receives beside its arguments: the dispatch it runs in.

mod builder;
mod signal;

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde_json::Value;

pub use builder::DispatchContextBuilder;
pub use signal::{AckSubscription, AlreadySignalled, Signal};

use crate::artifact::ArtifactSet;
use crate::call::{CallId, IdempotencyKey};
use crate::cancel::Cancellation;
use crate::clock::Clock;
use crate::event::{Event, EventKind, Level, Observer};
use crate::registry::ToolRegistry;
use crate::stash::Registry;
use crate::tool::Tool;
use signal::Signals;

/// The dispatch that a call belongs to. Cheap to clone: a handle.
///
/// Keep state between calls in [`stash`](Self::stash), not in closures: a handler outlives the turn it
/// was called in.
///
/// ```
/// use haft_core::DispatchContext;
///
/// let ctx = DispatchContext::builder("turn-1").build();
/// ctx.stash().set("billing.attempts", 1)?;
/// assert_eq!(ctx.stash().get_as::<u32>("billing.attempts")?, Some(1));
/// # Ok::<(), haft_core::stash::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct DispatchContext {
    shared: Arc<Shared>,
    /// The call that this handle was made for; nothing outside a handler.
    call: Option<CallScope>,
}

struct Shared {
    turn: Arc<str>,
    dispatch: Arc<str>,
    iteration: u32,
    ordinal: AtomicU32,
    sequence: Arc<AtomicU64>,
    stash: Registry,
    tools: Arc<ToolRegistry>,
    artifacts: Arc<ArtifactSet>,
    observers: Vec<Arc<dyn Observer>>,
    cancellation: Cancellation,
    clock: Arc<dyn Clock>,
    signals: Signals,
}

/// The call that a handler works on.
#[derive(Clone)]
pub(crate) struct CallScope {
    pub(crate) call_id: CallId,
    pub(crate) ordinal: u32,
    pub(crate) tool: Tool,
}

impl DispatchContext {
    /// Starts a context for a turn. Everything else has a default: own registries, no observers, the
    /// system's clock.
    pub fn builder(turn: impl Into<Arc<str>>) -> DispatchContextBuilder {
        DispatchContextBuilder::new(turn.into())
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.shared.turn
    }

    /// The dispatch within the turn.
    #[must_use]
    pub fn dispatch_id(&self) -> &str {
        &self.shared.dispatch
    }

    /// The iteration within the dispatch, from zero.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.shared.iteration
    }

    /// Scratchpad of the turn, shared by handlers and middleware.
    #[must_use]
    pub fn stash(&self) -> &Registry {
        &self.shared.stash
    }

    /// The tools of the turn.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolRegistry> {
        &self.shared.tools
    }

    /// The artifacts that can be queried in the turn.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<ArtifactSet> {
        &self.shared.artifacts
    }

    /// Tells when the dispatch is cancelled. Long-running handlers listen to it.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.shared.cancellation
    }

    /// The clock of the run; replays have one of their own.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.shared.clock.as_ref()
    }

    /// Content key of the call that is being handled; nothing outside a handler.
    #[must_use]
    pub fn call_id(&self) -> Option<CallId> {
        self.call.as_ref().map(|call| call.call_id)
    }

    /// Key under which the effect of the call that is being handled must happen at most once. It names
    /// turn, iteration and place, so that an equal call made later runs again.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<IdempotencyKey> {
        self.call.as_ref().map(|call| {
            let place = (self.iteration(), call.ordinal);
            IdempotencyKey::new(self.turn_id(), place, call.call_id)
        })
    }

    /// Metadata of the tool whose call is being handled; nothing outside a handler.
    #[must_use]
    pub fn meta(&self) -> Option<&Registry> {
        self.call.as_ref().map(|call| call.tool.meta())
    }

    /// Tells observers something. Costs nothing when there are none.
    pub fn log(&self, level: Level, topic: &str, message: &str, payload: Option<Value>) {
        self.emit_with(|| EventKind::Log {
            level,
            topic: topic.into(),
            message: message.into(),
            payload: payload.map(Into::into),
        });
    }

    /// Emits an event that is only made when somebody listens.
    pub fn emit_with(&self, kind: impl FnOnce() -> EventKind) {
        // An observer that panics loses this event and breaks nothing.
        let listens = |observer: &Arc<dyn Observer>| {
            catch_unwind(AssertUnwindSafe(|| !observer.is_idle())).unwrap_or(false)
        };
        if !self.shared.observers.iter().any(listens) {
            return;
        }
        let event = Event {
            turn: Arc::clone(&self.shared.turn),
            dispatch: Arc::clone(&self.shared.dispatch),
            iteration: self.shared.iteration,
            sequence: self.shared.sequence.fetch_add(1, Ordering::Relaxed),
            at: self.shared.clock.now(),
            kind: kind(),
        };
        for observer in &self.shared.observers {
            let _ = catch_unwind(AssertUnwindSafe(|| observer.observe(&event)));
        }
    }

    /// Says that the dispatch succeeded, and runs what was registered with
    /// [`on_ack`](Self::on_ack), in order.
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn ack(&self) -> Result<(), AlreadySignalled> {
        self.shared.signals.ack()
    }

    /// Says that the dispatch failed, and why. Nothing that waits for an ack runs.
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn nack(&self, reason: impl Into<String>) -> Result<(), AlreadySignalled> {
        self.shared.signals.nack(reason.into())
    }

    /// How the dispatch was signalled, if it was.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        self.shared.signals.get()
    }

    /// Runs `callback` when the dispatch is acknowledged, never when it is not. A panic in one callback
    /// does not keep the others from running.
    pub fn on_ack(&self, callback: impl FnOnce() + Send + 'static) -> AckSubscription {
        self.shared.signals.on_ack(Box::new(callback))
    }

    pub(crate) fn next_ordinal(&self) -> u32 {
        self.shared.ordinal.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn for_call(&self, scope: CallScope) -> Self {
        Self { shared: Arc::clone(&self.shared), call: Some(scope) }
    }
}

impl fmt::Debug for DispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContext")
            .field("turn", &self.shared.turn)
            .field("dispatch", &self.shared.dispatch)
            .field("iteration", &self.shared.iteration)
            .field("call", &self.call_id())
            .finish_non_exhaustive()
    }
}
