//! The turn as a pure state machine.
//!
//! [`TurnMachine::apply`] takes one [`TurnEntry`], moves to the next [`TurnState`] and returns the [`Effect`]s that
//! follow from it. It decides everything that happens next in a turn, and it has no runtime, clock, lock or I/O. The
//! driver performs the effects and feeds their results back as entries. The entries that the journal stores are enough
//! to restore the state: a turn is resumed by applying its journal and continuing from there.

mod effect;
mod entry;
mod state;
mod transition;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_core::event::ErrorReport;
use haft_core::record::RecordName;
use haft_core::step::NextAction;
use haft_core::usage::Usage;

pub(super) use self::effect::{Effect, Effects, StepVerdict};
pub(super) use self::entry::{Interruption, StepFacts, TurnEntry};
use self::state::TurnState;
use super::limits::Limits;
use super::report::{Conclusion, FailurePoint};

/// Decides what happens next in one turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnMachine {
    /// Shared by all turns of a runner.
    rules: Arc<TurnRules>,
    totals: TurnTotals,
    /// The ids of the messages of the assistant.
    messages: Vec<RecordName>,
    /// Whether the turn has worked for as long as it may.
    wall_time_reached: bool,
    /// How a dispatch was to end when the turn was interrupted, with the iteration that decided it.
    pending: Option<(u32, NextAction)>,
    state: TurnState,
}

/// What the runner prescribes for its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnRules {
    pub(super) limits: Limits,
    /// Whether output middleware runs after a step. Without it the last step and the end of the turn are stored by
    /// one commit.
    pub(super) has_output: bool,
}

/// What a turn has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnTotals {
    /// Iterations that have ended.
    pub(super) iterations: u32,
    /// What the stored steps cost.
    pub(super) usage: Usage,
}

/// An entry that the state of the turn does not allow: a damaged journal, or a mistake of the driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a turn that is {state} cannot take the entry `{entry}`")]
pub(super) struct IllegalEntry {
    pub(super) state: &'static str,
    pub(super) entry: &'static str,
}

impl TurnMachine {
    /// The machine of a turn that does not exist yet.
    pub(super) fn new(rules: impl Into<Arc<TurnRules>>) -> Self {
        Self {
            rules: rules.into(),
            totals: TurnTotals::default(),
            messages: Vec::new(),
            wall_time_reached: false,
            pending: None,
            state: TurnState::New,
        }
    }

    /// Moves to the next state and returns what is to be done, in order. At most the last effect is answered by an
    /// entry, and nothing happens until that entry is applied.
    ///
    /// # Errors
    ///
    /// The state does not allow the entry; then nothing has changed.
    pub(super) fn apply(&mut self, entry: TurnEntry) -> Result<Effects, IllegalEntry> {
        let illegal = IllegalEntry { state: self.state.name(), entry: entry.name() };
        self.transition(entry).ok_or(illegal)
    }

    /// Ends the attempt to run the turn after a broken invariant. Stored data stays, and the turn can be resumed.
    pub(super) fn suspend(&mut self, conclusion: Conclusion) -> Effects {
        self.suspend_with(Effects::none(), conclusion)
    }

    /// Ends the attempt to run a turn that waits. Stored data stays, and the turn can be resumed.
    pub(super) fn suspend_waiting(&mut self, conclusion: Conclusion) -> Effects {
        let effects = match self.state {
            TurnState::Dispatch { .. } => Effects::from([
                Effect::CloseIteration,
                Effect::CloseDispatch { conclusion: Arc::new(conclusion.clone()) },
            ]),
            _ => Effects::none(),
        };
        self.suspend_with(effects, conclusion)
    }

    /// Whether the limit on working time applies: from the first effect until the end of the turn is being stored.
    pub(super) fn is_working(&self) -> bool {
        !self.wall_time_reached && self.state.is_working()
    }

    /// How the turn ended, if its end is stored.
    pub(super) fn end(&self) -> Option<&Conclusion> {
        match &self.state {
            TurnState::Ended { conclusion } => Some(conclusion),
            _ => None,
        }
    }

    /// How the turn, or this attempt to run it, ended.
    pub(super) fn into_conclusion(self) -> Conclusion {
        match self.state {
            TurnState::Ended { conclusion } | TurnState::Suspended { conclusion } => {
                Arc::unwrap_or_clone(conclusion)
            }
            state => {
                let text = format!("the driver stopped while the turn was {}", state.name());
                let error = ErrorReport::reason(text).at(FailurePoint::Turn.as_str());
                Conclusion::failed(error).resumable()
            }
        }
    }

    /// What the turn has spent so far.
    pub(super) fn totals(&self) -> &TurnTotals {
        &self.totals
    }

    /// The ids of the messages of the assistant.
    pub(super) fn messages(&self) -> &[RecordName] {
        &self.messages
    }
}
