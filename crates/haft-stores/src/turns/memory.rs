//! Stores turns in memory.

mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::clock::{Clock, SystemClock};
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome,
    StoreChangeKind, StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
    check_text, check_title,
};

use self::state::StoreState;
use super::changes::ChangeHub;
use super::turn_row::{Holder, Returned};

/// Stores turns in memory until they are removed or the store is dropped.
///
/// It fulfils the whole contract of [`TurnStore`] except for the promise that needs a disk: its turns do not survive the
/// process. It has no indexes, so that looking for a turn that can be claimed, or for a gate, takes time in proportion to
/// the number of turns.
///
/// ```
/// use std::time::Duration;
///
/// use haft_core::store::{LeaseRequest, NewTurn, TurnStoreExt as _};
/// use haft_stores::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// let holder = LeaseRequest::new("worker-1", Duration::from_secs(30));
/// let lease = store.create(NewTurn::new("turn-1".parse()?), holder).await?;
/// assert_eq!(lease.epoch, 1);
/// assert_eq!(store.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct MemoryStore {
    state: Mutex<StoreState>,
    clock: Arc<dyn Clock>,
    changes: ChangeHub,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// Creates an empty store that uses this clock for the expiry of leases.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use haft_core::clock::{ManualClock, Timestamp};
    /// use haft_core::store::{LeaseRequest, NewTurn, TurnStoreExt as _};
    /// use haft_stores::MemoryStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    /// let store = MemoryStore::with_clock(Arc::clone(&clock) as _);
    /// let holder = || LeaseRequest::new("worker-1", Duration::from_secs(30));
    /// let lease = store.create(NewTurn::new("turn-1".parse()?), holder()).await?;
    /// assert!(store.claim(lease.turn.clone(), holder()).await.is_err());
    /// clock.advance(Duration::from_secs(30));
    /// assert_eq!(store.claim(lease.turn, holder()).await?.epoch, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), clock, changes: ChangeHub::new() }
    }

    /// Limits the number of ended turns: the turns that ended first are removed with their gates. Without a limit, a
    /// long-running program needs more and more memory. Later turns of a conversation do not see the turns that were
    /// removed.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use haft_core::store::{LeaseRequest, NewTurn, StoreWrite, TurnStatus, TurnStoreExt as _, TurnStore as _};
    /// use haft_stores::MemoryStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new().max_ended_turns(10);
    /// for turn in 0..100 {
    ///     let new = NewTurn::new(format!("turn-{turn}").parse()?);
    ///     let new = new.writes(vec![StoreWrite::Status(TurnStatus::Completed)]);
    ///     let lease = store.create(new, LeaseRequest::new("worker-1", std::time::Duration::from_secs(30))).await?;
    ///     store.release(lease).await?;
    /// }
    /// assert_eq!(store.len(), 10);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn max_ended_turns(self, limit: usize) -> Self {
        self.lock_state().max_ended = Some(limit);
        self
    }

    /// The number of turns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock_state().len()
    }

    /// Whether there are no turns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locks the state. No code panics while it holds the lock, and every change is checked before it begins, so the
    /// state is consistent even if the lock is poisoned.
    fn lock_state(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnStore for MemoryStore {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            let id = turn.id.clone();
            let lease = self.lock_state().insert(turn, self.clock.now())?;
            if lease.is_none() {
                self.changes.notify(&id, StoreChangeKind::Claimable);
            }
            Ok(lease)
        })
    }

    fn claim_turns(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            let holder = Holder { request: &holder, process: None };
            self.lock_state().claim(&filter, holder, (count, self.clock.now()))
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            let turn = lease.turn.clone();
            self.lock_state().find_mut(&turn)?.renew(lease, self.clock.now())
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let mut state = self.lock_state();
            let Ok(row) = state.find_mut(&lease.turn) else { return Ok(()) };
            if row.release(&lease, now) == Returned::Lease {
                state.remove_surplus(now);
                drop(state);
                self.changes.notify(&lease.turn, StoreChangeKind::Claimable);
            }
            Ok(())
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            let has_ended = self.lock_state().commit(&lease, writes, self.clock.now())?;
            if has_ended {
                self.changes.notify(&lease.turn, StoreChangeKind::Ended);
            }
            Ok(())
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            request.check()?;
            let now = self.clock.now();
            let outcome = self.lock_state().find_mut(&turn)?.request_cancel(request, now);
            if outcome == CancelOutcome::Requested {
                self.changes.notify(&turn, StoreChangeKind::CancelRequested);
            }
            Ok(outcome)
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().load(&turn)) })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().read_journal(&turn, after, limit)) })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move { self.lock_state().list_turns(&query, self.clock.now()) })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move { self.lock_state().remove_turns(&query, self.clock.now()) })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().unreferenced_keys(keys)) })
    }

    fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().list_gates(&query)) })
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            let now = self.clock.now();
            let (outcome, turn) = self.lock_state().settle(&gate, settlement, now)?;
            if outcome.first {
                self.changes.notify(&turn, StoreChangeKind::GateSettled);
            }
            Ok(outcome)
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().load_memories(&scope)) })
    }

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            check_title(&tenant, &conversation, title.as_deref())?;
            self.lock_state().set_title(tenant, conversation, title);
            Ok(())
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().load_titles(&tenant, conversations)) })
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(self.changes.listen())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} turns)", self.len())
    }
}
