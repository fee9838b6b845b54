//! The inputs of the state machine.

use std::fmt;
use std::sync::Arc;

use haft_core::context::{RecordError, Signal};
use haft_core::event::ErrorReport;
use haft_core::step::NextAction;

use super::super::journal::JournalEntry;
use super::super::limits::Limit;
use super::super::recorder::MaybeStoreFailure as _;
use super::super::report::{Conclusion, FailurePoint};

/// An input of the state machine: an entry of the journal, or the result of an effect that is repeated when the turn is
/// resumed and therefore not journaled.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum TurnEntry {
    /// An entry of the journal: about to be stored with the next commit, stored just now, or read from the store.
    Journal(Arc<JournalEntry>),
    /// A runner starts to run the turn.
    Begun,
    /// [`Effect::SpoolInput`](super::Effect::SpoolInput) is done.
    InputSpooled,
    /// A pipeline has passed. The signals are those of the dispatch: the one that was sent, and the one that is to be
    /// sent after output middleware has run.
    StagePassed { signal: Option<Signal>, pending: Option<Signal> },
    /// The turn is not cancelled, and another iteration can begin if the limits allow it.
    IterationReady { wall_time_reached: bool },
    /// The iteration has its tools.
    IterationOpened,
    /// The executor has taken a step, which is not stored yet.
    StepProposed(StepFacts),
    /// Every call of the step has ended.
    CallsFinished,
    /// The dispatch has this signal.
    Signalled(Signal),
    /// The end of the turn could not be stored.
    EndNotStored(Box<ErrorReport>),
    /// The last effect failed or was cancelled.
    Interrupted(Interruption),
    /// The turn has worked for as long as it may. This can come while any effect is being performed.
    WallTimeReached,
}

/// What the machine has to know about a step.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) struct StepFacts {
    pub(in crate::turn) next: NextAction,
    pub(in crate::turn) has_calls: bool,
    /// How many calls the turn has made, those of the step included.
    pub(in crate::turn) calls_made: usize,
    /// How often the call was made that the step repeats most.
    pub(in crate::turn) most_repeated: u32,
    /// Whether nothing can happen any more between this step and the end of the turn, middleware apart: it is not
    /// cancelled, and all its calls have ended.
    pub(in crate::turn) can_end: bool,
}

/// Why an effect has no result.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum Interruption {
    /// It failed. If another attempt may succeed, the turn can be resumed; else it has failed.
    Failed { error: Box<ErrorReport>, resumable: bool },
    /// The turn was cancelled.
    Cancelled { reason: String },
}

impl TurnEntry {
    /// The name of the entry, for reports of broken invariants.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Journal(entry) => entry.name(),
            Self::Begun => "begun",
            Self::InputSpooled => "input spooled",
            Self::StagePassed { .. } => "stage passed",
            Self::IterationReady { .. } => "iteration ready",
            Self::IterationOpened => "iteration opened",
            Self::StepProposed(_) => "step proposed",
            Self::CallsFinished => "calls finished",
            Self::Signalled(_) => "signalled",
            Self::EndNotStored(_) => "end not stored",
            Self::Interrupted(_) => "interrupted",
            Self::WallTimeReached => "wall time reached",
        }
    }
}

impl Interruption {
    /// A failure that ends the turn.
    pub(in crate::turn) fn failed(error: ErrorReport) -> Self {
        Self::Failed { error: Box::new(error), resumable: false }
    }

    pub(in crate::turn) fn cancelled(reason: impl fmt::Display) -> Self {
        Self::Cancelled { reason: reason.to_string() }
    }

    /// Something could not be stored. A backend that fails ends the attempt and not the turn.
    pub(in crate::turn) fn not_stored(error: &RecordError) -> Self {
        let resumable = error.is_store_failure();
        let error = ErrorReport::of(error).at(FailurePoint::Store.as_str());
        Self::Failed { error: Box::new(error), resumable }
    }
}

impl From<Interruption> for Conclusion {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Failed { error, resumable: false } => Self::failed(error),
            Interruption::Failed { error, resumable: true } => Self::failed(error).resumable(),
            Interruption::Cancelled { reason } => Self::cancelled(reason),
        }
    }
}

impl From<JournalEntry> for TurnEntry {
    fn from(entry: JournalEntry) -> Self {
        Self::Journal(Arc::new(entry))
    }
}

/// How a dispatch ends that was signalled.
impl From<Signal> for Conclusion {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Nack { error } => Self::failed(error),
            _ => Self::completed(),
        }
    }
}

impl From<Limit> for Conclusion {
    fn from(limit: Limit) -> Self {
        Self::limit_reached(limit)
    }
}
