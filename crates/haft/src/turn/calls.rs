//! Executing tool calls: those of one step run in parallel as far as their tools allow, and each ends as one record.

mod concurrency;
mod end;
mod tasks;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::call::{CallError, CallState, RecordId, ToolCall};
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::{DispatchContext, RecordError, TurnContext};
use haft_core::error::codes;
use haft_core::event::{ErrorReport, EventKind, LogLevel, ToolCallReport};
use haft_core::gate::{BoundCall, GateError, Spending};
use haft_core::store::{GateId, StoreError};
use haft_core::tool::{
    AcceptedCall, Invocation, Spooler, Tool, ToolEffect, ToolError, ToolExecutor,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::concurrency::{CallQueue, ConcurrencyClass};
use self::tasks::{CallTasks, StepCall};
use super::deadline::{CatchUnwind, Stopwatch, TaskTimer, WaitBounds, WaitError, with_deadline};
use super::gates::{Approval, OpenGate};
use super::report::LogTopic;
use super::runner::RunnerShared;
use super::shared_turn::SharedTurn;
use super::task::Task;

/// How often a call is asked for again because the grant behind its approval was revoked or changed. Each attempt needs
/// a grant that was valid when the attempt began, so more of them are no accident.
const MAX_APPROVAL_ATTEMPTS: u32 = 100;

/// What the ledger does, as its deadline says it.
const SPENDING: &str = "mark an approval as spent";

/// Executes the tool calls of one step.
#[derive(Clone)]
pub(super) struct CallRunner {
    pub(super) runner: Arc<RunnerShared>,
    pub(super) shared: Arc<SharedTurn>,
    pub(super) ctx: DispatchContext,
}

impl CallRunner {
    /// Executes the calls. Each ends as one record, in the place it has already. After the first error of the store
    /// the others have the time of one call to end; a gate at which one still waits then stays open in the store.
    pub(super) async fn run(&self, calls: &[Arc<ToolCall>]) -> Result<(), RecordError> {
        match calls {
            [call] => self.run_single(call).await?,
            calls => Box::pin(self.run_parallel(calls.to_vec())).await?,
        }
        let left = self.unfinished(calls);
        if left.is_empty() { Ok(()) } else { Box::pin(self.end_leftovers(left)).await }
    }

    /// The calls among these that have not ended.
    fn unfinished(&self, calls: &[Arc<ToolCall>]) -> Vec<Arc<ToolCall>> {
        let records = self.ctx.turn().tool_calls();
        let calls = calls.iter().filter_map(|call| records.get(&call.id()));
        calls.filter(|call| !call.state().is_final()).collect()
    }

    /// Executes the only call of a step, which waits for no other call and needs no task.
    async fn run_single(&self, call: &Arc<ToolCall>) -> Result<(), RecordError> {
        let tool = self.ctx.tools().find(call.tool()).ok();
        let _running = self.shared.waits.begin_call(call.id());
        let task = CallTask { slots: None, timer: &self.shared.timer };
        let executing = std::pin::pin!(self.execute_and_store(call, tool, task));
        let stored = CatchUnwind(executing).await;
        stored.unwrap_or_else(|panic| self.log_panic(&panic))
    }

    async fn run_parallel(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let fan_out = self.runner.limits.fan_out.get();
        self.shared.waits.set_slots(fan_out);
        let mut tasks = CallTasks::new(self, Arc::new(Semaphore::new(fan_out)));
        let mut queue = self.queue_calls(calls);
        tasks.spawn_all(queue.take_ready());
        let (mut result, mut until) = (Ok(()), None);
        while let Some((stored, ended)) = tasks.join_next(until).await {
            if stored.is_err() {
                until.get_or_insert_with(|| Instant::now() + self.runner.deadlines.call);
            }
            result = result.and(stored);
            // No call begins whose result could not be stored.
            if let Some(at) = ended.place()
                && result.is_ok()
            {
                tasks.spawn_all(queue.end_call(at));
            }
            // The calls that waited for it have begun. Until then the turn does not count as idle.
            drop(ended);
        }
        result
    }

    /// Logs the panic of a task. Its call is ended afterwards, with the other leftovers.
    fn log_panic(&self, panic: &str) -> Result<(), RecordError> {
        self.ctx.log(LogLevel::Error, LogTopic::CallTaskFailed.as_str(), panic, None);
        Ok(())
    }

    /// Ends calls whose task ended without them: every call has an end that the model sees.
    async fn end_leftovers(&self, left: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        for call in left {
            let panic = "the task of the call ended without it";
            // Only a call that must not be repeated is stored as running.
            let ended = match call.state() {
                CallState::Running => self.end_unknown_call(&call, panic),
                _ => self.end_panicked_call(&call, panic),
            };
            self.store_call(Arc::new(ended)).await?;
        }
        Ok(())
    }

    /// Orders the calls: one that must not run in parallel with an earlier one waits for it.
    fn queue_calls(&self, calls: Vec<Arc<ToolCall>>) -> CallQueue<StepCall> {
        CallQueue::new(calls.into_iter().map(|call| {
            let tool = self.ctx.tools().find(call.tool()).ok();
            let class = tool
                .as_ref()
                .map_or(ConcurrencyClass::Parallel, |tool| ConcurrencyClass::of(tool, &call));
            (class, StepCall { call, tool })
        }))
    }

    async fn execute_and_store(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        task: CallTask<'_>,
    ) -> Result<(), RecordError> {
        let ended = self.execute_tool_call(call, tool, task).await?;
        self.store_call(ended).await
    }

    async fn store_call(&self, record: Arc<ToolCall>) -> Result<(), RecordError> {
        // What the handler changed in the stash and in the tools belongs to its effect.
        self.shared.recorder.defer_changes(self.ctx.turn());
        self.shared.recorder.defer_pending(&self.ctx);
        self.shared.recorder.note_progress();
        self.ctx.turn().store_tool_call(Arc::clone(&record)).await?;
        self.ctx.emit_with(|| {
            let handle = self.ctx.artifacts().handle(record.id());
            EventKind::ToolCall(ToolCallReport::of(&record, Some(&handle)))
        });
        Ok(())
    }

    /// Executes a tool call: awaits its approval if the tool requires one, waits for a free slot, runs the handler,
    /// and returns the record of the call with its result.
    async fn execute_tool_call(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        task: CallTask<'_>,
    ) -> Result<Arc<ToolCall>, RecordError> {
        let Some(tool) = tool else {
            let error = match self.ctx.tools().find(call.tool()) {
                Err(error) => error,
                Ok(tool) => ToolError::Unknown {
                    tool: tool.name().to_string(),
                    nearest: Vec::new(),
                    offered: Vec::new(),
                },
            };
            return Ok(Arc::new(self.end_failed_call(call, CallError::of(&error))));
        };
        let requires_approval = tool.requires_approval().is_some();
        let attempt = CallAttempt::new(self, call, tool, task);
        // Boxed, so that the others make no room for it.
        let ready = if requires_approval {
            Box::pin(self.approve_call(attempt)).await?
        } else {
            Ok(ReadyCall { attempt, accepted: None, approval: None })
        };
        let ready = match ready {
            Ok(ready) => ready,
            Err(ended) => return Ok(ended),
        };
        // Boxed, so that a call that waits for its approval takes no room for what comes after.
        Box::pin(self.run_approved(ready)).await
    }

    /// Runs the handler of a call that may run, as soon as a slot is free.
    ///
    /// Parameters of an async function are held twice, and thousands of calls may run at once.
    #[expect(clippy::manual_async_fn, reason = "an async function would hold the call twice")]
    fn run_approved<'c>(
        &'c self,
        ready: ReadyCall<'c>,
    ) -> impl Future<Output = Result<Arc<ToolCall>, RecordError>> + Send + 'c {
        async move {
            let attempt = &ready.attempt;
            let slot = match attempt.task.slots {
                Some(slots) => {
                    let (id, cancellation) = (attempt.call.id(), self.ctx.cancellation());
                    Box::pin(self.shared.waits.acquire_slot(id, slots, cancellation)).await
                }
                None => None,
            };
            if let Some(reason) = self.ctx.cancellation().reason() {
                let work = WorkKind::Preparation;
                let ended = self.end_cancelled_call(&attempt.call, &attempt.tool, &reason, work);
                return Ok(Arc::new(ended));
            }
            if attempt.tool.effect() == ToolEffect::Once
                && Box::pin(self.start_once(&attempt.call, ready.approval.as_ref())).await?
                    == Spending::Repeated
            {
                return Ok(Arc::new(self.end_spent_call(&attempt.call)));
            }
            let ended = match ready.accepted {
                // Boxed, because calls without an approval need no room for it.
                Some(accepted) => {
                    let work = attempt.run_accepted(accepted);
                    Box::pin(attempt.run_timed(work, WorkKind::Handler)).await
                }
                None => attempt.run_timed(attempt.run_whole(), WorkKind::Handler).await,
            };
            drop(slot);
            Ok(ended.unwrap_or_else(|ended| ended))
        }
    }

    /// Awaits the approval of a call if its tool requires one. Returns the call that may run, or the record of one that
    /// may not.
    ///
    /// Whether a call was approved is decided by its gate alone. The stored state does not count: a process that can
    /// write to the store could have changed it.
    async fn approve_call<'c>(
        &'c self,
        mut attempt: CallAttempt<'c>,
    ) -> Result<Result<ReadyCall<'c>, Arc<ToolCall>>, RecordError> {
        let Some(question) = attempt.tool.requires_approval() else {
            return Ok(Ok(ReadyCall { attempt, accepted: None, approval: None }));
        };
        // Boxed, so that a call that waits for its approval, maybe for days, holds only what it waits with.
        let accepted = match Box::pin(attempt.accept_arguments()).await {
            Ok(accepted) => accepted,
            Err(ended) => return Ok(Err(ended)),
        };
        let mut attempts = 0;
        let approval = loop {
            let call = &attempt.call;
            let bound = BoundCall::new(call.id(), call.tool(), accepted.args());
            // Both are boxed, so that the wait holds nothing of what opened the gate.
            let tool = (&attempt.tool, question);
            let opening = self.shared.open_approval_gate(&self.ctx, tool, bound, attempts);
            match Box::pin(self.await_approval(Box::pin(opening))).await {
                Ok(Some(approval)) => break approval,
                Ok(None) if attempts < MAX_APPROVAL_ATTEMPTS => attempts += 1,
                Ok(None) => {
                    return Ok(Err(Arc::new(self.end_refused_call(call, &GateError::forged()))));
                }
                // The approval was not refused: its gate is still open when the store is back.
                Err(GateError::Store(
                    error @ (StoreError::Backend { .. } | StoreError::LeaseLost { .. }),
                )) => return Err(error.into()),
                Err(error) => return Ok(Err(Arc::new(self.end_refused_call(call, &error)))),
            }
        };
        if let Some(grant) = approval.grant {
            attempt.call = Arc::new(ToolCall::clone(&attempt.call).with_grant(grant));
        }
        let Some(edited) = &approval.edited else {
            let (accepted, approval) = (Some(accepted), Some(approval));
            return Ok(Ok(ReadyCall { attempt, accepted, approval }));
        };
        let call = Arc::new(ToolCall::clone(&attempt.call).with_edited(edited));
        let attempt = CallAttempt::new(self, &call, attempt.tool, attempt.task);
        Ok(match Box::pin(attempt.accept_arguments()).await {
            Ok(accepted) => {
                let (accepted, approval) = (Some(accepted), Some(approval));
                Ok(ReadyCall { attempt, accepted, approval })
            }
            Err(ended) => Err(ended),
        })
    }

    /// Stores that a call starts which must not be repeated, and spends its approval. This process has the turn when
    /// the handler begins, unless it is stopped in that very moment.
    async fn start_once(
        &self,
        call: &Arc<ToolCall>,
        approval: Option<&Approval>,
    ) -> Result<Spending, RecordError> {
        // First: if an old lease cannot be renewed, the call is not stored as one that started.
        self.shared.recorder.confirm_lease().await?;
        self.store_start(call).await?;
        // Afterwards: an approval that is spent for a start that could not be stored would be lost.
        let spent = match approval {
            Some(approval) => self.spend_approval(&approval.ledger_id, call).await?,
            None => Spending::First,
        };
        let confirmed = self.shared.recorder.confirm_lease().await;
        if confirmed.is_err() && (approval.is_none() || self.runner.ledger.is_none()) {
            // It has not started after all. If another process has the turn, the store refuses this.
            let _ = self.ctx.turn().store_tool_call(Arc::clone(call)).await;
        }
        confirmed?;
        Ok(spent)
    }

    /// Stores that a call started which must not be repeated, before its handler runs.
    async fn store_start(&self, call: &Arc<ToolCall>) -> Result<(), RecordError> {
        let mut running = ToolCall::clone(call);
        for state in [CallState::Approved, CallState::Running] {
            // A call that was stored as approved keeps that state.
            let _ = running.advance(state, self.ctx.clock().now());
        }
        self.ctx.turn().store_tool_call(Arc::new(running)).await?;
        Ok(())
    }

    /// Awaits the decision at the gate for the approval of a call. `None` if the call needs another gate.
    async fn await_approval(
        &self,
        opening: BoxFuture<'_, Result<OpenGate, GateError>>,
    ) -> Result<Option<Approval>, GateError> {
        let gate = opening.await?;
        self.shared.await_approval(&self.ctx, &gate).await
    }

    /// Marks the approval at a gate as spent. A store that was rolled back cannot make it valid again.
    ///
    /// If the ledger fails, the call has not started after all, and is stored as that. When the turn is resumed, the
    /// ledger says whether the approval was spent.
    async fn spend_approval(
        &self,
        gate: &GateId,
        call: &Arc<ToolCall>,
    ) -> Result<Spending, RecordError> {
        let Some(ledger) = &self.runner.ledger else { return Ok(Spending::First) };
        let spent = self.runner.store.with_deadline(SPENDING, ledger.spend(gate.clone())).await;
        if spent.is_err() {
            self.ctx.turn().store_tool_call(Arc::clone(call)).await?;
        }
        Ok(spent?)
    }
}

/// One run of a tool for one call. The code of the tool runs within the time of the call, on a task or thread of its
/// own, so that it cannot keep the turn from noticing the deadline.
struct CallAttempt<'c> {
    calls: &'c CallRunner,
    call: Arc<ToolCall>,
    tool: Tool,
    task: CallTask<'c>,
    token: Cancellation,
    limit: Duration,
}

impl<'c> CallAttempt<'c> {
    fn new(calls: &'c CallRunner, call: &Arc<ToolCall>, tool: Tool, task: CallTask<'c>) -> Self {
        let token = calls.ctx.cancellation().child();
        let limit = tool.timeout().unwrap_or(calls.runner.deadlines.call);
        Self { calls, call: Arc::clone(call), tool, task, token, limit }
    }

    /// Binds the tool to the call. A call that waits for its approval does not hold this.
    fn executor(&self) -> ToolExecutor {
        let ctx = self.calls.ctx.with_cancellation(self.token.clone());
        self.tool.executor(&ctx).at(self.call.id(), self.call.ordinal)
    }

    /// The call from its raw arguments to its record.
    fn run_whole(&self) -> impl Future<Output = Arc<ToolCall>> + Send + use<> {
        let (executor, recorder) = (self.executor(), self.recorder());
        async move {
            let done = executor.call(recorder.requested.proposed().clone()).await;
            match recorder.record_small(done) {
                Ok(call) => call,
                Err(large) => recorder.record_large(large).await,
            }
        }
    }

    /// The call from its accepted arguments to its record.
    fn run_accepted(
        &self,
        accepted: Box<AcceptedCall>,
    ) -> impl Future<Output = Arc<ToolCall>> + Send + use<> {
        let recorder = self.recorder();
        async move {
            match recorder.record_small(accepted.run().await) {
                Ok(call) => call,
                Err(large) => recorder.record_large(large).await,
            }
        }
    }

    /// Validates the arguments: those that the handler will get, or the record of the call that ended without them.
    async fn accept_arguments(&self) -> Result<Box<AcceptedCall>, Arc<ToolCall>> {
        let (executor, raw) = (self.executor(), self.call.proposed().clone());
        let work = async move { executor.accept(raw).await };
        match self.run_timed(work, WorkKind::Preparation).await? {
            Ok(accepted) => Ok(Box::new(accepted)),
            Err(refused) => {
                let recorder = self.recorder();
                Err(match recorder.record_small(*refused) {
                    Ok(call) => call,
                    Err(large) => recorder.record_large(large).await,
                })
            }
        }
    }

    /// Makes the record of the call.
    fn recorder(&self) -> CallRecorder {
        let (runner, turn) = (Arc::clone(&self.calls.runner), self.calls.ctx.turn().clone());
        CallRecorder { runner, turn, requested: Arc::clone(&self.call) }
    }

    /// Runs work within the time of the call. Time spent at gates does not count.
    ///
    /// The work starts here and not in the future that is returned, which would have to make room for it.
    fn run_timed<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        work: F,
        kind: WorkKind,
    ) -> impl Future<Output = Result<F::Output, Arc<ToolCall>>> + Send + use<'_, 'c, F> {
        let timed = TimedCall::start(&self.calls.shared, self.call.id());
        let task = if kind == WorkKind::Handler && self.tool.blocks() {
            Task::start_blocking(work)
        } else {
            Task::start(work)
        };
        self.await_task(task, timed, kind)
    }

    /// Waits for work that was started, as long as the call may take.
    #[expect(clippy::manual_async_fn, reason = "an async function would hold the stopwatch twice")]
    fn await_task<'a, T: Send + 'static>(
        &'a self,
        task: Task<T>,
        timed: TimedCall<'a>,
        kind: WorkKind,
    ) -> impl Future<Output = Result<T, Arc<ToolCall>>> + Send + use<'a, 'c, T> {
        async move {
            let bounds = WaitBounds {
                watch: &timed.watch,
                timer: self.task.timer,
                limit: self.limit,
                cancellation: self.calls.ctx.cancellation(),
                grace: self.calls.runner.deadlines.grace,
            };
            let waited = with_deadline(task, bounds).await;
            let error = match waited {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => WaitError::Panicked("the result could not be stored".to_owned()),
                Err(error) => error,
            };
            Err(Arc::new(self.end_without_result(error, kind)))
        }
    }

    /// Ends the call after a wait that had no result.
    fn end_without_result(&self, error: WaitError, kind: WorkKind) -> ToolCall {
        let Self { calls, call, tool, limit, .. } = self;
        match error {
            WaitError::Panicked(panic) => calls.end_panicked_call(call, &panic),
            WaitError::Deadline => {
                self.token.cancel(CancelReason::Deadline);
                calls.end_late_call(call, tool, *limit, kind)
            }
            WaitError::Cancelled(reason) => calls.end_cancelled_call(call, tool, &reason, kind),
        }
    }
}

/// Makes the record of one call, on the task of the call.
struct CallRecorder {
    runner: Arc<RunnerShared>,
    turn: TurnContext,
    requested: Arc<ToolCall>,
}

impl CallRecorder {
    /// The record of a call whose result needs no store. Gives the others back.
    fn record_small(&self, done: Invocation) -> Result<Arc<ToolCall>, LargeCall> {
        let requested = ToolCall::clone(&self.requested);
        self.spooler().complete_small_call(requested, done).map(Arc::new)
    }

    /// The record of any other call. Boxed, because most calls need no room for it.
    fn record_large(&self, call: LargeCall) -> BoxFuture<'_, Arc<ToolCall>> {
        Box::pin(self.store_result(call))
    }

    async fn store_result(&self, call: LargeCall) -> Arc<ToolCall> {
        let (requested, done) = *call;
        let call = self.spooler().complete_call(self.turn.turn_id(), requested, done).await;
        if let Some(error) = call.error.as_ref().filter(|error| is_storage_error(error))
            && let Some(cause) = call.cause()
        {
            let text = format!("the result of `{}` could not be stored: {cause}", call.tool());
            let code = error.code.clone();
            self.turn.emit_with(|| EventKind::Error(ErrorReport::coded(code, text)));
        }
        Arc::new(call)
    }

    fn spooler(&self) -> &Spooler {
        self.turn.spooler().unwrap_or(&self.runner.spooler)
    }
}

/// A call and what its tool did, if that is more than a short text.
type LargeCall = Box<(ToolCall, Invocation)>;

/// Whether a call ended with an error because its result could not be stored.
fn is_storage_error(error: &CallError) -> bool {
    [codes::STORE, codes::TOOL_OUTCOME_UNKNOWN].contains(&error.code)
}

/// A call that may run.
struct ReadyCall<'c> {
    attempt: CallAttempt<'c>,
    /// The arguments that were validated for the approval.
    accepted: Option<Box<AcceptedCall>>,
    approval: Option<Approval>,
}

/// What runs for a call. Only the handler has effects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkKind {
    Preparation,
    Handler,
}

/// The task that a call is awaited in.
#[derive(Clone, Copy)]
struct CallTask<'t> {
    /// The slots of calls that run in parallel, or `None` for the only call of a step.
    slots: Option<&'t Semaphore>,
    timer: &'t TaskTimer,
}

/// The stopwatch of a call, which gates pause while the call waits at them.
struct TimedCall<'g> {
    shared: &'g SharedTurn,
    id: RecordId,
    watch: Arc<Stopwatch>,
}

impl<'g> TimedCall<'g> {
    fn start(shared: &'g SharedTurn, id: RecordId) -> Self {
        let watch = Arc::new(Stopwatch::start());
        let mut calls = shared.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // Nearly always it is the only one.
        let is_first = usize::from(calls.is_empty());
        calls.reserve_exact(is_first);
        calls.push((id, Arc::clone(&watch)));
        drop(calls);
        Self { shared, id, watch }
    }
}

impl Drop for TimedCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|(id, _)| *id != self.id);
        if calls.is_empty() {
            // A call that waits for its approval needs no room for its stopwatch.
            *calls = Vec::new();
        }
    }
}
