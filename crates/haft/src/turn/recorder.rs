//! Writing the records of a turn under its lease.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
}

impl LeasedRecorder {
    pub(super) fn new(
        store: Arc<TimedStore>,
        lease: ActiveLease,
        stash: Stash,
        tools: ToolRegistry,
    ) -> Self {
        let deferred = Deferred { writes: Vec::new(), stash, tools, is_failing: false };
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

    /// Releases the lease.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(self.lease.current()).await
    }

    fn lock(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn hydration_write(&self, hydration: Hydration) -> Option<StoreWrite> {
        Some(JournalEntry::Hydrated(hydration).into_write())
    }
