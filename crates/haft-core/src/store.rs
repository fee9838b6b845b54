//! Where turns are stored, so that they survive the process that runs them.
//!
//! A [`TurnStore`] knows rows and journal entries, not what they mean: both are [`StoredText`], JSON that the
//! loop writes and reads. What a store promises is about time: a [`commit`](TurnStore::commit) takes effect wholly
//! or not at all, only the holder of the turn's [`Lease`] can commit, and a gate is settled once. Memories belong to a
//! [`MemoryScope`] and outlive their turn.
//! `haft::testing::conformance` holds a store to it.

mod error;
mod memory;
mod text;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

pub use self::error::StoreError;
pub use self::memory::{MemoryRow, MemoryScope, MemoryScopeKind};
pub use self::text::StoredText;
pub use crate::id::{GateId, InvalidId, TurnId};

/// What the methods of a store return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Stores turns: their rows, their journals, their leases and their gates.
///
/// Times are given by the caller, so that tests and replays have clocks of their own. A lease has run out
/// from the moment on that it names.
///
/// All texts are stored byte by byte. They can be any Unicode without U+0000, which not every database can
/// keep: a store refuses it with [`StoreError::Invalid`] before it looks at anything else.
///
/// A future that is dropped before it is done may have taken effect or not, but never by halves. The
/// same holds for [`StoreError::Backend`], after which the turn is to be loaded again; with every other
/// error nothing was written.
pub trait TurnStore: fmt::Debug + Send + Sync {
    /// Creates a turn: stores its first rows and entries, and returns the lease on it.
    ///
    /// Fails with [`StoreError::Exists`] if there is a turn of this id, or a gate that it is to open. The
    /// first epoch is 1, and the turn begins as [`TurnStatus::Running`] at the holder's `now`.
    fn create(&self, turn: NewTurn) -> StoreFuture<'_, Lease>;

    /// Takes over a turn whose lease has run out or was given back.
    ///
    /// Fails with [`StoreError::Held`] while a lease on it is active, also for a holder of the same name, and with
    /// [`StoreError::Unknown`] if there is no such turn. The new epoch is one above the last.
    fn claim(&self, turn: TurnId, holder: LeaseRequest) -> StoreFuture<'_, Lease>;

    /// Keeps a lease from running out, also one that has expired and that no other holder acquired. Fails with
    /// [`StoreError::LeaseLost`] if it was taken over or given back, and with [`StoreError::Unknown`] if
    /// the turn was removed.
    fn renew(&self, lease: Lease, now: Timestamp) -> StoreFuture<'_, Lease>;

    /// Gives a lease back. One that was lost changes nothing.
    fn release(&self, lease: Lease) -> StoreFuture<'_, ()>;

    /// Writes all of this, in order, or nothing. Fails with [`StoreError::LeaseLost`], and writes
    /// nothing, if the lease was taken over or given back; a lease that has expired and that no other
    /// holder acquired is still valid. Fails with [`StoreError::Unknown`] if the turn was removed, and with
    /// [`StoreError::Exists`] as [`StoreWrite::OpenGate`] says.
    ///
    /// When the future is done, the writes survive the end of the process.
    fn commit(&self, lease: Lease, writes: Vec<StoreWrite>) -> StoreFuture<'_, ()>;

    /// Everything that is stored of a turn, as of one moment; nothing if there is no such turn.
    fn load(&self, turn: TurnId) -> StoreFuture<'_, Option<StoredTurn>>;

    /// The turns, newest first: in the order in which they were created, whatever the clocks said.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no turn [`TurnQuery::before`].
    fn turns(&self, query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>>;

    /// Removes a turn and everything of it, also its gates. Says whether there was one. Fails with
    /// [`StoreError::Held`] while a lease on it is active.
    fn remove(&self, turn: TurnId, now: Timestamp) -> StoreFuture<'_, bool>;

    /// A gate; nothing if there is none of this id.
    fn gate(&self, gate: GateId) -> StoreFuture<'_, Option<GateRow>>;

    /// The gates that are open, oldest first: those of one turn, or all.
    fn open_gates(&self, turn: Option<TurnId>) -> StoreFuture<'_, Vec<GateRow>>;

    /// Settles a gate. The first who settles or closes it wins: everybody gets the settlement that holds,
    /// and whether it is theirs. It needs no lease, because the one who answers is not the one who runs.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no such gate.
    fn settle(&self, gate: GateId, settlement: String) -> StoreFuture<'_, SettleOutcome>;

    /// The memories of a scope, in the order in which they were first put; one that was deleted has lost its place.
    ///
    /// Memories belong to the scope and not to the turn whose [`commit`](Self::commit) stored them: they stay when
    /// that turn is removed. Turns that run at the same time change the same scope. A commit changes the ids that it
    /// names and no others, so that no turn can lose the memories of another; of two writes of one id the later holds.
    fn load_memories(&self, scope: MemoryScope) -> StoreFuture<'_, Vec<MemoryRow>>;
}

/// A turn that is about to begin.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewTurn {
    /// Its name.
    pub id: TurnId,
    /// The conversation it belongs to, if it belongs to one.
    pub conversation: Option<String>,
    /// Who runs it.
    pub holder: LeaseRequest,
    /// What is stored of it from the first moment on.
    pub writes: Vec<StoreWrite>,
}

impl NewTurn {
    /// A turn that belongs to no conversation and has nothing yet.
    #[must_use]
    pub fn new(id: TurnId, holder: LeaseRequest) -> Self {
        Self { id, conversation: None, holder, writes: Vec::new() }
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// What is stored of it from the first moment on.
    #[must_use]
    pub fn writes(mut self, writes: Vec<StoreWrite>) -> Self {
        self.writes = writes;
        self
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("a conversation", self.conversation.as_deref().unwrap_or_default())?;
        self.holder.check()?;
        self.writes.iter().try_for_each(StoreWrite::check)
    }
}

/// Who wants a lease, from when on and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseRequest {
    /// The process, in words for operators.
    pub name: Arc<str>,
    /// Now.
    pub now: Timestamp,
    /// How long the lease holds unless it is renewed.
    pub ttl: Duration,
}

impl LeaseRequest {
    /// A holder.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, now: Timestamp, ttl: Duration) -> Self {
        Self { name: name.into(), now, ttl }
    }

    /// Checks the name, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("the name of a holder", &self.name)
    }
}

/// The right to run a turn. A process that takes a turn over gets a higher epoch, and leases of earlier epochs
/// are refused. So are other names than that of the holder, in case the turn was removed and begun anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The turn.
    pub turn: TurnId,
    /// Who has it.
    pub holder: Arc<str>,
    /// Grows with every taker.
    pub epoch: u64,
    /// Until when it holds.
    pub until: Timestamp,
    /// How long it holds after a renewal.
    pub ttl: Duration,
}

impl Lease {
    /// A lease that a store gives out.
    #[must_use]
    pub fn new(turn: TurnId, holder: &LeaseRequest, epoch: u64) -> Self {
        let until = holder.now.saturating_add(holder.ttl);
        Self { turn, holder: Arc::clone(&holder.name), epoch, until, ttl: holder.ttl }
    }

    /// The lease, renewed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use haft_core::clock::Timestamp;
    /// use haft_core::store::{Lease, LeaseRequest};
    ///
    /// let holder = LeaseRequest::new("worker-1", Timestamp::EPOCH, Duration::from_secs(30));
    /// let lease = Lease::new("turn-1".parse()?, &holder, 1);
    /// let later = lease.until;
    /// assert_eq!(lease.renewed(later).until, later.saturating_add(Duration::from_secs(30)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn renewed(mut self, now: Timestamp) -> Self {
        self.until = now.saturating_add(self.ttl);
        self
    }
}

/// The sorts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowKind {
    /// A message.
    Message,
    /// A memory.
    Memory,
    /// A retrieved record.
    Retrievable,
    /// A thought.
    Thought,
    /// A tool call.
    ToolCall,
    /// A standing instruction.
    Instruction,
}

impl RowKind {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Message,
        Self::Memory,
        Self::Retrievable,
        Self::Thought,
        Self::ToolCall,
        Self::Instruction,
    ];

    /// The word that stands for it where it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Memory => "memory",
            Self::Retrievable => "retrievable",
            Self::Thought => "thought",
            Self::ToolCall => "tool-call",
            Self::Instruction => "instruction",
        }
    }

    /// The kind that a word stands for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// Its id, unique among rows of its kind in its turn.
    pub id: String,
    /// The record, as JSON text that is stored byte by byte.
    pub json: StoredText,
}

impl Row {
    /// A row.
    #[must_use]
    pub fn new(kind: RowKind, id: impl Into<String>, json: impl Into<StoredText>) -> Self {
        Self { kind, id: id.into(), json: json.into() }
    }
}

/// One change of what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreWrite {
    /// Stores a row: replaces the row of the same kind and id, or appends it. One that was
    /// deleted has lost its place.
    Put(Row),
    /// Removes a row. One that is not there changes nothing.
    Delete {
        /// What it is.
        kind: RowKind,
        /// Its id.
        id: String,
    },
    /// Adds an entry to the journal.
    Journal(StoredText),
    /// Says how far the turn has got.
    Status(TurnStatus),
    /// Opens a gate. Fails with [`StoreError::Exists`] if there is one of this id, unless it belongs to
    /// the same turn and has the same text: then it stays as it is, settled or not.
    OpenGate {
        /// Its name.
        id: GateId,
        /// The gate, as JSON text.
        json: String,
    },
    /// Closes a gate of the turn that will not be settled any more. One that is settled stays so, and one
    /// that does not exist or belongs to another turn changes nothing.
    CloseGate {
        /// Its name.
        id: GateId,
        /// How it ended, as JSON text.
        settlement: String,
    },
    /// Stores a memory of a scope: replaces the one with this id, or appends it.
    PutMemory {
        /// What it belongs to.
        scope: MemoryScope,
        /// Its id.
        id: String,
        /// The memory, as JSON text.
        json: StoredText,
    },
    /// Removes a memory of a scope. One that is not there changes nothing.
    DeleteMemory {
        /// What it belongs to.
        scope: MemoryScope,
        /// Its id.
        id: String,
    },
}

impl StoreWrite {
    /// Serializes the texts that are not serialized yet, so that they can be [checked](Self::check) and a later reader
    /// need not: a store does this before it hands the write to a thread that all share.
    pub fn materialize_texts(&self) {
        if let Self::Put(Row { json, .. }) | Self::Journal(json) | Self::PutMemory { json, .. } =
            self
        {
            let _ = json.as_str();
        }
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Put(row) => {
                check_text("the id of a row", &row.id)?;
                row.json.check("a row")
            }
            Self::Delete { id, .. } => check_text("the id of a row", id),
            Self::Journal(json) => json.check("an entry of the journal"),
            Self::Status(_) => Ok(()),
            Self::OpenGate { json, .. } => check_text("a gate", json),
            Self::CloseGate { settlement, .. } => check_text("a settlement", settlement),
            Self::PutMemory { scope, id, json } => {
                scope.check()?;
                check_text("the id of a memory", id)?;
                json.check("a memory")
            }
            Self::DeleteMemory { scope, id } => {
                scope.check()?;
                check_text("the id of a memory", id)
            }
        }
    }
}

/// Checks a text before it is stored: everything but U+0000 can be stored.
///
/// ```
/// use haft_core::store::check_text;
///
/// assert!(check_text("a conversation", "support-7").is_ok());
/// assert!(check_text("a conversation", "a\0b").is_err());
/// ```
///
/// # Errors
///
/// [`StoreError::Invalid`], with what the text was to be.
pub fn check_text(what: &'static str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Invalid { what, reason: "it contains U+0000" });
    }
    Ok(())
}

/// How far a turn has got.
///
/// ```
/// use haft_core::store::TurnStatus;
///
/// assert_eq!(TurnStatus::from_word("limit-reached"), Some(TurnStatus::LimitReached));
/// assert!(TurnStatus::Failed.is_final() && !TurnStatus::Waiting.is_final());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TurnStatus {
    /// It runs, or waits for a process to run it.
    Running,
    /// It waits for a gate to be settled.
    Waiting,
    /// It was acknowledged.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It reached a limit.
    LimitReached,
}

impl TurnStatus {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::LimitReached,
    ];

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Waiting)
    }

    /// The word that stands for it where it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::LimitReached => "limit-reached",
        }
    }

    /// The status that a word stands for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == word)
    }
}

/// The stored parts of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTurn {
    /// What stands in lists of turns.
    pub summary: TurnSummary,
    /// The rows, in the order in which they were first put.
    pub rows: Vec<Row>,
    /// The journal, in order.
    pub journal: Vec<StoredText>,
    /// Every gate of the turn, in the order in which they were opened.
    pub gates: Vec<GateRow>,
}

impl StoredTurn {
    /// A turn of which only the summary is stored.
    #[must_use]
    pub fn new(summary: TurnSummary) -> Self {
        Self { summary, rows: Vec::new(), journal: Vec::new(), gates: Vec::new() }
    }
}

/// A turn in a list of turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnSummary {
    /// Its name.
    pub id: TurnId,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// How far it has got.
    pub status: TurnStatus,
    /// When it began.
    pub created_at: Timestamp,
    /// Who has the lease on it, unless it was given back. It may have run out.
    pub holder: Option<Arc<str>>,
    /// Until when the lease holds or held.
    pub held_until: Option<Timestamp>,
}

impl TurnSummary {
    /// A running turn without a lease.
    #[must_use]
    pub fn new(id: TurnId, created_at: Timestamp) -> Self {
        let status = TurnStatus::Running;
        Self { id, conversation: None, status, created_at, holder: None, held_until: None }
    }
}

/// Which turns to list.
///
/// ```
/// use haft_core::store::TurnQuery;
///
/// let query = TurnQuery::default().conversation("support-7").unfinished().limit(10);
/// assert_eq!(query.conversation.as_deref(), Some("support-7"));
/// assert_eq!((query.unfinished, query.limit), (true, Some(10)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnQuery {
    /// Only those of a conversation.
    pub conversation: Option<String>,
    /// Only those that are not over.
    pub unfinished: bool,
    /// Only those that began before this one, to go on where a list stopped.
    pub before: Option<TurnId>,
    /// At most this many; the default is 100.
    pub limit: Option<usize>,
}

impl TurnQuery {
    /// How many turns are listed if nothing is said.
    pub const DEFAULT_LIMIT: usize = 100;

    /// Only those of a conversation.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Only those that are not over.
    #[must_use]
    pub fn unfinished(mut self) -> Self {
        self.unfinished = true;
        self
    }

    /// Only those that began before this one.
    #[must_use]
    pub fn before(mut self, turn: TurnId) -> Self {
        self.before = Some(turn);
        self
    }

    /// At most so many.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// A gate as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRow {
    /// Its name.
    pub id: GateId,
    /// Its turn.
    pub turn: TurnId,
    /// The gate, as JSON text.
    pub json: StoredText,
    /// How it was settled, as JSON text; nothing while it is open.
    pub settlement: Option<String>,
}

impl GateRow {
    /// A gate that is open.
    #[must_use]
    pub fn open(id: GateId, turn: TurnId, json: impl Into<StoredText>) -> Self {
        Self { id, turn, json: json.into(), settlement: None }
    }
}

/// What came of settling a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettleOutcome {
    /// The settlement that holds.
    pub settlement: String,
    /// Whether it was this call that settled the gate, and not another one, be it with the same text.
    pub first: bool,
}

impl SettleOutcome {
    /// The settlement that holds, and whether it came from the one who asks.
    #[must_use]
    pub fn new(settlement: impl Into<String>, first: bool) -> Self {
        Self { settlement: settlement.into(), first }
    }
}
