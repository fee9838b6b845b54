//! The journal of a turn: what is stored before it takes effect, and how it is read again.

mod stash_delta;
mod step_request;

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::call::RecordId;
use haft_core::clock::Timestamp;
use haft_core::context::Hydration;
use haft_core::event::ErrorReport;
use haft_core::record::RecordName;
use haft_core::step::{ExecutorDescription, NextAction};
use haft_core::store::{
    MemoryScope, StoreError, StoreWrite, StoredForm, StoredText, SummaryUpdate, TurnId,
};
use haft_core::tool::ToolChanges;
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use self::stash_delta::{ReplayedStash, StashDelta, StashJournal};
pub(super) use self::step_request::{OfferedTools, RequestDigest, RequestHistory};
use super::TurnOutcome;
use super::envelopes::NonceOrigin;
use super::limits::Limit;
use super::machine::{TurnEntry, TurnMachine};

/// The newest form of the journal that this program knows.
pub(super) const VERSION: u32 = 2;

/// One entry. Records stand in rows of their own, stored by the same commit; entries name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub(super) enum JournalEntry {
    /// The turn was created.
    Started {
        version: u32,
        system_prompt: Arc<str>,
        stash: Value,
        at: Timestamp,
        /// What takes its steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        executor: Option<Box<ExecutorDescription>>,
        /// From what the names of its envelopes are derived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<NonceOrigin>,
        /// What the memories of the turn belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_scope: Option<MemoryScope>,
    },
    /// Another process resumed it, which may be a newer program than the one that created it.
    Resumed {
        #[serde(default = "JournalEntry::first_version")]
        version: u32,
        by: String,
        at: Timestamp,
        /// What takes its steps from now on, if that is another executor than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        executor: Option<Box<ExecutorDescription>>,
    },
    /// The executor has taken the step of an iteration. It is not asked again for it.
    Step {
        iteration: u32,
        #[serde(default, skip_serializing_if = "<[RecordName]>::is_empty")]
        thoughts: Box<[RecordName]>,
        messages: Vec<RecordName>,
        calls: Vec<RecordId>,
        then: NextAction,
        usage: Usage,
        /// The limit that its calls would have exceeded, which ends the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
        /// The request with which it was taken, or `None` if none was sent. So are the fields below.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Box<RequestDigest>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Box<Map<String, Value>>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Box<OfferedTools>>,
        /// How long the executor took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        milliseconds: Option<u64>,
    },
    /// The stash has changed. This is all of it.
    Stash { stash: Value },
    /// Parts of the stash have changed since the last entry about it.
    StashDelta(StashDelta),
    /// The turn shows records of earlier turns.
    Hydrated(Hydration),
    /// Tools were registered, hidden or removed, or added to the block that the model sees.
    Tools(ToolChanges),
    /// A handler or the executor has decided how the dispatch ends once output middleware has run; `continue` takes
    /// that back. It is stored together with the call or the step that decided.
    Pending { iteration: u32, then: NextAction },
    /// An iteration has ended, and with it the dispatch if that is done.
    Iterated {
        iteration: u32,
        done: bool,
        /// Whether output middleware did not look at all results of its calls. Later turns do not show them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unchecked: bool,
    },
    /// The turn has ended.
    Ended {
        outcome: TurnOutcome,
        error: Option<ErrorReport>,
        iterations: u32,
        usage: Usage,
        at: Timestamp,
    },
}

impl JournalEntry {
    fn first_version() -> u32 {
        1
    }

    /// The version that a program must know to read the journal of a turn: a turn that belongs to a conversation can
    /// show records of earlier turns, and one with a scope stores memories there.
    pub(super) fn required_version(conversation: Option<&str>, scope: Option<&MemoryScope>) -> u32 {
        if conversation.is_some() || scope.is_some() { VERSION } else { Self::first_version() }
    }

    /// The name of the entry, for reports of broken invariants.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Resumed { .. } => "resumed",
            Self::Step { .. } => "step",
            Self::Stash { .. } => "stash",
            Self::StashDelta(_) => "stash-delta",
            Self::Hydrated(_) => "hydrated",
            Self::Tools(_) => "tools",
            Self::Pending { .. } => "pending",
            Self::Iterated { .. } => "iterated",
            Self::Ended { .. } => "ended",
        }
    }

    /// The write that adds it to the journal.
    pub(super) fn into_write(self) -> StoreWrite {
        Self::to_write(&Arc::new(self))
    }

    /// The write that adds an entry to the journal which the machine takes, too.
    pub(super) fn to_write(entry: &Arc<Self>) -> StoreWrite {
        StoreWrite::Journal(StoredText::of(Arc::clone(entry)))
    }

    /// Adds the writes that add the last entry to the journal, and give the turn its last status.
    pub(super) fn push_end_writes(entry: &Arc<Self>, writes: &mut Vec<StoreWrite>) {
        writes.push(Self::to_write(entry));
        if let Self::Ended { outcome, error, usage, .. } = &**entry {
            let mut update = SummaryUpdate::default();
            update.tokens = (usage.total > 0).then_some(usage.total);
            let code = error.as_ref().and_then(|it| it.code.as_ref());
            update.error_code = code.map(|it| it.as_str().to_owned());
            if update != SummaryUpdate::default() {
                writes.push(StoreWrite::Summary(update));
            }
            writes.push(StoreWrite::Status(outcome.status()));
        }
    }
}

impl StoredForm for JournalEntry {
    fn write_text(&self) -> String {
        // Nothing in an entry has a form that JSON has not.
        serde_json::to_string(self).unwrap_or_else(|_| StoredText::UNWRITABLE.to_owned())
    }
}

/// A turn as its journal describes it.
#[derive(Debug)]
pub(super) struct ReplayedTurn {
    /// Its state machine, after the journal.
    pub(super) machine: TurnMachine,
    pub(super) system_prompt: Arc<str>,
    /// The stash as it was last stored.
    pub(super) stash: Value,
    /// What took its steps last.
    pub(super) executor: Option<Box<ExecutorDescription>>,
    pub(super) nonce: Option<NonceOrigin>,
    /// The tools that its requests have offered.
    pub(super) offered: HashSet<String>,
    pub(super) memory_scope: Option<MemoryScope>,
    /// What it shows of earlier turns.
    pub(super) hydrations: Vec<Hydration>,
    /// How its tools have changed, in order.
    pub(super) tools: Vec<ToolChanges>,
}

/// Reads the entries of a journal.
///
/// # Errors
///
/// An entry cannot be read, or a newer program wrote it.
pub(super) fn parse_journal(
    turn: &TurnId,
    entries: &[StoredText],
) -> Result<Vec<JournalEntry>, StoreError> {
    entries.first().map_or(Ok(()), |first| check_version(first))?;
    let entries = entries.iter().enumerate().map(|(at, text)| {
        serde_json::from_str(text).map_err(|error| StoreError::Damaged {
            what: format!("turn `{turn}`"),
            reason: format!("entry {at} of its journal: {error}"),
        })
    });
    entries.collect()
}

/// Applies a journal to the machine of a new turn.
///
/// # Errors
///
/// An entry cannot be read, is not allowed at its position, or was written by a newer program.
pub(super) fn replay_journal(
    mut machine: TurnMachine,
    turn: &TurnId,
    entries: &[StoredText],
) -> Result<ReplayedTurn, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { what: format!("turn `{turn}`"), reason };
    let Some(first) = entries.first() else {
        return Err(damaged("its journal is empty".to_owned()));
    };
    check_version(first)?;
    let mut parts = ReplayedParts::default();
    for (at, text) in entries.iter().enumerate() {
        let mut entry: JournalEntry = serde_json::from_str(text)
            .map_err(|error| damaged(format!("entry {at} of its journal: {error}")))?;
        parts.take_from(&mut entry)?;
        // What is to be done after an entry was done when it was stored, or is done again by who resumes the turn.
        machine
            .apply(TurnEntry::from(entry))
            .map_err(|illegal| damaged(format!("entry {at} of its journal: {illegal}")))?;
    }
    let system_prompt =
        parts.system_prompt.ok_or_else(|| damaged("it has no beginning".to_owned()))?;
    Ok(ReplayedTurn {
        machine,
        system_prompt,
        stash: parts.stash.into_value().map_err(|error| damaged(error.to_string()))?,
        executor: parts.executor,
        nonce: parts.nonce,
        offered: parts.offered,
        memory_scope: parts.memory_scope,
        hydrations: parts.hydrations,
        tools: parts.tools,
    })
}

/// What the entries of a journal say in addition to the state of the turn.
#[derive(Default)]
struct ReplayedParts {
    system_prompt: Option<Arc<str>>,
    stash: ReplayedStash,
    executor: Option<Box<ExecutorDescription>>,
    nonce: Option<NonceOrigin>,
    offered: HashSet<String>,
    memory_scope: Option<MemoryScope>,
    hydrations: Vec<Hydration>,
    tools: Vec<ToolChanges>,
}

impl ReplayedParts {
    /// Takes the parts out of the next entry.
    fn take_from(&mut self, entry: &mut JournalEntry) -> Result<(), StoreError> {
        match entry {
            JournalEntry::Started {
                system_prompt, stash, executor, nonce, memory_scope, ..
            } => {
                self.system_prompt = Some(Arc::clone(system_prompt));
                self.stash.replace(stash.take());
                (self.executor, self.nonce) = (executor.take(), nonce.take());
                self.memory_scope = memory_scope.take();
            }
            JournalEntry::Resumed { version, .. } if *version > VERSION => {
                return Err(StoreError::NewerVersion { found: *version, known: VERSION });
            }
            JournalEntry::Resumed { executor, .. } if executor.is_some() => {
                self.executor = executor.take();
            }
            JournalEntry::Step { tools: Some(tools), .. } => {
                self.offered.extend(tools.appended.drain(..));
            }
            JournalEntry::Stash { stash } => self.stash.replace(stash.take()),
            JournalEntry::StashDelta(delta) => self.stash.add(std::mem::take(delta)),
            JournalEntry::Hydrated(hydration) => self.hydrations.push(hydration.clone()),
            JournalEntry::Tools(changes) => self.tools.push(std::mem::take(changes)),
            _ => {}
        }
        Ok(())
    }
}

/// Refuses a journal of a newer program, whose entries need not be readable.
fn check_version(first: &str) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_str(first) {
        Ok(Versioned { version }) if version > VERSION => {
            Err(StoreError::NewerVersion { found: version, known: VERSION })
        }
        _ => Ok(()),
    }
}
