//! Stores turns in memory.

mod content_index;
mod reads;
mod rows;
mod scope;
mod state;
mod titles;
mod turn_state;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::clock::{Clock, SystemClock, Timestamp};
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateRow, JournalRow, Lease,
    LeaseRequest, MemoryRow, MemoryScope, NewTurn, NumberedRow, SettleOutcome, StoreError,
    StoreWrite, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnStore, TurnSummary, check_text,
    check_title,
};

use self::state::StoreState;
use super::changes::ChangeHub;

/// Stores turns in memory until they are removed or the store is dropped.
///
/// It fulfils the whole contract of [`TurnStore`] except for the promise that needs a disk: its turns do not survive the
/// process.
///
/// ```
/// use std::time::Duration;
///
/// use haft_core::store::{LeaseRequest, NewTurn, TurnStore as _};
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
    /// use haft_core::store::{LeaseRequest, NewTurn, TurnStore as _};
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
    /// use haft_core::store::{LeaseRequest, NewTurn, StoreWrite, TurnStatus, TurnStore as _};
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
        self.lock_state().set_max_ended(limit);
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

    /// Changes the state, and notifies listeners.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut StoreState, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = self.lock_state();
        state.set_has_listeners(self.changes.has_listeners());
        let result = change(&mut state, self.clock.now());
        let changes = state.take_changes();
        drop(state);
        changes.iter().for_each(|(turn, kind)| self.changes.notify(turn, *kind));
        result
    }

    /// Locks the state. No code panics while it holds the lock, and every change is checked before it begins, so the
    /// state is consistent even if the lock is poisoned.
    fn lock_state(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnStore for MemoryStore {
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            holder.check()?;
            self.change(|state, now| state.create(turn, &holder, now))
        })
    }

    fn enqueue(&self, turn: NewTurn) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            turn.check()?;
            self.change(|state, now| state.enqueue(turn, now))
        })
    }

    fn claim(
        &self,
        turn: TurnId,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            self.change(|state, now| state.claim(&turn, &holder, now))
        })
    }

    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            self.change(|state, now| Ok(state.claim_next(&filter, &holder, now)))
        })
    }

    fn count_claimable(&self, filter: ClaimFilter) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().count_claimable(&filter, self.clock.now())) })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move { self.change(|state, now| state.renew(lease, now)) })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.change(|state, now| {
                state.release(&lease, now);
                Ok(())
            })
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            self.change(|state, now| state.commit(&lease, writes, now))
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            request.check()?;
            self.change(|state, now| state.request_cancel(&turn, request, now))
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().load(&turn)) })
    }

    fn summary(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnSummary>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().summary(&turn)) })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().read_journal(&turn, after, limit)) })
    }

    fn outline(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnOutline>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().outline(&turn)) })
    }

    fn read_rows(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<NumberedRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().read_rows(&turn, after, limit)) })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move { self.lock_state().turns(&query) })
    }

    fn remove(&self, turn: TurnId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { self.change(|state, now| state.remove(&turn, now)) })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move { self.change(|state, now| state.remove_turns(&query, now)) })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().unreferenced_keys(keys)) })
    }

    fn gate(&self, gate: GateId) -> BoxFuture<'_, Result<Option<GateRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().gate(&gate)) })
    }

    fn open_gates(&self, turn: Option<TurnId>) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().open_gates(turn.as_ref())) })
    }

    fn open_gates_of(&self, tenant: String) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().open_gates_of(&tenant)) })
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            self.change(|state, now| state.settle(&gate, settlement, now))
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
            self.lock_state().set_title((tenant, conversation), title);
            Ok(())
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        Box::pin(async move { Ok(self.lock_state().titles.find(&tenant, conversations)) })
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(self.changes.listen())
    }

    fn verify_secret(&self, fingerprint: [u8; 32]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.lock_state().verify_secret(fingerprint) })
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
