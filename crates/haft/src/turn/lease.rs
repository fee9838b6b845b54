//! The right to run a turn: renewed while it runs, and checked by every write.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::Clock;
use haft_core::context::Recorder;
use haft_core::stash::Registry;
use haft_core::store::{Lease, Store, StoreError, StoreFuture, TurnId, Write};
use tokio::task::JoinSet;

use super::journal::Entry;
use super::watch::{beside, sleep};

/// Renews the leases of all turns that a runner runs, by one task that lives while there are any.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    held: Mutex<Held>,
}

/// By number and not by turn: who lost a turn that this very runner then went on with must not write with
/// the other one's lease.
#[derive(Default)]
struct Held {
    leases: HashMap<u64, (Lease, Cancellation)>,
    next: u64,
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
        let number = held.next;
        held.next += 1;
        held.leases.insert(number, (lease, cancellation));
        self.start(&mut held);
        HeldLease { leases: Arc::clone(self), turn, number }
    }

    fn start(self: &Arc<Self>, held: &mut Held) {
        if !std::mem::replace(&mut held.renewing, true) {
            beside(Self::renew(Renewing { leases: Arc::clone(self), ended: false }));
        }
    }

    async fn renew(mut renewing: Renewing) {
        let leases = Arc::clone(&renewing.leases);
        loop {
            sleep(leases.ttl / 3).await;
            let held: Vec<_> = {
                let mut held = leases.held();
                if held.leases.is_empty() {
                    held.renewing = false;
                    renewing.ended = true;
                    return;
                }
                held.leases.iter().map(|(number, held)| (*number, held.clone())).collect()
            };
            // Side by side, so that a store can write many in one step: one after the other, the last of
            // thousands would come too late.
            let mut renewals = JoinSet::new();
            for (number, (lease, cancellation)) in held {
                renewals.spawn(Arc::clone(&leases).renew_one(number, lease, cancellation));
            }
            while renewals.join_next().await.is_some() {}
        }
    }

    async fn renew_one(self: Arc<Self>, number: u64, lease: Lease, cancellation: Cancellation) {
        match self.store.renew(lease, self.clock.now()).await {
            Ok(renewed) => {
                if let Some(entry) = self.held().leases.get_mut(&number) {
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
        write!(f, "Leases({})", self.held().leases.len())
    }
}

/// The task that renews. It may end with its runtime, while turns on another one go on.
struct Renewing {
    leases: Arc<Leases>,
    ended: bool,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if !self.ended {
            self.leases.held().renewing = false;
        }
    }
}

/// A lease that is renewed while this lives.
#[derive(Debug)]
pub(super) struct HeldLease {
    leases: Arc<Leases>,
    turn: TurnId,
    number: u64,
}

impl HeldLease {
    fn lease(&self) -> Option<Lease> {
        let mut held = self.leases.held();
        self.leases.start(&mut held);
        held.leases.get(&self.number).map(|(lease, _)| lease.clone())
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.leases.held().leases.remove(&self.number);
    }
}

/// Writes under the lease of a turn.
#[derive(Debug)]
pub(super) struct LeasedRecorder {
    store: Arc<dyn Store>,
    lease: HeldLease,
    deferred: Mutex<Deferred>,
}

/// Writes that can wait for the next ones.
#[derive(Debug)]
struct Deferred {
    writes: Vec<Write>,
    /// The scratchpad as it was last written, or is about to be.
    stash: Registry,
    /// Whether the last commit failed.
    failing: bool,
}

impl LeasedRecorder {
    pub(super) fn new(store: Arc<dyn Store>, lease: HeldLease, stash: Registry) -> Self {
        let deferred = Deferred { writes: Vec::new(), stash, failing: false };
        Self { store, lease, deferred: Mutex::new(deferred) }
    }

    /// Writes this together with what is written next.
    pub(super) fn defer(&self, write: Write) {
        self.deferred().writes.push(write);
    }

    /// Writes the scratchpad together with what is written next, if it has changed.
    pub(super) fn defer_stash(&self, stash: &Registry) {
        let mut deferred = self.deferred();
        let now = stash.clone();
        if now != deferred.stash
            && let Ok(write) = (Entry::Stash { stash: now.all() }).write()
        {
            deferred.writes.push(write);
            deferred.stash = now;
        }
    }

    /// Whether the store failed when it was last written to.
    pub(super) fn is_failing(&self) -> bool {
        self.deferred().failing
    }

    /// Gives the lease back.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        match self.lease.lease() {
            Some(lease) => self.store.release(lease).await,
            None => Ok(()),
        }
    }

    fn deferred(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for LeasedRecorder {
    fn commit(&self, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let waiting = Waiting::take(self);
            let all: Vec<Write> = waiting.writes.iter().cloned().chain(writes).collect();
            if all.is_empty() {
                return Ok(());
            }
            let Some(lease) = self.lease.lease() else {
                return Err(StoreError::LeaseLost { turn: self.lease.turn.clone() });
            };
            let done = self.store.commit(lease, all).await;
            self.deferred().failing = matches!(done, Err(StoreError::Backend { .. }));
            if done.is_ok() {
                waiting.are_written();
            }
            done
        })
    }
}

/// Deferred writes that are being written. If that fails or is given up, they wait on: all of them can be
/// written twice.
struct Waiting<'r> {
    recorder: &'r LeasedRecorder,
    writes: Vec<Write>,
}

impl<'r> Waiting<'r> {
    fn take(recorder: &'r LeasedRecorder) -> Self {
        Self { recorder, writes: std::mem::take(&mut recorder.deferred().writes) }
    }

    fn are_written(mut self) {
        self.writes.clear();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.writes.is_empty() {
            let writes = std::mem::take(&mut self.writes);
            self.recorder.deferred().writes.splice(0..0, writes);
        }
    }
}
