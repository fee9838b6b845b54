//! Making a context.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::records::Records;
use super::signal::Signals;
use super::turn::Turn;
use super::{Dispatch, DispatchContext, Gates, Recorder, ToolSource, TurnContext};
use crate::artifact::{ArtifactSet, Spooler};
use crate::cancel::Cancellation;
use crate::clock::{Clock, default_clock};
use crate::event::Observer;
use crate::registry::ToolRegistry;
use crate::stash::Registry;
use crate::tokens::Tokenizable;

/// A context in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    turn: Turn,
    dispatch: Option<Arc<str>>,
    iteration: u32,
}

impl DispatchContextBuilder {
    pub(super) fn new(id: Arc<str>) -> Self {
        let turn = Turn {
            id,
            resumed: false,
            system_prompt: Tokenizable::new(""),
            stash: Registry::new(),
            tools: Arc::default(),
            artifacts: Arc::default(),
            records: Records::default(),
            observers: Vec::new(),
            sequence: Arc::default(),
            cancellation: Cancellation::new(),
            clock: default_clock(),
            recorder: None,
            gates: None,
            spooler: None,
            tool_source: None,
        };
        Self { turn, dispatch: None, iteration: 0 }
    }

    /// Names the dispatch; the turn's name if not said.
    pub fn dispatch(mut self, id: impl Into<Arc<str>>) -> Self {
        self.dispatch = Some(id.into());
        self
    }

    /// The iteration, from zero.
    pub fn iteration(mut self, iteration: u32) -> Self {
        self.iteration = iteration;
        self
    }

    /// Says that another process began the turn.
    pub fn resumed(mut self, resumed: bool) -> Self {
        self.turn.resumed = resumed;
        self
    }

    /// The system prompt.
    pub fn system_prompt(mut self, text: impl Into<Tokenizable>) -> Self {
        self.turn.system_prompt = text.into();
        self
    }

    /// The scratchpad; an empty one if not said.
    pub fn stash(mut self, stash: Registry) -> Self {
        self.turn.stash = stash;
        self
    }

    /// The counter of the turn's events, shared by all its dispatches.
    pub fn sequence(mut self, counter: Arc<AtomicU64>) -> Self {
        self.turn.sequence = counter;
        self
    }

    /// The tools of the turn.
    pub fn tools(mut self, tools: Arc<ToolRegistry>) -> Self {
        self.turn.tools = tools;
        self
    }

    /// Where [`TurnContext::fetch_tools`] finds more.
    pub fn tool_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.turn.tool_source = Some(source);
        self
    }

    /// The artifacts of the turn.
    pub fn artifacts(mut self, artifacts: Arc<ArtifactSet>) -> Self {
        self.turn.artifacts = artifacts;
        self
    }

    /// Adds an observer.
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.observers([Arc::new(observer) as Arc<dyn Observer>])
    }

    /// Adds observers that are shared with others.
    pub fn observers(mut self, observers: impl IntoIterator<Item = Arc<dyn Observer>>) -> Self {
        self.turn.observers.extend(observers);
        self
    }

    /// The token that cancels the turn.
    pub fn cancellation(mut self, token: Cancellation) -> Self {
        self.turn.cancellation = token;
        self
    }

    /// The clock; the system's if not said.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.turn.clock = clock;
        self
    }

    /// What keeps the turn's records; they live in memory only if not said.
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.turn.recorder = Some(recorder);
        self
    }

    /// What opens gates; there are none if not said.
    pub fn gates(mut self, gates: Arc<dyn Gates>) -> Self {
        self.turn.gates = Some(gates);
        self
    }

    /// What stores large content.
    pub fn spooler(mut self, spooler: Spooler) -> Self {
        self.turn.spooler = Some(spooler);
        self
    }

    /// Finishes the context.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let id = self.dispatch.unwrap_or_else(|| Arc::clone(&self.turn.id));
        let dispatch = Dispatch {
            id,
            iteration: self.iteration,
            ordinal: AtomicU32::new(0),
            tools: Arc::clone(&self.turn.tools),
            cancellation: self.turn.cancellation.clone(),
            signals: Arc::new(Signals::default()),
        };
        let turn = TurnContext { turn: Arc::new(self.turn) };
        DispatchContext { turn, dispatch: Arc::new(dispatch), call: None }
    }
}

impl fmt::Debug for DispatchContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContextBuilder")
            .field("turn", &self.turn.id)
            .finish_non_exhaustive()
    }
}
