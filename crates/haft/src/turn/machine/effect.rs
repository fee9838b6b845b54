//! What a turn asks its driver to do.

use std::sync::Arc;

use haft_core::context::Signal;
use haft_core::event::ErrorReport;
use haft_core::pipeline::Stage;

use super::super::limits::Limit;
use super::super::report::Conclusion;
use super::TurnTotals;

/// What a turn asks its driver to do. The first group is answered by one entry; the second is only performed.
///
/// Effects are moved often. What the turn has spent is therefore read from the machine when an effect is performed.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum Effect {
    /// Store long texts of the input that are not stored yet. Answer: `InputSpooled`.
    SpoolInput,
    /// Run a pipeline. Answer: `StagePassed`.
    RunStage(Stage),
    /// Check whether the turn is cancelled before an iteration. Answer: `IterationReady`.
    CheckIteration,
    /// Collect the tools of an iteration and announce it. Answer: `IterationOpened`.
    OpenIteration { iteration: u32 },
    /// Let the executor take the step. Answer: `StepProposed`.
    AskExecutor,
    /// Store the step. Answer: the journal entry of the step, and that of the end if the verdict ends the turn.
    StoreStep(StepVerdict),
    /// Execute the calls of the step that was just stored. Answer: `CallsFinished`.
    ExecuteCalls,
    /// Finish the calls of a step that was stored before the turn was resumed. Answer: `CallsFinished`.
    FinishCalls,
    /// Give the dispatch its signal, unless it has one. Answer: `Signalled`.
    SignalDispatch(Signal),
    /// Journal the end of the iteration with the next commit. Answer: that journal entry.
    JournalIteration { iteration: u32, done: bool },
    /// Store the end of the turn, and the end of every call that has none. Answer: the journal entry of the end, or
    /// `EndNotStored`.
    StoreEnd { conclusion: Arc<Conclusion>, totals: Box<TurnTotals> },

    /// Tell observers that the turn starts.
    AnnounceTurn,
    /// Tell observers that the dispatch starts.
    AnnounceDispatch,
    /// Remove the tools that live for one dispatch when it is acknowledged.
    BindTools,
    /// Show output middleware how the step wants the dispatch to end.
    SetPendingSignal(Option<Signal>),
    /// Acknowledge the dispatch of a turn whose end is stored.
    Acknowledge,
    /// Tell observers that the iteration has ended.
    CloseIteration,
    /// Tell those who wait for it, and observers, that the dispatch has ended.
    CloseDispatch { conclusion: Arc<Conclusion> },
    /// Tell observers about an error.
    ReportError(Box<ErrorReport>),
    /// Cancel what runs, because the turn has worked for as long as it may.
    CancelWork,
    /// Store what was deferred after the end of the turn was stored. A failure changes nothing.
    FlushDeferred,
    /// Release the lease on the turn.
    ReleaseLease,
    /// Tell observers that the turn has ended.
    AnnounceEnd { conclusion: Arc<Conclusion> },
}

/// The effects of one transition, in order.
///
/// Most transitions have one to three effects, which take no memory of their own. Only the last one can be answered, and it
/// may wait for long; the others are performed before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::turn) struct Effects {
    /// The first effect, if it is not the last one.
    first: Option<Effect>,
    /// The second effect, if it is not the last one.
    second: Option<Effect>,
    /// Those between the second and the last effect.
    middle: Vec<Effect>,
    pub(super) last: Option<Effect>,
}

impl Effects {
    /// No effects.
    pub(super) const fn none() -> Self {
        Self { first: None, second: None, middle: Vec::new(), last: None }
    }

    /// Adds an effect behind the others.
    pub(super) fn push(&mut self, effect: Effect) {
        let Some(before) = self.last.replace(effect) else { return };
        match (&self.first, &self.second) {
            (None, None) if self.middle.is_empty() => self.first = Some(before),
            (_, None) if self.middle.is_empty() => self.second = Some(before),
            _ => self.middle.push(before),
        }
    }

    /// Adds effects behind the others.
    pub(in crate::turn) fn append(&mut self, effects: Self) {
        if self.last.is_none() {
            *self = effects;
        } else {
            effects.into_iter().for_each(|effect| self.push(effect));
        }
    }

    pub(in crate::turn) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Takes the first effect.
    pub(in crate::turn) fn pop_first(&mut self) -> Option<Effect> {
        match self.first.take().or_else(|| self.second.take()) {
            None if self.middle.is_empty() => self.last.take(),
            None => Some(self.middle.remove(0)),
            first => first,
        }
    }

    pub(in crate::turn) fn iter(&self) -> impl Iterator<Item = &Effect> {
        self.first.iter().chain(&self.second).chain(&self.middle).chain(&self.last)
    }
}

impl From<Effect> for Effects {
    fn from(effect: Effect) -> Self {
        Self { last: Some(effect), ..Self::none() }
    }
}

impl<const N: usize> From<[Effect; N]> for Effects {
    fn from(effects: [Effect; N]) -> Self {
        effects.into_iter().collect()
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        let mut collected = Self::none();
        effects.into_iter().for_each(|effect| collected.push(effect));
        collected
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = EffectsIter;

    fn into_iter(self) -> Self::IntoIter {
        EffectsIter(self)
    }
}

/// Takes the effects one by one.
pub(in crate::turn) struct EffectsIter(Effects);

impl Iterator for EffectsIter {
    type Item = Effect;

    fn next(&mut self) -> Option<Effect> {
        self.0.pop_first()
    }
}

/// What becomes of a proposed step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::turn) enum StepVerdict {
    /// Its calls are executed, if it has any.
    Accepted,
    /// Its calls would exceed a limit: they are stored as cancelled, and the turn ends.
    LimitReached(Limit),
    /// The turn ends with it after so many iterations: both are stored by one commit.
    EndsTurn { iterations: u32 },
}
