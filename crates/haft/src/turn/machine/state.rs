//! The state of a turn.

use std::sync::Arc;

use haft_core::step::NextAction;

use super::super::limits::Limit;
use super::super::report::Conclusion;

/// The state of a turn. Every state but the last two waits for one entry.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum TurnState {
    /// Nothing of it is stored.
    New,
    /// It is stored and not running: it was just created, or its journal is being read.
    Stored { resume_at: ResumePoint },
    /// Long texts of its input are being stored.
    Opening { resume_at: ResumePoint },
    /// The turn-input pipeline runs.
    Input { resume_at: ResumePoint },
    /// The dispatch runs.
    Dispatch { iteration: u32, phase: Phase },
    /// The dispatch was acknowledged before the turn was resumed, and is acknowledged again.
    Acknowledging,
    /// The turn-output pipeline runs.
    Output,
    /// The end of the turn is being stored.
    Ending { conclusion: Arc<Conclusion> },
    /// The end of the turn is stored.
    Ended { conclusion: Arc<Conclusion> },
    /// This attempt to run the turn ended before the turn did. The turn can be resumed.
    Suspended { conclusion: Arc<Conclusion> },
}

/// Where a turn continues once its input is ready: what its journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::turn) enum ResumePoint {
    /// At the beginning of an iteration.
    Iteration { iteration: u32 },
    /// After the step of an iteration; only its calls may be unfinished.
    Calls { iteration: u32, step: StoredStep },
    /// After the dispatch.
    Output,
}

/// What a stored step says about what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::turn) struct StoredStep {
    pub(in crate::turn) next: NextAction,
    /// The limit that its calls would have exceeded. It ends the turn.
    pub(in crate::turn) limit: Option<Limit>,
}

/// The phase of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum Phase {
    /// Cancellation and limits are being checked. The step is there if it was stored before the turn was resumed.
    Checking { step: Option<StoredStep> },
    /// The tools of the iteration are being collected.
    Opening { step: Option<StoredStep> },
    /// The dispatch-input pipeline runs.
    Input,
    /// The executor takes the step.
    Asking,
    /// The step is being stored, together with the end of the turn if nothing can follow it.
    Storing { ends_turn: bool },
    /// The step and the end of the turn are stored; the entry of the end comes next.
    Completing,
    /// The calls of the step run.
    Calls { step: StoredStep },
    /// The dispatch-output pipeline runs.
    Output,
    /// The dispatch is being acknowledged or refused.
    Signalling,
    /// The end of the iteration is being journaled. With a conclusion it is also the end of the dispatch.
    Closing { conclusion: Option<Conclusion> },
}

impl TurnState {
    /// The state in words, for reports of broken invariants.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Stored { .. } => "stored",
            Self::Opening { .. } => "opening",
            Self::Input { .. } => "in its input pipeline",
            Self::Dispatch { phase, .. } => phase.name(),
            Self::Acknowledging => "acknowledging",
            Self::Output => "in its output pipeline",
            Self::Ending { .. } => "ending",
            Self::Ended { .. } => "ended",
            Self::Suspended { .. } => "suspended",
        }
    }

    pub(super) fn is_working(&self) -> bool {
        matches!(
            self,
            Self::Opening { .. }
                | Self::Input { .. }
                | Self::Dispatch { .. }
                | Self::Acknowledging
                | Self::Output
        )
    }
}

impl Phase {
    fn name(&self) -> &'static str {
        match self {
            Self::Checking { .. } => "checking an iteration",
            Self::Opening { .. } => "opening an iteration",
            Self::Input => "in the input pipeline of an iteration",
            Self::Asking => "asking the executor",
            Self::Storing { .. } => "storing a step",
            Self::Completing => "completing with a step",
            Self::Calls { .. } => "executing calls",
            Self::Output => "in the output pipeline of an iteration",
            Self::Signalling => "signalling the dispatch",
            Self::Closing { .. } => "closing an iteration",
        }
    }
}

impl ResumePoint {
    /// Where a turn begins.
    pub(super) const START: Self = Self::Iteration { iteration: 0 };

    /// The point after a step was journaled, if that step can come here.
    pub(super) fn after_step(self, iteration: u32, step: StoredStep) -> Option<Self> {
        match self {
            Self::Iteration { iteration: expected } if expected == iteration => {
                Some(Self::Calls { iteration, step })
            }
            _ => None,
        }
    }

    /// The point after the end of an iteration was journaled, if that iteration can end here. The journal can contain
    /// the same end twice: a commit that failed may have been written nevertheless, and is then repeated.
    pub(super) fn after_iteration(self, iteration: u32, done: bool) -> Option<Self> {
        let ends_here = match &self {
            Self::Iteration { iteration: expected } | Self::Calls { iteration: expected, .. } => {
                *expected == iteration
            }
            Self::Output => return done.then_some(self),
        };
        let next = iteration.checked_add(1)?;
        match (ends_here, done) {
            (true, true) => Some(Self::Output),
            (true, false) => Some(Self::Iteration { iteration: next }),
            (false, false) if self == (Self::Iteration { iteration: next }) => Some(self),
            (false, _) => None,
        }
    }
}
