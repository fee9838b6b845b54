//! The three contexts: of a call, for handlers; of a dispatch, for executors and middleware; and of a turn.

mod builder;
mod call;
mod event_order;
mod history;
mod instruction;
mod media;
mod records;
mod signal;
mod turn;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

pub use builder::DispatchContextBuilder;
pub use call::CallContext;
pub use history::{
    EarlierRecord, EarlierTurn, HistoryError, HistoryReader, HydratedRange, HydratedTurn,
    Hydration, RemovedRecord,
};
pub use instruction::Instruction;
pub use media::UnknownMedia;
pub use signal::{AckSubscription, Signal, SignalError};
pub use turn::{Gates, RecordError, RecordWriter, ToolSource, TurnContext};

use crate::call::{CallId, RecordId};
use crate::cancel::Cancellation;
use crate::clock::Clock;
use crate::event::{DispatchStatus, ErrorReport, EventKind, LogLevel};
use crate::gate::{GateError, GateRequest};
use crate::media::Media;
use crate::pipeline::{Next, PipelineContext};
use crate::stash::Stash;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ArtifactSet, Tool};
use signal::Signals;

/// A dispatch, for executors and middleware. Cheap to clone: a handle.
///
/// [`turn`](Self::turn) is the turn around it, with its records and its tools. Handlers receive a [`CallContext`].
///
/// ```
/// use haft_core::DispatchContext;
///
/// let ctx = DispatchContext::builder("turn-1").build();
/// ctx.stash().set("billing.attempts", 1)?;
/// assert_eq!(ctx.stash().get_as::<u32>("billing.attempts")?, Some(1));
/// # Ok::<(), haft_core::stash::StashError>(())
/// ```
#[derive(Clone)]
pub struct DispatchContext {
    turn: TurnContext,
    dispatch: Arc<Dispatch>,
    /// The call whose [`CallContext`] has this handle, for the gates that its handler opens.
    call: Option<Arc<CallScope>>,
}

struct Dispatch {
    id: Arc<str>,
    iteration: u32,
    ordinal: AtomicU32,
    cancellation: Cancellation,
    signals: Signals,
}

/// The call that a handler works on.
pub(crate) struct CallScope {
    pub(crate) call_id: CallId,
    pub(crate) record: Option<RecordId>,
    pub(crate) ordinal: u32,
    pub(crate) tool: Tool,
}

impl DispatchContext {
    /// Starts a context for a turn. Everything else has a default: own registries, no observers, the
    /// system's clock.
    pub fn builder(turn: impl Into<Arc<str>>) -> DispatchContextBuilder {
        DispatchContextBuilder::new(turn.into())
    }

    /// The turn around it.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        &self.turn
    }

    /// The id of the turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        self.turn.turn_id()
    }

    /// State of the turn that calls share: a store with dot paths.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        self.turn.stash()
    }

    /// The artifacts of the turn, by handle.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<ArtifactSet> {
        self.turn.artifacts()
    }

    /// The media item with this id, as [`TurnContext::media`] finds it.
    ///
    /// # Errors
    ///
    /// No media item of the turn has this id. The message lists the existing ones.
    pub fn media(&self, id: &str) -> Result<Media, UnknownMedia> {
        self.turn.media(id)
    }

    /// The clock of the turn.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.turn.clock()
    }

    /// Whether there are observers.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.turn.is_observed()
    }

    /// The dispatch within the turn.
    #[must_use]
    pub fn dispatch_id(&self) -> &str {
        &self.dispatch.id
    }

    /// The iteration within the dispatch, from zero.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.dispatch.iteration
    }

    /// The tools of the turn, and the overlay of those that query its artifacts. What is registered, hidden or removed
    /// here lasts for the turn; the model sees it from the next request on.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolRegistry> {
        self.turn.tools()
    }

    /// Is cancelled together with the dispatch.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.dispatch.cancellation
    }

    /// The same dispatch in another iteration.
    #[must_use]
    pub fn at_iteration(&self, iteration: u32) -> Self {
        let dispatch = Dispatch {
            id: Arc::clone(&self.dispatch.id),
            iteration,
            ordinal: AtomicU32::new(0),
            cancellation: self.dispatch.cancellation.clone(),
            signals: self.dispatch.signals.clone(),
        };
        Self { turn: self.turn.clone(), dispatch: Arc::new(dispatch), call: None }
    }

    /// The turn as a whole: what runs before and after its dispatches.
    pub(super) fn outside_of_dispatches(turn: TurnContext) -> Self {
        let dispatch = Dispatch {
            id: Arc::clone(&turn.turn.id),
            iteration: 0,
            ordinal: AtomicU32::new(0),
            cancellation: turn.cancellation().clone(),
            signals: Signals::default(),
        };
        Self { turn, dispatch: Arc::new(dispatch), call: None }
    }

    /// The same iteration under another token, which should be a child of this one's.
    #[must_use]
    pub fn with_cancellation(&self, cancellation: Cancellation) -> Self {
        let dispatch = Dispatch {
            id: Arc::clone(&self.dispatch.id),
            iteration: self.dispatch.iteration,
            ordinal: AtomicU32::new(self.dispatch.ordinal.load(Ordering::Relaxed)),
            cancellation,
            signals: self.dispatch.signals.clone(),
        };
        Self { turn: self.turn.clone(), dispatch: Arc::new(dispatch), call: self.call.clone() }
    }

    /// The record of the call whose handler opens a gate, for implementations of [`Gates`]. `None` for executors and
    /// middleware, and where no store keeps records.
    #[must_use]
    pub fn record_id(&self) -> Option<RecordId> {
        self.call.as_ref().and_then(|call| call.record)
    }

    /// The tool whose handler opens a gate, for implementations of [`Gates`]. `None` for executors and middleware.
    #[must_use]
    pub fn tool(&self) -> Option<&Tool> {
        self.call.as_ref().map(|call| &call.tool)
    }

    /// Opens a gate and waits for the decision. The gate is stored, so that another process can decide it and it
    /// survives a crash.
    ///
    /// # Errors
    ///
    /// The request was refused, no decision arrived in time, the turn was cancelled, or there are no gates here.
    pub async fn ask(&self, request: GateRequest) -> Result<Value, GateError> {
        match self.turn.gates() {
            Some(gates) => gates.ask(self, request).await,
            None => Err(GateError::NotSupported),
        }
    }

    /// Emits a log event. Costs nothing if there are no observers.
    pub fn log(&self, level: LogLevel, topic: &str, message: &str, payload: Option<Value>) {
        self.emit_with(|| EventKind::log(level, topic, message, payload));
    }

    /// Emits an event that is made only if there is an observer.
    pub fn emit_with(&self, kind: impl FnOnce() -> EventKind) {
        self.turn.emit_in(&self.dispatch.id, self.dispatch.iteration, kind);
    }

    /// Acknowledges the dispatch. Only executors and middleware can: see [`StepContext::ack`] and [`Next::ack`].
    ///
    /// [`StepContext::ack`]: crate::step::StepContext::ack
    pub(crate) fn ack(&self) -> Result<(), SignalError> {
        self.dispatch.signals.ack()
    }

    /// Refuses the dispatch. Only executors and middleware can: see [`StepContext::nack`] and [`Next::nack`].
    ///
    /// [`StepContext::nack`]: crate::step::StepContext::nack
    pub(crate) fn nack(&self, error: ErrorReport) -> Result<(), SignalError> {
        self.dispatch.signals.nack(error)
    }

    /// How the dispatch was signalled, if it was.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        self.dispatch.signals.get()
    }

    /// Runs `callback` when the dispatch is acknowledged: at once if it was already, and never if it was
    /// refused. A panic in one callback does not keep the others from running.
    pub fn on_ack(&self, callback: impl FnOnce() + Send + 'static) -> AckSubscription {
        self.dispatch.signals.on_ack(Box::new(callback))
    }

    /// The signal with which the step wants the dispatch to end, if any. Output middleware can see it; it takes effect
    /// after output middleware has run.
    #[must_use]
    pub fn pending(&self) -> Option<Signal> {
        self.dispatch.signals.pending()
    }

    /// Makes the dispatch end like this once output middleware has run. `None` lets another iteration follow instead,
    /// so that output middleware can withhold an answer that is not good enough.
    ///
    /// A handler ends the dispatch by [`CallContext::end_dispatch`].
    pub fn set_pending(&self, signal: Option<Signal>) {
        self.dispatch.signals.set_pending(signal);
    }

    /// Runs `callback` with the status of the dispatch when the dispatch has ended. A panic in one callback does not
    /// keep the others from running.
    pub fn on_settled(&self, callback: impl FnOnce(DispatchStatus) + Send + 'static) {
        self.dispatch.signals.on_settled(Box::new(callback));
    }

    /// Runs what waits for the end of the dispatch. Called once, by the runner of the dispatch.
    pub fn notify_settled(&self, status: DispatchStatus) {
        self.dispatch.signals.notify_settled(status);
    }

    pub(crate) fn next_ordinal(&self) -> u32 {
        self.dispatch.ordinal.fetch_add(1, Ordering::Relaxed)
    }

    fn for_call(&self, call: Arc<CallScope>) -> Self {
        let turn = self.turn.clone();
        Self { turn, dispatch: Arc::clone(&self.dispatch), call: Some(call) }
    }
}

/// What only middleware of a dispatch can do, because it runs between what is stored.
impl Next<DispatchContext> {
    /// Says that the dispatch succeeded, and runs what was registered with
    /// [`on_ack`](DispatchContext::on_ack), in order. Input middleware that does so spares the executor its
    /// step.
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn ack(&self) -> Result<(), SignalError> {
        self.ctx().ack()
    }

    /// Says that the dispatch failed, and why. Nothing that waits for an ack runs.
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn nack(&self, error: impl Into<ErrorReport>) -> Result<(), SignalError> {
        self.ctx().nack(error.into())
    }
}

impl PipelineContext for DispatchContext {
    fn is_cancelled(&self) -> bool {
        self.cancellation().is_cancelled()
    }

    fn is_over(&self) -> bool {
        self.is_cancelled() || self.signal().is_some()
    }
}

impl fmt::Debug for DispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContext")
            .field("turn", &self.turn_id())
            .field("dispatch", &self.dispatch.id)
            .field("iteration", &self.dispatch.iteration)
            .finish_non_exhaustive()
    }
}
