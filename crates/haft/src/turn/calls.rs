//! Executing tool calls: those of one step run in parallel as far as their tools allow, and each ends as one record.

mod concurrency;

use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use haft_core::call::{CallError, CallState, RecordId, ToolCall};
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::{DispatchContext, RecordError, TurnContext};
use haft_core::error::{Coded as _, codes};
use haft_core::event::{ErrorReport, EventKind, LogLevel, ToolCallReport};
use haft_core::gate::{BoundCall, GateError, Spending};
use haft_core::store::{GateId, StoreError};
use haft_core::tool::{
    AcceptedCall, Invocation, PanicError, Tool, ToolEffect, ToolError, ToolExecutor,
};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::concurrency::ConcurrencyClass;
use super::deadline::{CatchUnwind, Stopwatch, Task, WaitError, in_current_trace, with_deadline};
use super::gates::{Approval, TurnGates};
use super::report::LogTopic;
use super::runner::RunnerShared;

/// How often a call is asked for again because the grant behind its approval was revoked or changed. Each attempt needs a
/// grant that was valid when the attempt began, so more of them are no accident.
const MAX_APPROVAL_ATTEMPTS: u32 = 100;

/// What the ledger does, as its deadline says it.
const SPENDING: &str = "mark an approval as spent";

/// Executes the tool calls of one step.
#[derive(Clone)]
pub(super) struct CallRunner {
    pub(super) runner: Arc<RunnerShared>,
    pub(super) gates: Arc<TurnGates>,
    pub(super) ctx: DispatchContext,
}

/// A call and the earlier calls that it has to wait for.
struct QueuedCall {
    call: Arc<ToolCall>,
    tool: Option<Tool>,
    earlier: Vec<watch::Receiver<bool>>,
    done: watch::Sender<bool>,
}

impl CallRunner {
    /// Executes the calls. Each ends as one record, in the place it has already. After the first error of the store
    /// the others have the time of one call to end; a gate at which one still waits then stays open in the store.
    pub(super) async fn run(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let ids: Vec<RecordId> = calls.iter().map(|call| call.id()).collect();
        match <[_; 1]>::try_from(calls) {
            Ok([call]) => self.run_single(call).await?,
            Err(calls) => Box::pin(self.run_parallel(calls)).await?,
        }
        let left = ids.iter().filter_map(|id| self.ctx.turn().tool_calls().get(id));
        let left: Vec<_> = left.filter(|call| !call.state().is_final()).collect();
        if left.is_empty() { Ok(()) } else { Box::pin(self.end_leftovers(left)).await }
    }

    /// Executes the only call of a step, which waits for no other call and needs no task.
    async fn run_single(&self, call: Arc<ToolCall>) -> Result<(), RecordError> {
        let tool = self.ctx.tools().find(call.tool()).ok();
        let stored = CatchUnwind(Box::pin(self.execute_and_store(&call, tool, None))).await;
        stored.unwrap_or_else(|panic| self.log_panic(&panic))
    }

    async fn run_parallel(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let slots = Arc::new(Semaphore::new(self.runner.limits.fan_out.get()));
        let mut running = JoinSet::new();
        for queued in self.queue(calls) {
            let (calls, slots) = (self.clone(), Arc::clone(&slots));
            running.spawn(in_current_trace(async move { calls.run_queued(queued, &slots).await }));
        }
        let (mut result, mut until) = (Ok(()), None);
        loop {
            let next = match until {
                None => running.join_next().await,
                Some(until) => timeout_at(until, running.join_next()).await.ok().flatten(),
            };
            let Some(joined) = next else { break };
            let stored = joined.unwrap_or_else(|panic| self.log_panic(&panic.to_string()));
            if stored.is_err() {
                until.get_or_insert_with(|| Instant::now() + self.runner.deadlines.call);
            }
            result = result.and(stored);
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
            self.store_call(Arc::new(self.panicked_call(&call, panic))).await?;
        }
        Ok(())
    }

    /// Orders the calls: one that must not run in parallel with an earlier one waits for it.
    fn queue(&self, calls: Vec<Arc<ToolCall>>) -> Vec<QueuedCall> {
        let mut queued: Vec<(ConcurrencyClass, watch::Receiver<bool>)> = Vec::new();
        let mut queue = Vec::with_capacity(calls.len());
        for call in calls {
            let tool = self.ctx.tools().find(call.tool()).ok();
            let class = tool
                .as_ref()
                .map_or(ConcurrencyClass::Parallel, |tool| ConcurrencyClass::of(tool, &call));
            let (done, ended) = watch::channel(false);
            let conflicting = queued.iter().filter(|(other, _)| class.conflicts_with(other));
            let earlier = conflicting.map(|(_, ended)| ended.clone()).collect();
            queued.push((class, ended));
            queue.push(QueuedCall { call, tool, earlier, done });
        }
        queue
    }

    /// Waits for the calls that a call must not run in parallel with, and executes it.
    async fn run_queued(self, queued: QueuedCall, slots: &Semaphore) -> Result<(), RecordError> {
        let QueuedCall { call, tool, mut earlier, done } = queued;
        for other in &mut earlier {
            // An error means that the task of the other call has ended.
            let _ = other.wait_for(|ended| *ended).await;
        }
        let stored = self.execute_and_store(&call, tool, Some(slots)).await;
        let _ = done.send(true);
        stored
    }

    async fn execute_and_store(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        slots: Option<&Semaphore>,
    ) -> Result<(), RecordError> {
        let _running = self.gates.waits.begin_call();
        let ended = self.execute_call(call, tool, slots).await?;
        self.store_call(Arc::new(ended)).await
    }

    async fn store_call(&self, record: Arc<ToolCall>) -> Result<(), RecordError> {
        // What the handler changed in the stash and in the tools belongs to its effect.
        self.gates.recorder.defer_changes(self.ctx.turn());
        self.gates.recorder.note_progress();
        self.ctx.turn().store_tool_call(Arc::clone(&record)).await?;
        self.ctx.emit_with(|| {
            let handle = self.ctx.artifacts().handle(record.id());
            EventKind::ToolCall(ToolCallReport::of(&record, Some(&handle)))
        });
        Ok(())
    }

    /// Executes a tool call: awaits its approval if the tool requires one, waits for a free slot, runs the handler,
    /// and returns the record of the call with its result.
    async fn execute_call(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        slots: Option<&Semaphore>,
    ) -> Result<ToolCall, RecordError> {
        let Some(tool) = tool else {
            let error = match self.ctx.tools().find(call.tool()) {
                Err(error) => error,
                Ok(tool) => ToolError::Unknown {
                    tool: tool.name().to_string(),
                    nearest: Vec::new(),
                    offered: Vec::new(),
                },
            };
            return Ok(self.failed_call(call, CallError::of(&error)));
        };
        let attempt = CallAttempt::new(self, call, tool);
        let ReadyCall { attempt, accepted, approval } = match self.approve_call(attempt).await? {
            Ok(ready) => ready,
            Err(ended) => return Ok(*ended),
        };
        let slot = match slots {
            Some(slots) => Box::pin(self.acquire_slot(slots)).await,
            None => None,
        };
        if let Some(reason) = self.ctx.cancellation().reason() {
            let work = WorkKind::Preparation;
            return Ok(self.cancelled_call(&attempt.call, &attempt.tool, &reason, work));
        }
        if attempt.tool.effect() == ToolEffect::Once {
            if let Some(approval) = &approval
                && self.spend_approval(&approval.ledger_id).await? == Spending::Repeated
            {
                return Ok(self.spent_call(&attempt.call));
            }
            Box::pin(self.store_start(&attempt.call)).await?;
        }
        let work = match accepted {
            Some(accepted) => attempt.run_accepted(accepted),
            None => attempt.run_whole(),
        };
        let ended = Box::pin(attempt.run_timed(work, WorkKind::Handler)).await;
        drop(slot);
        Ok(ended.unwrap_or_else(|ended| *ended))
    }

    /// Awaits the approval of a call if its tool requires one. Returns the call that may run, or the record of one that
    /// may not.
    ///
    /// Whether a call was approved is decided by its gate alone. The stored state does not count: a process that can
    /// write to the store could have changed it.
    async fn approve_call<'c>(
        &'c self,
        mut attempt: CallAttempt<'c>,
    ) -> Result<Result<ReadyCall<'c>, Box<ToolCall>>, RecordError> {
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
            let asking = self.await_approval(&attempt.tool, question, bound, attempts);
            match Box::pin(asking).await {
                Ok(Some(approval)) => break approval,
                Ok(None) if attempts < MAX_APPROVAL_ATTEMPTS => attempts += 1,
                Ok(None) => {
                    return Ok(Err(Box::new(self.refused_call(call, &GateError::forged()))));
                }
                // The approval was not refused: its gate is still open when the store is back.
                Err(GateError::Store(
                    error @ (StoreError::Backend { .. } | StoreError::LeaseLost { .. }),
                )) => return Err(error.into()),
                Err(error) => return Ok(Err(Box::new(self.refused_call(call, &error)))),
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
        let attempt = CallAttempt::new(self, &call, attempt.tool);
        Ok(match Box::pin(attempt.accept_arguments()).await {
            Ok(accepted) => {
                let (accepted, approval) = (Some(accepted), Some(approval));
                Ok(ReadyCall { attempt, accepted, approval })
            }
            Err(ended) => Err(ended),
        })
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

    /// Opens a gate for the approval of a call, and awaits the decision. `None` if the call needs another gate.
    async fn await_approval(
        &self,
        tool: &Tool,
        question: &str,
        call: BoundCall,
        attempt: u32,
    ) -> Result<Option<Approval>, GateError> {
        let opening = self.gates.open_approval_gate(&self.ctx, (tool, question), call, attempt);
        let gate = Box::pin(opening).await?;
        self.gates.await_approval(&self.ctx, &gate).await
    }

    /// Marks the approval at a gate as spent. A store that was rolled back cannot make it valid again.
    async fn spend_approval(&self, gate: &GateId) -> Result<Spending, RecordError> {
        match &self.runner.ledger {
            None => Ok(Spending::First),
            Some(ledger) => {
                Ok(self.runner.store.with_deadline(SPENDING, ledger.spend(gate.clone())).await?)
            }
        }
    }

    /// Waits until another call may run, or until the turn is cancelled.
    async fn acquire_slot<'s>(&self, slots: &'s Semaphore) -> Option<SemaphorePermit<'s>> {
        if let Ok(slot) = slots.try_acquire() {
            return Some(slot);
        }
        let _queued = self.gates.waits.queue_call();
        tokio::select! {
            slot = slots.acquire() => slot.ok(),
            _ = self.ctx.cancellation().cancelled() => None,
        }
    }

    fn failed_call(&self, call: &ToolCall, error: CallError) -> ToolCall {
        call.clone().ended(CallState::Failed, error, self.ctx.clock().now())
    }

    /// The record of a call whose approval was used before, by an attempt that the store does not know of.
    fn spent_call(&self, call: &ToolCall) -> ToolCall {
        let message = format!(
            "the approval of this call of `{}` was already used, and what that attempt did is not known; do not repeat \
             it blindly",
            call.tool()
        );
        let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
        call.clone().ended(CallState::Unknown, error, self.ctx.clock().now())
    }

    fn panicked_call(&self, call: &ToolCall, panic: &str) -> ToolCall {
        let (tool, panic) = (call.tool().to_owned(), PanicError::new(panic));
        let error = ToolError::Panicked { tool, panic };
        self.failed_call(call, CallError::of(&error)).with_cause(error.operator_cause())
    }

    /// The record of a call that was not approved.
    fn refused_call(&self, call: &ToolCall, error: &GateError) -> ToolCall {
        let tool = call.tool();
        let message = match error {
            GateError::Rejected { reason, .. } => {
                format!("the call of `{tool}` was not allowed: {reason}")
            }
            GateError::Timeout => format!("nobody allowed the call of `{tool}` in time"),
            GateError::Aborted => {
                format!("the call of `{tool}` was cancelled before it was allowed")
            }
            _ => format!("the call of `{tool}` could not be allowed"),
        };
        let state = match error {
            GateError::Aborted => CallState::Cancelled,
            _ => CallState::Failed,
        };
        if !matches!(error, GateError::Rejected { .. } | GateError::Timeout | GateError::Aborted) {
            self.ctx.emit_with(|| EventKind::Error(ErrorReport::of(error)));
        }
        let cause = ErrorReport::of(error);
        let cause = cause
            .cause
            .map_or(cause.message.to_string(), |causes| format!("{}: {causes}", cause.message));
        let error = CallError::new(error.code(), message, false);
        call.clone().ended(state, error, self.ctx.clock().now()).with_cause(Some(cause))
    }

    fn cancelled_call(
        &self,
        call: &ToolCall,
        tool: &Tool,
        reason: &CancelReason,
        work: WorkKind,
    ) -> ToolCall {
        let error = ToolError::Cancelled { tool: call.tool().to_owned(), reason: reason.clone() };
        let mut error = CallError::of(&error);
        if work == WorkKind::Handler && tool.effect() == ToolEffect::Once {
            error.message.push_str("; what it did until then is not known");
        }
        call.clone().ended(CallState::Cancelled, error, self.ctx.clock().now())
    }

    fn late_call(&self, call: &ToolCall, tool: &Tool, limit: Duration, work: WorkKind) -> ToolCall {
        let message = format!("`{}` did not finish within {limit:?}", call.tool());
        if work == WorkKind::Handler && tool.effect() == ToolEffect::Once {
            let message = format!("{message}; what it did is not known, do not repeat it blindly");
            let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
            return call.clone().ended(CallState::Unknown, error, self.ctx.clock().now());
        }
        self.failed_call(call, CallError::new(codes::DEADLINE_EXCEEDED, message, true))
    }
}

/// One run of a tool for one call. The code of the tool runs within the time of the call, on a task or thread of its
/// own, so that it cannot keep the turn from noticing the deadline.
struct CallAttempt<'c> {
    calls: &'c CallRunner,
    call: Arc<ToolCall>,
    tool: Tool,
    executor: ToolExecutor,
    token: Cancellation,
    limit: Duration,
}

impl<'c> CallAttempt<'c> {
    fn new(calls: &'c CallRunner, call: &Arc<ToolCall>, tool: Tool) -> Self {
        let token = calls.ctx.cancellation().child();
        let ctx = calls.ctx.with_cancellation(token.clone());
        let executor = tool.executor(&ctx).at(call.id(), call.ordinal);
        let limit = tool.timeout().unwrap_or(calls.runner.deadlines.call);
        Self { calls, call: Arc::clone(call), tool, executor, token, limit }
    }

    /// The call from its raw arguments to its record.
    fn run_whole(&self) -> CallFuture<ToolCall> {
        let (executor, raw) = (self.executor.clone(), self.call.proposed().clone());
        let recorder = self.recorder();
        Box::pin(async move { recorder.record(executor.call(raw).await).await })
    }

    /// The call from its accepted arguments to its record.
    fn run_accepted(&self, accepted: Box<AcceptedCall>) -> CallFuture<ToolCall> {
        let recorder = self.recorder();
        Box::pin(async move { recorder.record(accepted.run().await).await })
    }

    /// Validates the arguments: those that the handler will get, or the record of the call that ended without them.
    async fn accept_arguments(&self) -> Result<Box<AcceptedCall>, Box<ToolCall>> {
        let (executor, raw) = (self.executor.clone(), self.call.proposed().clone());
        let work: CallFuture<_> = Box::pin(async move { executor.accept(raw).await });
        match self.run_timed(work, WorkKind::Preparation).await? {
            Ok(accepted) => Ok(Box::new(accepted)),
            Err(refused) => Err(Box::new(self.recorder().record(*refused).await)),
        }
    }

    /// Makes the record of the call.
    fn recorder(&self) -> CallRecorder {
        let (runner, turn) = (Arc::clone(&self.calls.runner), self.calls.ctx.turn().clone());
        CallRecorder { runner, turn, requested: Arc::clone(&self.call) }
    }

    /// Runs work within the time of the call. Time spent at gates does not count.
    async fn run_timed<T: Send + 'static>(
        &self,
        work: CallFuture<T>,
        kind: WorkKind,
    ) -> Result<T, Box<ToolCall>> {
        let watch = Stopwatch::start();
        let _timed = TimedCall::new(&self.calls.gates, self.call.id(), &watch);
        let task = if kind == WorkKind::Handler && self.tool.blocks() {
            Task::start_blocking(work)
        } else {
            Task::start(work)
        };
        let Self { calls, call, tool, limit, .. } = self;
        let (grace, token) = (calls.runner.deadlines.grace, calls.ctx.cancellation());
        let joined = with_deadline(task, &watch, *limit, token, grace).await;
        let ended = match joined {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => calls.panicked_call(call, "the result could not be stored"),
            Err(WaitError::Panicked(panic)) => calls.panicked_call(call, &panic),
            Err(WaitError::Deadline) => {
                self.token.cancel(CancelReason::Deadline);
                calls.late_call(call, tool, *limit, kind)
            }
            Err(WaitError::Cancelled(reason)) => calls.cancelled_call(call, tool, &reason, kind),
        };
        Err(Box::new(ended))
    }
}

/// Makes the record of one call, on the task of the call.
struct CallRecorder {
    runner: Arc<RunnerShared>,
    turn: TurnContext,
    requested: Arc<ToolCall>,
}

impl CallRecorder {
    async fn record(self, done: Invocation) -> ToolCall {
        let requested = ToolCall::clone(&self.requested);
        let spooler = self.turn.spooler().unwrap_or(&self.runner.spooler);
        let call = spooler.complete_call(self.turn.turn_id(), requested, done).await;
        if let Some(error) = call.error.as_ref().filter(|error| is_storage_error(error))
            && let Some(cause) = call.cause()
        {
            let text = format!("the result of `{}` could not be stored: {cause}", call.tool());
            let code = error.code.clone();
            self.turn.emit_with(|| EventKind::Error(ErrorReport::coded(code, text)));
        }
        call
    }
}

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

type CallFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Lets gates pause the stopwatch of a call while the call waits at them.
struct TimedCall<'g> {
    gates: &'g TurnGates,
    id: RecordId,
}

impl<'g> TimedCall<'g> {
    fn new(gates: &'g TurnGates, id: RecordId, watch: &Stopwatch) -> Self {
        let mut calls = gates.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((id, watch.clone()));
        drop(calls);
        Self { gates, id }
    }
}

impl Drop for TimedCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.gates.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|(id, _)| *id != self.id);
        if calls.is_empty() {
            // No memory is used for calls while none runs.
            *calls = Vec::new();
        }
    }
}
