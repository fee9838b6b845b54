//! The contract of the stores in which turns survive the process that runs them.
//!
//! A [`TurnStore`] stores rows and journal entries without interpreting them: both are JSON text that the loop
//! writes and reads. A store makes three promises: a [`commit`](TurnStore::commit) takes effect wholly or not at
//! all, only the holder of the turn's [`Lease`] can commit, and a gate is settled once. Memories belong to a
//! [`MemoryScope`] and outlive their turn.
//!
//! A store is also the queue of the processes that run turns: [`enqueue`](TurnStore::enqueue) stores a turn for any of
//! them, [`claim_next`](TurnStore::claim_next) gives a process the next turn that can run, and a [`ChangeListener`]
//! wakes it. [`TurnSchedule`] says when a turn can run. `haft_conformance::store` checks that a store keeps this
//! contract.

mod change;
mod error;
mod gate;
mod lease;
mod memory;
mod outline;
mod query;
mod schedule;
mod turn;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::BoxFuture;
use crate::spool::SpoolKey;

pub use self::change::{ChangeListener, JournalRow, StoreChange, StoreChangeKind};
pub use self::error::StoreError;
pub use self::gate::{GateRow, SettleOutcome};
pub use self::lease::{CancelOutcome, CancelRequest, ClaimFilter, Lease, LeaseRequest};
pub use self::memory::{MemoryRow, MemoryScope, MemoryScopeKind};
pub use self::outline::{NumberedRow, OutlineRow, TurnOutline};
pub use self::query::TurnQuery;
pub use self::schedule::TurnSchedule;
pub use self::turn::{
    NewTurn, StoredTurn, SummaryUpdate, TurnStatus, TurnSummary, first_words, search_words,
};
pub use self::write::{Row, RowKind, StoreWrite};
pub use crate::id::{GateId, TurnId};

/// Stores turns: their rows, their journals, their leases and their gates.
///
/// All times are those of the store's clock: that of the database server, or of the machine whose processes share a
/// file. No caller gives a time, so that a process with a wrong clock takes no turn from another one. A lease has run
/// out from the moment on that it names.
///
/// All texts are stored byte by byte. They can be any Unicode without U+0000, which not every database can
/// keep: a store refuses it with [`StoreError::Invalid`] before it looks at anything else.
///
/// A future that is dropped before it is done may have taken effect or not, but never by halves. The
/// same holds for [`StoreError::Backend`], after which the turn is to be loaded again; with every other
/// error nothing was written.
pub trait TurnStore: fmt::Debug + Send + Sync {
    /// Creates a turn that the caller runs: stores its first rows and entries, and returns the lease on it.
    ///
    /// Fails with [`StoreError::Exists`] if there is a turn of this id, or a gate that it is to open. The
    /// first epoch is 1, and the turn begins as [`TurnStatus::Running`].
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Stores a turn that any process can claim, as [`TurnStatus::Queued`]. Fails as [`create`](Self::create) does.
    fn enqueue(&self, turn: NewTurn) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Claims a turn whose lease has expired or was returned, or that has none.
    ///
    /// Fails with [`StoreError::Held`] while a lease on it is active, also for a holder of the same name, and with
    /// [`StoreError::Unknown`] if there is no such turn. The new epoch is one above the last. A turn that has ended
    /// stays as it is; every other one is [`TurnStatus::Running`] from then on, or [`TurnStatus::CancelRequested`] if
    /// it was.
    fn claim(&self, turn: TurnId, holder: LeaseRequest)
    -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Claims the turn that can run and is selected: of those with the highest priority, the one that has been able to
    /// run for the longest time ([`TurnSchedule::is_claimable`]). Returns `None` if there is none.
    ///
    /// Turns of a conversation run one at a time: a turn is not claimed while a lease on another turn of its
    /// conversation is active, and a queued one not before all earlier turns of its conversation have ended. Of
    /// processes that claim at the same time no two get the same turn, or turns of one conversation.
    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;

    /// How many of the selected turns can be claimed now ([`TurnSchedule::is_claimable`]), for operators who decide how
    /// many workers they need. Turns that come after another one of their conversation are counted as well.
    fn count_claimable(&self, filter: ClaimFilter) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Extends a lease, even one that has expired, as long as no other holder acquired it. The returned lease says
    /// whether a cancellation of the turn was requested. Fails with [`StoreError::LeaseLost`] if it was taken over or
    /// returned, and with [`StoreError::Unknown`] if the turn was removed.
    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Returns a lease. A turn that is still running can be claimed at once.
    ///
    /// If the lease was taken over, returning it shows that its process did not die but was stopped or got no CPU time
    /// for too long: one take-over is subtracted ([`TurnSchedule::retract_take_over`]). Nothing else changes.
    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes all of this, in order, or nothing. Fails with [`StoreError::LeaseLost`], and writes nothing, if the lease
    /// was taken over or returned; a lease that has expired and that no other holder acquired is still valid. Fails
    /// with [`StoreError::Unknown`] if the turn was removed, and with [`StoreError::Exists`] as
    /// [`StoreWrite::OpenGate`] says.
    ///
    /// When the future is done, the writes survive the end of the process.
    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Asks for the end of a turn, whichever process runs it. It needs no lease. The first request counts.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no such turn.
    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>>;

    /// Everything that is stored of a turn, as of one moment, or `None` if there is no such turn.
    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>>;

    /// The summary of a turn that lists show, or `None` if there is no such turn.
    fn summary(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnSummary>, StoreError>>;

    /// The journal entries of a turn after a number, in order: at most `limit` of them. Number 0 is before the first
    /// entry. An observer continues with the number of the last entry that it has. There are none if there is no such
    /// turn.
    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>>;

    /// The structure of a turn without its texts, as of one moment, or `None` if there is no such turn.
    ///
    /// The default implementation loads the turn. A store that holds long turns reads less.
    fn outline(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnOutline>, StoreError>> {
        Box::pin(async move {
            let Some(stored) = self.load(turn.clone()).await? else { return Ok(None) };
            let journal = self.read_journal(turn, 0, usize::MAX).await?;
            let numbers = journal.iter().map(|it| it.number).collect();
            Ok(Some(TurnOutline::of(&stored, numbers)))
        })
    }

    /// The rows of a turn after a number, in order: at most `limit` of them. Number 0 is before the first row. The
    /// numbers are those of the [`outline`](Self::outline). There are none if there is no such turn.
    ///
    /// The default implementation loads the turn. A store that holds long turns reads only the window.
    fn read_rows(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<NumberedRow>, StoreError>> {
        Box::pin(async move {
            let stored = self.load(turn).await?;
            let rows = (1..).zip(stored.into_iter().flat_map(|it| it.rows));
            let window = rows.skip_while(|(number, _)| *number <= after).take(limit);
            Ok(window.map(|(number, row)| NumberedRow::new(number, row)).collect())
        })
    }

    /// The turns, newest first: in the order in which they were created, whatever the clocks said.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no turn [`TurnQuery::before`].
    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>>;

    /// Removes a turn and everything of it, also its gates, and with the last turn of a conversation also its title.
    /// Says whether there was one. Fails with [`StoreError::Held`] while a lease on it is active.
    fn remove(&self, turn: TurnId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Removes a page of the turns that a query selects, and returns their ids; none when there are no more. Turns that
    /// have not ended, and turns on which a lease is active, are left out.
    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>>;

    /// Of these keys of stored content, those that no record of any turn refers to ([`Row::content_keys`]).
    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>>;

    /// A gate, or `None` if there is none of this id.
    fn gate(&self, gate: GateId) -> BoxFuture<'_, Result<Option<GateRow>, StoreError>>;

    /// The gates that are open, oldest first: those of one turn, or all.
    fn open_gates(&self, turn: Option<TurnId>) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>>;

    /// The open gates of all turns of a namespace, oldest first.
    ///
    /// The default implementation looks up the turn of every open gate.
    fn open_gates_of(&self, tenant: String) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            let mut gates = self.open_gates(None).await?;
            let mut is_selected = HashMap::new();
            for gate in &gates {
                if !is_selected.contains_key(&gate.turn) {
                    let summary = self.summary(gate.turn.clone()).await?;
                    let selected = summary.is_some_and(|it| it.tenant == tenant);
                    is_selected.insert(gate.turn.clone(), selected);
                }
            }
            gates.retain(|gate| is_selected.get(&gate.turn) == Some(&true));
            Ok(gates)
        })
    }

    /// Settles a gate. The first settlement or closing wins: every caller gets the valid settlement, and learns whether
    /// it is its own. It needs no lease, because the process that decides is not the one that runs the turn.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no such gate.
    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>>;

    /// The memories of a scope, in the order in which they were first put; one that was deleted has lost its place.
    ///
    /// Memories belong to the scope and not to the turn whose [`commit`](Self::commit) stored them: they stay when
    /// that turn is removed. Turns that run at the same time change the same scope. A commit changes the ids that it
    /// names and no others, so that no turn can lose the memories of another; of two writes of one id the later holds.
    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>>;

    /// Sets or removes the title of a conversation in a namespace. The title of a conversation without turns is stored,
    /// too. It needs no lease.
    ///
    /// Fails with [`StoreError::Invalid`] as [`check_title`] says.
    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The titles of these conversations of a namespace; those without a title are left out.
    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>>;

    /// Listens to changes, by this and by other processes, from now on.
    fn listen(&self) -> Box<dyn ChangeListener>;

    /// Whether processes on other machines can use the store. Then all of them need the same secret, and a runner
    /// refuses to be built without one.
    fn is_shared(&self) -> bool {
        false
    }

    /// Compares the fingerprint of a secret with the one that the first caller stored. Fails with
    /// [`StoreError::OtherSecret`] if they differ: decisions that were signed with the other secret would not be valid.
    fn verify_secret(&self, fingerprint: [u8; 32]) -> BoxFuture<'_, Result<(), StoreError>>;
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

/// Checks what [`TurnStore::set_title`] is given, as every store does first.
///
/// # Errors
///
/// [`StoreError::Invalid`] if a text cannot be stored, or the title is empty or has more than [`MAX_TITLE_CHARS`]
/// characters.
pub fn check_title(
    tenant: &str,
    conversation: &str,
    title: Option<&str>,
) -> Result<(), StoreError> {
    check_text("a tenant", tenant)?;
    check_text("a conversation", conversation)?;
    let Some(title) = title else { return Ok(()) };
    check_text("a title", title)?;
    match title.chars().count() {
        0 => Err(StoreError::Invalid { what: "a title", reason: "it is empty" }),
        1..=MAX_TITLE_CHARS => Ok(()),
        _ => {
            Err(StoreError::Invalid { what: "a title", reason: "it has more than 500 characters" })
        }
    }
}

/// The longest title of a conversation, in characters.
pub const MAX_TITLE_CHARS: usize = 500;
