//! The right to run a turn: a lease that is renewed while the turn runs.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::store::{CancelRequest, Lease, StoreError, TurnStore};

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{
    Arc, Instant, JoinSet, Mutex, MutexGuard, PoisonError, finish_in_background, sleep,
    spawn_background,
};

/// Renews the leases of all turns of an agent, by one task that lives while there are any.
pub(crate) struct LeaseRenewer {
    store: Arc<dyn TurnStore>,
    ttl: Duration,
    active: Mutex<ActiveLeases>,
    /// Whether the task runs. Changed only by who holds the lock on `active`, so that no lease is left without it.
    is_renewing: AtomicBool,
}

/// How many leases are renewed at the same time: as many as a store writes in one step.
const AT_ONCE: usize = 1024;

/// By number and not by turn: a driver that lost a turn which this very agent then resumed must not write with the
/// lease of the other driver.
#[derive(Default)]
struct ActiveLeases {
    by_number: HashMap<u64, Arc<LeaseState>>,
    next: u64,
}

/// A lease as it was last renewed, and the turn that is cancelled when it is lost.
struct LeaseState {
    grant: Mutex<Grant>,
    cancellation: Cancellation,
}

struct Grant {
    lease: Lease,
    /// When it was asked for, by the clock of this process.
    asked_at: Instant,
}

impl LeaseState {
    fn lock(&self) -> MutexGuard<'_, Grant> {
        self.grant.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseRenewer {
    pub(crate) fn new(store: Arc<dyn TurnStore>, ttl: Duration) -> Arc<Self> {
        let active = Mutex::default();
        let is_renewing = AtomicBool::new(false);
        Arc::new(Self { store, ttl, active, is_renewing })
    }

    /// Renews a lease until the returned value is dropped. If the lease is lost, the turn is cancelled.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        lease: Lease,
        cancellation: Cancellation,
    ) -> ActiveLease {
        let grant = Mutex::new(Grant { lease, asked_at: Instant::now() });
        let state = Arc::new(LeaseState { grant, cancellation });
        let mut active = self.lock();
        let number = active.next;
        active.next += 1;
        active.by_number.insert(number, Arc::clone(&state));
        self.start_renewing(&active);
        let is_released = AtomicBool::new(false);
        ActiveLease { renewer: Arc::clone(self), number, state, is_released }
    }

    /// Starts the task unless it runs.
    fn start_renewing(self: &Arc<Self>, _active: &ActiveLeases) {
        if !self.is_renewing.swap(true, Ordering::AcqRel) {
            let task = RenewalTask { renewer: Arc::clone(self), has_ended: false };
            spawn_background(Self::renew_all(task));
        }
    }

    async fn renew_all(mut task: RenewalTask) {
        let renewer = Arc::clone(&task.renewer);
        loop {
            sleep(renewer.ttl / 3).await;
            let leases: Vec<_> = {
                let active = renewer.lock();
                if active.by_number.is_empty() {
                    task.end(&active);
                    return;
                }
                active.by_number.values().cloned().collect()
            };
            // In parallel, so that a store can write many in one step: one after the other, the last of thousands
            // would come too late. But not all at once: each uses memory while it waits.
            let mut renewals = JoinSet::new();
            for lease in leases {
                if renewals.len() >= AT_ONCE {
                    renewals.join_next().await;
                }
                let renewer = Arc::clone(&renewer);
                // The next round tries again; until then the lease is still valid.
                renewals.spawn(async move { drop(renewer.renew(&lease).await) });
            }
            while renewals.join_next().await.is_some() {}
        }
    }

    async fn renew(&self, state: &LeaseState) -> Result<(), StoreError> {
        let lease = state.lock().lease.clone();
        let asked_at = Instant::now();
        let renewed = self.store.renew(lease).await;
        match &renewed {
            Ok(renewed) => {
                if let Some(request) = &renewed.cancel {
                    state.cancellation.cancel(cancel_reason(request));
                }
            }
            Err(StoreError::LeaseLost { .. } | StoreError::Unknown { .. }) => {
                state.cancellation.cancel("another process has taken the turn over");
            }
            Err(_) => {}
        }
        *state.lock() = Grant { lease: renewed?, asked_at };
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, ActiveLeases> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LeaseRenewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseRenewer({})", self.lock().by_number.len())
    }
}

/// The task that renews. It may end with its runtime, while turns on another runtime continue.
struct RenewalTask {
    renewer: Arc<LeaseRenewer>,
    has_ended: bool,
}

impl RenewalTask {
    fn end(&mut self, _active: &ActiveLeases) {
        self.renewer.is_renewing.store(false, Ordering::Release);
        self.has_ended = true;
    }
}

impl Drop for RenewalTask {
    fn drop(&mut self) {
        if !self.has_ended {
            let renewer = Arc::clone(&self.renewer);
            self.end(&renewer.lock());
        }
    }
}

/// A lease that is renewed until this is dropped.
pub(crate) struct ActiveLease {
    renewer: Arc<LeaseRenewer>,
    number: u64,
    state: Arc<LeaseState>,
    is_released: AtomicBool,
}

impl ActiveLease {
    /// The lease as it is now. If the task that renews has ended with its runtime, it is started again.
    pub(crate) fn current(&self) -> Lease {
        if !self.renewer.is_renewing.load(Ordering::Acquire) {
            self.renewer.start_renewing(&self.renewer.lock());
        }
        self.state.lock().lease.clone()
    }

    /// Whether the lease cannot have expired yet, by the clock of this process.
    pub(crate) fn is_recent(&self) -> bool {
        self.state.lock().asked_at.elapsed() < self.renewer.ttl
    }

    /// Renews the lease now. A process that was stopped for longer than its lease learns so that another one has the turn.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        self.renewer.renew(&self.state).await
    }

    /// How often the turn was taken over from a process that died, since it last made progress.
    pub(crate) fn take_overs(&self) -> u32 {
        self.state.lock().lease.take_overs
    }

    /// Gives the lease back. One that cannot be returned expires by itself.
    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        let lease = self.state.lock().lease.clone();
        let released = self.renewer.store.release(lease).await;
        if released.is_ok() {
            self.is_released.store(true, Ordering::Release);
        }
        released
    }

    /// Gives the lease back without waiting, unless that was done. A turn whose future is dropped stays resumable, and the
    /// next process need not wait until the lease has expired.
    pub(crate) fn release_in_background(&self) {
        if self.is_released.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = Arc::clone(&self.renewer.store);
        let lease = self.state.lock().lease.clone();
        finish_in_background(async move {
            let _ = store.release(lease).await;
        });
    }
}

impl fmt::Debug for ActiveLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActiveLease({})", self.state.lock().lease.turn)
    }
}

impl Drop for ActiveLease {
    fn drop(&mut self) {
        self.renewer.lock().by_number.remove(&self.number);
        self.release_in_background();
    }
}

/// The reason for the cancellation of a turn that another process requested.
pub(crate) fn cancel_reason(request: &CancelRequest) -> String {
    match request.by.is_empty() {
        true => request.reason.clone(),
        false => format!("{} (asked for by {})", request.reason, request.by),
    }
}
