//! Records of earlier turns that a turn shows: hydrated from the store, and referenced instead of stored again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::TurnContext;
use crate::BoxFuture;
use crate::call::{OccurrenceCounter, RecordId, ToolCall};
use crate::clock::Timestamp;
use crate::error::{Coded, ErrorCode};
use crate::record::{LoadError, Memory, Message, Record as _, RecordName, Retrievable, Thought};
use crate::store::{MemoryScope, RowKind, StoreError, TurnId, TurnQuery, TurnStatus, TurnSummary};

/// Reads what earlier turns have stored. The loop gives one over its store, and nothing calls it by itself.
pub trait HistoryReader: Send + Sync {
    /// Lists turns, newest first, as a store does.
    fn list_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>>;

    /// Loads the records of a turn, with their artifacts. Returns `None` if there is no such turn.
    fn load_turn(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<EarlierTurn>, HistoryError>>;

    /// Loads the memories of a scope.
    fn load_memories(&self, scope: MemoryScope)
    -> BoxFuture<'_, Result<Vec<Memory>, HistoryError>>;
}

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
    /// The kinds of its records that are left, or `None` while all are.
    pub kinds: Option<Vec<RowKind>>,
    /// What it showed itself of the turns before it.
    pub shown: Hydration,
    /// When it was created, if that is known.
    pub created_at: Option<Timestamp>,
}

impl EarlierTurn {
    /// A turn without records.
    #[must_use]
    pub fn new(turn: TurnId, status: TurnStatus) -> Self {
        let records = Vec::new();
        let shown = Hydration::default();
        Self { turn, status, records, kinds: None, shown, created_at: None }
    }

    /// Drops the records of all other kinds.
    pub fn retain_kinds(&mut self, kinds: &[RowKind]) {
        self.records.retain(|record| kinds.contains(&record.kind()));
        let left = self.kinds.get_or_insert_with(|| kinds.to_vec());
        left.retain(|kind| kinds.contains(kind));
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

    /// The record under another id, or `None` if that cannot be one.
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

/// What a turn shows of earlier turns, as its journal refers to it. Its size does not depend on how many turns they
/// are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hydration {
    /// The turns, or `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<HydratedRange>,
    /// The turns of the range that are not shown as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<HydratedTurn>,
    /// Records that are not shown any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedRecord>,
}

/// Consecutive turns of a conversation, in the order in which they were created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HydratedRange {
    /// The oldest turn.
    pub first: TurnId,
    /// The newest turn.
    pub last: TurnId,
    /// How many there are.
    pub count: usize,
    /// When the oldest turn was created: turns before it are not shown, even if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_created_at: Option<Timestamp>,
    /// Turns in between that had not ended and are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<TurnId>,
    /// The kinds of their records that are shown; the default is [`DEFAULT_KINDS`](Self::DEFAULT_KINDS).
    #[serde(
        default = "HydratedRange::default_kinds",
        skip_serializing_if = "HydratedRange::is_default"
    )]
    pub kinds: Vec<RowKind>,
}

impl HydratedRange {
    /// The kinds of records that make up what was said and done.
    pub const DEFAULT_KINDS: &[RowKind] = &[RowKind::Message, RowKind::Thought, RowKind::ToolCall];

    fn default_kinds() -> Vec<RowKind> {
        Self::DEFAULT_KINDS.to_vec()
    }

    fn is_default(kinds: &[RowKind]) -> bool {
        kinds == Self::DEFAULT_KINDS
    }
}

/// What is special about one earlier turn that a turn shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HydratedTurn {
    /// The earlier turn.
    pub turn: TurnId,
    /// The kinds of its records that are shown, if they are not those of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<RowKind>>,
    /// Records whose id was taken, as `kind/id`. Each has another id in this turn, or the same id if it replaces the
    /// record of a turn before it, or nothing if the turn has the same record already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, Option<String>>,
}

impl HydratedTurn {
    /// The key that a record of the earlier turn has there, by the other key that it has in the turn that shows it.
    fn original_key(&self, key: &str) -> Option<&str> {
        let (kind, id) = key.split_once('/')?;
        let is_kind = |old: &str| old.split_once('/').is_some_and(|(it, _)| it == kind);
        let mut renamed = self.renamed.iter();
        let found = renamed.find(|(old, new)| new.as_deref() == Some(id) && is_kind(old));
        found.map(|(old, _)| old.as_str())
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
    /// Reads what earlier turns have stored, or `None` for a turn without a store.
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
    ///
    /// The turns are consecutive turns of the conversation, except for those that have not ended.
    pub fn hydrate(&self, turns: Vec<EarlierTurn>, except: Vec<TurnId>, kinds: &[RowKind]) {
        let mut hydration = Hydration::default();
        if let (Some(first), Some(last)) = (turns.first(), turns.last()) {
            let first_created_at = first.created_at;
            let first = first.turn.clone();
            let last = last.turn.clone();
            let count = turns.len();
            let kinds = kinds.to_vec();
            let range = HydratedRange { first, last, count, first_created_at, except, kinds };
            hydration.range = Some(range);
        }
        let mut shown = ShownRecords::new(self, &turns);
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
            let EarlierTurn { turn, kinds: left, .. } = turn;
            let left = left.filter(|left| left != kinds);
            if !renamed.is_empty() || left.is_some() {
                hydration.turns.push(HydratedTurn { turn, kinds: left, renamed });
            }
        }
        if let Some(recorder) = &self.turn.recorder {
            recorder.journal_hydration(hydration);
        }
        self.records().is_hydrated.store(true, Ordering::Relaxed);
        self.place_earlier(shown.into_records());
    }

    /// Shows again what the journal of a resumed turn refers to, before its own records are restored. The turns are
    /// those of the range, oldest first.
    pub fn restore_hydration(&self, hydration: &Hydration, turns: Vec<EarlierTurn>) {
        let special: HashMap<&TurnId, &HydratedTurn> =
            hydration.turns.iter().map(|it| (&it.turn, it)).collect();
        let kinds = hydration.range.as_ref().map(|range| range.kinds.as_slice());
        let mut shown: IndexMap<String, EarlierRecord> = IndexMap::new();
        for mut turn in turns {
            let special = special.get(&turn.turn);
            let kinds = special.and_then(|it| it.kinds.as_deref()).or(kinds);
            turn.retain_kinds(kinds.unwrap_or(HydratedRange::DEFAULT_KINDS));
            for record in turn.records {
                let record = match special.and_then(|it| it.renamed.get(&record.key())) {
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
        let mut messages = Vec::new();
        let mut thoughts = Vec::new();
        let mut calls = Vec::new();
        let mut retrievables = Vec::new();
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
    /// The place of each turn.
    order: HashMap<TurnId, usize>,
    /// The turn that each record belongs to and the key that it has there, by its key.
    owners: HashMap<String, (TurnId, String)>,
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
    fn new(ctx: &'c TurnContext, turns: &[EarlierTurn]) -> Self {
        let mut calls = ctx.earlier_occurrences();
        for call in ctx.tool_calls().all() {
            calls.restore(call.key());
        }
        let order = turns.iter().enumerate().map(|(place, turn)| (turn.turn.clone(), place));
        let order = order.collect();
        let owners = HashMap::new();
        let origins = HashMap::new();
        Self { ctx, records: IndexMap::new(), order, owners, origins, calls }
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
        // It showed the record under another id, or under the id that it has here.
        let renamed = turn.shown.turns.iter().find_map(|special| {
            let original = special.original_key(&key)?.to_owned();
            self.origins.get(&(special.turn.clone(), original)).cloned()
        });
        let replaced = renamed.or_else(|| {
            let (owner, original) = self.owners.get(&key)?;
            let special = turn.shown.turns.iter().find(|it| it.turn == *owner);
            let is_same = special.is_none_or(|it| !it.renamed.contains_key(original));
            (is_same && *original == key && self.is_shown_by(turn, owner)).then(|| key.clone())
        });
        let id = self.records.get(&replaced?)?.id();
        if id == record.id() { Some(record.clone()) } else { record.renamed(&id) }
    }

    /// Whether an earlier turn showed another one.
    fn is_shown_by(&self, turn: &EarlierTurn, other: &TurnId) -> bool {
        let Some(range) = &turn.shown.range else { return false };
        let place = |id: &TurnId| self.order.get(id).copied();
        // A first turn that is not here is older than all that are.
        let first = place(&range.first).unwrap_or_default();
        let is_before = |place: usize| Some(place) < self.order.get(&turn.turn).copied();
        place(other).is_some_and(|place| place >= first && is_before(place))
            && !range.except.contains(other)
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
        // A record that was changed still belongs to the turn that had it first.
        self.owners.entry(record.key()).or_insert_with(|| origin.clone());
        self.origins.insert(origin, record.key());
        self.records.insert(record.key(), record);
    }

    fn into_records(self) -> Vec<EarlierRecord> {
        self.records.into_values().collect()
    }
}
