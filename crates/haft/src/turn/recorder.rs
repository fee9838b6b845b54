//! Writing the records of a turn under its lease.

use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::clock::{Clock, Timestamp};
use haft_core::context::{DispatchContext, HistoryError, RecordError, Signal, TurnContext};
use haft_core::event::ErrorReport;
use haft_core::registry::ToolRegistry;
use haft_core::spool::SpoolError;
use haft_core::step::NextAction;
use haft_core::store::{StopReason, StoreError, StoreWrite, SummaryUpdate};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::journal::{JournalEntry, StashJournal};
use super::lease::ActiveLease;
use super::timed::TimedStore;

/// Commits writes under the lease of a turn.
#[derive(Debug)]
pub(super) struct LeasedRecorder {
    store: Arc<TimedStore>,
    clock: Arc<dyn Clock>,
    lease: ActiveLease,
    deferred: Mutex<Deferred>,
    /// How long the turn has waited for its stores since that was journaled, in microseconds.
    storing: AtomicU64,
    /// Commits run in parallel, but one that carries deferred writes runs alone: a later commit must not overtake them,
    /// and if it fails they are deferred again in the order that they had.
    order: RwLock<()>,
    /// How many commits wait for others.
    waiting: AtomicU32,
    /// Whether the store failed since that was asked last.
    has_failed: AtomicBool,
}

/// Writes that can wait for the next commit.
#[derive(Debug)]
struct Deferred {
    writes: Vec<StoreWrite>,
    /// How the stash is written.
    stash: StashJournal,
    /// The tools as they were last written, or are about to be.
    tools: ToolRegistry,
    /// The pending end of the dispatch that was last written, or is about to be, and its iteration.
    pending: (u32, Option<Signal>),
    /// How long the turn is not claimed after this attempt to run it, and why the attempt has ended.
    interruption: Option<(Duration, Box<ErrorReport>)>,
}

impl LeasedRecorder {
    pub(super) fn new(
        store: Arc<TimedStore>,
        clock: Arc<dyn Clock>,
        lease: ActiveLease,
        tools: ToolRegistry,
    ) -> Self {
        let deferred = Mutex::new(Deferred {
            writes: Vec::new(),
            stash: StashJournal::default(),
            tools,
            pending: (0, None),
            interruption: None,
        });
        Self {
            store,
            clock,
            lease,
            deferred,
            storing: AtomicU64::new(0),
            order: RwLock::new(()),
            waiting: AtomicU32::new(0),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Commits a write together with the next commit.
    pub(super) fn defer(&self, write: StoreWrite) {
        let mut deferred = self.lock();
        // Nearly always it is the only one.
        let is_first = usize::from(deferred.writes.is_empty());
        deferred.writes.reserve_exact(is_first);
        deferred.writes.push(write);
    }

    /// Journals the stash and the tools of the turn together with the next commit, if they have changed.
    pub(super) fn defer_changes(&self, ctx: &TurnContext) {
        let mut deferred = self.lock();
        if let Some(entry) = deferred.stash.journal_changes(ctx.stash()) {
            deferred.writes.push(entry.to_write());
        }
        if ctx.tools().is_unchanged_since(&deferred.tools) {
            return;
        }
        let tools = ToolRegistry::clone(ctx.tools());
        let changes = tools.changes_since(&deferred.tools);
        if !changes.is_empty() {
            deferred.writes.push(JournalEntry::Tools(changes).to_write());
        }
        deferred.tools = tools;
    }

    /// Journals how the dispatch is to end together with the next commit, if that has changed.
    pub(super) fn defer_pending(&self, ctx: &DispatchContext) {
        let pending = (ctx.iteration(), ctx.pending());
        let mut deferred = self.lock();
        let is_first = deferred.pending.0 != pending.0;
        if deferred.pending == pending || (is_first && pending.1.is_none()) {
            return;
        }
        let then = match pending.1.clone() {
            Some(Signal::Ack) => NextAction::Done,
            Some(Signal::Nack { error }) => NextAction::Fail(error),
            _ => NextAction::Continue,
        };
        deferred.writes.push(JournalEntry::Pending { iteration: pending.0, then }.to_write());
        deferred.pending = pending;
    }

    /// Whether a write waits for the next commit.
    pub(super) fn has_deferred(&self) -> bool {
        !self.lock().writes.is_empty()
    }

    /// Whether the store failed this turn since this was asked last: an error of its backend, a lost lease, or an
    /// operation that was given up before it ended.
    pub(super) fn take_failure(&self) -> bool {
        self.has_failed.swap(false, Ordering::AcqRel)
    }

    /// Performs an operation of the store, and remembers if the store fails.
    pub(super) async fn watch<T, E: Error + 'static>(
        &self,
        operation: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut watched = WatchedOperation { has_failed: &self.has_failed, fails: true };
        let done = operation.await;
        watched.fails = done.as_ref().is_err_and(|error| is_store_failure(error));
        done
    }

    /// Commits writes behind those that were deferred.
    pub(super) async fn commit(&self, writes: Vec<StoreWrite>) -> Result<(), StoreError> {
        // As `watch` does, which would make the future twice as large.
        let mut watched = WatchedOperation { has_failed: &self.has_failed, fails: true };
        let began = self.clock.monotonic();
        let done = self.commit_in_order(writes).await;
        self.note_storing(self.clock.monotonic().saturating_sub(began));
        watched.fails = done.as_ref().is_err_and(|error| is_store_failure(error));
        done
    }

    async fn commit_in_order(&self, writes: Vec<StoreWrite>) -> Result<(), StoreError> {
        let deferred = match self.take_deferred() {
            Some(deferred) => deferred,
            None => Box::pin(self.wait_for_deferred()).await?,
        };
        let all = deferred.followed_by(writes);
        if all.is_empty() {
            return Ok(());
        }
        self.store.commit(self.lease.current(), all).await?;
        deferred.mark_written();
        Ok(())
    }

    /// Takes the deferred writes for a commit, unless it has to wait for others.
    fn take_deferred(&self) -> Option<DeferredWrites<'_>> {
        if self.has_deferred() {
            self.order.try_write().ok().map(|order| DeferredWrites::take(self, order))
        } else {
            self.order.try_read().ok().and_then(|order| DeferredWrites::none(self, order))
        }
    }

    /// Waits for the commits before this one, and takes the deferred writes.
    async fn wait_for_deferred(&self) -> Result<DeferredWrites<'_>, StoreError> {
        // Each of the commits before this one has a deadline of its own.
        let before = WaitingCommit::begin(&self.waiting);
        let waiting = Box::pin(async { Ok(self.await_order().await) });
        let operations = before.count.saturating_add(2);
        self.store.with_deadlines(operations, "wait for earlier writes", waiting).await
    }

    async fn await_order(&self) -> DeferredWrites<'_> {
        loop {
            if self.has_deferred() {
                return DeferredWrites::take(self, self.order.write().await);
            }
            // A commit that failed meanwhile has deferred its writes again.
            if let Some(none) = DeferredWrites::none(self, self.order.read().await) {
                return none;
            }
        }
    }

    /// Says that the turn got further than the processes before this one, if one of them died.
    pub(super) fn note_progress(&self) {
        if self.lease.take_overs() > 0 {
            let mut deferred = self.lock();
            if !deferred.writes.contains(&StoreWrite::Progress) {
                deferred.writes.push(StoreWrite::Progress);
            }
        }
    }

    /// Makes sure that this process still has the turn, before something begins that must not be repeated.
    pub(super) async fn confirm_lease(&self) -> Result<(), StoreError> {
        if self.lease.is_recent() {
            return Ok(());
        }
        let renewing = self.store.with_deadline("renew the lease", Box::pin(self.lease.renew()));
        self.watch(Box::pin(renewing)).await
    }

    /// The time of the last grant of the lease by the clock of the store, which is at most a third of the lease ago.
    pub(super) fn store_time(&self) -> Timestamp {
        self.lease.current().granted_at()
    }

    /// Leaves the turn alone for a while after this attempt to run it.
    pub(super) fn interrupt_for(&self, delay: Duration, error: ErrorReport) {
        self.lock().interruption = Some((delay, Box::new(error)));
    }

    /// Notes that the turn has waited for its stores.
    pub(super) fn note_storing(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.storing.fetch_add(micros, Ordering::Relaxed);
    }

    /// How many milliseconds the turn has waited for its stores since this was asked last.
    pub(super) fn take_storing(&self) -> u64 {
        self.storing.swap(0, Ordering::Relaxed) / 1000
    }

    /// Releases the lease. A turn that is to be left alone says so before.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        let interruption = self.lock().interruption.take();
        if let Some((delay, error)) = interruption {
            // What was deferred stays out: the next attempt repeats it. If this fails, the turn can be claimed at once.
            let storing = self.take_storing();
            let mut update = SummaryUpdate::default();
            update.stop = Some(StopReason::from(&*error));
            let stopped = JournalEntry::Stopped { error: *error, at: self.clock.now(), storing };
            let writes = vec![
                stopped.to_write(),
                StoreWrite::Summary(update),
                StoreWrite::Interrupt { delay },
            ];
            let _ = self.store.commit(self.lease.current(), writes).await;
        }
        self.lease.release().await
    }

    /// Releases the lease without waiting, unless that was done.
    pub(super) fn release_in_background(&self) {
        self.lease.release_in_background();
    }

    fn lock(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deferred writes that are being committed. If that fails or is dropped, they are deferred again: all of them can
/// be written twice.
struct DeferredWrites<'r> {
    recorder: &'r LeasedRecorder,
    writes: Vec<StoreWrite>,
    /// Released after the writes are deferred again.
    _order: CommitOrder<'r>,
}

/// The right to commit now.
#[expect(dead_code, reason = "the guards are held and not used")]
enum CommitOrder<'r> {
    InParallel(RwLockReadGuard<'r, ()>),
    Alone(RwLockWriteGuard<'r, ()>),
}

impl<'r> DeferredWrites<'r> {
    fn take(recorder: &'r LeasedRecorder, order: RwLockWriteGuard<'r, ()>) -> Self {
        let writes = std::mem::take(&mut recorder.lock().writes);
        Self { recorder, writes, _order: CommitOrder::Alone(order) }
    }

    /// No deferred writes, or `None` if there are some.
    fn none(recorder: &'r LeasedRecorder, order: RwLockReadGuard<'r, ()>) -> Option<Self> {
        let (writes, order) = (Vec::new(), CommitOrder::InParallel(order));
        (!recorder.has_deferred()).then_some(Self { recorder, writes, _order: order })
    }

    fn followed_by(&self, mut writes: Vec<StoreWrite>) -> Vec<StoreWrite> {
        writes.splice(0..0, self.writes.iter().cloned());
        writes
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

/// A commit that waits for others.
struct WaitingCommit<'r> {
    waiting: &'r AtomicU32,
    /// How many waited before it.
    count: u32,
}

impl<'r> WaitingCommit<'r> {
    fn begin(waiting: &'r AtomicU32) -> Self {
        Self { waiting, count: waiting.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for WaitingCommit<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An operation of the store. One that is dropped before it ends has failed.
struct WatchedOperation<'r> {
    has_failed: &'r AtomicBool,
    fails: bool,
}

impl Drop for WatchedOperation<'_> {
    fn drop(&mut self) {
        if self.fails {
            self.has_failed.store(true, Ordering::Release);
        }
    }
}

/// Whether an error or one of its causes says that a store failed. Another attempt may succeed then.
pub(super) fn is_store_failure(error: &(dyn Error + 'static)) -> bool {
    let is_of_turns =
        |it: &StoreError| matches!(it, StoreError::Backend { .. } | StoreError::LeaseLost { .. });
    let is_of_content =
        |it: &SpoolError| matches!(it, SpoolError::Io { .. } | SpoolError::Store { .. });
    std::iter::successors(Some(error), |&error| error.source()).any(|cause| {
        // The last two stand for the error that they contain, which is not one of their causes.
        cause.downcast_ref::<StoreError>().is_some_and(is_of_turns)
            || cause.downcast_ref::<SpoolError>().is_some_and(is_of_content)
            || cause.downcast_ref::<RecordError>().is_some_and(|it| match it {
                RecordError::Store(error) => is_of_turns(error),
                RecordError::Spool(error) => is_of_content(error),
                _ => false,
            })
            || cause
                .downcast_ref::<HistoryError>()
                .is_some_and(|it| matches!(it, HistoryError::Store(error) if is_of_turns(error)))
    })
}
