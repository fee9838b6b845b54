//! Executing tool calls: those of one step run in parallel as far as their tools allow, and each ends as one record.

mod concurrency;
mod end;
mod media;

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::cancel::CancelReason;
use haft_core::context::{DispatchContext, RecordError};
use haft_core::error::codes;
use haft_core::event::{ErrorReport, EventKind, ToolCallReport};
use haft_core::gate::{BoundCall, GateError, Spending};
use haft_core::store::{GateId, StoreError};
use haft_core::tool::{
    AcceptedCall, Invocation, PanicError, Tool, ToolEffect, ToolError, ToolExecutor,
};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use self::concurrency::{CallQueue, ConcurrencyClass};
use super::agent::AgentShared;
use super::deadline::{Stopwatch, WaitError, with_deadline};
use super::gates::{Approval, RunningCall};
use super::history::whole_milliseconds;
use super::recorder::is_store_failure;
use super::shared_turn::SharedTurn;
use super::spans::{call_span, record_call_end};
use super::task::{Task, in_current_trace};
use crate::events::TracedContent;

/// How often a call is asked for again because the grant behind its approval was revoked or changed. Each attempt needs
/// a grant that was valid when the attempt began, so more of them are no accident.
const MAX_APPROVAL_ATTEMPTS: u32 = 100;

/// What the store of approvals does, as its deadline says it.
const SPENDING: &str = "mark an approval as spent";

/// Executes the tool calls of one step.
#[derive(Clone)]
pub(super) struct CallRunner {
    agent: Arc<AgentShared>,
    shared: Arc<SharedTurn>,
    ctx: DispatchContext,
    /// The slots of handlers that run in parallel.
    slots: Arc<Semaphore>,
}

impl CallRunner {
    pub(super) fn new(
        agent: &Arc<AgentShared>,
        shared: &Arc<SharedTurn>,
        ctx: &DispatchContext,
    ) -> Self {
        let (agent, shared, ctx) = (Arc::clone(agent), Arc::clone(shared), ctx.clone());
        let slots = Arc::new(Semaphore::new(agent.limits.fan_out.get()));
        Self { agent, shared, ctx, slots }
    }

    /// Executes the calls, each on a task of its own. Each ends as one record, in the place it has already. After the
    /// first error of the store the others have the time of one call to end; a gate at which one still waits then stays
    /// open in the store.
    pub(super) async fn run(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), RecordError> {
        self.shared.waits.set_slots(self.agent.limits.fan_out.get());
        let mut queue = self.queue_calls(calls);
        let mut tasks = JoinSet::new();
        let mut ready = queue.take_ready();
        let (mut result, mut until) = (Ok(()), None);
        loop {
            for (at, (call, tool)) in ready {
                // The call counts as running from now on, and not from the first poll of its task.
                let running = RunningCall::begin(&self.shared, call.id());
                let calls = self.clone();
                tasks.spawn(in_current_trace(async move {
                    (calls.run_call(call, tool, &running.watch).await, at, running)
                }));
            }
            let joined = match until {
                None => tasks.join_next().await,
                Some(until) => timeout_at(until, tasks.join_next()).await.ok().flatten(),
            };
            let Some(joined) = joined else { return result };
            let (stored, ended) = match joined {
                Ok((stored, at, running)) => (stored, Some((at, running))),
                // Handlers do not panic here: this is a store of the program, or a mistake of this one.
                Err(panic) => (Err(StoreError::backend("run a tool call", panic).into()), None),
            };
            if stored.is_err() {
                until.get_or_insert_with(|| Instant::now() + self.agent.deadlines.call);
            }
            result = result.and(stored);
            ready = match ended {
                // No call begins whose result could not be stored.
                Some((at, _running)) if result.is_ok() => queue.end_call(at),
                _ => Vec::new(),
            };
        }
    }

    /// Orders the calls: one that must not run in parallel with an earlier one waits for it.
    fn queue_calls(
        &self,
        calls: Vec<Arc<ToolCall>>,
    ) -> CallQueue<(Arc<ToolCall>, Result<Tool, ToolError>)> {
        CallQueue::new(calls.into_iter().map(|call| {
            let tool = self.ctx.tools().find(call.tool());
            let class = match &tool {
                Ok(tool) => ConcurrencyClass::of(tool, &call),
                Err(_) => ConcurrencyClass::Parallel,
            };
            (class, (call, tool))
        }))
    }

    /// Executes a call and stores its end.
    async fn run_call(
        &self,
        call: Arc<ToolCall>,
        tool: Result<Tool, ToolError>,
        watch: &Stopwatch,
    ) -> Result<(), RecordError> {
        let record = call.id();
        let mut ended = self.execute_tool_call(call, tool, watch).await?;
        ended.time.person = whole_milliseconds(self.shared.waits.decision_time(record));
        let ended = Arc::new(ended);
        // What the handler changed in the stash and in the tools belongs to its effect.
        self.shared.recorder.defer_changes(self.ctx.turn());
        self.shared.recorder.defer_pending(&self.ctx);
        self.shared.recorder.note_progress();
        self.ctx.turn().store_tool_call(Arc::clone(&ended)).await?;
        self.ctx.emit_with(|| {
            let handle = self.ctx.artifacts().handle(ended.id());
            EventKind::ToolCall(ToolCallReport::of(&ended, Some(&handle)))
        });
        Ok(())
    }

    /// Executes a tool call: validates its arguments, awaits its approval if the tool requires one, waits for a free slot,
    /// and runs the handler. Returns the record of the call with its result.
    async fn execute_tool_call(
        &self,
        mut call: Arc<ToolCall>,
        tool: Result<Tool, ToolError>,
        watch: &Stopwatch,
    ) -> Result<ToolCall, RecordError> {
        let tool = match tool {
            Ok(tool) => tool,
            Err(error) => return Ok(self.end_failed_call(&call, CallError::of(&error))),
        };
        // What runs for the call is cancelled with the turn, or when the time of the call is up.
        let ctx = self.ctx.with_cancellation(self.ctx.cancellation().child());
        let executor = tool.executor(&ctx).at(call.id(), call.ordinal);
        let mut accepted = match self.accept_arguments(&call, &executor, &tool, watch).await {
            Ok(accepted) => accepted,
            Err(ended) => return Ok(ended),
        };
        let mut approval = None;
        if let Some(question) = tool.approval_question(accepted.args()) {
            let given = match self.approve_call(&call, (&tool, question), &accepted, watch).await {
                Ok(given) => given,
                // The approval was not refused: its gate is still open when the store is back.
                Err(GateError::Store(error)) if is_store_failure(&error) => {
                    return Err(error.into());
                }
                Err(error) => return Ok(self.end_refused_call(&call, &error)),
            };
            if let Some(grant) = given.grant {
                call = Arc::new(ToolCall::clone(&call).with_grant(grant));
            }
            if let Some(edited) = &given.edited {
                call = Arc::new(ToolCall::clone(&call).with_edited(edited));
                accepted = match self.accept_arguments(&call, &executor, &tool, watch).await {
                    Ok(accepted) => accepted,
                    Err(ended) => return Ok(ended),
                };
            }
            approval = Some(given);
        }
        // Only the time of the tool counts.
        let waiting = watch.pause();
        let cancellation = self.ctx.cancellation();
        let _slot = self.shared.waits.acquire_slot(call.id(), &self.slots, cancellation).await;
        if let Some(reason) = cancellation.reason() {
            let cancelled = WaitError::Cancelled(reason);
            return Ok(self.end_without_result(&call, &tool, cancelled, ToolEffect::ReadOnly));
        }
        if tool.effect() == ToolEffect::Once
            && self.start_once(&call, approval.as_ref()).await? == Spending::Repeated
        {
            return Ok(self.end_spent_call(&call));
        }
        drop(waiting);

        let (calls, requested, blocks) = (self.clone(), ToolCall::clone(&call), tool.blocks());
        let shows_content = self.agent.traced_content == TracedContent::Shown;
        let span = call_span(&ctx, &call, shows_content.then(|| accepted.args()));
        let in_span = span.clone();
        let work = async move {
            let run = accepted.run().instrument(in_span);
            let done = if blocks {
                // Only the handler has the thread: what follows may need another one.
                Task::spawn_blocking(run).await?
            } else {
                run.await
            };
            Ok(calls.complete_call(requested, done).await)
        };
        let clock = self.ctx.clock();
        let started_at = clock.now();
        let paused = watch.paused();
        let ended = self.run_timed(work, &tool, watch).await;
        let mut ended = ended.unwrap_or_else(|error| {
            if matches!(error, WaitError::Deadline) {
                ctx.cancellation().cancel(CancelReason::Deadline);
            }
            self.end_without_result(&call, &tool, error, tool.effect())
        });
        // Gates at which its handler waited are not its work.
        let paused = watch.paused().saturating_sub(paused);
        let started_at = *ended.started_at.get_or_insert(started_at);
        let worked = ended.completed_at.unwrap_or(started_at).duration_since(started_at);
        ended.time.tool = whole_milliseconds(worked.saturating_sub(paused));
        if tool.effect() != ToolEffect::Once
            && let Some(outage) = spool_outage(&ended)
        {
            // The call is made again when the turn is resumed.
            return Err(outage.into());
        }
        record_call_end(&span, &ended, shows_content);
        Ok(ended)
    }

    /// Validates the arguments: those that the handler will get, or the record of the call that ended without them.
    async fn accept_arguments(
        &self,
        call: &ToolCall,
        executor: &ToolExecutor,
        tool: &Tool,
        watch: &Stopwatch,
    ) -> Result<AcceptedCall, ToolCall> {
        let (executor, raw) = (executor.clone(), call.proposed().clone());
        let work = async move { Ok(executor.accept(raw).await) };
        match self.run_timed(work, tool, watch).await {
            Ok(Ok(accepted)) => Ok(accepted),
            Ok(Err(refused)) => {
                let refused = self.complete_call(call.clone(), *refused).await;
                let shows_content = self.agent.traced_content == TracedContent::Shown;
                record_call_end(&call_span(&self.ctx, call, None), &refused, shows_content);
                Err(refused)
            }
            // Validators have no effects.
            Err(error) => Err(self.end_without_result(call, tool, error, ToolEffect::ReadOnly)),
        }
    }

    /// Runs code of the tool within the time of the call, which gates pause. It runs on a task of its own, so that it
    /// cannot keep the turn from noticing the deadline.
    async fn run_timed<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, JoinError>> + Send + 'static,
        tool: &Tool,
        watch: &Stopwatch,
    ) -> Result<T, WaitError> {
        let deadline = watch.reached(self.time_limit(tool));
        let grace = self.agent.deadlines.grace;
        let ended = with_deadline(Task::spawn(work), deadline, self.ctx.cancellation(), grace);
        let ended = ended.await?.and_then(|ended| ended);
        ended.map_err(|panic| WaitError::Panicked(PanicError::new(panic.to_string())))
    }

    /// How long the code of a tool may run for one call.
    fn time_limit(&self, tool: &Tool) -> Duration {
        tool.timeout().unwrap_or(self.agent.deadlines.call)
    }

    /// Awaits the approval of a call for the arguments that were accepted.
    ///
    /// Whether a call was approved is decided by its gate alone. The stored state does not count: a process that can
    /// write to the store could have changed it.
    async fn approve_call(
        &self,
        call: &ToolCall,
        (tool, question): (&Tool, &str),
        accepted: &AcceptedCall,
        watch: &Stopwatch,
    ) -> Result<Approval, GateError> {
        let _waiting = watch.pause();
        for attempt in 0..=MAX_APPROVAL_ATTEMPTS {
            let definition = tool.definition_digest();
            let bound = BoundCall::new(call.id(), call.tool(), accepted.args(), definition);
            let opening =
                self.shared.open_approval_gate(&self.ctx, (tool, question), bound, attempt);
            // Boxed, so that the wait, which may take days, holds nothing of what opened the gate.
            let gate = Box::pin(opening).await?;
            if let Some(approval) = self.shared.await_approval(&self.ctx, &gate).await? {
                return Ok(approval);
            }
        }
        Err(GateError::forged())
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
        if confirmed.is_err() && (approval.is_none() || self.agent.approvals.is_none()) {
            // It has not started after all. If another process has the turn, the store refuses this.
            let _ = self.ctx.turn().store_tool_call(Arc::clone(call)).await;
        }
        confirmed?;
        Ok(spent)
    }

    /// Stores that a call started which must not be repeated, before its handler runs.
    async fn store_start(&self, call: &ToolCall) -> Result<(), RecordError> {
        let mut running = call.clone();
        for state in [CallState::Approved, CallState::Running] {
            // A call that was stored as approved keeps that state.
            let _ = running.advance(state, self.ctx.clock().now());
        }
        running.started_at = Some(self.ctx.clock().now());
        self.ctx.turn().store_tool_call(Arc::new(running)).await?;
        Ok(())
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
        let Some(approvals) = &self.agent.approvals else { return Ok(Spending::First) };
        let spent = self.agent.store.with_deadline(SPENDING, approvals.spend(gate.clone())).await;
        if spent.is_err() {
            self.ctx.turn().store_tool_call(Arc::clone(call)).await?;
        }
        Ok(spent?)
    }

    /// The record of a call whose tool has done its work. Large results go to the spool.
    async fn complete_call(&self, requested: ToolCall, mut done: Invocation) -> ToolCall {
        let turn = self.ctx.turn();
        self.store_media(requested.id(), &mut done).await;
        let spooler = turn.spooler().unwrap_or(&self.agent.spooler);
        let call = spooler.complete_call(turn.turn_id(), requested, done).await;
        if let Some(ended_at) = call.completed_at {
            self.shared.recorder.note_storing(self.ctx.clock().now().duration_since(ended_at));
        }
        if let Some(error) = call.error.as_ref().filter(|error| is_storage_error(error))
            && let Some(cause) = call.cause()
        {
            let text = format!("the result of `{}` could not be stored: {cause}", call.tool());
            let code = error.code.clone();
            turn.emit_with(|| EventKind::Error(ErrorReport::coded(code, text)));
        }
        call
    }
}

/// Why the result of a call could not be stored, if it may be stored later.
fn spool_outage(call: &ToolCall) -> Option<StoreError> {
    let error = call.error.as_ref().filter(|it| it.code == codes::STORE && it.retryable)?;
    let cause = call.cause().map_or_else(|| error.message.to_string(), str::to_owned);
    Some(StoreError::Backend {
        doing: format!("store the result of `{}`", call.tool()),
        retryable: true,
        source: cause.into(),
    })
}

/// Whether a call ended with an error because its result could not be stored.
fn is_storage_error(error: &CallError) -> bool {
    [codes::STORE, codes::TOOL_OUTCOME_UNKNOWN].contains(&error.code)
}
