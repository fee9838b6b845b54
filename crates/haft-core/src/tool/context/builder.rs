//! Making a context.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::event_order::EventOrder;
use super::records::Records;
use super::signal::Signals;
use super::turn::Turn;
use super::{
    Dispatch, DispatchContext, Gates, HistoryReader, RecordWriter, ToolSource, TurnContext,
};
use crate::cancel::Cancellation;
use crate::clock::{Clock, default_clock};
use crate::event::Observer;
use crate::record::Text;
use crate::stash::Stash;
use crate::store::MemoryScope;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ArtifactSet, Spooler};
use crate::trust::EnvelopeKey;

/// A context in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    id: Arc<str>,
    conversation: Option<Arc<str>>,
    envelope_key: Option<Box<EnvelopeKey>>,
    resumed: bool,
    system_prompt: Text,
    stash: Option<Stash>,
    tools: Option<Arc<ToolRegistry>>,
    artifacts: Option<Arc<ArtifactSet>>,
    observers: Option<Arc<[Arc<dyn Observer>]>>,
    sequence: Option<Arc<AtomicU64>>,
    cancellation: Option<Cancellation>,
    clock: Option<Arc<dyn Clock>>,
    recorder: Option<Arc<dyn RecordWriter>>,
    gates: Option<Arc<dyn Gates>>,
    spooler: Option<Spooler>,
    tool_source: Option<Arc<dyn ToolSource>>,
    history: Option<Arc<dyn HistoryReader>>,
    memory_scope: Option<MemoryScope>,
    preview_tokens: u32,
    content_notice: Option<Arc<str>>,
    traceparent: Option<fn() -> Option<String>>,
    dispatch: Option<Arc<str>>,
    iteration: u32,
}

/// See [`DispatchContextBuilder::preview_tokens`].
const DEFAULT_PREVIEW_TOKENS: u32 = 60;

impl DispatchContextBuilder {
    pub(super) fn new(id: Arc<str>) -> Self {
        Self {
            id,
            conversation: None,
            envelope_key: None,
            resumed: false,
            system_prompt: Text::default(),
            stash: None,
            tools: None,
            artifacts: None,
            observers: None,
            sequence: None,
            cancellation: None,
            clock: None,
            recorder: None,
            gates: None,
            spooler: None,
            tool_source: None,
            history: None,
            memory_scope: None,
            preview_tokens: DEFAULT_PREVIEW_TOKENS,
            content_notice: None,
            traceparent: None,
            dispatch: None,
            iteration: 0,
        }
    }

    /// Names the dispatch; the default is the turn's name.
    pub fn dispatch(mut self, id: impl Into<Arc<str>>) -> Self {
        self.dispatch = Some(id.into());
        self
    }

    /// The iteration, from zero.
    pub fn iteration(mut self, iteration: u32) -> Self {
        self.iteration = iteration;
        self
    }

    /// The conversation that the turn belongs to; the default is none.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// The key from which the names of envelopes are derived; by default the executor has one of its own.
    pub fn envelope_key(mut self, key: EnvelopeKey) -> Self {
        self.envelope_key = Some(Box::new(key));
        self
    }

    /// Says that another process began the turn.
    pub fn resumed(mut self, resumed: bool) -> Self {
        self.resumed = resumed;
        self
    }

    /// The system prompt.
    pub fn system_prompt(mut self, text: impl Into<Text>) -> Self {
        self.system_prompt = text.into();
        self
    }

    /// About how many tokens of a large result are shown with its handle; the default is 60, and with 0 there are none.
    pub fn preview_tokens(mut self, tokens: u32) -> Self {
        self.preview_tokens = tokens;
        self
    }

    /// What the system prompt of a turn with tools says about envelopes, behind the words of the developer; the default is
    /// [`CONTENT_NOTICE`](crate::trust::CONTENT_NOTICE), and an empty text says nothing.
    pub fn content_notice(mut self, text: impl Into<Arc<str>>) -> Self {
        self.content_notice = Some(text.into());
        self
    }

    /// The scratchpad; the default is an empty one.
    pub fn stash(mut self, stash: Stash) -> Self {
        self.stash = Some(stash);
        self
    }

    /// The counter of the turn's events, shared by all its dispatches.
    pub fn sequence(mut self, counter: Arc<AtomicU64>) -> Self {
        self.sequence = Some(counter);
        self
    }

    /// The tools of the turn.
    pub fn tools(mut self, tools: Arc<ToolRegistry>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Where [`TurnContext::fetch_tools`] finds more.
    pub fn tool_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.tool_source = Some(source);
        self
    }

    /// What reads earlier turns; by default there are none.
    pub fn history(mut self, history: Arc<dyn HistoryReader>) -> Self {
        self.history = Some(history);
        self
    }

    /// What the memories of the turn belong to; by default they belong to the turn alone.
    pub fn memory_scope(mut self, scope: MemoryScope) -> Self {
        self.memory_scope = Some(scope);
        self
    }

    /// What reads the `traceparent` of the span that is current; by default there is none.
    pub fn traceparent(mut self, current: fn() -> Option<String>) -> Self {
        self.traceparent = Some(current);
        self
    }

    /// The artifacts of the turn.
    pub fn artifacts(mut self, artifacts: Arc<ArtifactSet>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Adds an observer.
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.observers([Arc::new(observer) as Arc<dyn Observer>])
    }

    /// Adds observers that are shared with others.
    pub fn observers(mut self, observers: impl Into<Arc<[Arc<dyn Observer>]>>) -> Self {
        let added = observers.into();
        self.observers = Some(match self.observers {
            Some(before) => before.iter().chain(&*added).cloned().collect(),
            None => added,
        });
        self
    }

    /// The token that cancels the turn.
    pub fn cancellation(mut self, token: Cancellation) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// The clock; the default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the writer of the turn's records; by default they exist only in memory.
    pub fn recorder(mut self, recorder: Arc<dyn RecordWriter>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// What opens gates; by default there are none.
    pub fn gates(mut self, gates: Arc<dyn Gates>) -> Self {
        self.gates = Some(gates);
        self
    }

    /// What stores large content.
    pub fn spooler(mut self, spooler: Spooler) -> Self {
        self.spooler = Some(spooler);
        self
    }

    /// Finishes the context.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let turn = Turn {
            id: self.id,
            conversation: self.conversation,
            envelope_key: self.envelope_key,
            resumed: self.resumed,
            system_prompt: self.system_prompt,
            stash: self.stash.unwrap_or_default(),
            tools: self.tools.unwrap_or_default(),
            artifacts: self.artifacts.unwrap_or_default(),
            records: Records::default(),
            observers: self.observers,
            events: EventOrder::new(self.sequence),
            cancellation: self.cancellation.unwrap_or_default(),
            clock: self.clock.unwrap_or_else(default_clock),
            recorder: self.recorder,
            gates: self.gates,
            spooler: self.spooler,
            tool_source: self.tool_source,
            history: self.history,
            memory_scope: self.memory_scope,
            preview_tokens: self.preview_tokens,
            content_notice: self.content_notice,
            traceparent: self.traceparent,
        };
        let dispatch = Dispatch {
            id: self.dispatch.unwrap_or_else(|| Arc::clone(&turn.id)),
            iteration: self.iteration,
            ordinal: AtomicU32::new(0),
            cancellation: turn.cancellation.clone(),
            signals: Signals::default(),
        };
        let turn = TurnContext { turn: Arc::new(turn) };
        DispatchContext { turn, dispatch: Arc::new(dispatch), call: None }
    }
}

impl fmt::Debug for DispatchContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContextBuilder").field("turn", &self.id).finish_non_exhaustive()
    }
}
