//! What a worker counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::store::{Lease, TurnId};

use super::{WorkerShared, is_fatal};
use crate::turn::{TurnError, TurnOutcome, TurnReport};

/// How an attempt to run a turn ended.
pub(super) type TurnAttempt = Result<Box<TurnReport>, TurnError>;

/// What a worker has done so far, and what it does now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// How many turns it has claimed.
    pub claimed: u64,
    /// How many turns it has completed.
    pub completed: u64,
    /// How many turns ended as failed, cancelled or at a limit.
    pub failed: u64,
    /// How many turns it has left waiting at their gates.
    pub waiting: u64,
    /// How many turns it has left to be resumed: after an outage, or because they were stopped.
    pub interrupted: u64,
    /// How many turns could not be run here.
    pub errors: u64,
    /// How often the store did not respond to a claim.
    pub store_failures: u64,
    /// How many turns run now.
    pub running: u64,
    /// Whether it has stopped claiming turns.
    pub is_draining: bool,
    /// Whether the store responded to the last claim.
    pub is_connected: bool,
    /// How long claims took.
    pub claim_latency: LatencyCounts,
}

impl WorkerStats {
    /// How many turns have ended, whichever way.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.completed + self.failed
    }
}

/// How long operations took, in the form of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyCounts {
    /// For each of [`BOUNDS`](Self::BOUNDS), how many operations took at most so long and longer than the bound before.
    pub counts: [u64; Self::BOUNDS.len()],
    /// How many operations there were, also those that took longer than the last bound.
    pub total: u64,
    /// How long they took together.
    pub sum: Duration,
}

impl LatencyCounts {
    /// The upper bounds of the groups.
    pub const BOUNDS: [Duration; 12] = [
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(20),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_secs(2),
        Duration::from_secs(5),
    ];

    fn record(&mut self, latency: Duration) {
        let group = Self::BOUNDS.iter().position(|bound| latency <= *bound);
        if let Some(count) = group.and_then(|at| self.counts.get_mut(at)) {
            *count += 1;
        }
        self.total += 1;
        self.sum += latency;
    }
}

/// The counters of a worker, which its tasks share.
#[derive(Debug, Default)]
pub(super) struct WorkerCounters {
    claimed: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    waiting: AtomicU64,
    interrupted: AtomicU64,
    errors: AtomicU64,
    store_failures: AtomicU64,
    /// Failures of the store since it last responded.
    failures_in_a_row: AtomicU32,
    is_connected: AtomicBool,
    is_draining: AtomicBool,
    latency: Mutex<LatencyCounts>,
    running: Mutex<HashMap<TurnId, Lease>>,
    stopped: Mutex<Vec<Lease>>,
}

impl WorkerCounters {
    pub(super) fn read(&self) -> WorkerStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerStats {
            claimed: load(&self.claimed),
            completed: load(&self.completed),
            failed: load(&self.failed),
            waiting: load(&self.waiting),
            interrupted: load(&self.interrupted),
            errors: load(&self.errors),
            store_failures: load(&self.store_failures),
            running: lock(&self.running).len() as u64,
            is_draining: self.is_draining.load(Ordering::Relaxed),
            is_connected: self.is_connected.load(Ordering::Relaxed),
            claim_latency: lock(&self.latency).clone(),
        }
    }

    /// Counts a claim, and how many turns it has got.
    pub(super) fn count_claim(&self, turns: usize, latency: Duration) {
        self.claimed.fetch_add(turns as u64, Ordering::Relaxed);
        lock(&self.latency).record(latency);
        self.failures_in_a_row.store(0, Ordering::Relaxed);
        self.is_connected.store(true, Ordering::Relaxed);
    }

    pub(super) fn count_store_failure(&self) {
        self.store_failures.fetch_add(1, Ordering::Relaxed);
        self.failures_in_a_row.fetch_add(1, Ordering::Relaxed);
        self.is_connected.store(false, Ordering::Relaxed);
    }

    pub(super) fn count_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether the store did not respond to the last claim.
    pub(super) fn is_failing(&self) -> bool {
        self.failures_in_a_row.load(Ordering::Relaxed) > 0
    }

    /// How long to wait before the store is asked again: longer after each failure, at most five seconds.
    pub(super) fn failure_pause(&self) -> Duration {
        let failures = self.failures_in_a_row.load(Ordering::Relaxed).min(6);
        FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_PAUSE)
    }

    /// Counts how an attempt ended. Returns an error that ends the worker.
    pub(super) fn count_attempt(&self, attempt: TurnAttempt) -> Option<TurnError> {
        let counter = match &attempt {
            Ok(report) => match &report.outcome {
                TurnOutcome::Waiting { .. } => &self.waiting,
                _ if report.is_resumable => &self.interrupted,
                TurnOutcome::Completed => &self.completed,
                _ => &self.failed,
            },
            Err(_) => &self.errors,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        match attempt {
            Err(TurnError::Store(error)) if is_fatal(&error) => Some(error.into()),
            _ => None,
        }
    }

    /// The leases of turns whose tasks were stopped.
    pub(super) fn take_stopped(&self) -> Vec<Lease> {
        let stopped = std::mem::take(&mut *lock(&self.stopped));
        self.interrupted.fetch_add(stopped.len() as u64, Ordering::Relaxed);
        stopped
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first pause after a failure of the store, before it is doubled.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two claims of a store that does not respond.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Counts a turn as running until it is dropped. A turn that is dropped before its end was stopped.
pub(super) struct RunningGuard {
    shared: Arc<WorkerShared>,
    lease: Lease,
    has_ended: bool,
}

impl RunningGuard {
    pub(super) fn begin(shared: Arc<WorkerShared>, lease: Lease) -> Self {
        lock(&shared.counters.running).insert(lease.turn.clone(), lease.clone());
        Self { shared, lease, has_ended: false }
    }

    pub(super) fn turn(&self) -> &TurnId {
        &self.lease.turn
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let counters = &self.shared.counters;
        lock(&counters.running).remove(&self.lease.turn);
        if !self.has_ended {
            lock(&counters.stopped).push(self.lease.clone());
        }
    }
}
