//! Turns in memory.

mod state;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateRow, Holder, Lease, NewTurn, Settled, Store, StoreFuture, StoredTurn, TurnId,
    TurnQuery, TurnSummary, Write, check_text,
};

use self::state::State;

/// Keeps turns in memory, until they are removed or the store is dropped.
///
/// It keeps the whole contract of [`Store`] but the one promise that needs a disk: its turns end with the
/// process.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many turns there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nothing panics while it holds the lock, and every change is checked before it begins, so the
    /// state is whole even if the lock is poisoned.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn create(&self, turn: NewTurn) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            turn.check()?;
            self.state().create(turn)
        })
    }

    fn claim(&self, turn: TurnId, holder: Holder) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            holder.check()?;
            self.state().claim(turn, &holder)
        })
    }

    fn renew(&self, lease: Lease, now: Timestamp) -> StoreFuture<'_, Lease> {
        Box::pin(async move { self.state().renew(lease, now) })
    }

    fn release(&self, lease: Lease) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.state().release(&lease);
            Ok(())
        })
    }

    fn commit(&self, lease: Lease, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            writes.iter().try_for_each(Write::check)?;
            self.state().commit(&lease, writes)
        })
    }

    fn load(&self, turn: TurnId) -> StoreFuture<'_, Option<StoredTurn>> {
        Box::pin(async move { Ok(self.state().load(&turn)) })
    }

    fn turns(&self, query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>> {
        Box::pin(async move { self.state().turns(&query) })
    }

    fn remove(&self, turn: TurnId, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.state().remove(&turn, now) })
    }

    fn gate(&self, gate: GateId) -> StoreFuture<'_, Option<GateRow>> {
        Box::pin(async move { Ok(self.state().gate(&gate)) })
    }

    fn open_gates(&self, turn: Option<TurnId>) -> StoreFuture<'_, Vec<GateRow>> {
        Box::pin(async move { Ok(self.state().open_gates(turn.as_ref())) })
    }

    fn settle(&self, gate: GateId, settlement: String) -> StoreFuture<'_, Settled> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            self.state().settle(&gate, settlement)
        })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} turns)", self.len())
    }
}
