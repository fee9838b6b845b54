//! Records of earlier turns that a turn shows: hydrated from the store, and referenced instead of stored again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::TurnContext;
use crate::call::{OccurrenceCounter, RecordId, ToolCall};
use crate::error::{Coded, ErrorCode};
use crate::record::{LoadError, Memory, Message, Record as _, RecordName, Retrievable, Thought};
use crate::store::{
    MemoryScope, RowKind, StoreError, StoreFuture, TurnId, TurnQuery, TurnStatus, TurnSummary,
};

/// Reads what earlier turns have stored. The loop gives one over its store, and nothing calls it by itself.
pub trait HistoryReader: Send + Sync {
    /// Lists turns, newest first, as a store does.
    fn list_turns(&self, query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>>;

    /// Loads the records of a turn, with their artifacts; nothing if there is no such turn.
    fn load_turn(&self, turn: TurnId) -> HistoryFuture<'_, Option<EarlierTurn>>;

    /// Loads the memories of a scope.
    fn load_memories(&self, scope: MemoryScope) -> HistoryFuture<'_, Vec<Memory>>;
}

/// What reading the history returns.
pub type HistoryFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HistoryError>> + Send + 'a>>;

/// The history could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored record could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Load(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.retryable(),
            Self::Load(_) => false,
        }
    }
}

/// A turn of the past, with the records that a later turn can show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EarlierTurn {
    /// The turn.
    pub turn: TurnId,
    /// How it ended, or that it has not.
    pub status: TurnStatus,
    /// The records in their order. Calls that have not ended are not among them.
    pub records: Vec<EarlierRecord>,
    /// How many rows the turn has.
    pub rows: usize,
    /// What it showed of turns before it, oldest first.
    pub shown: Vec<HydratedTurn>,
}

impl EarlierTurn {
    /// A turn without records.
    #[must_use]
    pub fn new(turn: TurnId, status: TurnStatus) -> Self {
        Self { turn, status, records: Vec::new(), rows: 0, shown: Vec::new() }
    }

    /// Drops the records of all other kinds.
    pub fn retain_kinds(&mut self, kinds: &[RowKind]) {
        self.records.retain(|record| kinds.contains(&record.kind()));
    }
}

/// A record of an earlier turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EarlierRecord {
    /// A message.
    Message(Arc<Message>),
    /// A thought.
    Thought(Arc<Thought>),
    /// A call that has ended.
    ToolCall(Arc<ToolCall>),
    /// A retrieved record.
    Retrievable(Arc<Retrievable>),
}

impl EarlierRecord {
    /// What it is where it is stored.
    #[must_use]
    pub fn kind(&self) -> RowKind {
        match self {
            Self::Message(_) => RowKind::Message,
            Self::Thought(_) => RowKind::Thought,
            Self::ToolCall(_) => RowKind::ToolCall,
            Self::Retrievable(_) => RowKind::Retrievable,
        }
    }

    /// Its id, as text.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Message(it) => it.id().as_str().to_owned(),
            Self::Thought(it) => it.id().as_str().to_owned(),
            Self::ToolCall(it) => it.id().to_string(),
            Self::Retrievable(it) => it.id().as_str().to_owned(),
        }
    }

    /// The record under another id; nothing if that cannot be one.
    fn renamed(&self, id: &str) -> Option<Self> {
        let name = || id.parse::<RecordName>().ok();
        Some(match self {
            Self::Message(it) => Self::Message(Arc::new(it.renamed(name()?))),
            Self::Thought(it) => Self::Thought(Arc::new(it.renamed(name()?))),
            Self::Retrievable(it) => Self::Retrievable(Arc::new(it.renamed(name()?))),
            Self::ToolCall(it) => {
                let mut call = ToolCall::clone(it);
                call.id = id.parse().ok()?;
                Self::ToolCall(Arc::new(call))
            }
        })
    }

    /// By what the journal names it.
    fn key(&self) -> String {
        format!("{}/{}", self.kind().as_str(), self.id())
    }
}

/// What a turn shows of earlier turns, as its journal refers to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hydration {
    /// The turns, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<HydratedTurn>,
    /// Records that are not shown any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedRecord>,
}

/// What a turn shows of one earlier turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HydratedTurn {
    /// The earlier turn.
    pub turn: TurnId,
    /// The kinds of its records that are shown; the default is [`DEFAULT_KINDS`](Self::DEFAULT_KINDS).
    #[serde(
        default = "HydratedTurn::default_kinds",
        skip_serializing_if = "HydratedTurn::is_default"
    )]
    pub kinds: Vec<RowKind>,
    /// How many rows it had.
    pub rows: usize,
    /// Records whose id was taken, as `kind/id`. Each has another id in this turn, or the same id if it replaces the
    /// record of a turn before it, or nothing if the turn has the same record already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, Option<String>>,
}

impl HydratedTurn {
    /// The kinds of records that make up what was said and done.
    pub const DEFAULT_KINDS: &[RowKind] = &[RowKind::Message, RowKind::Thought, RowKind::ToolCall];

    /// The key that a record of the earlier turn has there, by its key in the turn that shows it.
    fn original_key<'k>(&'k self, key: &'k str) -> Option<&'k str> {
        let kind = key.split_once('/').map_or(key, |(kind, _)| kind);
        let is_new_name = |old: &str, id: &str| {
            let rest = key.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/'));
            rest == Some(id) && old.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/'))
        };
        let renamed = self.renamed.iter().find_map(|(old, new)| {
            new.as_deref().filter(|id| is_new_name(old, id)).map(|_| old.as_str())
        });
        renamed.or_else(|| (!self.renamed.contains_key(key)).then_some(key))
    }

    fn default_kinds() -> Vec<RowKind> {
        Self::DEFAULT_KINDS.to_vec()
    }

    fn is_default(kinds: &[RowKind]) -> bool {
        kinds == Self::DEFAULT_KINDS
    }
}

/// A record of an earlier turn that was removed from a later one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemovedRecord {
    /// What it is.
    pub kind: RowKind,
    /// The id that it had in the later turn.
    pub id: String,
}

impl TurnContext {
    /// Reads what earlier turns have stored; nothing for a turn without a store.
    #[must_use]
    pub fn history(&self) -> Option<&Arc<dyn HistoryReader>> {
        self.turn.history.as_ref()
    }

    /// Whether the turn has been given its history, be it an empty one. When a turn is resumed, the history is opened
    /// again as its journal says, before middleware runs.
    #[must_use]
    pub fn is_hydrated(&self) -> bool {
        self.records().is_hydrated.load(Ordering::Relaxed)
    }

    /// Shows records of earlier turns, oldest turn first, before all records of this turn. Artifacts of their calls can
    /// be queried by the handles that they had, and every label stays as it is.
    ///
    /// The records are not stored again: the journal refers to them, and a process that resumes the turn opens them
    /// where they are. A record that this turn has already is not shown twice. A record that an earlier turn changed is
    /// shown as it was changed, where it was first. Another record whose id is taken is shown under another id.
    pub fn hydrate(&self, turns: Vec<EarlierTurn>, kinds: &[RowKind]) {
        let mut shown = ShownRecords::new(self);
        let mut hydration = Hydration::default();
        for mut turn in turns {
            turn.retain_kinds(kinds);
            let records = std::mem::take(&mut turn.records);
            let mut renamed = BTreeMap::new();
            for record in records {
                let key = record.key();
                match shown.place(&turn, record) {
                    Placement::AsItIs => {}
                    Placement::Under(id) => {
                        renamed.insert(key, Some(id));
                    }
                    Placement::Known => {
                        renamed.insert(key, None);
                    }
                }
            }
            let EarlierTurn { turn, rows, .. } = turn;
            hydration.turns.push(HydratedTurn { turn, kinds: kinds.to_vec(), rows, renamed });
        }
        if let Some(recorder) = &self.turn.recorder {
            recorder.journal_hydration(hydration);
        }
        self.records().is_hydrated.store(true, Ordering::Relaxed);
        self.place_earlier(shown.into_records());
    }

    /// Shows records before all records of this turn that are found again by other means when the turn is resumed:
    /// nothing of them is stored or journaled. A record whose id is taken is left out.
    pub fn show_earlier(&self, records: Vec<EarlierRecord>) {
        let mut seen = HashSet::new();
        let is_new = |record: &EarlierRecord| {
            self.find_record(record.kind(), &record.id()).is_none() && seen.insert(record.key())
        };
        let shown: Vec<_> = records.into_iter().filter(is_new).collect();
        self.place_earlier(shown);
    }

    /// Shows again what the journal of a resumed turn refers to, before its own records are restored.
    pub fn restore_hydration(&self, turns: Vec<(HydratedTurn, EarlierTurn)>) {
        let mut shown: IndexMap<String, EarlierRecord> = IndexMap::new();
        for (reference, mut turn) in turns {
            turn.retain_kinds(&reference.kinds);
            for record in turn.records {
                let record = match reference.renamed.get(&record.key()) {
                    None => Some(record),
                    Some(Some(id)) => record.renamed(id),
                    Some(None) => None,
                };
                // An entry that is there is replaced and stays where it is.
                shown.extend(record.map(|record| (record.key(), record)));
            }
        }
        self.records().is_hydrated.store(true, Ordering::Relaxed);
        self.place_earlier(shown.into_values().collect());
    }

    /// Restores that a record of an earlier turn was removed.
    pub fn restore_removal(&self, removed: &RemovedRecord) {
        let name = || removed.id.parse::<RecordName>();
        match removed.kind {
            RowKind::Message => {
                name().ok().and_then(|id| self.records().messages.remove(&id));
            }
            RowKind::Thought => {
                name().ok().and_then(|id| self.records().thoughts.remove(&id));
            }
            RowKind::Retrievable => {
                self.artifacts().remove_retrieved(&removed.id);
                name().ok().and_then(|id| self.records().retrievables.remove(&id));
            }
            RowKind::ToolCall => {
                if let Ok(id) = removed.id.parse::<RecordId>() {
                    self.artifacts().remove_call(id);
                    self.records().tool_calls.remove(&id);
                }
            }
            RowKind::Memory | RowKind::Instruction => {}
        }
    }

    /// Which time it is that this turn makes the call of a record, counted from one. Occurrences of earlier turns do
    /// not count.
    #[must_use]
    pub fn occurrence_in_turn(&self, record: RecordId) -> u32 {
        let earlier = self.records().earlier_count(record.call_id());
        record.occurrence().get().saturating_sub(earlier)
    }

    /// How often earlier turns made the calls that are shown: later names come behind theirs.
    #[must_use]
    pub fn earlier_occurrences(&self) -> OccurrenceCounter {
        self.records().lock_earlier().clone()
    }

    fn place_earlier(&self, records: Vec<EarlierRecord>) {
        let all = self.records();
        let count = records.len() as u64;
        let first = all.next_earlier.fetch_add(count, Ordering::Relaxed);
        let (mut messages, mut thoughts) = (Vec::new(), Vec::new());
        let (mut calls, mut retrievables) = (Vec::new(), Vec::new());
        for (number, record) in (first..).zip(records) {
            match record {
                EarlierRecord::Message(it) => messages.push((number, it)),
                EarlierRecord::Thought(it) => thoughts.push((number, it)),
                EarlierRecord::ToolCall(it) => {
                    // Its artifacts cannot be queried if a retrieved record has its name: that one came first.
                    let _ = self.artifacts().put_call(&it);
                    all.lock_earlier().restore(it.id());
                    calls.push((number, it));
                }
                EarlierRecord::Retrievable(it) => {
                    if self.put_retrieved_artifact(&it).is_ok() {
                        retrievables.push((number, it));
                    }
                }
            }
        }
        all.messages.put_earlier(messages);
        all.thoughts.put_earlier(thoughts);
        all.tool_calls.put_earlier(calls);
        all.retrievables.put_earlier(retrievables);
    }

    fn find_record(&self, kind: RowKind, id: &str) -> Option<EarlierRecord> {
        let all = self.records();
        let name = || id.parse::<RecordName>().ok();
        match kind {
            RowKind::Message => all.messages.get(&name()?).map(EarlierRecord::Message),
            RowKind::Thought => all.thoughts.get(&name()?).map(EarlierRecord::Thought),
            RowKind::Retrievable => all.retrievables.get(&name()?).map(EarlierRecord::Retrievable),
            RowKind::ToolCall => {
                all.tool_calls.get(&id.parse::<RecordId>().ok()?).map(EarlierRecord::ToolCall)
            }
            RowKind::Memory | RowKind::Instruction => None,
        }
    }
}

/// The records that are to be shown, each with an id of its own.
struct ShownRecords<'c> {
    ctx: &'c TurnContext,
    /// By key.
    records: IndexMap<String, EarlierRecord>,
    /// The key of each record, by its turn and the key that it has there.
    origins: HashMap<(TurnId, String), String>,
    /// How often each call was named so far.
    calls: OccurrenceCounter,
}

/// How a record is shown.
enum Placement {
    /// Under its own id.
    AsItIs,
    /// Under this id: another one, because its own is taken, or that of the record that it replaces.
    Under(String),
    /// Not at all: the same record is there already.
    Known,
}

impl<'c> ShownRecords<'c> {
    fn new(ctx: &'c TurnContext) -> Self {
        let mut calls = ctx.earlier_occurrences();
        for call in ctx.tool_calls().all() {
            calls.restore(call.key());
        }
        Self { ctx, records: IndexMap::new(), origins: HashMap::new(), calls }
    }

    /// Takes a record of a turn, and says how it is shown.
    fn place(&mut self, turn: &EarlierTurn, record: EarlierRecord) -> Placement {
        let origin = (turn.turn.clone(), record.key());
        if let Some(changed) = self.find_changed(turn, &record) {
            let id = changed.id();
            self.insert(origin, changed);
            return Placement::Under(id);
        }
        let Some(known) = self.find(&record) else {
            self.insert(origin, record);
            return Placement::AsItIs;
        };
        if known == record {
            return Placement::Known;
        }
        let shown = match &record {
            EarlierRecord::ToolCall(call) => {
                record.renamed(&self.calls.next(call.call_id()).to_string())
            }
            _ => self.rename(&turn.turn, &record),
        };
        // There is always a free id; a record without one would hide another.
        let Some(record) = shown else { return Placement::Known };
        let id = record.id();
        self.insert(origin, record);
        Placement::Under(id)
    }

    /// The record under the id of the one that it replaces, if the turn has changed a record that it showed.
    fn find_changed(&self, turn: &EarlierTurn, record: &EarlierRecord) -> Option<EarlierRecord> {
        let key = record.key();
        let replaced = turn.shown.iter().find_map(|reference| {
            let original = reference.original_key(&key)?.to_owned();
            self.origins.get(&(reference.turn.clone(), original))
        });
        let id = self.records.get(replaced?)?.id();
        if id == record.id() { Some(record.clone()) } else { record.renamed(&id) }
    }

    fn rename(&self, turn: &TurnId, record: &EarlierRecord) -> Option<EarlierRecord> {
        let full = format!("{turn}/{}", record.id());
        let numbered = (1..=self.records.len() + 2).map(|n| format!("{turn}/{n}"));
        let mut candidates =
            std::iter::once(full).chain(numbered).filter_map(|id| record.renamed(&id));
        candidates.find(|it| self.find(it).is_none())
    }

    /// The record that has the id of this one.
    fn find(&self, record: &EarlierRecord) -> Option<EarlierRecord> {
        let known = self.records.get(&record.key()).cloned();
        known.or_else(|| self.ctx.find_record(record.kind(), &record.id()))
    }

    fn insert(&mut self, origin: (TurnId, String), record: EarlierRecord) {
        if let EarlierRecord::ToolCall(call) = &record {
            self.calls.restore(call.id());
        }
        self.origins.insert(origin, record.key());
        self.records.insert(record.key(), record);
    }

    fn into_records(self) -> Vec<EarlierRecord> {
        self.records.into_values().collect()
    }
}
