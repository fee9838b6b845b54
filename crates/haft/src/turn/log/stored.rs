//! Reading the journal of a stored turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::context::Hydration;
use haft_core::step::ExecutorDescription;
use haft_core::store::{MemoryScope, StoreError, TurnId};
use haft_core::tool::ToolChanges;
use serde_json::Value;

use super::super::envelopes::NonceOrigin;
use super::super::history::{AttemptEnd, StepHistory};
use super::super::journal::{JournalEntry, ReplayedStash, VERSION};
use super::TurnLog;

/// A stored turn as its journal describes it.
#[derive(Debug)]
pub(in crate::turn) struct StoredLog {
    /// Where it stands.
    pub(in crate::turn) log: TurnLog,
    pub(in crate::turn) system_prompt: Arc<str>,
    /// The stash with which it began.
    pub(in crate::turn) first_stash: Value,
    /// The stash as it was last stored.
    pub(in crate::turn) stash: Value,
    /// What took its steps last.
    pub(in crate::turn) executor: Box<ExecutorDescription>,
    /// The definition of its agent, and when it was another one than before.
    pub(in crate::turn) definition: Option<String>,
    pub(in crate::turn) redefined_at: Vec<Timestamp>,
    pub(in crate::turn) nonce: Option<NonceOrigin>,
    /// The steps that were taken.
    pub(in crate::turn) steps: Vec<StepHistory>,
    pub(in crate::turn) started_at: Timestamp,
    pub(in crate::turn) ended_at: Option<Timestamp>,
    /// How its last attempt ended, if that was not the end of the turn and no process has resumed it.
    pub(in crate::turn) stop: Option<AttemptEnd>,
    /// How long it waited for its stores before its first step.
    pub(in crate::turn) opening: Duration,
    /// The iterations with results that output middleware did not look at.
    pub(in crate::turn) unchecked: HashSet<u32>,
    /// The tools that its requests have offered.
    pub(in crate::turn) offered: HashSet<String>,
    pub(in crate::turn) memory_scope: Option<MemoryScope>,
    /// The span in which the turn was created, as other processes know it.
    pub(in crate::turn) traceparent: Option<String>,
    /// What it shows of earlier turns.
    pub(in crate::turn) hydrations: Vec<Hydration>,
    /// How its tools have changed, in order.
    pub(in crate::turn) tools: Vec<ToolChanges>,
}

impl StoredLog {
    /// Reads a journal.
    ///
    /// # Errors
    ///
    /// An entry cannot be read, cannot come at its place, or was written by a program of another version.
    pub(in crate::turn) fn read(turn: &TurnId, entries: &[String]) -> Result<Self, StoreError> {
        let damaged =
            |reason: String| StoreError::Damaged { what: format!("turn `{turn}`"), reason };
        let Some(first) = entries.first() else {
            return Err(damaged("its journal is empty".to_owned()));
        };
        check_version(first)?;
        let mut stored = Self::new();
        let mut stash = ReplayedStash::default();
        for (place, text) in entries.iter().enumerate() {
            let entry: JournalEntry = serde_json::from_str(text)
                .map_err(|error| damaged(format!("entry {place} of its journal: {error}")))?;
            stored
                .log
                .advance(&entry)
                .map_err(|illegal| damaged(format!("entry {place} of its journal: {illegal}")))?;
            stored.take(place, entry, &mut stash);
        }
        stored.stash =
            stash.into_value().map_err(|error| damaged(format!("its stash: {error}")))?;
        Ok(stored)
    }

    fn new() -> Self {
        Self {
            log: TurnLog::new(),
            system_prompt: Arc::default(),
            first_stash: Value::Null,
            stash: Value::Null,
            executor: Box::default(),
            definition: None,
            redefined_at: Vec::new(),
            nonce: None,
            steps: Vec::new(),
            started_at: Timestamp::EPOCH,
            ended_at: None,
            stop: None,
            opening: Duration::ZERO,
            unchecked: HashSet::new(),
            offered: HashSet::new(),
            memory_scope: None,
            traceparent: None,
            hydrations: Vec::new(),
            tools: Vec::new(),
        }
    }

    /// Takes what an entry says in addition to where the turn stands.
    fn take(&mut self, place: usize, entry: JournalEntry, stash_so_far: &mut ReplayedStash) {
        match entry {
            JournalEntry::Started {
                system_prompt,
                stash,
                at,
                executor,
                nonce,
                memory_scope,
                definition,
                traceparent,
                ..
            } => {
                self.started_at = at;
                self.system_prompt = system_prompt;
                self.executor = executor;
                self.definition = definition;
                self.nonce = nonce;
                self.memory_scope = memory_scope;
                self.traceparent = traceparent;
                self.first_stash = stash.clone();
                stash_so_far.replace(stash);
            }
            JournalEntry::Resumed { executor, definition, at, .. } => {
                if let Some(executor) = executor {
                    self.executor = executor;
                }
                if definition.is_some() {
                    self.definition = definition;
                    self.redefined_at.push(at);
                }
                self.stop = None;
            }
            JournalEntry::Step(step) => {
                // Its calls have not been looked at until the end of the iteration says so.
                self.unchecked.insert(step.iteration);
                let step = StepHistory::of_entry(place, step, &self.executor);
                self.offered.extend(step.new_tools.iter().cloned());
                self.steps.push(step);
            }
            JournalEntry::Iterated { iteration, unchecked, storing, .. } => {
                if !unchecked {
                    self.unchecked.remove(&iteration);
                }
                self.add_storing(storing);
            }
            JournalEntry::Stopped { error, at, storing } => {
                self.stop = Some(AttemptEnd { at, error });
                self.add_storing(storing);
            }
            JournalEntry::Stash { stash } => stash_so_far.replace(stash),
            JournalEntry::StashDelta(delta) => stash_so_far.add(delta),
            JournalEntry::Hydrated(hydration) => self.hydrations.push(hydration),
            JournalEntry::Tools(changes) => self.tools.push(changes),
            JournalEntry::Ended { at, storing, .. } => {
                self.ended_at = Some(at);
                self.add_storing(storing);
            }
            JournalEntry::Pending { .. } => {}
        }
    }

    /// What was waited for the stores belongs to the last step, or to the beginning of the turn.
    fn add_storing(&mut self, milliseconds: u64) {
        let time = Duration::from_millis(milliseconds);
        match self.steps.last_mut() {
            Some(step) => step.storing += time,
            None => self.opening += time,
        }
    }
}

/// Refuses a journal of another version, whose entries need not be readable.
fn check_version(first: &str) -> Result<(), StoreError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_str(first) {
        Ok(Versioned { version }) if version != VERSION => {
            Err(StoreError::OtherVersion { found: version, known: VERSION })
        }
        _ => Ok(()),
    }
}
