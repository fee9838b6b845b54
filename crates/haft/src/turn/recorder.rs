//! Writing the records of a turn under its lease.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::context::{Hydration, RecordWriter, TurnContext};
use haft_core::registry::ToolRegistry;
use haft_core::stash::Stash;
use haft_core::store::{StoreError, StoreFuture, StoreWrite};

use super::journal::JournalEntry;
use super::lease::ActiveLease;
use super::timed::TimedStore;

/// Commits writes under the lease of a turn.
#[derive(Debug)]
pub(super) struct LeasedRecorder {
    store: Arc<TimedStore>,
    lease: ActiveLease,
    deferred: Mutex<Deferred>,
}

/// Writes that can wait for the next commit.
#[derive(Debug)]
struct Deferred {
    writes: Vec<StoreWrite>,
    /// The stash as it was last written, or is about to be.
    stash: Stash,
    /// The tools as they were last written, or are about to be.
    tools: ToolRegistry,
    /// Whether the store failed at the last commit.
    is_failing: bool,
    /// How long the turn is left alone after this attempt to run it.
    delay: Option<Duration>,
}

impl LeasedRecorder {
    pub(super) fn new(
        store: Arc<TimedStore>,
        lease: ActiveLease,
        stash: Stash,
        tools: ToolRegistry,
    ) -> Self {
        let deferred =
            Deferred { writes: Vec::new(), stash, tools, is_failing: false, delay: None };
        Self { store, lease, deferred: Mutex::new(deferred) }
    }

    /// Commits a write together with the next commit.
    pub(super) fn defer(&self, write: StoreWrite) {
        self.lock().writes.push(write);
    }

    /// Journals the stash and the tools of the turn together with the next commit, if they have changed.
    pub(super) fn defer_changes(&self, ctx: &TurnContext) {
        let mut deferred = self.lock();
        let stash = ctx.stash().clone();
        if stash != deferred.stash {
            deferred.writes.push(JournalEntry::Stash { stash: stash.all() }.into_write());
            deferred.stash = stash;
        }
        if ctx.tools().is_unchanged_since(&deferred.tools) {
            return;
        }
        let tools = ToolRegistry::clone(ctx.tools());
        let changes = tools.changes_since(&deferred.tools);
        if !changes.is_empty() {
            deferred.writes.push(JournalEntry::Tools(changes).into_write());
        }
        deferred.tools = tools;
    }

    /// Whether a write waits for the next commit.
    pub(super) fn has_deferred(&self) -> bool {
        !self.lock().writes.is_empty()
    }

    /// Whether the store failed at the last commit.
    pub(super) fn is_failing(&self) -> bool {
        self.lock().is_failing
    }

    /// Says that the turn got further than the processes before this one, if one of them died.
    pub(super) fn note_progress(&self) {
        if self.lease.current().take_overs > 0 {
            let mut deferred = self.lock();
            if !deferred.writes.contains(&StoreWrite::Progress) {
                deferred.writes.push(StoreWrite::Progress);
            }
        }
    }

    /// The time of the last grant of the lease by the clock of the store, which is at most a third of the lease ago.
    pub(super) fn store_time(&self) -> Timestamp {
        self.lease.current().granted_at()
    }

    /// Leaves the turn alone for a while after this attempt to run it.
    pub(super) fn suspend_for(&self, delay: Duration) {
        self.lock().delay = Some(delay);
    }

    /// Releases the lease. A turn that is to be left alone says so before.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        let delay = self.lock().delay.take();
        if let Some(delay) = delay {
            // What was deferred stays out: the next attempt repeats it. If this fails, the turn can be claimed at once.
            let suspend = vec![StoreWrite::Suspend { delay }];
            let _ = self.store.commit(self.lease.current(), suspend).await;
        }
        self.lease.release().await
    }

    /// Releases the lease without waiting, unless that was done.
    fn release_in_background(&self) {
        self.lease.release_in_background();
    }

    fn lock(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases the lease when the driver of a turn is dropped, although tasks that were aborted may live a moment longer: what
/// they write then is refused.
#[derive(Debug)]
pub(super) struct ReleaseGuard(pub(super) Arc<LeasedRecorder>);

impl Drop for ReleaseGuard {
    fn drop(&mut self) {
        self.0.release_in_background();
    }
}

impl RecordWriter for LeasedRecorder {
    fn commit(&self, writes: Vec<StoreWrite>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let deferred = DeferredWrites::take(self);
            let all = deferred.followed_by(writes);
            if all.is_empty() {
                return Ok(());
            }
            let done = self.store.commit(self.lease.current(), all).await;
            self.lock().is_failing = matches!(done, Err(StoreError::Backend { .. }));
            if done.is_ok() {
                deferred.mark_written();
            }
            done
        })
    }

    fn journal_hydration(&self, hydration: Hydration) {
        self.defer(JournalEntry::Hydrated(hydration).into_write());
    }
}

/// Deferred writes that are being committed. If that fails or is dropped, they are deferred again: all of them can
/// be written twice.
struct DeferredWrites<'r> {
    recorder: &'r LeasedRecorder,
    writes: Vec<StoreWrite>,
}

impl<'r> DeferredWrites<'r> {
    fn take(recorder: &'r LeasedRecorder) -> Self {
        Self { recorder, writes: std::mem::take(&mut recorder.lock().writes) }
    }

    fn followed_by(&self, writes: Vec<StoreWrite>) -> Vec<StoreWrite> {
        if self.writes.is_empty() {
            return writes;
        }
        self.writes.iter().cloned().chain(writes).collect()
    }

    fn mark_written(mut self) {
        self.writes.clear();
    }
}

impl Drop for DeferredWrites<'_> {
    fn drop(&mut self) {
        if !self.writes.is_empty() {
            let writes = std::mem::take(&mut self.writes);
            self.recorder.lock().writes.splice(0..0, writes);
        }
    }
}
