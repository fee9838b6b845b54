//! What a handler receives in addition to its arguments.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{AckSubscription, CallScope, DispatchContext, Signal, TurnContext, UnknownMedia};
use crate::call::{CallId, IdempotencyKey, RecordId};
use crate::cancel::Cancellation;
use crate::clock::Clock;
use crate::event::{EventKind, LogLevel};
use crate::gate::{GateError, GateRequest};
use crate::media::Media;
use crate::stash::Stash;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ArtifactSet, Tool};

/// The call that a handler works on, and the turn around it. Cheap to clone: a handle.
///
/// A handler asks, logs, reads and stores. It cannot acknowledge or refuse its dispatch: executors and middleware can, which
/// receive a [`DispatchContext`].
///
/// ```compile_fail,E0599
/// fn handler(_: haft_core::Args, ctx: &haft_core::CallContext) {
///     ctx.ack();
/// }
/// ```
///
/// Keep state between calls in [`stash`](Self::stash), not in closures: a handler outlives the turn
/// it was called in.
///
/// ```
/// use haft_core::schema::object;
/// use haft_core::{CallContext, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let count = Tool::builder("count")
///     .description("Counts its calls.")
///     .input(object())
///     .handler(|_: haft_core::Args, ctx: &CallContext| {
///         let calls = ctx.stash().get_as::<u32>("calls")?.unwrap_or_default() + 1;
///         ctx.stash().set("calls", calls)?;
///         Ok::<_, haft_core::stash::StashError>(calls.to_string())
///     })
///     .build()?;
/// assert_eq!(count.call("{}").await.text(), Some("1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CallContext {
    dispatch: DispatchContext,
    call: Arc<CallScope>,
}

impl CallContext {
    pub(crate) fn new(dispatch: &DispatchContext, scope: CallScope) -> Self {
        let call = Arc::new(scope);
        Self { dispatch: dispatch.for_call(Arc::clone(&call)), call }
    }

    /// Content key of the call, over the arguments as the model sent them.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.call.call_id
    }

    /// The id of the record of the call. Outside of a turn with records, it is that of the first call with these arguments.
    #[must_use]
    pub fn record_id(&self) -> RecordId {
        self.call.record.unwrap_or_else(|| RecordId::first(self.call.call_id))
    }

    /// Key under which the effect of the call must happen at most once. It names turn, iteration and place, so that an
    /// equal call made later runs again.
    #[must_use]
    pub fn idempotency_key(&self) -> IdempotencyKey {
        let place = (self.dispatch.iteration(), self.call.ordinal);
        IdempotencyKey::new(self.turn_id(), place, self.call.call_id)
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.call.tool
    }

    /// Metadata of the tool.
    #[must_use]
    pub fn meta(&self) -> &Stash {
        self.call.tool.meta()
    }

    /// The turn around the call, with its records.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        self.dispatch.turn()
    }

    /// The id of the turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        self.dispatch.turn_id()
    }

    /// The iteration within the dispatch, from zero.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.dispatch.iteration()
    }

    /// State of the turn that calls share: a store with dot paths.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        self.dispatch.stash()
    }

    /// The artifacts of the turn, by handle.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<ArtifactSet> {
        self.dispatch.artifacts()
    }

    /// The media item with this id, as [`TurnContext::media`] finds it. Tools use it to take media as arguments.
    ///
    /// ```
    /// use haft_core::media::Media;
    /// use haft_core::{CallContext, ToolFailure};
    ///
    /// /// `image` is an argument of the tool: the id that the model read in a marker.
    /// fn rotate(image: &str, ctx: &CallContext) -> Result<Media, ToolFailure> {
    ///     let image = ctx.media(image)?;
    ///     // … rotate its bytes …
    ///     Ok(image)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// No media item of the turn has this id. The message lists the existing ones.
    pub fn media(&self, id: &str) -> Result<Media, UnknownMedia> {
        self.dispatch.media(id)
    }

    /// The clock of the turn.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.dispatch.clock()
    }

    /// The tools of the turn. What is registered or removed here lasts for the turn; the model sees it from the next request
    /// on.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolRegistry> {
        self.dispatch.tools()
    }

    /// Is cancelled together with the call. Long-running handlers should observe it.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        self.dispatch.cancellation()
    }

    /// Opens a gate and waits for the decision. The gate is stored, so that another process can decide it and it
    /// survives a crash.
    ///
    /// # Errors
    ///
    /// The request was refused, no decision arrived in time, the turn was cancelled, or there are no gates here.
    pub async fn ask(&self, request: GateRequest) -> Result<Value, GateError> {
        self.dispatch.ask(request).await
    }

    /// Emits a log event. Costs nothing if there are no observers.
    pub fn log(&self, level: LogLevel, topic: &str, message: &str, payload: Option<Value>) {
        self.dispatch.log(level, topic, message, payload);
    }

    /// Emits an event that is made only if there is an observer.
    pub fn emit_with(&self, kind: impl FnOnce() -> EventKind) {
        self.dispatch.emit_with(kind);
    }

    /// Runs `callback` when the dispatch is acknowledged, and never if it is refused.
    pub fn on_ack(&self, callback: impl FnOnce() + Send + 'static) -> AckSubscription {
        self.dispatch.on_ack(callback)
    }

    /// Ends the dispatch after this call: the signal is given when the record of the call is stored, and is journaled
    /// together with it. A process that resumes the turn finds it there.
    ///
    /// ```
    /// use haft_core::context::Signal;
    /// use haft_core::{CallContext, Tool};
    ///
    /// # fn main() -> Result<(), haft_core::tool::InvalidTool> {
    /// let finish = Tool::builder("finish").description("Ends the work.");
    /// let finish = finish.handler(|_: haft_core::Args, ctx: &CallContext| {
    ///     ctx.end_dispatch(Signal::Ack);
    ///     "done"
    /// });
    /// let finish = finish.input(haft_core::schema::object()).build()?;
    /// # let _ = finish;
    /// # Ok(())
    /// # }
    /// ```
    pub fn end_dispatch(&self, signal: Signal) {
        self.dispatch.set_pending(Some(signal));
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("turn", &self.turn_id())
            .field("tool", self.call.tool.name())
            .field("call", &self.call.call_id)
            .finish_non_exhaustive()
    }
}
