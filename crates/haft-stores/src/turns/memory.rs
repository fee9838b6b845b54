//! Stores turns in memory.

mod state;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome,
    StoreFuture, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary, check_text,
};

use self::state::StoreState;

/// Stores turns in memory until they are removed or the store is dropped.
///
/// It fulfils the whole contract of [`TurnStore`] except for the promise that needs a disk: its turns do not survive the
/// process.
///
/// ```
/// use std::time::Duration;
///
/// use haft_core::clock::Timestamp;
/// use haft_core::store::{LeaseRequest, NewTurn, TurnStore as _};
/// use haft_stores::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// let holder = LeaseRequest::new("worker-1", Timestamp::EPOCH, Duration::from_secs(30));
/// let lease = store.create(NewTurn::new("turn-1".parse()?, holder)).await?;
/// assert_eq!(lease.epoch, 1);
/// assert_eq!(store.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<StoreState>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
    fn create(&self, turn: NewTurn) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            turn.check()?;
            self.lock_state().create(turn)
        })
    }

    fn claim(&self, turn: TurnId, holder: LeaseRequest) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            holder.check()?;
            self.lock_state().claim(turn, &holder)
        })
    }

    fn renew(&self, lease: Lease, now: Timestamp) -> StoreFuture<'_, Lease> {
        Box::pin(async move { self.lock_state().renew(lease, now) })
    }

    fn release(&self, lease: Lease) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.lock_state().release(&lease);
            Ok(())
        })
    }

    fn commit(&self, lease: Lease, writes: Vec<StoreWrite>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            self.lock_state().commit(&lease, writes)
        })
    }

    fn load(&self, turn: TurnId) -> StoreFuture<'_, Option<StoredTurn>> {
        Box::pin(async move { Ok(self.lock_state().load(&turn)) })
    }

    fn turns(&self, query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>> {
        Box::pin(async move { self.lock_state().turns(&query) })
    }

    fn remove(&self, turn: TurnId, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.lock_state().remove(&turn, now) })
    }

    fn gate(&self, gate: GateId) -> StoreFuture<'_, Option<GateRow>> {
        Box::pin(async move { Ok(self.lock_state().gate(&gate)) })
    }

    fn open_gates(&self, turn: Option<TurnId>) -> StoreFuture<'_, Vec<GateRow>> {
        Box::pin(async move { Ok(self.lock_state().open_gates(turn.as_ref())) })
    }

    fn settle(&self, gate: GateId, settlement: String) -> StoreFuture<'_, SettleOutcome> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            self.lock_state().settle(&gate, settlement)
        })
    }

    fn load_memories(&self, scope: MemoryScope) -> StoreFuture<'_, Vec<MemoryRow>> {
        Box::pin(async move { Ok(self.lock_state().load_memories(&scope)) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} turns)", self.len())
    }
}
