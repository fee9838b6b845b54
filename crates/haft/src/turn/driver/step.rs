//! One step of the executor, and its calls.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::context::{DispatchContext, Signal};
use haft_core::error::codes;
use haft_core::event::{ErrorReport, EventKind, ToolCallReport};
use haft_core::record::{Message, Thought};
use haft_core::step::{NextAction, ProposedCall, Step, StepContext, StepError, StepRequest};
use haft_core::store::{StoreWrite, SummaryUpdate};
use haft_core::tool::OfferPoint;
use haft_core::usage::Usage;
use tracing::{Instrument as _, Span};

use super::super::answers::check_answer;
use super::super::calls::CallRunner;
use super::super::deadline::WaitError;
use super::super::gates::GateScope;
use super::super::history::whole_milliseconds;
use super::super::journal::{JournalEntry, RequestDigest, StepEntry, StepTime};
use super::super::limits::Limit;
use super::super::log::TurnTotals;
use super::super::report::{Conclusion, FailurePoint};
use super::super::spans::ChatSpan;
use super::TurnDriver;

/// The executor could not take the step, and may later. Nothing of the step is stored, so that only this attempt ends:
/// the turn can be resumed, and the step is taken again.
fn executor_away(error: &StepError) -> Conclusion {
    Conclusion::failed(executor_report(error).at(FailurePoint::Executor.as_str())).resumable()
}

/// A step that is not stored yet.
pub(super) struct ProposedStep {
    thoughts: Vec<Arc<Thought>>,
    messages: Vec<Arc<Message>>,
    calls: Vec<Arc<ToolCall>>,
    next: NextAction,
    usage: Usage,
    request: Option<StepRequest>,
    time: StepTime,
    /// The limit that its calls would exceed. They are stored as cancelled, and the turn ends.
    limit: Option<Limit>,
    /// Whether the turn ends with it: both are stored by one commit.
    ends_turn: bool,
}

/// A step with what stores it.
struct StepCommit {
    thoughts: Vec<Arc<Thought>>,
    messages: Vec<Arc<Message>>,
    calls: Vec<Arc<ToolCall>>,
    writes: Vec<StoreWrite>,
    entry: JournalEntry,
    /// The end of the turn, if it ends with the step.
    end: Option<JournalEntry>,
}

/// Where in the turn the tools of the next request are offered.
fn offer_point(ctx: &DispatchContext) -> OfferPoint {
    let is_own = |id: &str| id.strip_prefix(ctx.turn_id()).is_some_and(|it| it.starts_with('/'));
    // Only reasoning that goes back to its provider binds the tools.
    let binds = |it: &Thought| it.payload().is_some() && is_own(it.id().as_str());
    let has_reasoned = ctx.turn().thoughts().any(binds);
    let last_call = ctx.turn().tool_calls().last().map(|call| call.id());
    OfferPoint::new().after_call(last_call).has_reasoned(has_reasoned)
}

/// What observers see of the error of an executor.
fn executor_report(error: &StepError) -> ErrorReport {
    let mut report = ErrorReport::from(error);
    report.message = error.to_string().into();
    report
}

impl TurnDriver {
    /// Lets the executor take the step of the iteration.
    pub(super) async fn ask_executor(&mut self) -> Result<ProposedStep, Conclusion> {
        let step_ctx = StepContext::new(self.iteration.ctx.clone());
        let chat = ChatSpan::begin(step_ctx.dispatch(), || self.agent.executor.description());
        let began = self.agent.clock.read();
        let paused = self.shared.watch.paused();
        let taken = self.take_step(&step_ctx, &chat.span).await;
        let paused = self.shared.watch.paused().saturating_sub(paused);
        let since_begin = |at: Duration| at.saturating_sub(began.monotonic);
        let duration = since_begin(self.agent.clock.monotonic()).saturating_sub(paused);
        let wait = step_ctx.first_piece_at().map_or(duration, since_begin).min(duration);
        let wait = whole_milliseconds(wait);
        let write = whole_milliseconds(duration).saturating_sub(wait);
        let time = StepTime { at: began.wall, wait, write };
        let error = match &taken {
            Ok(Step { then: NextAction::Fail(error), .. }) => Some(&**error),
            Ok(_) => None,
            Err(conclusion) => conclusion.error.as_deref(),
        };
        chat.end(step_ctx.generation().as_ref(), error, duration);
        Ok(self.propose_step(taken?, time))
    }

    async fn take_step(&self, step_ctx: &StepContext, span: &Span) -> Result<Step, Conclusion> {
        let ctx = &self.iteration.ctx;
        let limit = self.agent.deadlines.step;
        // From here on the model may have seen these tools.
        if ctx.tools().has_new_tools() {
            ctx.tools().offer_tools(offer_point(ctx));
        }
        self.shared.enter(GateScope::Step);
        let stepping = async { self.agent.executor.step(step_ctx.clone()).await };
        let taken = self.within(limit, stepping.instrument(span.clone())).await;
        step_ctx.end_reports(taken.as_ref().ok().and_then(|step| step.as_ref().ok()));
        let error = match taken {
            Ok(Ok(step)) => return Ok(check_answer(ctx, step)),
            _ if ctx.cancellation().is_cancelled() => {
                let reason = ctx.cancellation().reason();
                let reason = reason.map_or_else(String::new, |it| it.to_string());
                return Err(Conclusion::cancelled(reason));
            }
            Ok(Err(error)) if error.is_retryable() => return Err(executor_away(&error)),
            Ok(Err(error)) => executor_report(&error),
            Err(WaitError::Panicked(panic)) => {
                let message = format!("the executor {panic}");
                ErrorReport::coded(codes::LLM_EXECUTION_EXECUTOR_ERROR, message)
            }
            Err(_) => {
                let message = format!("the executor took more than {limit:?}");
                let error = StepError::coded(codes::DEADLINE_EXCEEDED, message);
                return Err(executor_away(&error));
            }
        };
        Err(Conclusion::failed(error.at(FailurePoint::Executor.as_str())))
    }

    /// Makes the records of a step, and decides what becomes of it.
    fn propose_step(&mut self, step: Step, time: StepTime) -> ProposedStep {
        let ctx = self.iteration.ctx.clone();
        let Step { thoughts, messages, calls, usage, then, request, .. } = step;
        // A signal that the executor gave itself counts as what it wants.
        let next = match ctx.signal() {
            Some(Signal::Ack) => NextAction::Done,
            Some(Signal::Nack { error }) => NextAction::Fail(error),
            _ => then,
        };
        let calls_made = ctx.turn().tool_calls().len_of_turn() + calls.len();
        self.occurrences.restore_all(&ctx.turn().earlier_occurrences());
        let calls = (0..).zip(calls).map(|(ordinal, call)| self.request_call(&ctx, call, ordinal));
        let calls: Vec<Arc<ToolCall>> = calls.collect();
        let repeated = calls.iter().map(|call| ctx.turn().occurrence_in_turn(call.id()));
        let limit = self.agent.limits.of_calls(calls_made, repeated.max().unwrap_or_default());
        let ends_turn = limit.is_none()
            && next == NextAction::Done
            && calls.is_empty()
            && ctx.pending().is_none()
            && !self.agent.has_output()
            && self.can_end();
        let thoughts = thoughts.into_iter().map(Arc::new).collect();
        let messages = messages.into_iter().map(Arc::new).collect();
        ProposedStep { thoughts, messages, calls, next, usage, request, time, limit, ends_turn }
    }

    /// Whether nothing can happen any more between this step and the end of the turn: it is not cancelled, and all its
    /// calls have ended.
    fn can_end(&self) -> bool {
        let calls = self.ctx.turn().tool_calls();
        !self.ctx.cancellation().is_cancelled() && !calls.any(|call| !call.state().is_final())
    }

    /// Stores the step before any of its effects, and with it the end of the turn if nothing can follow it. Returns the
    /// calls that are to be made.
    pub(super) async fn store_step(
        &mut self,
        step: ProposedStep,
    ) -> Result<Vec<Arc<ToolCall>>, Conclusion> {
        let is_limited = step.limit.is_some();
        let StepCommit { thoughts, messages, calls, writes, entry, end } =
            self.prepare_commit(step);
        let turn = self.iteration.ctx.turn();
        self.shared.recorder.defer_changes(turn);
        self.shared.recorder.defer_pending(&self.iteration.ctx);
        let stored = turn.store_step(thoughts, messages, calls.clone(), writes).await;
        stored.map_err(|error| Conclusion::not_stored(&error))?;
        self.advance(&entry)?;
        if let Some(end) = end {
            self.advance(&end)?;
        }
        Ok(if is_limited { Vec::new() } else { calls })
    }

    /// Makes the writes that store a step.
    fn prepare_commit(&mut self, step: ProposedStep) -> StepCommit {
        let ProposedStep {
            thoughts,
            messages,
            mut calls,
            next,
            usage,
            request,
            time,
            limit,
            ends_turn,
        } = step;
        let usage_of_turn = self.iteration.usage + usage;
        if let Some(limit) = &limit {
            calls = self.refuse_calls(&calls, limit);
        }
        let (digest, tools) =
            request.as_ref().map(|it| self.requests.get_or_insert_default().add(it)).unzip();
        self.warn_of_lost_cache(digest.as_deref());
        let (model, options) =
            request.map(|it| (it.model.into_boxed_str(), Box::new(it.options))).unzip();
        let model_name: Option<String> = model.as_deref().map(str::to_owned);
        let iteration = self.iteration.ctx.iteration();
        let entry = JournalEntry::Step(StepEntry {
            iteration,
            thoughts: thoughts.iter().map(|thought| thought.id().clone()).collect(),
            messages: messages.iter().map(|message| message.id().clone()).collect(),
            calls: calls.iter().map(|call| call.id()).collect(),
            then: next,
            usage,
            limit,
            request: digest,
            model,
            options,
            tools,
            time,
        });
        // The end of the iteration before, the step, its summary, its records, and what ends the turn.
        let records = thoughts.len() + messages.len() + calls.len();
        let mut writes = Vec::with_capacity(3 + records + 3 * usize::from(ends_turn));
        writes.push(entry.to_write());
        writes.extend(self.update_summary(model_name, usage_of_turn.total, &calls));
        self.shared.recorder.note_progress();
        let end = ends_turn.then(|| {
            let totals =
                TurnTotals { iterations: iteration.saturating_add(1), usage: usage_of_turn };
            self.make_end_entry(&Conclusion::completed(), totals)
        });
        if let Some(end) = &end {
            writes.extend(self.shared.close_open_gates());
            end.push_end_writes(&mut writes);
        }
        StepCommit { thoughts, messages, calls, writes, entry, end }
    }

    /// Warns observers if the provider has to read most of the prompt again.
    fn warn_of_lost_cache(&self, digest: Option<&RequestDigest>) {
        let requests = self.requests.as_deref();
        let warning = requests.zip(digest).and_then(|(all, digest)| all.cache_warning(digest));
        if let Some(message) = warning {
            self.iteration.ctx.emit_with(|| EventKind::Warning {
                source: "turn".into(),
                topic: "prompt-prefix-lost".into(),
                message: message.into(),
                payload: None,
            });
        }
    }

    /// What lists show of the turn after a step, unless nothing has changed.
    fn update_summary(
        &mut self,
        model: Option<String>,
        tokens: u64,
        calls: &[Arc<ToolCall>],
    ) -> Option<StoreWrite> {
        let mut update = SummaryUpdate::default();
        for call in calls {
            // Each tool is told once.
            if !self.listed_tools.contains(call.tool()) {
                self.listed_tools.insert(call.tool().to_owned());
                update = update.tool(call.tool());
            }
        }
        update.tokens = (model.is_some() || tokens > 0).then_some(tokens);
        update.model = model;
        (update != SummaryUpdate::default()).then_some(StoreWrite::Summary(update))
    }

    /// The calls of a step that would exceed a limit: they end without having been made.
    fn refuse_calls(&self, calls: &[Arc<ToolCall>], limit: &Limit) -> Vec<Arc<ToolCall>> {
        let now = self.agent.clock.now();
        let message = format!("not made: the turn came to its limit of {limit}");
        let error = CallError::new(codes::LIMIT_REACHED, message, false);
        let refuse = |call: &Arc<ToolCall>| {
            let call = ToolCall::clone(call);
            Arc::new(call.ended(CallState::Cancelled, error.clone(), now))
        };
        calls.iter().map(refuse).collect()
    }

    /// The record of a call that the model asks for.
    fn request_call(
        &mut self,
        ctx: &DispatchContext,
        call: ProposedCall,
        ordinal: u32,
    ) -> Arc<ToolCall> {
        let ProposedCall { tool, args, provider_id, payload, .. } = call;
        let now = self.agent.clock.now();
        let first = ToolCall::requested(tool, args, NonZeroU32::MIN, now);
        let occurrence = self.occurrences.next(first.id().call_id()).occurrence();
        // The id of a call costs a hash, and most calls are made once.
        let record = if occurrence == NonZeroU32::MIN {
            first
        } else {
            ToolCall::requested(first.tool(), first.raw().clone(), occurrence, now)
        };
        let mut record = record.at_place(ctx.iteration(), ordinal);
        record.provider_id = provider_id;
        let record = match payload {
            // A payload that cannot be stored is not worth the call.
            Some((payload, tag)) => record.clone().with_payload(payload, tag).unwrap_or(record),
            None => record,
        };
        Arc::new(record)
    }

    /// Finishes the calls of the iteration that an earlier process did not.
    pub(super) async fn finish_stored_calls(&self) -> Result<(), Conclusion> {
        let ctx = &self.iteration.ctx;
        let mut unfinished = Vec::new();
        for call in ctx.turn().tool_calls().all() {
            if call.iteration != ctx.iteration() || call.state().is_final() {
                continue;
            }
            if Self::is_lost(&call) {
                let stored = ctx.turn().store_tool_call(self.end_lost_call(&call)).await;
                stored.map_err(|error| Conclusion::not_stored(&error))?;
            } else {
                unfinished.push(call);
            }
        }
        self.run_calls(unfinished).await
    }

    /// Executes calls of the stored step.
    pub(super) async fn run_calls(&self, calls: Vec<Arc<ToolCall>>) -> Result<(), Conclusion> {
        let ctx = self.iteration.ctx.clone();
        for call in &calls {
            ctx.emit_with(|| EventKind::ToolCall(ToolCallReport::of(call, None)));
        }
        if calls.is_empty() {
            return Ok(());
        }
        let agent = CallRunner::new(&self.agent, &self.shared, &ctx);
        agent.run(calls).await.map_err(|error| Conclusion::not_stored(&error))
    }
}
