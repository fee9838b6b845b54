//! The calls of one step: side by side as far as their tools allow, each ending as one record.

use std::sync::{Arc, PoisonError};

use haft_core::call::{CallError, CallState, RecordId, ToolCall};
use haft_core::cancel::CancelReason;
use haft_core::context::{DispatchContext, RecordError};
use haft_core::error::{Code, Coded as _};
use haft_core::event::{EventKind, ToolCallReport};
use haft_core::gate::{BoundCall, GateError};
use haft_core::tool::{Concurrency, Effect, Invocation, Tool, ToolError};
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::gates::TurnGates;
use super::runner::Shared;
use super::watch::{Interrupted, Stopwatch, bounded};

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
    /// Runs the calls. Each ends as one record, in the place it has already; the first error of the store
    /// ends the rest.
    pub(super) async fn run(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        let slots = Arc::new(Semaphore::new(self.runner.limits.fan_out.get()));
        let mut running = JoinSet::new();
        for queued in self.queue(calls) {
            let (calls, slots) = (self.clone(), Arc::clone(&slots));
            running.spawn(async move { calls.one(queued, &slots).await });
        }
        let mut result = Ok(());
        while let Some(ended) = running.join_next().await {
            let ended = ended.unwrap_or_else(|panic| {
                self.ctx.log(
                    haft_core::event::Level::Error,
                    "call-task-failed",
                    &panic.to_string(),
                    None,
                );
                Ok(())
            });
            result = result.and(ended);
        }
        result
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
        let ended = self.ended(&call, tool, slots).await;
        let ended = ended.map(|record| Arc::new(record.in_place_of(&call)));
        let kept = match ended {
            Ok(record) => self.keep(record).await,
            Err(error) => Err(error),
        };
        let _ = done.send(true);
        kept
    }

    async fn keep(&self, record: Arc<ToolCall>) -> Result<(), RecordError> {
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
        slots: &Semaphore,
    ) -> Result<ToolCall, RecordError> {
        let Some(tool) = tool else {
            let error = match self.ctx.tools().find(call.tool()) {
                Err(error) => error,
                Ok(tool) => ToolError::Unknown { tool: tool.name().to_string(), nearest: None },
            };
            return Ok(self.failed(call, CallError::of(&error)));
        };
        let mut current = Arc::clone(call);
        if let Some(question) = tool.requires_approval()
            && current.state() == CallState::Requested
            && let Ok(accepted) = tool.validate(call.raw().clone()).await
        {
            let bound = BoundCall::new(call.id(), call.tool(), &accepted.args);
            match self.gates.approve(&self.ctx, question, bound).await {
                Ok(()) => {}
                Err(error) => return Ok(self.refused(call, &error)),
            }
            current = self.advanced(&current, CallState::Approved);
        }
        let cancelled = self.ctx.cancellation().cancelled();
        let slot = tokio::select! {
            slot = slots.acquire() => slot.ok(),
            _ = cancelled => None,
        };
        if let Some(reason) = self.ctx.cancellation().reason() {
            return Ok(self.cancelled(call, &tool, &reason, false));
        }
        // A call that must not be repeated is known to have begun before it begins.
        if tool.effect() == Effect::Once && current.state() != CallState::Running {
            if current.state() == CallState::Requested {
                current = self.advanced(&current, CallState::Approved);
            }
            current = self.advanced(&current, CallState::Running);
            self.ctx.store_tool_call(Arc::clone(&current)).await?;
        }
        let ended = self.attempt(&current, &tool).await;
        drop(slot);
        Ok(ended)
    }

    /// Runs the handler and stores its result, within the call's time.
    async fn attempt(&self, call: &Arc<ToolCall>, tool: &Tool) -> ToolCall {
        let watch = Stopwatch::start();
        let limit = tool.timeout().unwrap_or(self.runner.deadlines.call);
        let token = self.ctx.cancellation().child();
        let ctx = self.ctx.with_cancellation(token.clone());
        let _timed = TimedCall::new(&self.gates, call.id(), &watch);
        let executor = tool.executor(&ctx).at(call.id(), call.ordinal);
        let raw = call.raw().clone();
        let spooler = self.runner.spooler.clone();
        let (turn, occurrence) = (self.ctx.turn_id().to_owned(), call.id().occurrence());
        let work = async move {
            let done: Invocation = executor.call(raw).await;
            spooler.record(&turn, done, occurrence).await
        };
        // A handler on a task or thread of its own cannot keep the turn from noticing the time.
        let mut task = JoinSet::new();
        if tool.blocks() {
            let runtime = Runtime::current();
            task.spawn_blocking(move || runtime.block_on(work));
        } else {
            task.spawn(work);
        }
        let grace = self.runner.deadlines.grace;
        let joined = bounded(task.join_next(), &watch, limit, self.ctx.cancellation(), grace).await;
        match joined {
            Ok(Some(Ok(record))) => record,
            Ok(_) => {
                let panicked = ToolError::Panicked {
                    tool: tool.name().to_string(),
                    panic: "the result could not be stored".to_owned(),
                };
                self.failed(call, CallError::of(&panicked))
            }
            Err(Interrupted::Deadline) => {
                token.cancel(CancelReason::Deadline);
                self.late(call, tool, limit)
            }
            Err(Interrupted::Cancelled(reason)) => self.cancelled(call, tool, &reason, true),
            Err(Interrupted::Panicked(panic)) => {
                let error = ToolError::Panicked { tool: tool.name().to_string(), panic };
                self.failed(call, CallError::of(&error))
            }
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
        let error = CallError::new(error.error_code(), message, false);
        call.clone().ended(state, error, self.ctx.clock().now())
    }

    fn cancelled(
        &self,
        call: &ToolCall,
        tool: &Tool,
        reason: &CancelReason,
        ran: bool,
    ) -> ToolCall {
        let error = ToolError::Cancelled { tool: call.tool().to_owned(), reason: reason.clone() };
        let mut error = CallError::of(&error);
        if ran && tool.effect() == Effect::Once {
            error.message.push_str("; what it did until then is not known");
        }
        call.clone().ended(CallState::Cancelled, error, self.ctx.clock().now())
    }

    fn late(&self, call: &ToolCall, tool: &Tool, limit: std::time::Duration) -> ToolCall {
        let message = format!("`{}` did not finish within {limit:?}", call.tool());
        if tool.effect() == Effect::Once {
            let message = format!("{message}; what it did is not known, do not repeat it blindly");
            let error = CallError::new(Code::ToolOutcomeUnknown, message, false);
            return call.clone().ended(CallState::Unknown, error, self.ctx.clock().now());
        }
        self.failed(call, CallError::new(Code::DeadlineExceeded, message, true))
    }
}

/// Lets gates stop the watch of a call while the call waits at them.
struct TimedCall<'g> {
    gates: &'g TurnGates,
    id: RecordId,
}

impl<'g> TimedCall<'g> {
    fn new(gates: &'g TurnGates, id: RecordId, watch: &Stopwatch) -> Self {
        let mut calls = gates.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(id, watch.clone());
        drop(calls);
        Self { gates, id }
    }
}

impl Drop for TimedCall<'_> {
    fn drop(&mut self) {
        self.gates.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
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
