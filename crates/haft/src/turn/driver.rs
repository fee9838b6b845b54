//! Running a turn: performs the effects that the [machine](super::machine) asks for, and feeds their results back.

mod create;
mod end;
mod iteration;
mod resume;
mod stages;
mod step;

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;

use haft_core::call::{OccurrenceCounter, ToolCall};
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::clock::Timestamp;
use haft_core::context::{DispatchContext, DispatchContextBuilder, Signal, Tokenizable};
use haft_core::event::{ErrorReport, EventKind, LogLevel, WorkScopes};
use haft_core::record::{Message, MessageRole, RecordName};
use haft_core::stash::Stash;
use haft_core::step::StepContext;
use haft_core::store::{GateId, GateRow, Lease, MemoryScope, TurnId};
use haft_core::tool::ToolChanges;
use haft_core::usage::Usage;

pub(super) use self::create::{create_turn, enqueue_turn};
pub(super) use self::resume::{
    load_turn, restore_history, restore_records, resume_turn, run_claimed_turn, run_next_turn,
};
use self::step::ProposedStep;
use super::TurnReport;
use super::deadline::WaitBounds;
use super::envelopes::{NonceOrigin, derive_envelope_key};
use super::gates::GatePolicy;
use super::journal::{JournalEntry, RequestHistory};
use super::machine::{Effect, Effects, Interruption, TurnEntry, TurnMachine, TurnTotals};
use super::query_tools::QueryTools;
use super::recorder::LeasedRecorder;
use super::report::{Conclusion, FailurePoint, LogTopic};
use super::runner::RunnerShared;
use super::shared_turn::{ReleaseGuard, SharedTurn};

/// A running turn: its state machine, and the driver that performs its effects.
struct RunningTurn {
    machine: TurnMachine,
    driver: TurnDriver,
    /// The effects that follow an effect that waits and has no reply. Boxed, because few turns have any, and only
    /// briefly.
    rest: Option<Box<Effects>>,
}

/// Performs the effects of one turn.
struct TurnDriver {
    runner: Arc<RunnerShared>,
    id: TurnId,
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
    /// The step that the executor took, until it is stored.
    step: Option<Box<ProposedStep>>,
    /// The calls of the stored step, until they run.
    calls: Vec<Arc<ToolCall>>,
    /// How long the turn took, once it has ended.
    duration: Duration,
    /// The scopes of observers, entered while the turn runs.
    scopes: WorkScopes,
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
    /// The scopes of observers, entered while the step of the iteration runs.
    scopes: WorkScopes,
    /// Whether output middleware has looked at the results of its calls, if there is any.
    is_checked: AtomicBool,
}

/// What a turn starts with, created or resumed.
struct TurnStart {
    lease: Lease,
    conversation: Option<String>,
    nonce: Option<NonceOrigin>,
    memory_scope: Option<MemoryScope>,
    system_prompt: Tokenizable,
    stash: Stash,
    /// How the tools have changed since the turn was created.
    tools: Vec<ToolChanges>,
    is_resumed: bool,
    /// The tools that its requests have offered.
    offered: HashSet<String>,
    /// The gates that an earlier process opened for the turn.
    gates: Vec<GateRow>,
}

/// The reply to an effect: the entries that report its result.
enum EffectReply {
    None,
    One(TurnEntry),
    /// The step and the end of the turn, which one commit has stored.
    StepAndEnd(Arc<JournalEntry>, Arc<JournalEntry>),
}

impl From<TurnEntry> for EffectReply {
    fn from(entry: TurnEntry) -> Self {
        Self::One(entry)
    }
}

impl From<Interruption> for TurnEntry {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

impl From<Interruption> for EffectReply {
    fn from(interruption: Interruption) -> Self {
        Self::One(TurnEntry::Interrupted(interruption))
    }
}

impl RunningTurn {
    fn new(machine: TurnMachine, driver: TurnDriver) -> Box<Self> {
        Box::new(Self { machine, driver, rest: None })
    }

    /// Runs the turn to its end. Whatever happens, there is a report.
    fn run(self: Box<Self>) -> impl Future<Output = TurnReport> + Send {
        self.run_unless(None)
    }

    /// Ends the turn as failed if there is an error; otherwise runs it to its end.
    #[expect(clippy::while_let_loop, reason = "`while let` would hold the effect that waits twice")]
    async fn run_unless(mut self: Box<Self>, refusal: Option<Box<ErrorReport>>) -> TurnReport {
        let mut effects = self.begin(refusal);
        loop {
            let Some(effect) = self.perform_ready(effects) else { break };
            effects = match self.perform(effect).await {
                Ok(EffectReply::None) => self.rest.take().map(|it| *it).unwrap_or_default(),
                Ok(reply) => self.driver.apply_reply(&mut self.machine, reply),
                // What waited is dropped, as if the process had ended here.
                Err(gates) => self.machine.suspend_waiting(Conclusion::waiting(gates)),
            };
        }
        let Self { machine, driver, .. } = *self;
        driver.report(machine)
    }

    /// Performs effects, and those that follow from them, up to one that has to wait. Returns that one, or `None` once
    /// all is done.
    fn perform_ready(&mut self, mut effects: Effects) -> Option<Effect> {
        while let Some(effect) = effects.pop_first() {
            match self.driver.perform_now(effect, self.machine.totals()) {
                Ok(EffectReply::None) => {}
                // Only the last effect is answered.
                Ok(reply) => effects = self.driver.apply_reply(&mut self.machine, reply),
                Err(effect) => {
                    self.rest = (!effects.is_empty()).then(|| Box::new(effects));
                    return Some(effect);
                }
            }
        }
        None
    }

    /// Begins to run the turn.
    fn begin(&mut self, refusal: Option<Box<ErrorReport>>) -> Effects {
        let Self { machine, driver, .. } = self;
        let effects = driver.apply(machine, TurnEntry::Begun);
        let Some(error) = refusal else { return effects };
        // The turn is announced and ends. Nothing of it is run.
        let announced = effects.into_iter().filter(|it| *it == Effect::AnnounceTurn);
        announced.for_each(|effect| driver.announce(effect, machine.totals()));
        driver.apply(machine, Interruption::failed(*error).into())
    }

    /// Performs an effect that has to wait. Returns the gates at which the turn waits if the runner does not wait with
    /// it.
    async fn perform(&mut self, effect: Effect) -> Result<EffectReply, Vec<GateId>> {
        let Self { machine, driver, .. } = self;
        let shared = Arc::clone(&driver.shared);
        let cancellation = driver.ctx.turn().cancellation().clone();
        let suspends = shared.runner.gate_policy == GatePolicy::Suspend;
        let mut all_wait = suspends.then(|| Box::pin(shared.waits.all_wait()));
        let scopes = driver.scopes.clone();
        let work = std::pin::pin!(driver.perform(effect));
        let mut work = scopes.wrap(work);
        let performed = poll_fn(|cx| {
            loop {
                if let Poll::Ready(reply) = Pin::new(&mut work).poll(cx) {
                    return Poll::Ready(Ok(reply));
                }
                if !machine.is_working() {
                    return Poll::Pending;
                }
                if let Some(all_wait) = &mut all_wait
                    && let Poll::Ready(gates) = all_wait.as_mut().poll(cx)
                {
                    return Poll::Ready(Err(gates));
                }
                let wall_time = shared.runner.limits().wall_time;
                if shared.watch.poll_reached(wall_time, &shared.timer, cx).is_pending() {
                    return Poll::Pending;
                }
                cancel_work(machine, &cancellation);
            }
        });
        performed.await
    }
}

/// What a context takes from a turn, whether the turn runs or is only shown.
pub(in crate::turn) struct ContextParts<'t> {
    pub(in crate::turn) id: &'t TurnId,
    pub(in crate::turn) conversation: Option<&'t str>,
    pub(in crate::turn) nonce: Option<&'t NonceOrigin>,
}

impl RunnerShared {
    /// Starts the context of a turn: its ids, and the key of its envelopes.
    pub(in crate::turn) fn context_builder(
        &self,
        parts: &ContextParts<'_>,
    ) -> DispatchContextBuilder {
        let ContextParts { id, conversation, nonce } = *parts;
        let builder = DispatchContext::builder(id)
            .dispatch([id.as_str(), "/dispatch"].concat())
            .clock(Arc::clone(&self.clock));
        let builder = match conversation {
            Some(conversation) => builder.conversation(conversation),
            None => builder,
        };
        match &self.envelope_secret {
            Some(secret) => {
                builder.envelope_key(derive_envelope_key(secret, nonce, id, conversation))
            }
            None => builder,
        }
    }
}

impl RunnerShared {
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
        let builder = match &self.source {
            Some(source) => builder.source(Arc::clone(source)),
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
    fn new(runner: &Arc<RunnerShared>, start: TurnStart, cancellation: Cancellation) -> Self {
        let id = start.lease.turn.clone();
        let spooler = runner.spooler.clone().for_epoch(start.lease.epoch);
        let lease = runner.leases.acquire(start.lease, cancellation.clone());
        let store = Arc::clone(&runner.store);
        let tools = runner.tools.clone();
        start.tools.iter().for_each(|changes| tools.restore(changes));
        start.stash.track_changes();
        let recorder = LeasedRecorder::new(store, lease, tools.clone());
        let query_tools = QueryTools::new(runner.handles, &runner.tools);
        let shared = Arc::new(SharedTurn::new(runner, recorder, id.clone(), start.gates));
        let parts = ContextParts {
            id: &id,
            conversation: start.conversation.as_deref(),
            nonce: start.nonce.as_ref(),
        };
        let builder = runner
            .context_builder(&parts)
            .resumed(start.is_resumed)
            .system_prompt(start.system_prompt)
            .stash(start.stash)
            .tools(Arc::new(tools))
            .observers(Arc::clone(&runner.observers))
            .cancellation(cancellation)
            .recorder(Arc::clone(&shared) as _)
            .gates(Arc::clone(&shared) as _)
            .spooler(spooler)
            .history(Arc::clone(&shared) as _);
        let ctx = runner.add_sources(builder, start.memory_scope).build();
        let not_started = StartTime { started_at: Timestamp::EPOCH, begun: Duration::ZERO };
        Self {
            runner: Arc::clone(runner),
            id,
            _release: ReleaseGuard(Arc::clone(&shared)),
            shared,
            iteration: IterationScope {
                ctx: ctx.clone(),
                start: not_started,
                usage: Usage::default(),
                scopes: WorkScopes::default(),
                is_checked: AtomicBool::new(runner.dispatch_output.is_empty()),
            },
            ctx,
            query_tools,
            occurrences: OccurrenceCounter::default(),
            listed_tools: HashSet::new(),
            started_at: not_started.started_at,
            dispatch: not_started,
            requests: (!start.offered.is_empty())
                .then(|| Box::new(RequestHistory::new(start.offered))),
            step: None,
            calls: Vec::new(),
            duration: Duration::ZERO,
            scopes: WorkScopes::default(),
        }
    }

    /// Applies the reply to an effect.
    fn apply_reply(&self, machine: &mut TurnMachine, reply: EffectReply) -> Effects {
        match reply {
            EffectReply::None => Effects::default(),
            EffectReply::One(entry) => self.apply(machine, entry),
            EffectReply::StepAndEnd(step, end) => {
                let mut effects = self.apply(machine, TurnEntry::Journal(step));
                effects.append(self.apply(machine, TurnEntry::Journal(end)));
                effects
            }
        }
    }

    /// Applies an entry. One that the machine does not allow is a mistake in this program: it is reported, and the
    /// attempt ends without touching what is stored.
    fn apply(&self, machine: &mut TurnMachine, entry: TurnEntry) -> Effects {
        if let TurnEntry::Interrupted(Interruption::Failed { resumable: true, .. }) = &entry {
            self.shared.recorder.suspend_for(self.runner.deadlines.outage);
        }
        machine.apply(entry).unwrap_or_else(|illegal| {
            let text = illegal.to_string();
            self.ctx.log(LogLevel::Error, LogTopic::BrokenInvariant.as_str(), &text, None);
            let error = ErrorReport::reason(text).at(FailurePoint::Turn.as_str());
            machine.suspend(Conclusion::failed(error).resumable())
        })
    }

    /// Performs an effect that need not wait, or returns one that must.
    fn perform_now(&mut self, effect: Effect, totals: &TurnTotals) -> Result<EffectReply, Effect> {
        Ok(match effect {
            Effect::SpoolInput if self.ctx.turn().retrievables().is_empty() => {
                TurnEntry::InputSpooled.into()
            }
            Effect::RunStage(stage) if self.skips_stage(stage) => self.skip_stage(stage).into(),
            Effect::CheckIteration => self.check_iteration().into(),
            Effect::OpenIteration { iteration } => {
                self.open_iteration(iteration, totals.usage).into()
            }
            Effect::SignalDispatch(signal) => self.signal_dispatch(signal).into(),
            Effect::JournalIteration { iteration, done } => {
                self.journal_iteration(iteration, done).into()
            }
            Effect::FlushDeferred => {
                self.shared.recorder.defer_changes(self.ctx.turn());
                if self.shared.recorder.has_deferred() {
                    return Err(effect);
                }
                EffectReply::None
            }
            Effect::SpoolInput
            | Effect::RunStage(_)
            | Effect::AskExecutor
            | Effect::StoreStep(_)
            | Effect::ExecuteCalls
            | Effect::FinishCalls
            | Effect::StoreEnd { .. }
            | Effect::ReleaseLease => return Err(effect),
            effect => {
                self.announce(effect, totals);
                EffectReply::None
            }
        })
    }

    /// Performs an effect that has to wait. The rare ones are boxed, so that turns which wait need no room for them.
    #[expect(clippy::manual_async_fn, reason = "an async function would hold the effect twice")]
    fn perform(&mut self, effect: Effect) -> impl Future<Output = EffectReply> + Send {
        async move {
            match effect {
                Effect::AskExecutor => self.ask_executor().await,
                Effect::StoreStep(verdict) => self.store_step(verdict).await,
                Effect::ExecuteCalls => self.execute_calls().await,
                Effect::FinishCalls => Box::pin(self.finish_stored_calls()).await,
                Effect::SpoolInput => Box::pin(self.spool_input()).await,
                Effect::RunStage(stage) => Box::pin(self.run_stage(stage)).await,
                Effect::StoreEnd { conclusion, totals } => {
                    Box::pin(self.store_end(&conclusion, *totals)).await
                }
                Effect::FlushDeferred => {
                    Box::pin(self.flush_deferred()).await;
                    EffectReply::None
                }
                Effect::ReleaseLease => {
                    self.release_lease().await;
                    EffectReply::None
                }
                _ => EffectReply::None,
            }
        }
    }

    /// Performs an effect that neither waits nor has a reply.
    fn announce(&mut self, effect: Effect, totals: &TurnTotals) {
        let turn = self.ctx.turn();
        match effect {
            Effect::AnnounceTurn => {
                self.started_at = self.runner.clock.now();
                self.scopes = turn.emit_start(|| EventKind::TurnStart {});
            }
            Effect::AnnounceDispatch => {
                self.dispatch = self.record_start();
                self.ctx.emit_with(|| EventKind::DispatchStart {});
            }
            Effect::BindTools => {
                // The subscription lasts until the dispatch is signalled, whether or not it is held.
                let _ = turn.tools().bind_context(&self.ctx);
            }
            // What a handler of the step has asked for stands, unless the step itself failed.
            Effect::SetPendingSignal(signal)
                if self.iteration.ctx.pending().is_none()
                    || matches!(signal, Some(Signal::Nack { .. })) =>
            {
                self.iteration.ctx.set_pending(signal);
            }
            Effect::Acknowledge => {
                // The turn has ended, whatever signal the dispatch has.
                let _ = StepContext::new(self.iteration.ctx.clone()).ack();
            }
            Effect::CloseIteration => self.close_iteration(totals),
            Effect::CloseDispatch { conclusion } => self.close_dispatch(&conclusion, totals),
            Effect::ReportError(error) => {
                turn.emit_with(|| EventKind::Error(ErrorReport::clone(&error)))
            }
            Effect::AnnounceEnd { conclusion } => self.announce_end(&conclusion, totals),
            _ => {}
        }
    }

    /// What bounds a wait of the driver that may take so long from now on.
    fn wait_bounds(&self, time: Duration, grace: Duration) -> WaitBounds<'_> {
        let SharedTurn { watch, timer, .. } = &*self.shared;
        let cancellation = self.ctx.cancellation();
        WaitBounds { watch, timer, limit: watch.worked() + time, cancellation, grace }
    }

    /// The time that it is now, for something that starts.
    fn record_start(&self) -> StartTime {
        StartTime { started_at: self.runner.clock.now(), begun: self.shared.watch.elapsed() }
    }

    /// How long ago something started.
    fn since(&self, start: StartTime) -> Duration {
        self.shared.watch.elapsed().saturating_sub(start.begun)
    }

    fn announce_end(&mut self, conclusion: &Conclusion, totals: &TurnTotals) {
        self.duration = self.shared.watch.elapsed();
        self.scopes = WorkScopes::default();
        let (started_at, duration) = (self.started_at, self.duration);
        self.ctx.turn().emit_with(|| EventKind::TurnEnd {
            status: conclusion.outcome.status(),
            error: conclusion.error.as_deref().cloned(),
            resumable: !conclusion.is_final,
            iterations: totals.iterations,
            usage: Some(totals.usage),
            started_at,
            duration,
        });
    }

    fn report(self, machine: TurnMachine) -> TurnReport {
        let turn = self.ctx.turn();
        let said: &[RecordName] = machine.messages();
        // A set costs more than it saves while there are few.
        let set: HashSet<_> = if said.len() > 8 { said.iter().collect() } else { HashSet::new() };
        let is_said = |it: &Message| {
            it.role() == MessageRole::Assistant
                && (set.contains(it.id()) || (said.len() <= 8 && said.contains(it.id())))
        };
        let messages = turn.messages().matching(is_said);
        let TurnTotals { iterations, usage } = *machine.totals();
        let calls = turn.tool_calls().of_turn();
        let Conclusion { outcome, error, is_final } = machine.into_conclusion();
        TurnReport {
            messages,
            usage,
            iterations,
            calls,
            outcome,
            error: error.map(|it| *it),
            is_resumable: !is_final,
            duration: self.duration,
            turn: self.id,
        }
    }
}

/// Cancels what runs because the turn has worked for as long as it may.
fn cancel_work(machine: &mut TurnMachine, cancellation: &Cancellation) {
    if machine
        .apply(TurnEntry::WallTimeReached)
        .is_ok_and(|it| it.iter().any(|effect| *effect == Effect::CancelWork))
    {
        cancellation.cancel(CancelReason::Deadline);
    }
}
