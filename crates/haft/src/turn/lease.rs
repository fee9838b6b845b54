//! The right to run a turn: renewed while it runs, and checked by every write.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::Clock;
use haft_core::context::Recorder;
use haft_core::store::{Lease, Store, StoreError, StoreFuture, TurnId, Write};
use tokio::task::JoinSet;

use super::watch::{beside, sleep};

/// Renews the leases of all turns that a runner runs, by one task that lives while there are any.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    turns: HashMap<TurnId, (Lease, Cancellation)>,
    renewing: bool,
}

impl Leases {
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ttl: Duration) -> Arc<Self> {
        Arc::new(Self { store, clock, ttl, held: Mutex::default() })
    }

    /// Keeps a lease until what is returned is dropped. If it is lost, the turn is cancelled.
    pub(super) fn hold(self: &Arc<Self>, lease: Lease, cancellation: Cancellation) -> HeldLease {
        let turn = lease.turn.clone();
        let mut held = self.held();
        held.turns.insert(turn.clone(), (lease, cancellation));
        if !std::mem::replace(&mut held.renewing, true) {
            beside(Self::renew(Arc::clone(self)));
        }
        HeldLease { leases: Arc::clone(self), turn }
    }

    async fn renew(self: Arc<Self>) {
        loop {
            sleep(self.ttl / 3).await;
            let held: Vec<_> = {
                let mut held = self.held();
                if held.turns.is_empty() {
                    held.renewing = false;
                    return;
                }
                held.turns.values().cloned().collect()
            };
            // Side by side, so that a store can write many in one step: one after the other, the last of
            // thousands would come too late.
            let mut renewals = JoinSet::new();
            for (lease, cancellation) in held {
                renewals.spawn(Arc::clone(&self).renew_one(lease, cancellation));
            }
            while renewals.join_next().await.is_some() {}
        }
    }

    async fn renew_one(self: Arc<Self>, lease: Lease, cancellation: Cancellation) {
        let turn = lease.turn.clone();
        match self.store.renew(lease, self.clock.now()).await {
            Ok(renewed) => {
                if let Some(entry) = self.held().turns.get_mut(&turn) {
                    entry.0 = renewed;
                }
            }
            Err(StoreError::LeaseLost { .. } | StoreError::Unknown { .. }) => {
                cancellation.cancel("another process has taken the turn over");
            }
            // The next round tries again; until then the lease holds by itself.
            Err(_) => {}
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leases({})", self.held().turns.len())
    }
}

/// A lease that is renewed while this lives.
#[derive(Debug)]
pub(super) struct HeldLease {
    leases: Arc<Leases>,
    turn: TurnId,
}

impl HeldLease {
    pub(super) fn lease(&self) -> Option<Lease> {
        self.leases.held().turns.get(&self.turn).map(|(lease, _)| lease.clone())
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.leases.held().turns.remove(&self.turn);
    }
}

/// Writes under the lease of a turn.
#[derive(Debug)]
pub(super) struct LeasedRecorder {
    store: Arc<dyn Store>,
    lease: HeldLease,
    /// Writes that can wait for the next ones.
    deferred: Mutex<Vec<Write>>,
}

impl LeasedRecorder {
    pub(super) fn new(store: Arc<dyn Store>, lease: HeldLease) -> Self {
        Self { store, lease, deferred: Mutex::default() }
    }

    /// Writes this together with what is written next.
    pub(super) fn defer(&self, write: Write) {
        self.deferred().push(write);
    }

    /// Gives the lease back.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        match self.lease.lease() {
            Some(lease) => self.store.release(lease).await,
            None => Ok(()),
        }
    }

    fn deferred(&self) -> MutexGuard<'_, Vec<Write>> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for LeasedRecorder {
    fn commit(&self, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut all = std::mem::take(&mut *self.deferred());
            all.extend(writes);
            if all.is_empty() {
                return Ok(());
            }
            let Some(lease) = self.lease.lease() else {
                return Err(StoreError::LeaseLost { turn: self.lease.turn.clone() });
            };
            self.store.commit(lease, all).await
        })
    }
}
