//! Making a context.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::signal::Signals;
use super::{DispatchContext, Shared};
use crate::artifact::ArtifactSet;
use crate::cancel::Cancellation;
use crate::clock::{Clock, default_clock};
use crate::event::Observer;
use crate::registry::ToolRegistry;
use crate::stash::Registry;

/// A context in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    turn: Arc<str>,
    dispatch: Option<Arc<str>>,
    iteration: u32,
    sequence: Option<Arc<AtomicU64>>,
    stash: Registry,
    tools: Option<Arc<ToolRegistry>>,
    artifacts: Option<Arc<ArtifactSet>>,
    observers: Vec<Arc<dyn Observer>>,
    cancellation: Option<Cancellation>,
    clock: Option<Arc<dyn Clock>>,
}

impl DispatchContextBuilder {
    pub(super) fn new(turn: Arc<str>) -> Self {
        Self {
            turn,
            dispatch: None,
            iteration: 0,
            sequence: None,
            stash: Registry::new(),
            tools: None,
            artifacts: None,
            observers: Vec::new(),
            cancellation: None,
            clock: None,
        }
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

    /// The artifacts of the turn.
    pub fn artifacts(mut self, artifacts: Arc<ArtifactSet>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// The token that cancels the dispatch.
    pub fn cancellation(mut self, token: Cancellation) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// The clock; the system's if not said.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Finishes the context.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let dispatch = self.dispatch.unwrap_or_else(|| Arc::clone(&self.turn));
        DispatchContext {
            shared: Arc::new(Shared {
                turn: self.turn,
                dispatch,
                iteration: self.iteration,
                ordinal: AtomicU32::new(0),
                sequence: self.sequence.unwrap_or_default(),
                stash: self.stash,
                tools: self.tools.unwrap_or_default(),
                artifacts: self.artifacts.unwrap_or_default(),
                observers: self.observers,
                cancellation: self.cancellation.unwrap_or_default(),
                clock: self.clock.unwrap_or_else(default_clock),
                signals: Signals::default(),
            }),
            call: None,
        }
    }
}

impl fmt::Debug for DispatchContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContextBuilder").field("turn", &self.turn).finish_non_exhaustive()
    }
}
