//! Where a turn stands: the fold over its journal, both while the turn runs and when it is read again.
//!
//! [`TurnLog::advance`] takes the entries one by one. A turn that runs advances its log by every entry that says where it
//! stands, and a turn that is resumed advances a new log by the entries that are stored. So both decide alike what comes
//! next. [`StoredLog`] reads a stored journal, for everything that reads one.

mod stored;

#[cfg(test)]
mod tests;

use haft_core::record::RecordName;
use haft_core::step::NextAction;
use haft_core::usage::Usage;

pub(super) use self::stored::StoredLog;
use super::journal::JournalEntry;
use super::limits::Limit;
use super::report::Conclusion;

/// Where a turn stands, and what it has spent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnLog {
    position: Position,
    totals: TurnTotals,
    /// The ids of the messages of the assistant.
    messages: Vec<RecordName>,
    /// How a dispatch was to end when the turn was interrupted, with the iteration that decided it.
    pending: Option<(u32, NextAction)>,
}

/// Where a turn continues.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Position {
    /// Nothing of it is stored.
    New,
    /// At the beginning of an iteration.
    Iteration(u32),
    /// After the step of an iteration; only its calls may be unfinished.
    Calls { iteration: u32, step: StoredStep },
    /// After the dispatch.
    Output,
    /// Its end is stored.
    Ended(Conclusion),
}

/// What a stored step says about what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredStep {
    pub(super) next: NextAction,
    /// The limit that its calls would have exceeded. It ends the turn.
    pub(super) limit: Option<Limit>,
}

/// What a turn has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnTotals {
    /// Iterations that have ended.
    pub(super) iterations: u32,
    /// What the stored steps cost.
    pub(super) usage: Usage,
}

/// An entry that cannot come where the turn stands: a damaged journal, or a mistake of this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a turn {position} cannot take the entry `{entry}`")]
pub(super) struct IllegalEntry {
    position: &'static str,
    entry: &'static str,
}

impl TurnLog {
    /// The log of a turn that does not exist yet.
    pub(super) const fn new() -> Self {
        Self {
            position: Position::New,
            totals: TurnTotals { iterations: 0, usage: Usage::new(0, 0) },
            messages: Vec::new(),
            pending: None,
        }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    ///
    /// The entry cannot come here; then nothing has changed.
    pub(super) fn advance(&mut self, entry: &JournalEntry) -> Result<(), IllegalEntry> {
        let illegal = IllegalEntry { position: self.position.name(), entry: entry.name() };
        self.try_advance(entry).ok_or(illegal)
    }

    fn try_advance(&mut self, entry: &JournalEntry) -> Option<()> {
        use JournalEntry as E;

        let is_open = !matches!(self.position, Position::New | Position::Ended(_));
        match entry {
            E::Started { .. } => {
                (self.position == Position::New).then(|| self.position = Position::Iteration(0))
            }
            E::Resumed { .. } => is_open.then_some(()),
            // They say nothing about where the turn stands, and may be stored after its end: a commit that failed may have
            // been written nevertheless.
            E::Stash { .. }
            | E::StashDelta(_)
            | E::Hydrated(_)
            | E::Tools(_)
            | E::Stopped { .. } => (self.position != Position::New).then_some(()),
            E::Pending { iteration, then } => {
                is_open.then(|| self.pending = Some((*iteration, then.clone())))
            }
            E::Step(step) => {
                let iteration = step.iteration;
                if self.position != Position::Iteration(iteration) {
                    return None;
                }
                let stored = StoredStep { next: step.then.clone(), limit: step.limit.clone() };
                self.position = Position::Calls { iteration, step: stored };
                self.totals.usage += step.usage;
                self.messages.extend_from_slice(&step.messages);
                Some(())
            }
            E::Iterated { iteration, done, .. } => {
                let next = iteration.checked_add(1)?;
                self.position = self.position.after_iteration(*iteration, next, *done)?;
                self.totals.iterations = next;
                self.pending = None;
                Some(())
            }
            E::Ended { outcome, error, iterations, usage, .. } => is_open.then(|| {
                let conclusion = Conclusion::stored(outcome.clone(), error.clone());
                self.position = Position::Ended(conclusion);
                self.totals = TurnTotals { iterations: *iterations, usage: *usage };
                self.pending = None;
            }),
        }
    }

    pub(super) const fn position(&self) -> &Position {
        &self.position
    }

    /// How the turn ended, if its end is stored.
    pub(super) const fn end(&self) -> Option<&Conclusion> {
        match &self.position {
            Position::Ended(conclusion) => Some(conclusion),
            _ => None,
        }
    }

    /// What the turn has spent so far.
    pub(super) const fn totals(&self) -> &TurnTotals {
        &self.totals
    }

    /// The ids of the messages of the assistant.
    pub(super) fn messages(&self) -> &[RecordName] {
        &self.messages
    }

    /// Takes how an iteration wanted its dispatch to end before it was interrupted.
    pub(super) fn take_pending(&mut self, iteration: u32) -> Option<NextAction> {
        self.pending.take().filter(|(decided, _)| *decided == iteration).map(|(_, then)| then)
    }
}

impl Position {
    /// The position after the end of an iteration, if that iteration can end here. The journal can contain the same end
    /// twice: a commit that failed may have been written nevertheless, and is then repeated.
    fn after_iteration(&self, ended: u32, next: u32, done: bool) -> Option<Self> {
        match self {
            Self::Iteration(at) | Self::Calls { iteration: at, .. } if *at == ended => {
                Some(if done { Self::Output } else { Self::Iteration(next) })
            }
            Self::Iteration(at) if *at == next && !done => Some(self.clone()),
            Self::Output if done => Some(Self::Output),
            _ => None,
        }
    }

    /// The position in words, for reports of broken invariants.
    const fn name(&self) -> &'static str {
        match self {
            Self::New => "that is not stored",
            Self::Iteration(_) => "before a step",
            Self::Calls { .. } => "after a step",
            Self::Output => "after its dispatch",
            Self::Ended(_) => "that has ended",
        }
    }
}
