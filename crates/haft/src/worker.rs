//! Workers: processes that claim turns from a store and run them.
//!
//! A [`Worker`] asks its store for the next turn that can run, gets the [`Agent`] of the turn's agent from a
//! [`AgentSource`], and runs the turn: any number of workers, on any number of machines, share the turns of a store. The store
//! keeps the turns of a conversation in order and hands out those of a higher priority first.

mod builder;
mod claimed_turn;
mod source;
mod stats;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::store::{
    ChangeListener, ClaimFilter, Lease, LeaseRequest, StoreChange, StoreChangeKind, StoreError,
    TurnId, TurnQuery, TurnStore as _, TurnStoreExt as _,
};
use tokio::task::JoinSet;

pub use self::builder::WorkerBuilder;
use self::claimed_turn::ClaimedTurn;
pub use self::source::AgentSource;
pub use self::stats::{LatencyCounts, WorkerStats};
use self::stats::{TurnAttempt, WorkerCounters};
use crate::sync::{Instant, sleep};
use crate::turn::{Agent, TimedStore, TurnError, run_cancellable};

/// Claims turns from a store and runs them, several at a time, until it is told to stop.
///
/// It claims a turn only when it has room to run it, so that turns wait in the store, where every worker can take them.
/// The store wakes it when there is something to claim. It also polls from time to time, in case a notification was
/// lost.
///
/// ```
/// use std::sync::Arc;
/// use haft::executors::ScriptExecutor;
/// use haft::stores::{MemoryStore, TurnStatus, TurnStore, TurnStoreExt as _};
/// use haft::turn::Cancellation;
/// use haft::worker::Worker;
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store: Arc<dyn TurnStore> = Arc::new(MemoryStore::new());
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let runner = Agent::builder(script).store(Arc::clone(&store)).build()?;
/// let turn = runner.turn("Hi").system("Be polite.").priority(5).submit().await?;
///
/// let worker = Worker::builder(Arc::clone(&store), runner).concurrency(4).build();
/// let stop = Cancellation::new();
/// let work = tokio::spawn({
///     let (worker, stop) = (worker.clone(), stop.clone());
///     async move { worker.run_until(stop.cancelled()).await }
/// });
/// while store.summary(turn.clone()).await?.is_none_or(|it| it.status != TurnStatus::Completed) {
///     tokio::task::yield_now().await;
/// }
/// stop.cancel("the service ends");
/// let stats = work.await??;
/// assert_eq!((stats.claimed, stats.completed, stats.running), (1, 1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Worker {
    shared: Arc<WorkerShared>,
}

/// What all tasks of a worker share.
struct WorkerShared {
    store: Arc<TimedStore>,
    source: Arc<dyn AgentSource>,
    filter: ClaimFilter,
    holder: LeaseRequest,
    concurrency: usize,
    poll_interval: Duration,
    retry_delay: Duration,
    drain_deadline: Duration,
    counters: WorkerCounters,
}

impl Worker {
    /// Starts a worker that claims turns from a store and runs them with the runners of a source. A single [`Agent`] is
    /// a source, too.
    ///
    /// The runners use the same store. They should leave turns that wait at gates
    /// ([`GatePolicy::Suspend`](crate::turn::GatePolicy::Suspend)): then the worker runs other turns meanwhile, and any worker
    /// continues the turn when its gate is settled.
    pub fn builder(
        store: Arc<dyn haft_core::store::TurnStore>,
        source: impl AgentSource + 'static,
    ) -> WorkerBuilder {
        WorkerBuilder::new(store, Arc::new(source))
    }

    /// Claims turns and runs them until the signal is given. It then claims no more turns, waits until the running
    /// turns have ended or the drain deadline has passed, stops the remaining ones, and returns all leases, so that
    /// other workers can continue at once.
    ///
    /// Dropping the future stops all turns at once; they can be resumed.
    ///
    /// # Errors
    ///
    /// The store cannot be used by this program: it belongs to processes with another secret, or a newer program wrote it. A
    /// store that does not respond is asked again.
    pub async fn run_until(&self, signal: impl Future) -> Result<WorkerStats, TurnError> {
        let stop = Cancellation::new();
        let work = Box::pin(self.claim_and_run(stop.clone()));
        run_cancellable(work, signal, stop).await?;
        Ok(self.stats())
    }

    /// What the worker has done so far, and what it does now.
    #[must_use]
    pub fn stats(&self) -> WorkerStats {
        self.shared.counters.read()
    }

    /// Counts the turns that this worker could claim now: those that wait for a worker.
    ///
    /// # Errors
    ///
    /// The store failed, or did not respond in time.
    pub async fn count_claimable(&self) -> Result<u64, StoreError> {
        let ClaimFilter { agents, tenant, .. } = &self.shared.filter;
        let mut query = TurnQuery::default().claimable().limit(COUNTED_PAGE);
        query.tenant.clone_from(tenant);
        if agents.is_empty() {
            return self.count(query).await;
        }
        let mut count = 0;
        for agent in agents {
            count += self.count(query.clone().agent(agent)).await?;
        }
        Ok(count)
    }

    /// Counts the turns that a query selects, page by page.
    async fn count(&self, mut query: TurnQuery) -> Result<u64, StoreError> {
        let mut count = 0;
        loop {
            let page = self.shared.store.turns(query.clone()).await?;
            count += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == COUNTED_PAGE => query.before = Some(last.id.clone()),
                _ => return Ok(count),
            }
        }
    }

    async fn claim_and_run(&self, stop: Cancellation) -> Result<(), TurnError> {
        let mut running = RunningTurns { tasks: JoinSet::new(), shared: Arc::clone(&self.shared) };
        let mut listener = self.shared.store.listen();
        let mut fatal = None;
        while !stop.is_cancelled() && fatal.is_none() {
            fatal = running.reap();
            let room = self.shared.concurrency.saturating_sub(running.tasks.len());
            let has_room = room > 0;
            let pause = match has_room {
                true => match self.shared.claim_turns(room, &mut *listener, &stop).await {
                    Claim::Turns(leases) => {
                        let is_full = leases.len() >= room;
                        leases.into_iter().for_each(|lease| running.spawn(lease));
                        if is_full {
                            continue;
                        }
                        // There was no other, and the store tells of the next one.
                        self.shared.poll_interval
                    }
                    Claim::Failed(error) if is_fatal(&error) => {
                        fatal = Some(error.into());
                        continue;
                    }
                    Claim::Failed(_) => self.shared.counters.failure_pause(),
                },
                // The end of a turn makes room.
                false => self.shared.poll_interval,
            };
            let is_unavailable = self.shared.counters.is_failing();
            tokio::select! {
                biased;
                _ = stop.cancelled() => {}
                ended = running.join_next() => fatal = fatal.or(ended),
                () = await_claimable(&mut *listener), if has_room && !is_unavailable => {}
                () = sleep(pause) => {}
            }
        }
        running.drain().await;
        fatal.map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("name", &self.shared.holder.name)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// The result of asking the store for turns.
enum Claim {
    Turns(Vec<Lease>),
    Failed(StoreError),
}

impl WorkerShared {
    /// Asks the store for turns, as many as there is room for. A worker that is told to stop meanwhile waits for the
    /// response, because turns may be claimed already.
    async fn claim_turns(
        &self,
        room: usize,
        listener: &mut dyn ChangeListener,
        stop: &Cancellation,
    ) -> Claim {
        forget_changes(listener).await;
        let asked = Instant::now();
        let claimed = self.store.claim_turns(self.filter.clone(), self.holder.clone(), room).await;
        match claimed {
            Ok(leases) if stop.is_cancelled() => {
                for lease in leases {
                    let _ = self.store.release(lease).await;
                }
                Claim::Turns(Vec::new())
            }
            Ok(leases) => {
                self.counters.count_claim(leases.len(), asked.elapsed());
                Claim::Turns(leases)
            }
            Err(error) => {
                self.counters.count_store_failure();
                tracing::warn!(%error, "the store did not give out a turn");
                Claim::Failed(error)
            }
        }
    }
}

/// Whether no later attempt can succeed.
fn is_fatal(error: &StoreError) -> bool {
    use StoreError::{Foreign, OtherSecret, OtherVersion, ReadOnly, Replaced};
    matches!(
        error,
        OtherSecret | OtherVersion { .. } | Foreign { .. } | ReadOnly { .. } | Replaced { .. }
    )
}

/// Takes what was reported so far, which the next claim sees.
async fn forget_changes(listener: &mut dyn ChangeListener) {
    for _ in 0..MAX_FORGOTTEN {
        let mut change = listener.next_change();
        let is_told = poll_fn(|cx| Poll::Ready(change.as_mut().poll(cx).is_ready())).await;
        if !is_told {
            return;
        }
    }
}

/// Waits until the store says that there may be something to claim.
async fn await_claimable(listener: &mut dyn ChangeListener) {
    loop {
        match listener.next_change().await {
            // The end of a turn lets the next one of its conversation run.
            StoreChange::Turn {
                kind:
                    StoreChangeKind::Claimable
                    | StoreChangeKind::GateSettled
                    | StoreChangeKind::CancelRequested
                    | StoreChangeKind::Ended,
                ..
            }
            | StoreChange::Unknown => return,
            _ => {}
        }
    }
}

/// The turns that a worker runs now.
struct RunningTurns {
    tasks: JoinSet<TurnAttempt>,
    shared: Arc<WorkerShared>,
}

impl RunningTurns {
    fn spawn(&mut self, lease: Lease) {
        let turn = ClaimedTurn::new(lease, Arc::clone(&self.shared));
        self.tasks.spawn(turn.run());
    }

    /// Takes the results of turns that have ended. Returns an error that ends the worker.
    fn reap(&mut self) -> Option<TurnError> {
        let mut fatal = None;
        while let Some(ended) = self.tasks.try_join_next() {
            fatal = fatal.or(self.shared.record_end(ended));
        }
        fatal
    }

    /// Waits for the end of a turn; for ever if none runs.
    async fn join_next(&mut self) -> Option<TurnError> {
        match self.tasks.join_next().await {
            Some(ended) => self.shared.record_end(ended),
            None => std::future::pending().await,
        }
    }

    /// Waits for the turns that run, and stops those that are left when the deadline has passed.
    async fn drain(&mut self) {
        self.shared.counters.set_draining();
        let deadline = sleep(self.shared.drain_deadline);
        let mut deadline = std::pin::pin!(deadline);
        while !self.tasks.is_empty() {
            tokio::select! {
                biased;
                _ = self.join_next() => {}
                () = &mut deadline => break,
            }
        }
        self.tasks.abort_all();
        while let Some(ended) = self.tasks.join_next().await {
            self.shared.record_end(ended);
        }
        self.shared.release_stopped().await;
    }
}

impl WorkerShared {
    /// Records how an attempt to run a turn ended. Returns an error that ends the worker.
    fn record_end(&self, ended: Result<TurnAttempt, tokio::task::JoinError>) -> Option<TurnError> {
        match ended {
            Ok(attempt) => self.counters.count_attempt(attempt),
            Err(stopped) if stopped.is_cancelled() => None,
            Err(panicked) => {
                // The runner reports panics of handlers; this is one of the worker or of the source of runners.
                tracing::error!(error = %panicked, "a turn was left because the worker panicked");
                self.counters.count_error();
                None
            }
        }
    }

    /// Returns the leases of stopped turns, and waits for it, because the process may end next.
    async fn release_stopped(&self) {
        for lease in self.counters.take_stopped() {
            if let Err(error) = self.store.release(lease).await {
                // It runs out by itself.
                tracing::warn!(%error, "the lease of a turn that was stopped is not given back");
            }
        }
    }

    /// The runner of a turn.
    async fn find_agent(&self, turn: &TurnId) -> Result<Agent, TurnError> {
        let summary = self.store.summary(turn.clone()).await?;
        let summary = summary.ok_or_else(|| StoreError::unknown_turn(turn))?;
        self.source.find_agent(summary).await
    }
}

/// How many reports are taken together. More of them make the worker look once too often.
const MAX_FORGOTTEN: usize = 1024;
/// How many turns are listed together to count them.
const COUNTED_PAGE: usize = 1000;
