//! The right to run a turn: renewed while it runs, and checked by every write.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::Clock;
use haft_core::context::Recorder;
use haft_core::stash::Registry;
use haft_core::store::{Lease, Store, StoreError, StoreFuture, Write};
use tokio::task::JoinSet;

use super::journal::Entry;
use super::timed::TimedStore;
use super::watch::{beside, sleep};

/// Renews the leases of all turns that a runner runs, by one task that lives while there are any.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    held: Mutex<Held>,
    /// Whether the task is there. Changed only by who has `held`, so that no lease is left without it.
    renewing: AtomicBool,
}

/// How many leases are renewed at the same time: as many as a store writes in one step.
const AT_ONCE: usize = 1024;

/// By number and not by turn: who lost a turn that this very runner then went on with must not write with
/// the other one's lease.
#[derive(Default)]
struct Held {
    leases: HashMap<u64, Arc<Tenure>>,
    next: u64,
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
        let (held, renewing) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { store, clock, ttl, held, renewing })
    }

    /// Keeps a lease until what is returned is dropped. If it is lost, the turn is cancelled.
    pub(super) fn hold(self: &Arc<Self>, lease: Lease, cancellation: Cancellation) -> HeldLease {
        let tenure = Arc::new(Tenure { lease: Mutex::new(lease), cancellation });
        let mut held = self.held();
        let number = held.next;
        held.next += 1;
        held.leases.insert(number, Arc::clone(&tenure));
        self.start(&held);
        HeldLease { leases: Arc::clone(self), number, tenure }
    }

    /// Starts the task unless it is there.
    fn start(self: &Arc<Self>, _held: &Held) {
        if !self.renewing.swap(true, Ordering::AcqRel) {
            beside(Self::renew(Renewing { leases: Arc::clone(self), ended: false }));
        }
    }

    async fn renew(mut renewing: Renewing) {
        let leases = Arc::clone(&renewing.leases);
        loop {
            sleep(leases.ttl / 3).await;
            let held: Vec<_> = {
                let held = leases.held();
                if held.leases.is_empty() {
                    renewing.end(&held);
                    return;
                }
                held.leases.values().cloned().collect()
            };
            // Side by side, so that a store can write many in one step: one after the other, the last of
            // thousands would come too late. But not all at once: each holds memory while it waits.
            let mut renewals = JoinSet::new();
            for tenure in held {
                if renewals.len() >= AT_ONCE {
                    renewals.join_next().await;
                }
                renewals.spawn(Arc::clone(&leases).renew_one(tenure));
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
        write!(f, "Leases({})", self.held().leases.len())
    }
}

/// The task that renews. It may end with its runtime, while turns on another one go on.
struct Renewing {
    leases: Arc<Leases>,
    ended: bool,
}

impl Renewing {
    fn end(&mut self, _held: &Held) {
        self.leases.renewing.store(false, Ordering::Release);
        self.ended = true;
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if !self.ended {
            let leases = Arc::clone(&self.leases);
            self.end(&leases.held());
        }
    }
}

/// A lease that is renewed while this lives.
pub(super) struct HeldLease {
    leases: Arc<Leases>,
    number: u64,
    tenure: Arc<Tenure>,
}

impl HeldLease {
    /// The lease as it is now. Whoever needs it also sees to it that it is renewed.
    fn lease(&self) -> Lease {
        if !self.leases.renewing.load(Ordering::Acquire) {
            self.leases.start(&self.leases.held());
        }
        self.tenure.lease().clone()
    }
}

impl fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldLease({})", self.tenure.lease().turn)
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
    store: Arc<TimedStore>,
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
    pub(super) fn new(store: Arc<TimedStore>, lease: HeldLease, stash: Registry) -> Self {
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
        if now != deferred.stash {
            deferred.writes.push(Entry::Stash { stash: now.all() }.write());
            deferred.stash = now;
        }
    }

    /// Whether something waits to be written.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred().writes.is_empty()
    }

    /// Whether the store failed when it was last written to.
    pub(super) fn is_failing(&self) -> bool {
        self.deferred().failing
    }

    /// Gives the lease back.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(self.lease.lease()).await
    }

    fn deferred(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for LeasedRecorder {
    fn commit(&self, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let waiting = Waiting::take(self);
            let all = waiting.before(writes);
            if all.is_empty() {
                return Ok(());
            }
            let done = self.store.commit(self.lease.lease(), all).await;
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

    /// These, and then others.
    fn before(&self, writes: Vec<Write>) -> Vec<Write> {
        if self.writes.is_empty() {
            return writes;
        }
        self.writes.iter().cloned().chain(writes).collect()
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
