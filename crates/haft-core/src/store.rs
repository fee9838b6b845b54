//! The contract of the stores in which turns survive the process that runs them.
//!
//! A [`TurnStore`] stores rows and journal entries without interpreting them: both are JSON text that the loop
//! writes and reads. A store makes three promises: a [`commit`](TurnStore::commit) takes effect wholly or not at
//! all, only the holder of the turn's [`Lease`] can commit, and a gate is settled once. Memories belong to a
//! [`MemoryScope`] and outlive their turn.
//!
//! A store is also the queue of the processes that run turns: [`insert`](TurnStore::insert) stores a turn without a
//! holder for any of them, [`claim_turns`](TurnStore::claim_turns) gives a process the next turns that can run, and a
//! [`ChangeListener`] wakes it. [`TurnSchedule`] says when a turn can run. `haft_conformance::store` checks that
//! a store keeps this contract.

mod change;
mod error;
mod ext;
mod gate;
mod lease;
mod mark;
mod memory;
mod query;
mod schedule;
mod turn;
mod write;

use std::collections::BTreeMap;
use std::fmt;

use crate::BoxFuture;
use crate::spool::SpoolKey;

pub use self::change::{ChangeListener, JournalRow, StoreChange, StoreChangeKind};
pub use self::error::StoreError;
pub use self::ext::TurnStoreExt;
pub use self::gate::{GateQuery, GateRow, SettleOutcome};
pub use self::lease::{CancelOutcome, CancelRequest, ClaimFilter, Lease, LeaseRequest};
pub use self::mark::{Mark, StoreKey};
pub use self::memory::{MemoryRow, MemoryScope, MemoryScopeKind};
pub use self::query::TurnQuery;
pub use self::schedule::TurnSchedule;
pub use self::turn::{
    NewTurn, StopReason, StoredTurn, SummaryUpdate, TurnStatus, TurnSummary, first_words,
    search_words,
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
    /// Stores a new turn with its first rows and entries.
    ///
    /// A turn with a [holder](NewTurn::holder) begins as [`TurnStatus::Running`], and the lease on it is returned; its
    /// epoch is 1. Any process can claim a turn without one, which begins as [`TurnStatus::Queued`]. Fails with
    /// [`StoreError::Exists`] if there is a turn of this id, or a gate that it is to open.
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;

    /// Claims turns that can run and are selected, at most `count` of them: those with the highest priority, and of these
    /// the ones that have been able to run for the longest time ([`TurnSchedule::is_claimable`]). Returns fewer if there
    /// are fewer.
    ///
    /// Turns of a conversation run one at a time: a turn is not claimed while a lease on another turn of its
    /// conversation is active, and a queued one not before all earlier turns of its conversation have ended. Of
    /// processes that claim at the same time no two get the same turn, or turns of one conversation.
    ///
    /// A filter that [names a turn](ClaimFilter::turn) claims that turn alone, whatever its schedule says, if no lease on it
    /// is active. Otherwise it fails with [`StoreError::Held`], also for a holder of the same name, and with
    /// [`StoreError::Unknown`] if no selected turn has this name.
    ///
    /// The new epoch is one above the last. A turn that has ended stays as it is; every other one is
    /// [`TurnStatus::Running`] from then on, or [`TurnStatus::CancelRequested`] if it was.
    fn claim_turns(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>>;

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

    /// The journal entries of a turn after a number, in order: at most `limit` of them. Number 0 is before the first
    /// entry. An observer continues with the number of the last entry that it has. There are none if there is no such
    /// turn.
    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>>;

    /// The turns, newest first: in the order in which they were created, whatever the clocks said.
    ///
    /// Fails with [`StoreError::Unknown`] if there is no turn [`TurnQuery::before`].
    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>>;

    /// Removes a page of the turns that a query selects, with everything of them, also their gates, and with the last
    /// turn of a conversation also its title. Returns their ids; none when there are no more. Turns that have not ended,
    /// and turns on which a lease is active, are left out.
    ///
    /// A query that [names a turn](TurnQuery::id) removes it also if it has not ended, and fails with
    /// [`StoreError::Held`] while a lease on it is active.
    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>>;

    /// Of these keys of stored content, those that no record of any turn refers to ([`Row::content_keys`]).
    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>>;

    /// The gates that a query selects, oldest first.
    fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>>;

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

    /// The fingerprint of the secret that every runner on the store needs ([`StoreKey::fingerprint`]), because processes
    /// on other machines share the store; `None` if any secret will do. A runner with another secret is refused:
    /// decisions that were signed with it would not be valid for the others.
    fn required_secret(&self) -> Option<[u8; 32]> {
        None
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
