//! What a turn writes down before it does it.

use std::sync::Arc;

use haft_core::call::RecordId;
use haft_core::clock::Timestamp;
use haft_core::event::ErrorReport;
use haft_core::record::RecordName;
use haft_core::step::Then;
use haft_core::store::{StoreError, StoredText, TurnId, Write};
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Outcome;
use super::limits::Limit;

/// The newest form of the journal that is known here.
pub(super) const VERSION: u32 = 1;

/// One entry. Records stand in rows of their own, written in the same step; entries name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub(super) enum Entry {
    /// The turn began.
    Started { version: u32, system_prompt: Arc<str>, stash: Value, at: Timestamp },
    /// Another process went on with it, which may be a newer program than the one that began.
    Resumed {
        #[serde(default = "Entry::first_version")]
        version: u32,
        by: String,
        at: Timestamp,
    },
    /// The model has spoken. It is not asked again for this iteration.
    Step {
        iteration: u32,
        messages: Vec<RecordName>,
        calls: Vec<RecordId>,
        then: Then,
        usage: Usage,
        /// The limit that its calls would have broken, which ends the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// The scratchpad has changed.
    Stash { stash: Value },
    /// An iteration is over, and with it the dispatch if that is done.
    Iterated { iteration: u32, done: bool },
    /// The turn is over.
    Ended {
        outcome: Outcome,
        error: Option<ErrorReport>,
        iterations: u32,
        usage: Usage,
        at: Timestamp,
    },
}

impl Entry {
    fn first_version() -> u32 {
        1
    }

    /// The write that adds it to the journal.
    pub(super) fn write(self) -> Write {
        // Nothing in an entry has a form that JSON has not.
        Write::Journal(StoredText::of(self, |it| {
            serde_json::to_string(it).unwrap_or_else(|_| StoredText::UNWRITABLE.to_owned())
        }))
    }
}

/// What the journal of a turn says.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) system_prompt: Arc<str>,
    /// The scratchpad as it was last written down.
    pub(super) stash: Value,
    pub(super) steps: Vec<StepEntry>,
    /// How many iterations are over.
    pub(super) iterated: u32,
    /// Whether the dispatch was acknowledged, so that only the turn's output is left.
    pub(super) done: bool,
    pub(super) ended: Option<EndEntry>,
}

#[derive(Clone, Debug)]
pub(super) struct StepEntry {
    pub(super) iteration: u32,
    pub(super) messages: Vec<RecordName>,
    pub(super) then: Then,
    pub(super) usage: Usage,
    pub(super) limit: Option<Limit>,
}

#[derive(Debug)]
pub(super) struct EndEntry {
    pub(super) outcome: Outcome,
    pub(super) error: Option<ErrorReport>,
    pub(super) iterations: u32,
    pub(super) usage: Usage,
}

impl Journal {
    /// Reads a journal.
    pub(super) fn read(turn: &TurnId, entries: &[StoredText]) -> Result<Self, StoreError> {
        let damaged =
            |reason: String| StoreError::Damaged { what: format!("turn `{turn}`"), reason };
        let mut entries = entries.iter().enumerate();
        let Some((_, first)) = entries.next() else {
            return Err(damaged("its journal is empty".to_owned()));
        };
        // The version comes first: entries of a newer one need not be readable.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        if let Ok(Versioned { version }) = serde_json::from_str(first)
            && version > VERSION
        {
            return Err(StoreError::NewerVersion { found: version, known: VERSION });
        }
        let read = |at: usize, text: &str| {
            serde_json::from_str::<Entry>(text)
                .map_err(|error| damaged(format!("entry {at} of its journal: {error}")))
        };
        let Entry::Started { system_prompt, stash, .. } = read(0, first)? else {
            return Err(damaged("its journal does not begin with its beginning".to_owned()));
        };
        let mut journal =
            Self { system_prompt, stash, steps: Vec::new(), iterated: 0, done: false, ended: None };
        for (at, text) in entries {
            match read(at, text)? {
                Entry::Started { .. } => return Err(damaged("it begins twice".to_owned())),
                Entry::Resumed { version, .. } if version > VERSION => {
                    return Err(StoreError::NewerVersion { found: version, known: VERSION });
                }
                Entry::Resumed { .. } => {}
                Entry::Step { iteration, messages, then, usage, limit, .. } => {
                    journal.steps.push(StepEntry { iteration, messages, then, usage, limit });
                }
                Entry::Stash { stash } => journal.stash = stash,
                Entry::Iterated { iteration, done } => {
                    (journal.iterated, journal.done) = (iteration + 1, done);
                }
                Entry::Ended { outcome, error, iterations, usage, .. } => {
                    journal.ended = Some(EndEntry { outcome, error, iterations, usage });
                }
            }
        }
        Ok(journal)
    }

    /// What the steps have cost so far.
    pub(super) fn usage(&self) -> Usage {
        self.steps.iter().map(|step| step.usage).sum()
    }
}
