//! Running a turn. [`order`] says in which order everything happens; the other parts do it.

mod create;
mod end;
mod iteration;
mod order;
mod resume;
mod stages;
mod step;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use haft_core::call::OccurrenceCounter;
use haft_core::cancel::Cancellation;
use haft_core::clock::Timestamp;
use haft_core::context::{DispatchContext, DispatchContextBuilder};
use haft_core::store::{Lease, MemoryScope, TurnId};
use haft_core::tool::PanicError;
use haft_core::usage::Usage;
use tracing::Span;

pub(super) use self::create::{PreparedTurn, create_turn, enqueue_turn, prepare_turn};
pub(super) use self::resume::{
    load_report, load_turn, restore_history, restore_records, resume_turn, run_claimed_turn,
    run_next_turn,
};
use super::agent::AgentShared;
use super::deadline::{WaitError, with_deadline};
use super::journal::RequestHistory;
use super::log::TurnLog;
use super::query_tools::QueryTools;
use super::recorder::LeasedRecorder;
use super::seed::TurnSeed;
use super::shared_turn::{ReleaseGuard, SharedTurn};
use super::spans::turn_span;

/// A turn that runs in this process.
struct TurnDriver {
    agent: Arc<AgentShared>,
    id: TurnId,
    /// Where the turn stands.
    log: TurnLog,
    shared: Arc<SharedTurn>,
    ctx: DispatchContext,
    query_tools: QueryTools,
    occurrences: OccurrenceCounter,
    /// The tools that the summary of the turn names, as far as this attempt has told it.
    listed_tools: HashSet<String>,
    started_at: Timestamp,
    dispatch: StartTime,
    iteration: IterationScope,
    /// The requests that were sent so far, or `None` before the first one.
    requests: Option<Box<RequestHistory>>,
    /// How long the turn took, once it has ended.
    duration: Duration,
    /// The span of this attempt to run the turn.
    span: Span,
    /// Gives the lease back when the turn is dropped before its end.
    _release: ReleaseGuard,
}

/// When something started, by the clock and by the stopwatch of the turn.
#[derive(Clone, Copy)]
struct StartTime {
    started_at: Timestamp,
    begun: Duration,
}

/// The iteration that runs. Before the first one it is the dispatch as a whole.
struct IterationScope {
    ctx: DispatchContext,
    start: StartTime,
    /// What the turn had spent when the iteration began.
    usage: Usage,
    /// Whether output middleware has looked at the results of its calls, if there is any.
    is_checked: AtomicBool,
    /// Whether it has begun and not ended.
    is_open: bool,
}

impl AgentShared {
    /// Adds what the tools and the memories of a turn come from.
    fn add_sources(
        &self,
        builder: DispatchContextBuilder,
        memory_scope: Option<MemoryScope>,
    ) -> DispatchContextBuilder {
        let builder = match &self.tool_source {
            Some(source) => builder.tool_source(Arc::clone(source)),
            None => builder,
        };
        match memory_scope {
            Some(scope) => builder.memory_scope(scope),
            None => builder,
        }
    }
}

impl TurnDriver {
    /// The driver of a turn that this token cancels and nothing else.
    fn new(
        agent: &Arc<AgentShared>,
        lease: Lease,
        seed: TurnSeed,
        cancellation: Cancellation,
    ) -> Box<Self> {
        let span = turn_span(&seed);
        let spooler = agent.spooler.clone().for_epoch(lease.epoch);
        let lease = agent.leases.acquire(lease, cancellation.clone());
        let tools = agent.tools.clone();
        seed.tools.iter().for_each(|changes| tools.restore(changes));
        let builder = agent.keyed_context_builder(&seed);
        let recorder = LeasedRecorder::new(
            Arc::clone(&agent.store),
            Arc::clone(&agent.clock),
            lease,
            tools.clone(),
        );
        let shared = Arc::new(SharedTurn::new(agent, recorder, seed.id.clone(), seed.gates));
        let builder = builder
            .resumed(seed.is_resumed)
            .tools(Arc::new(tools))
            .observers(Arc::clone(&agent.observers))
            .cancellation(cancellation)
            .recorder(Arc::clone(&shared) as _)
            .gates(Arc::clone(&shared) as _)
            .spooler(spooler)
            .history(Arc::clone(&shared) as _);
        let ctx = agent.add_sources(builder, seed.memory_scope).build();
        ctx.turn().stash().track_changes();
        let requests =
            (!seed.offered.is_empty()).then(|| Box::new(RequestHistory::new(seed.offered)));
        let not_started = StartTime { started_at: Timestamp::EPOCH, begun: Duration::ZERO };
        Box::new(Self {
            agent: Arc::clone(agent),
            id: seed.id,
            log: seed.log,
            _release: ReleaseGuard(Arc::clone(&shared)),
            shared,
            iteration: IterationScope {
                ctx: ctx.clone(),
                start: not_started,
                usage: Usage::default(),
                is_checked: AtomicBool::new(agent.dispatch_output.is_empty()),
                is_open: false,
            },
            ctx,
            query_tools: QueryTools::new(&agent.tools),
            occurrences: OccurrenceCounter::default(),
            listed_tools: HashSet::new(),
            started_at: not_started.started_at,
            dispatch: not_started,
            requests,
            duration: Duration::ZERO,
            span,
        })
    }

    /// Awaits code of the program for so much working time. Its panics are errors.
    async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, WaitError> {
        let watch = &self.shared.watch;
        let deadline = watch.reached(watch.worked().saturating_add(limit));
        let grace = self.agent.deadlines.grace;
        let work = PanicError::catch(work);
        let ended = with_deadline(work, deadline, self.ctx.cancellation(), grace).await?;
        ended.map_err(WaitError::Panicked)
    }
}
