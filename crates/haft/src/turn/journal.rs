//! The journal of a turn: what is stored before it takes effect, and how it is read again.

mod stash_delta;
mod step_request;

use std::sync::Arc;

use haft_core::call::RecordId;
use haft_core::clock::Timestamp;
use haft_core::context::Hydration;
use haft_core::event::ErrorReport;
use haft_core::record::RecordName;
use haft_core::step::{ExecutorDescription, NextAction};
use haft_core::store::{MemoryScope, StopReason, StoreWrite, SummaryUpdate};
use haft_core::tool::ToolChanges;
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use self::stash_delta::{ReplayedStash, StashDelta, StashJournal};
pub(super) use self::step_request::{OfferedTools, RequestDigest, RequestHistory};
use super::TurnOutcome;
use super::envelopes::NonceOrigin;
use super::limits::Limit;

/// The form of the journal. A turn of another one is refused.
pub(super) const VERSION: u32 = 1;

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
        executor: Box<ExecutorDescription>,
        /// From what the names of its envelopes are derived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<NonceOrigin>,
        /// What the memories of the turn belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_scope: Option<MemoryScope>,
        /// What the program says about the definition of its agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<String>,
        /// The span in which it was created, as W3C Trace Context writes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<String>,
    },
    /// Another process resumed it.
    Resumed {
        by: String,
        at: Timestamp,
        /// What takes its steps from now on, if that is another executor than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        executor: Option<Box<ExecutorDescription>>,
        /// The definition of its agent from now on, if that is another one than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<String>,
    },
    /// The executor has taken the step of an iteration. It is not asked again for it.
    Step(StepEntry),
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
        /// How long the turn has waited for its stores since the entry before that says so, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        storing: u64,
    },
    /// An attempt to run the turn has ended, and not the turn.
    Stopped {
        error: ErrorReport,
        at: Timestamp,
        #[serde(default, skip_serializing_if = "is_zero")]
        storing: u64,
    },
    /// The turn has ended.
    Ended {
        outcome: TurnOutcome,
        error: Option<ErrorReport>,
        iterations: u32,
        usage: Usage,
        at: Timestamp,
        #[serde(default, skip_serializing_if = "is_zero")]
        storing: u64,
    },
}

/// A step, as the journal has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StepEntry {
    pub(super) iteration: u32,
    #[serde(default, skip_serializing_if = "<[RecordName]>::is_empty")]
    pub(super) thoughts: Box<[RecordName]>,
    pub(super) messages: Vec<RecordName>,
    pub(super) calls: Vec<RecordId>,
    pub(super) then: NextAction,
    pub(super) usage: Usage,
    /// The limit that its calls would have exceeded, which ends the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<Limit>,
    /// The request with which it was taken, or `None` if none was sent. So are the fields below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<Box<RequestDigest>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Box<Map<String, Value>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Box<OfferedTools>>,
    pub(super) time: StepTime,
}

/// When a step was taken, and how long that took in milliseconds, without decisions of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepTime {
    /// When the executor was asked.
    pub(super) at: Timestamp,
    /// Until the model began to write, or until the whole step came at once.
    pub(super) wait: u64,
    /// From there on to the end of what it wrote.
    pub(super) write: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde demands it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl JournalEntry {
    /// The name of the entry, for reports of broken invariants.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Resumed { .. } => "resumed",
            Self::Step(_) => "step",
            Self::Stash { .. } => "stash",
            Self::StashDelta(_) => "stash-delta",
            Self::Hydrated(_) => "hydrated",
            Self::Tools(_) => "tools",
            Self::Pending { .. } => "pending",
            Self::Iterated { .. } => "iterated",
            Self::Stopped { .. } => "stopped",
            Self::Ended { .. } => "ended",
        }
    }

    /// The write that adds it to the journal.
    pub(super) fn to_write(&self) -> StoreWrite {
        // Every part of an entry has a form in JSON. If one had none, the commit would fail, because no store accepts
        // this text.
        let json = serde_json::to_string(self).unwrap_or_else(|_| "\0".to_owned());
        StoreWrite::Journal(json)
    }

    /// Adds the writes that add the last entry to the journal, and give the turn its last status.
    pub(super) fn push_end_writes(&self, writes: &mut Vec<StoreWrite>) {
        writes.push(self.to_write());
        if let Self::Ended { outcome, error, usage, .. } = self {
            let mut update = SummaryUpdate::default();
            update.tokens = (usage.total > 0).then_some(usage.total);
            update.stop = match (outcome, error) {
                (TurnOutcome::Completed, _) => None,
                (_, Some(error)) => Some(StopReason::from(error)),
                (outcome, None) => Some(StopReason::new(outcome.to_string())),
            };
            if update != SummaryUpdate::default() {
                writes.push(StoreWrite::Summary(update));
            }
            writes.push(StoreWrite::Status(outcome.status()));
        }
    }
}
