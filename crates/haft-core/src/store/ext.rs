//! What callers do often, by the methods of the contract.

use std::future::Future;

use super::{
    ClaimFilter, GateId, GateQuery, GateRow, Lease, LeaseRequest, NewTurn, StoreError, TurnId,
    TurnQuery, TurnStore, TurnSummary,
};

/// Shorter ways to call a [`TurnStore`]. Every store has them.
pub trait TurnStoreExt: TurnStore {
    /// Stores a turn that the caller runs, and returns the lease on it.
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> impl Future<Output = Result<Lease, StoreError>> + Send {
        async move {
            let lease = self.insert(turn.held_by(holder)).await?;
            let missing = "a turn with a holder was stored without a lease";
            lease.ok_or_else(|| StoreError::backend("begin a turn", missing))
        }
    }

    /// Stores a turn that any process can claim.
    fn enqueue(&self, mut turn: NewTurn) -> impl Future<Output = Result<(), StoreError>> + Send {
        turn.holder = None;
        async move { self.insert(turn).await.map(drop) }
    }

    /// Claims the next turn that can run and is selected, or returns `None` if there is none.
    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> impl Future<Output = Result<Option<Lease>, StoreError>> + Send {
        async move { Ok(self.claim_turns(filter, holder, 1).await?.pop()) }
    }

    /// Claims the turn of this name. Fails with [`StoreError::Held`] while a lease on it is active.
    fn claim(
        &self,
        turn: TurnId,
        holder: LeaseRequest,
    ) -> impl Future<Output = Result<Lease, StoreError>> + Send {
        async move {
            let filter = ClaimFilter::default().turn(turn.clone());
            let lease = self.claim_next(filter, holder).await?;
            lease.ok_or_else(|| StoreError::unknown_turn(&turn))
        }
    }

    /// The summary of a turn, or `None` if there is no such turn.
    fn summary(
        &self,
        turn: TurnId,
    ) -> impl Future<Output = Result<Option<TurnSummary>, StoreError>> + Send {
        async move { Ok(self.turns(TurnQuery::default().id(turn)).await?.pop()) }
    }

    /// Removes a turn, and says whether there was one. Fails with [`StoreError::Held`] while a lease on it is active.
    fn remove(&self, turn: TurnId) -> impl Future<Output = Result<bool, StoreError>> + Send {
        async move { Ok(!self.remove_turns(TurnQuery::default().id(turn)).await?.is_empty()) }
    }

    /// A gate, or `None` if there is none of this id.
    fn gate(
        &self,
        gate: GateId,
    ) -> impl Future<Output = Result<Option<GateRow>, StoreError>> + Send {
        async move { Ok(self.gates(GateQuery::default().id(gate)).await?.pop()) }
    }

    /// The open gates of a turn, or of all turns, oldest first.
    fn open_gates(
        &self,
        turn: Option<TurnId>,
    ) -> impl Future<Output = Result<Vec<GateRow>, StoreError>> + Send {
        let mut query = GateQuery::default().open();
        query.turn = turn;
        async move { self.gates(query).await }
    }
}

impl<S: TurnStore + ?Sized> TurnStoreExt for S {}
