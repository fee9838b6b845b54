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
    turns: HashMap<TurnId, Arc<Tenure>>,
    renewing: bool,
}

/// A lease as it was last renewed, and what ends when it is lost.
struct Tenure {
    lease: Mutex<Lease>,
    cancellation: Cancellation,
}

impl Tenure {
    fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leases {
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ttl: Duration) -> Arc<Self> {
        Arc::new(Self { store, clock, ttl, held: Mutex::default() })
    }

    /// Keeps a lease until what is returned is dropped. If it is lost, the turn is cancelled.
    pub(super) fn hold(self: &Arc<Self>, lease: Lease, cancellation: Cancellation) -> HeldLease {
        let turn = lease.turn.clone();
        let tenure = Arc::new(Tenure { lease: Mutex::new(lease), cancellation });
        let mut held = self.held();
        held.turns.insert(turn.clone(), Arc::clone(&tenure));
        if !std::mem::replace(&mut held.renewing, true) {
            beside(Self::renew(Arc::clone(self)));
        }
        HeldLease { leases: Arc::clone(self), turn, tenure }
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
            // thousands would come too late. But not all at once: each holds memory while it waits.
            let mut renewals = JoinSet::new();
            for tenure in held {
                if renewals.len() >= AT_ONCE {
                    renewals.join_next().await;
                }
                renewals.spawn(Arc::clone(&self).renew_one(tenure));
            }
            while renewals.join_next().await.is_some() {}
        }
    }

    async fn renew_one(self: Arc<Self>, tenure: Arc<Tenure>) {
        let lease = tenure.lease().clone();
        match self.store.renew(lease, self.clock.now()).await {
            Ok(renewed) => *tenure.lease() = renewed,
            Err(StoreError::LeaseLost { .. } | StoreError::Unknown { .. }) => {
                tenure.cancellation.cancel("another process has taken the turn over");
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
pub(super) struct HeldLease {
    leases: Arc<Leases>,
    turn: TurnId,
    tenure: Arc<Tenure>,
}

impl HeldLease {
    fn lease(&self) -> Lease {
        self.tenure.lease().clone()
    }
}

impl fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldLease({})", self.turn)
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
        self.store.release(self.lease.lease()).await
    }

    fn deferred(&self) -> MutexGuard<'_, Vec<Write>> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for LeasedRecorder {
    fn commit(&self, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        let mut all = std::mem::take(&mut *self.deferred());
        all.extend(writes);
        if all.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.store.commit(self.lease.lease(), all)
    }
}

/// How many leases are renewed at the same time: as many as a store writes in one step.
const AT_ONCE: usize = 1024;
