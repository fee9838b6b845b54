//! One step of the model, and its calls.

use haft_core::error::codes;
use std::num::NonZeroU32;
use std::sync::Arc;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::context::{DispatchContext, Signal};
use haft_core::event::{ErrorReport, EventKind, ToolCallReport};
use haft_core::record::Message;
use haft_core::step::{ProposedCall, Step, StepContext, Then};

use super::super::calls::Calls;
use super::super::journal::Entry;
use super::super::limits::{Deadlines, Limit};
use super::super::report::Ended;
use super::super::watch::{Interrupted, bounded};
use super::Live;

impl Live {
    /// Takes a step of the model, keeps it, and runs its calls.
    pub(super) async fn step(&self, ctx: &DispatchContext) -> Result<Then, Ended> {
        let step = Box::pin(self.ask(ctx)).await?;
        // A signal that the executor gave itself counts as what it wants.
        let then = match ctx.signal() {
            Some(Signal::Ack) => Then::Done,
            Some(Signal::Nack { reason }) => Then::Fail(reason),
            _ => step.then.clone(),
        };
        let calls = Box::pin(self.keep(ctx, step, &then)).await?;
        self.run_calls(ctx, calls).await?;
        Ok(then)
    }

    /// What the model says next.
    async fn ask(&self, ctx: &DispatchContext) -> Result<Step, Ended> {
        let Deadlines { step: limit, grace, .. } = self.runner.deadlines;
        let cx = StepContext::new(ctx.clone());
        self.gates.enter("step");
        let work = self.runner.executor.step(cx.clone());
        let until = self.watch.worked() + limit;
        let stepped = bounded(work, &self.watch, until, ctx.cancellation(), grace).await;
        cx.end_reports(stepped.as_ref().ok().and_then(|step| step.as_ref().ok()));
        match stepped {
            Ok(Ok(step)) => Ok(step),
            _ if ctx.cancellation().is_cancelled() => {
                let reason = ctx.cancellation().reason();
                Err(Ended::cancelled(reason.map_or_else(String::new, |it| it.to_string())))
            }
            Ok(Err(error)) => Err(Ended::failed(ErrorReport::of(&error).at("executor"))),
            Err(interrupted) => {
                let (code, message) = match interrupted {
                    Interrupted::Panicked(panic) => (
                        codes::LLM_EXECUTION_EXECUTOR_ERROR,
                        format!("the executor panicked: {panic}"),
                    ),
                    _ => {
                        (codes::DEADLINE_EXCEEDED, format!("the executor took more than {limit:?}"))
                    }
                };
                Err(Ended::failed(ErrorReport::coded(code, message).at("executor")))
            }
        }
    }

    /// Writes down what the model said, before anything is done about it.
    async fn keep(
        &self,
        ctx: &DispatchContext,
        step: Step,
        then: &Then,
    ) -> Result<Vec<Arc<ToolCall>>, Ended> {
        let Step { thoughts, messages, calls, usage, .. } = step;
        let limits = &self.runner.limits;
        let made = ctx.tool_calls().len() + calls.len();
        let calls = (0..).zip(calls).map(|(ordinal, call)| self.requested(ctx, call, ordinal));
        let mut calls: Vec<Arc<ToolCall>> = calls.collect();
        let too_often = |call: &Arc<ToolCall>| {
            let made = call.id().occurrence().get();
            made > limits.identical_calls
        };
        let limit = if made > usize::try_from(limits.tool_calls).unwrap_or(usize::MAX) {
            Some(Limit::ToolCalls)
        } else if calls.iter().any(too_often) {
            Some(Limit::IdenticalCalls)
        } else {
            None
        };
        if let Some(limit) = &limit {
            // What the model said is kept, and its calls end without having been made.
            let now = self.runner.clock.now();
            let message = format!("not made: the turn came to its limit of {limit}");
            let error = CallError::new(codes::LIMIT_REACHED, message, false);
            let ended = |call: &Arc<ToolCall>| {
                let call = ToolCall::clone(call);
                Arc::new(call.ended(CallState::Cancelled, error.clone(), now))
            };
            calls = calls.iter().map(ended).collect();
        }
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let said: Vec<_> = messages.iter().map(|message| message.id().clone()).collect();
        let entry = Entry::Step {
            iteration: ctx.iteration(),
            messages: said.clone(),
            calls: calls.iter().map(|call| call.id()).collect(),
            then: then.clone(),
            usage,
            limit: limit.clone(),
        };
        let over =
            limit.is_none() && *then == Then::Done && calls.is_empty() && self.nothing_is_left();
        let mut writes = vec![entry.write()];
        if over {
            let (_, spent) = self.spent();
            writes.extend(self.end(&Ended::completed(), ctx.iteration() + 1, spent + usage));
        }
        self.recorder.defer_stash(ctx.stash());
        let thoughts = thoughts.into_iter().map(Arc::new).collect();
        let kept = ctx.store_step(thoughts, messages, calls.clone(), writes).await;
        kept.map_err(|error| Ended::unkept(&error))?;
        let mut progress = self.progress();
        progress.usage += usage;
        progress.said.extend(said);
        progress.over = over;
        drop(progress);
        match limit {
            Some(limit) => Err(Ended::limit(limit)),
            None => Ok(calls),
        }
    }

    /// Whether nothing can happen between an answer and the end of the turn, so that both are written down
    /// in one step.
    fn nothing_is_left(&self) -> bool {
        let calls = self.ctx.turn_tool_calls();
        self.runner.dispatch_output.is_empty()
            && self.runner.turn_output.is_empty()
            && !self.ctx.cancellation().is_cancelled()
            && calls.iter().all(|call| call.state().is_final())
    }

    /// The record of a call that the model asks for.
    fn requested(&self, ctx: &DispatchContext, call: ProposedCall, ordinal: u32) -> Arc<ToolCall> {
        let ProposedCall { tool, args, provider_id, payload, .. } = call;
        let now = self.runner.clock.now();
        let first = ToolCall::requested(tool, args, NonZeroU32::MIN, now);
        let occurrence = self.occurrences().next(first.id().call_id()).occurrence();
        // Naming a call costs a hash, and most calls are made once.
        let record = if occurrence == NonZeroU32::MIN {
            first
        } else {
            ToolCall::requested(first.tool(), first.raw().clone(), occurrence, now)
        };
        let mut record = record.at_place(ctx.iteration(), ordinal);
        record.provider_id = provider_id;
        let record = match payload {
            // A payload that cannot be kept is not worth the call.
            Some((payload, tag)) => record.clone().with_payload(payload, tag).unwrap_or(record),
            None => record,
        };
        Arc::new(record)
    }

    pub(super) async fn run_calls(
        &self,
        ctx: &DispatchContext,
        calls: Vec<Arc<ToolCall>>,
    ) -> Result<(), Ended> {
        if calls.is_empty() {
            return Ok(());
        }
        for call in &calls {
            ctx.emit_with(|| EventKind::ToolCall(ToolCallReport::of(call, None)));
        }
        let (runner, gates) = (Arc::clone(&self.runner), Arc::clone(&self.gates));
        let calls = Calls { runner, gates, ctx: ctx.clone() }.run(calls).await;
        calls.map_err(|error| Ended::unkept(&error))
    }
}
