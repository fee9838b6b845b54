//! The turn that a dispatch belongs to.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::DispatchContext;
use super::event_order::EventOrder;
use super::history::{HistoryReader, Hydration};
use super::records::Records;
use crate::BoxFuture;
use crate::cancel::Cancellation;
use crate::clock::{Clock, Timestamp};
use crate::error::{Coded, ErrorCode};
use crate::event::{Event, EventKind, LogLevel, Observer};
use crate::gate::{GateError, GateRequest};
use crate::pipeline::{BoxError, PipelineContext};
use crate::record::{NotStorable, Record, Text};
use crate::spool::SpoolError;
use crate::stash::Stash;
use crate::store::{MemoryScope, StoreError, StoreWrite};
use crate::tool::registry::ToolRegistry;
use crate::tool::{ArtifactIdCollision, ArtifactSet, Spooler, Tool};
use crate::trust::{CONTENT_NOTICE, EnvelopeKey};

/// A turn, as middleware and handlers see it. Cheap to clone: a handle.
///
/// Records are stored before they are seen: what `store_…` returns from is stored, and what fails to be
/// stored is not seen by anybody.
#[derive(Clone)]
pub struct TurnContext {
    pub(super) turn: Arc<Turn>,
}

pub(super) struct Turn {
    pub(super) id: Arc<str>,
    pub(super) conversation: Option<Arc<str>>,
    /// Boxed, because it is large and most programs have no stored secret.
    pub(super) envelope_key: Option<Box<EnvelopeKey>>,
    pub(super) resumed: bool,
    pub(super) system_prompt: Text,
    pub(super) stash: Stash,
    pub(super) tools: Arc<ToolRegistry>,
    pub(super) artifacts: Arc<ArtifactSet>,
    pub(super) records: Records,
    pub(super) observers: Option<Arc<[Arc<dyn Observer>]>>,
    pub(super) events: EventOrder,
    pub(super) cancellation: Cancellation,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Option<Arc<dyn RecordWriter>>,
    pub(super) gates: Option<Arc<dyn Gates>>,
    pub(super) spooler: Option<Spooler>,
    pub(super) tool_source: Option<Arc<dyn ToolSource>>,
    pub(super) history: Option<Arc<dyn HistoryReader>>,
    pub(super) memory_scope: Option<MemoryScope>,
    pub(super) preview_tokens: u32,
    pub(super) content_notice: Option<Arc<str>>,
    pub(super) traceparent: Option<fn() -> Option<String>>,
}

impl Turn {
    fn observers(&self) -> &[Arc<dyn Observer>] {
        self.observers.as_deref().unwrap_or_default()
    }
}

/// Stores the records of a turn. The loop supplies a writer that writes under the turn's lease.
pub trait RecordWriter: Send + Sync {
    /// Writes all of this or nothing.
    fn commit(&self, writes: Vec<StoreWrite>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Journals what the turn shows of earlier turns, with the next commit. A writer without a journal has nothing to
    /// do.
    fn journal_hydration(&self, hydration: Hydration) {
        let _ = hydration;
    }

    /// The write that journals what the turn shows of earlier turns, for a commit that it belongs to, or `None` for a
    /// writer without a journal.
    fn hydration_write(&self, hydration: Hydration) -> Option<StoreWrite> {
        let _ = hydration;
        None
    }
}

/// Opens gates and waits at them.
pub trait Gates: Send + Sync {
    /// Opens a gate, for the call that is being handled if there is one, and waits for the answer. The turn as a whole
    /// has a context whose dispatch is named like the turn.
    fn ask<'a>(
        &'a self,
        ctx: &'a DispatchContext,
        request: GateRequest,
    ) -> BoxFuture<'a, Result<Value, GateError>>;
}

/// Finds tools for a turn, in a database or on a server, for example. Nothing calls it but
/// [`TurnContext::fetch_tools`].
pub trait ToolSource: Send + Sync {
    /// The tools for a turn.
    fn fetch(&self, ctx: TurnContext) -> BoxFuture<'static, Result<Vec<Tool>, BoxError>>;
}

impl<F, Fut> ToolSource for F
where
    F: FnOnce(TurnContext) -> Fut + Clone + Send + Sync,
    Fut: Future<Output = Result<Vec<Tool>, BoxError>> + Send + 'static,
{
    fn fetch(&self, ctx: TurnContext) -> BoxFuture<'static, Result<Vec<Tool>, BoxError>> {
        Box::pin(self.clone()(ctx))
    }
}

/// A record could not be stored; nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It cannot be serialized.
    #[error(transparent)]
    NotStorable(#[from] NotStorable),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its content could not be stored.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// A call and a retrieved record would have the same name.
    #[error(transparent)]
    Collision(#[from] ArtifactIdCollision),
}

impl Coded for RecordError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotStorable(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Spool(error) => error.code(),
            Self::Collision(error) => error.code(),
        }
    }
}

impl TurnContext {
    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.turn.id
    }

    /// The conversation that the turn belongs to.
    #[must_use]
    pub fn conversation(&self) -> Option<&str> {
        self.turn.conversation.as_deref()
    }

    /// The key from which the names of envelopes are derived, so that every process that runs the turn renders the same
    /// bytes. `None` if the runner has no stored secret: then an executor uses its own key.
    #[must_use]
    pub fn envelope_key(&self) -> Option<&EnvelopeKey> {
        self.turn.envelope_key.as_deref()
    }

    /// What the memories of the turn belong to: those that it stores are found by later turns of this scope. Without a
    /// scope they belong to the turn alone.
    #[must_use]
    pub fn memory_scope(&self) -> Option<&MemoryScope> {
        self.turn.memory_scope.as_ref()
    }

    /// About how many tokens of a large result are shown with its handle.
    #[must_use]
    pub fn preview_tokens(&self) -> u32 {
        self.turn.preview_tokens
    }

    /// What the system prompt says about envelopes if the turn has tools; empty for nothing.
    #[must_use]
    pub fn content_notice(&self) -> &str {
        self.turn.content_notice.as_deref().unwrap_or(CONTENT_NOTICE)
    }

    /// The `traceparent` of the span that is current, as W3C Trace Context defines it: a service to which it is sent
    /// continues the trace. `None` without OpenTelemetry.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        self.turn.traceparent.and_then(|current| current())
    }

    /// Whether this process resumes a turn that an earlier one began.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.turn.resumed
    }

    /// The system prompt.
    #[must_use]
    pub fn system_prompt(&self) -> &Text {
        &self.turn.system_prompt
    }

    /// Scratchpad of the turn, shared by handlers and middleware.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        &self.turn.stash
    }

    /// Asks the source of tools that the application gave. The tools are not registered: that is for the caller to
    /// decide. Without a source there are none.
    ///
    /// # Errors
    ///
    /// What the source failed with.
    pub async fn fetch_tools(&self) -> Result<Vec<Tool>, BoxError> {
        match &self.turn.tool_source {
            Some(source) => source.fetch(self.clone()).await,
            None => Ok(Vec::new()),
        }
    }

    /// The tools of the turn: the same as [`DispatchContext::tools`](super::DispatchContext::tools).
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolRegistry> {
        &self.turn.tools
    }

    /// The artifacts that can be queried in the turn.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<ArtifactSet> {
        &self.turn.artifacts
    }

    /// Is cancelled together with the turn. Long-running handlers should observe it.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.turn.cancellation
    }

    /// The clock of the run; replays have one of their own.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.turn.clock.as_ref()
    }

    pub(super) fn records(&self) -> &Records {
        &self.turn.records
    }

    /// Writes all of this or nothing. A turn without a store remembers only while it runs.
    ///
    /// # Errors
    ///
    /// The store failed, or the turn was taken over by another process.
    pub async fn commit(&self, writes: Vec<StoreWrite>) -> Result<(), StoreError> {
        match &self.turn.recorder {
            Some(recorder) => recorder.commit(writes).await,
            None => Ok(()),
        }
    }

    /// Whether the writes of the turn are stored.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.turn.recorder.is_some()
    }

    /// What stores large content, if something does.
    #[must_use]
    pub fn spooler(&self) -> Option<&Spooler> {
        self.turn.spooler.as_ref()
    }

    pub(super) fn gates(&self) -> Option<&Arc<dyn Gates>> {
        self.turn.gates.as_ref()
    }

    /// The write that stores a record, or `None` for a turn without a store.
    pub(super) fn put<T: Record>(
        &self,
        record: &Arc<T>,
    ) -> Result<Option<StoreWrite>, NotStorable> {
        if self.turn.recorder.is_none() {
            record.check()?;
            return Ok(None);
        }
        record.to_row().map(StoreWrite::Put).map(Some)
    }

    /// Opens a gate and waits for the decision, as [`DispatchContext::ask`] does, for the turn as a whole.
    ///
    /// # Errors
    ///
    /// The request was refused, no decision arrived in time, the turn was cancelled, or there are no gates here.
    ///
    /// [`DispatchContext::ask`]: super::DispatchContext::ask
    pub async fn ask(&self, request: GateRequest) -> Result<Value, GateError> {
        DispatchContext::outside_of_dispatches(self.clone()).ask(request).await
    }

    /// Emits a log event for the turn as a whole. Costs nothing if there are no observers.
    pub fn log(&self, level: LogLevel, topic: &str, message: &str, payload: Option<Value>) {
        self.emit_with(|| EventKind::log(level, topic, message, payload));
    }

    /// Emits an event about the turn as a whole, which is made only if there is an observer.
    pub fn emit_with(&self, kind: impl FnOnce() -> EventKind) {
        self.emit_in(&self.turn.id, 0, kind);
    }

    /// Whether there is an observer.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.turn.observers().iter().any(|observer| !observer.is_idle())
    }

    pub(super) fn emit_in(
        &self,
        dispatch: &Arc<str>,
        iteration: u32,
        kind: impl FnOnce() -> EventKind,
    ) {
        if self.is_observed() {
            self.deliver(&mut self.new_event(dispatch, iteration, kind()));
        }
    }

    /// An event that has no number and no time yet.
    #[inline]
    fn new_event(&self, dispatch: &Arc<str>, iteration: u32, kind: EventKind) -> Event {
        Event {
            turn: Arc::clone(&self.turn.id),
            dispatch: Arc::clone(dispatch),
            iteration,
            sequence: 0,
            at: Timestamp::EPOCH,
            kind,
        }
    }

    fn deliver(&self, event: &mut Event) {
        let Turn { events, clock, .. } = &*self.turn;
        events.deliver(event, &**clock, |event| self.observe(event));
    }

    fn observe(&self, event: &Event) {
        for observer in self.turn.observers() {
            // An observer that panics loses this event and breaks nothing.
            let _ = catch_unwind(AssertUnwindSafe(|| observer.observe(event)));
        }
    }
}

impl PipelineContext for TurnContext {
    fn is_cancelled(&self) -> bool {
        self.cancellation().is_cancelled()
    }
}

impl fmt::Debug for TurnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnContext").field("turn", &self.turn.id).finish_non_exhaustive()
    }
}
