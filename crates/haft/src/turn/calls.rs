//! The calls of one step: side by side as far as their tools allow, each ending as one record.

use haft_core::error::codes;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use haft_core::args::Args;
use haft_core::call::{CallError, CallState, RecordId, ToolCall};
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::{DispatchContext, RecordError, TurnContext};
use haft_core::error::Coded as _;
use haft_core::event::{EventKind, Level, ToolCallReport};
use haft_core::gate::{BoundCall, GateError};
use haft_core::store::StoreError;
use haft_core::tool::{
    AcceptedCall, Concurrency, Effect, Invocation, Tool, ToolError, ToolExecutor,
};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::gates::TurnGates;
use super::runner::Shared;
use super::watch::{Guarded, Interrupted, Stopwatch, Task, bounded};

/// Runs calls of one step.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) runner: Arc<Shared>,
    pub(super) gates: Arc<TurnGates>,
    pub(super) ctx: DispatchContext,
}

/// A call and what it has to wait for.
struct Queued {
    call: Arc<ToolCall>,
    tool: Option<Tool>,
    before: Vec<watch::Receiver<bool>>,
    done: watch::Sender<bool>,
}

impl Calls {
    /// Runs the calls. Each ends as one record, in the place it has already. After the first error of the
    /// store the rest gets the time of a call; who then still waits, at a gate, waits on in the store.
    pub(super) async fn run(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let ids: Vec<RecordId> = calls.iter().map(|call| call.id()).collect();
        match <[_; 1]>::try_from(calls) {
            Ok([call]) => self.alone(call).await?,
            Err(calls) => Box::pin(self.side_by_side(calls)).await?,
        }
        let left = ids.iter().filter_map(|id| self.ctx.tool_calls().get(id));
        let left: Vec<_> = left.filter(|call| !call.state().is_final()).collect();
        if left.is_empty() { Ok(()) } else { Box::pin(self.end_leftovers(left)).await }
    }

    /// Runs a call that has none beside it: it waits for nobody, and its turn has nothing else to do.
    async fn alone(&self, call: Arc<ToolCall>) -> Result<(), RecordError> {
        let tool = self.ctx.tools().find(call.tool()).ok();
        let ended = Guarded(Box::pin(self.to_its_end(&call, tool, None))).await;
        ended.unwrap_or_else(|panic| self.broken(&panic))
    }

    async fn side_by_side(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let slots = Arc::new(Semaphore::new(self.runner.limits.fan_out.get()));
        let mut running = JoinSet::new();
        for queued in self.queue(calls) {
            let (calls, slots) = (self.clone(), Arc::clone(&slots));
            running.spawn(async move { calls.one(queued, &slots).await });
        }
        let (mut result, mut until) = (Ok(()), None);
        loop {
            let next = match until {
                None => running.join_next().await,
                Some(until) => timeout_at(until, running.join_next()).await.ok().flatten(),
            };
            let Some(ended) = next else { break };
            let ended = ended.unwrap_or_else(|panic| self.broken(&panic.to_string()));
            if ended.is_err() {
                until.get_or_insert_with(|| Instant::now() + self.runner.deadlines.call);
            }
            result = result.and(ended);
        }
        result
    }

    /// What came to nothing here is brought to its end afterwards.
    fn broken(&self, panic: &str) -> Result<(), RecordError> {
        self.ctx.log(Level::Error, "call-task-failed", panic, None);
        Ok(())
    }

    /// Ends calls whose task did not: every call has an end that the model sees.
    async fn end_leftovers(&self, left: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        for call in left {
            let panic = "the task of the call ended without it".to_owned();
            self.keep(Arc::new(self.panicked(&call, panic))).await?;
        }
        Ok(())
    }

    /// Orders the calls: one that must not run beside an earlier one waits for it.
    fn queue(&self, calls: Vec<Arc<ToolCall>>) -> Vec<Queued> {
        let mut earlier: Vec<(Class, watch::Receiver<bool>)> = Vec::new();
        let mut queue = Vec::with_capacity(calls.len());
        for call in calls {
            let tool = self.ctx.tools().find(call.tool()).ok();
            let class = tool.as_ref().map_or(Class::Parallel, |tool| Class::of(tool, &call));
            let (done, ended) = watch::channel(false);
            let conflicting = earlier.iter().filter(|(other, _)| class.conflicts(other));
            let before = conflicting.map(|(_, ended)| ended.clone()).collect();
            earlier.push((class, ended));
            queue.push(Queued { call, tool, before, done });
        }
        queue
    }

    async fn one(self, queued: Queued, slots: &Semaphore) -> Result<(), RecordError> {
        let Queued { call, tool, mut before, done } = queued;
        for earlier in &mut before {
            // An error means that it is over too.
            let _ = earlier.wait_for(|over| *over).await;
        }
        let kept = self.to_its_end(&call, tool, Some(slots)).await;
        let _ = done.send(true);
        kept
    }

    async fn to_its_end(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        slots: Option<&Semaphore>,
    ) -> Result<(), RecordError> {
        let ended = self.ended(call, tool, slots).await?;
        self.keep(Arc::new(ended.in_place_of(call))).await
    }

    async fn keep(&self, record: Arc<ToolCall>) -> Result<(), RecordError> {
        // What the handler noted for later belongs to what it did.
        self.gates.recorder.defer_stash(self.ctx.stash());
        self.ctx.store_tool_call(Arc::clone(&record)).await?;
        self.ctx.emit_with(|| {
            let handle = self.ctx.artifacts().handle(record.id());
            EventKind::ToolCall(ToolCallReport::of(&record, Some(&handle)))
        });
        Ok(())
    }

    /// Brings a call to its end.
    async fn ended(
        &self,
        call: &Arc<ToolCall>,
        tool: Option<Tool>,
        slots: Option<&Semaphore>,
    ) -> Result<ToolCall, RecordError> {
        let Some(tool) = tool else {
            let error = match self.ctx.tools().find(call.tool()) {
                Err(error) => error,
                Ok(tool) => ToolError::Unknown { tool: tool.name().to_string(), nearest: None },
            };
            return Ok(self.failed(call, CallError::of(&error)));
        };
        let attempt = Attempt::new(self, call, tool);
        let mut current = Arc::clone(call);
        let mut approved = None;
        if let Some(question) = attempt.tool.requires_approval()
            && current.state() == CallState::Requested
        {
            // Boxed, so that a call that waits for leave, maybe for days, holds only what it waits with.
            let accepted = match Box::pin(attempt.accepted()).await {
                Ok(accepted) => accepted,
                Err(ended) => return Ok(*ended),
            };
            match Box::pin(self.allowed(question, call, accepted.args())).await {
                Ok(()) => {}
                // Nobody said no: the question is still there when the store is.
                Err(GateError::Store(
                    error @ (StoreError::Backend { .. } | StoreError::LeaseLost { .. }),
                )) => return Err(error.into()),
                Err(error) => return Ok(self.refused(call, &error)),
            }
            approved = Some(accepted);
            current = self.advanced(&current, CallState::Approved);
        }
        let slot = match slots {
            Some(slots) => Box::pin(self.slot(slots)).await,
            None => None,
        };
        if let Some(reason) = self.ctx.cancellation().reason() {
            return Ok(self.cancelled(call, &attempt.tool, &reason, Ran::Nothing));
        }
        // A call that must not be repeated is known to have begun before it begins.
        if attempt.tool.effect() == Effect::Once && current.state() != CallState::Running {
            if current.state() == CallState::Requested {
                current = self.advanced(&current, CallState::Approved);
            }
            current = self.advanced(&current, CallState::Running);
            Box::pin(self.ctx.store_tool_call(Arc::clone(&current))).await?;
        }
        let work = match approved {
            Some(accepted) => attempt.rest_of(accepted),
            None => attempt.whole_call(),
        };
        let ended = Box::pin(attempt.timed(work, Ran::Handler)).await;
        drop(slot);
        Ok(ended.unwrap_or_else(|ended| *ended))
    }

    /// Asks for leave to make a call, and waits for it.
    async fn allowed(&self, question: &str, call: &ToolCall, args: &Args) -> Result<(), GateError> {
        let bound = BoundCall::new(call.id(), call.tool(), args);
        let waiting = Box::pin(self.gates.ask_leave(&self.ctx, question, bound)).await?;
        self.gates.leave(&self.ctx, &waiting).await
    }

    /// Waits until there is room for another call, or until the turn is cancelled.
    async fn slot<'s>(&self, slots: &'s Semaphore) -> Option<SemaphorePermit<'s>> {
        tokio::select! {
            slot = slots.acquire() => slot.ok(),
            _ = self.ctx.cancellation().cancelled() => None,
        }
    }

    fn advanced(&self, call: &Arc<ToolCall>, to: CallState) -> Arc<ToolCall> {
        let mut next = ToolCall::clone(call);
        // The arrow is one of those that exist.
        let _ = next.advance(to, self.ctx.clock().now());
        Arc::new(next)
    }

    fn failed(&self, call: &ToolCall, error: CallError) -> ToolCall {
        call.clone().ended(CallState::Failed, error, self.ctx.clock().now())
    }

    fn panicked(&self, call: &ToolCall, panic: String) -> ToolCall {
        let error = ToolError::Panicked { tool: call.tool().to_owned(), panic };
        self.failed(call, CallError::of(&error))
    }

    /// Somebody did not allow it, or nobody answered.
    fn refused(&self, call: &ToolCall, error: &GateError) -> ToolCall {
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
            self.ctx.emit_with(|| EventKind::Error(haft_core::event::ErrorReport::of(error)));
        }
        let error = CallError::new(error.code(), message, false);
        call.clone().ended(state, error, self.ctx.clock().now())
    }

    fn cancelled(&self, call: &ToolCall, tool: &Tool, reason: &CancelReason, ran: Ran) -> ToolCall {
        let error = ToolError::Cancelled { tool: call.tool().to_owned(), reason: reason.clone() };
        let mut error = CallError::of(&error);
        if ran == Ran::Handler && tool.effect() == Effect::Once {
            error.message.push_str("; what it did until then is not known");
        }
        call.clone().ended(CallState::Cancelled, error, self.ctx.clock().now())
    }

    fn late(&self, call: &ToolCall, tool: &Tool, limit: Duration, ran: Ran) -> ToolCall {
        let message = format!("`{}` did not finish within {limit:?}", call.tool());
        if ran == Ran::Handler && tool.effect() == Effect::Once {
            let message = format!("{message}; what it did is not known, do not repeat it blindly");
            let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
            return call.clone().ended(CallState::Unknown, error, self.ctx.clock().now());
        }
        self.failed(call, CallError::new(codes::DEADLINE_EXCEEDED, message, true))
    }
}

/// One run of a tool for one call: whatever of the tool's author runs, runs within the call's time, on a task
/// or thread of its own that cannot keep the turn from noticing the time.
struct Attempt<'c> {
    calls: &'c Calls,
    call: &'c Arc<ToolCall>,
    tool: Tool,
    executor: ToolExecutor,
    token: Cancellation,
    limit: Duration,
}

impl<'c> Attempt<'c> {
    fn new(calls: &'c Calls, call: &'c Arc<ToolCall>, tool: Tool) -> Self {
        let token = calls.ctx.cancellation().child();
        let ctx = calls.ctx.with_cancellation(token.clone());
        let executor = tool.executor(&ctx).at(call.id(), call.ordinal);
        let limit = tool.timeout().unwrap_or(calls.runner.deadlines.call);
        Self { calls, call, tool, executor, token, limit }
    }

    /// The call from its arguments to its record.
    fn whole_call(&self) -> Work<ToolCall> {
        let (executor, raw) = (self.executor.clone(), self.call.raw().clone());
        let recorder = self.recorder();
        Box::pin(async move { recorder.record(executor.call(raw).await).await })
    }

    /// The call from its accepted arguments to its record.
    fn rest_of(&self, accepted: Box<AcceptedCall>) -> Work<ToolCall> {
        let recorder = self.recorder();
        Box::pin(async move { recorder.record(accepted.run().await).await })
    }

    /// The arguments that the handler will get, or the call that ended without them.
    async fn accepted(&self) -> Result<Box<AcceptedCall>, Box<ToolCall>> {
        let (executor, raw) = (self.executor.clone(), self.call.raw().clone());
        let judging: Work<_> = Box::pin(async move { executor.accept(raw).await });
        match self.timed(judging, Ran::Nothing).await? {
            Ok(accepted) => Ok(Box::new(accepted)),
            Err(refused) => Err(Box::new(self.recorder().record(*refused).await)),
        }
    }

    /// What stores what came of the call.
    fn recorder(&self) -> CallRecorder {
        let (runner, turn) = (Arc::clone(&self.calls.runner), self.calls.ctx.turn().clone());
        CallRecorder { runner, turn, occurrence: self.call.id().occurrence() }
    }

    /// Runs work within the call's time. Waiting at gates does not count.
    async fn timed<T: Send + 'static>(&self, work: Work<T>, ran: Ran) -> Result<T, Box<ToolCall>> {
        let watch = Stopwatch::start();
        let _timed = TimedCall::new(&self.calls.gates, self.call.id(), &watch);
        let task = if ran == Ran::Handler && self.tool.blocks() {
            Task::start_blocking(work)
        } else {
            Task::start(work)
        };
        let Self { calls, call, tool, limit, .. } = self;
        let (grace, token) = (calls.runner.deadlines.grace, calls.ctx.cancellation());
        let joined = bounded(task, &watch, *limit, token, grace).await;
        let ended = match joined {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => calls.panicked(call, "the result could not be stored".to_owned()),
            Err(Interrupted::Panicked(panic)) => calls.panicked(call, panic),
            Err(Interrupted::Deadline) => {
                self.token.cancel(CancelReason::Deadline);
                calls.late(call, tool, *limit, ran)
            }
            Err(Interrupted::Cancelled(reason)) => calls.cancelled(call, tool, &reason, ran),
        };
        Err(Box::new(ended))
    }
}

/// Makes the record of one call, and outlives whoever waits for it.
struct CallRecorder {
    runner: Arc<Shared>,
    turn: TurnContext,
    occurrence: NonZeroU32,
}

impl CallRecorder {
    async fn record(self, done: Invocation) -> ToolCall {
        self.runner.spooler.record(self.turn.turn_id(), done, self.occurrence).await
    }
}

/// Whether the handler may have done something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    Nothing,
    Handler,
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Lets gates stop the watch of a call while the call waits at them.
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
            // Nothing is held for calls while none runs.
            *calls = Vec::new();
        }
    }
}

/// Which calls must not run side by side.
enum Class {
    Parallel,
    Exclusive,
    Keyed(String),
}

impl Class {
    fn of(tool: &Tool, call: &ToolCall) -> Self {
        match tool.concurrency() {
            Concurrency::Exclusive => Self::Exclusive,
            Concurrency::Keyed(pointer) => {
                let key = call.raw().to_value().pointer(pointer).map(ToString::to_string);
                Self::Keyed(key.unwrap_or_default())
            }
            _ => Self::Parallel,
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exclusive, _) | (_, Self::Exclusive) => true,
            (Self::Keyed(one), Self::Keyed(other)) => one == other,
            _ => false,
        }
    }
}
