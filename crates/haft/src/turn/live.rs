//! A turn while it runs.

mod opening;
mod step;
mod unfinished;

use haft_core::error::codes;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::call::Occurrences;
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::Tokenizable;
use haft_core::context::{DispatchContext, Signal, TurnContext};
use haft_core::event::{ErrorReport, EventKind};
use haft_core::pipeline::{Context, Pipeline, PipelineError, Stage};
use haft_core::record::RecordName;
use haft_core::registry::ToolRegistry;
use haft_core::stash::Registry;
use haft_core::step::Then;
use haft_core::store::{GateRow, Lease, TurnId};
use haft_core::tool::OnCollision;
use haft_core::usage::Usage;

pub(super) use self::opening::{begin, resume};
use super::gates::TurnGates;
use super::journal::{Entry, StepEntry};
use super::lease::LeasedRecorder;
use super::limits::{Deadlines, Limit};
use super::report::Ended;
use super::runner::Shared;
use super::watch::{Interrupted, Stopwatch, bounded};
use super::{Outcome, TurnReport};

/// What a turn has behind it when it is resumed.
#[derive(Default)]
struct Past {
    stash: Registry,
    resumed: bool,
    usage: Usage,
    /// The ids of what the assistant said.
    said: Vec<RecordName>,
    steps: Vec<StepEntry>,
    iterated: u32,
    /// Whether the dispatch was acknowledged.
    done: bool,
    gates: Vec<GateRow>,
}

struct Live {
    runner: Arc<Shared>,
    id: TurnId,
    recorder: Arc<LeasedRecorder>,
    gates: Arc<TurnGates>,
    ctx: DispatchContext,
    watch: Stopwatch,
    occurrences: Mutex<Occurrences>,
    past: Vec<StepEntry>,
    iterated: u32,
    done: bool,
    progress: Mutex<Progress>,
}

/// How far the turn has got.
struct Progress {
    iterations: u32,
    usage: Usage,
    said: Vec<RecordName>,
    /// Whether the end of the turn is written already.
    over: bool,
}

impl Live {
    fn new(
        runner: &Arc<Shared>,
        lease: Lease,
        system_prompt: Tokenizable,
        past: Past,
        cancellation: &Cancellation,
    ) -> Self {
        let id = lease.turn.clone();
        // A child, so that a limit or a lost lease does not cancel what else the caller runs under it.
        let cancellation = cancellation.child();
        let held = runner.leases.hold(lease, cancellation.clone());
        let store = Arc::clone(&runner.store);
        let recorder = Arc::new(LeasedRecorder::new(store, held, past.stash.clone()));
        let watch = Stopwatch::start();
        let gates = Arc::new(TurnGates {
            runner: Arc::clone(runner),
            turn: id.clone(),
            recorder: Arc::clone(&recorder),
            watch: watch.clone(),
            calls: Mutex::default(),
            stage: Mutex::default(),
            opened: Mutex::default(),
            known: past.gates,
        });
        let builder = DispatchContext::builder(id.as_str())
            .dispatch(format!("{id}/dispatch"))
            .resumed(past.resumed)
            .system_prompt(system_prompt)
            .stash(past.stash)
            .tools(Arc::new(runner.tools.clone()))
            .observers(runner.observers.iter().cloned())
            .cancellation(cancellation)
            .clock(Arc::clone(&runner.clock))
            .recorder(Arc::clone(&recorder) as _)
            .gates(Arc::clone(&gates) as _)
            .spooler(runner.spooler.clone());
        let builder = match &runner.tool_source {
            Some(source) => builder.tool_source(Arc::clone(source)),
            None => builder,
        };
        let (iterations, usage, said) = (past.iterated, past.usage, past.said);
        let progress = Progress { iterations, usage, said, over: false };
        Self {
            runner: Arc::clone(runner),
            id,
            recorder,
            gates,
            ctx: builder.build(),
            watch,
            occurrences: Mutex::default(),
            past: past.steps,
            iterated: past.iterated,
            done: past.done,
            progress: Mutex::new(progress),
        }
    }

    /// Runs the stages of the turn. Whatever happens, it ends with a report.
    async fn run(self: Box<Self>) -> TurnReport {
        let started_at = self.runner.clock.now();
        let turn = self.ctx.turn().clone();
        turn.emit_with(|| EventKind::TurnStart {});
        let mut ended = self.within_wall_time(&turn).await;
        let (iterations, usage) = self.spent();
        if ended.over
            && let Err(error) = Box::pin(self.keep_end(&ended)).await
        {
            // What cannot be written down did not happen: the turn can be resumed.
            let report = ErrorReport::of(&error).at("store");
            turn.emit_with(|| EventKind::Error(report.clone()));
            ended.error = ended.error.or(Some(report));
            if ended.outcome == Outcome::Completed {
                ended.outcome = Outcome::Failed;
            }
        }
        // A lease that cannot be given back runs out by itself.
        let _ = self.recorder.release().await;
        let duration = self.watch.elapsed();
        turn.emit_with(|| EventKind::TurnEnd {
            status: ended.outcome.status(),
            error: ended.error.clone(),
            iterations,
            usage: Some(usage),
            started_at,
            duration,
        });
        let said = std::mem::take(&mut self.progress().said);
        let mut messages = turn.turn_messages();
        messages.retain(|message| said.contains(message.id()));
        TurnReport {
            turn: self.id,
            outcome: ended.outcome,
            messages,
            usage,
            iterations,
            calls: turn.turn_tool_calls(),
            error: ended.error,
            duration,
        }
    }

    /// Runs the stages, and cancels what runs when the turn has worked for too long.
    async fn within_wall_time(&self, turn: &TurnContext) -> Ended {
        let mut stages = std::pin::pin!(self.stages(turn));
        tokio::select! {
            biased;
            ended = &mut stages => return ended,
            () = self.watch.reaches(self.runner.limits.wall_time) => {}
        }
        turn.cancellation().cancel(CancelReason::Deadline);
        match stages.await {
            Ended { outcome: Outcome::Cancelled { .. }, .. } => Ended::limit(Limit::WallTime),
            ended => ended,
        }
    }

    async fn stages(&self, turn: &TurnContext) -> Ended {
        if !turn.retrievables().is_empty()
            && let Err(ended) = Box::pin(self.spool_input(turn)).await
        {
            if let Some(error) = &ended.error {
                turn.emit_with(|| EventKind::Error(error.clone()));
            }
            return ended;
        }
        if let Some(ended) = self.pipeline(&self.runner.turn_input, turn).await {
            return ended;
        }
        let started_at = self.runner.clock.now();
        let begun = self.watch.elapsed();
        self.ctx.emit_with(|| EventKind::DispatchStart {});
        let mut ended = self.dispatch().await;
        let over = self.progress().over;
        if let Some(Signal::Nack { reason }) = self.ctx.signal()
            && ended.outcome == Outcome::Completed
            && !over
        {
            ended = Ended::failed(ErrorReport::reason(reason));
        }
        self.ctx.settled(ended.status());
        let (iterations, usage) = self.spent();
        self.ctx.emit_with(|| EventKind::DispatchEnd {
            status: ended.status(),
            error: ended.error.clone(),
            iterations,
            usage: Some(usage),
            started_at,
            duration: self.watch.elapsed().saturating_sub(begun),
        });
        if let Some(error) = &ended.error {
            turn.emit_with(|| EventKind::Error(error.clone()));
        }
        if over || ended.outcome != Outcome::Completed {
            return ended;
        }
        self.pipeline(&self.runner.turn_output, turn).await.unwrap_or(ended)
    }

    /// Stores long texts that the turn began with, unless a process before this one came so far.
    async fn spool_input(&self, turn: &TurnContext) -> Result<(), Ended> {
        let Deadlines { store: limit, grace, .. } = self.runner.deadlines;
        for record in turn.turn_retrievables() {
            if record.to_spool().is_none() {
                continue;
            }
            let until = self.watch.worked() + limit;
            let stored = Box::pin(turn.store_retrievable(record));
            match bounded(stored, &self.watch, until, turn.cancellation(), grace).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(Ended::unkept(&error)),
                Err(Interrupted::Cancelled(reason)) => return Err(Ended::cancelled(reason)),
                Err(_) => {
                    let message = format!("the input could not be stored within {limit:?}");
                    let error = ErrorReport::coded(codes::DEADLINE_EXCEEDED, message).at("store");
                    return Err(Ended { over: false, ..Ended::failed(error) });
                }
            }
        }
        Ok(())
    }

    /// Runs a pipeline of the turn; says how the turn ended if it has.
    async fn pipeline<C: Context>(&self, pipeline: &Pipeline<C>, ctx: &C) -> Option<Ended> {
        self.gates.enter(pipeline.stage().as_str());
        if pipeline.is_empty() {
            return self.ctx.turn().cancellation().reason().map(Ended::cancelled);
        }
        Box::pin(self.through(pipeline, ctx)).await
    }

    async fn through<C: Context>(&self, pipeline: &Pipeline<C>, ctx: &C) -> Option<Ended> {
        let (stage, cancellation) = (pipeline.stage(), self.ctx.turn().cancellation());
        let Deadlines { pipeline: limit, grace, .. } = self.runner.deadlines;
        let limit = self.watch.worked() + limit;
        let run = Box::pin(pipeline.run(ctx));
        let result = bounded(run, &self.watch, limit, cancellation, grace).await;
        let failed = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(ErrorReport::of(&error).at(stage.as_str())),
            Err(Interrupted::Deadline) => {
                let message = format!("the {stage} pipeline did not end in time");
                Some(ErrorReport::coded(codes::DEADLINE_EXCEEDED, message).at(stage.as_str()))
            }
            Err(Interrupted::Cancelled(_)) => None,
            Err(Interrupted::Panicked(panic)) => {
                let source = format!("a middleware panicked: {panic}").into();
                Some(ErrorReport::of(&PipelineError::Failed { stage, source }).at(stage.as_str()))
            }
        };
        if let Some(reason) = cancellation.reason() {
            return Some(Ended::cancelled(reason));
        }
        let failed = failed?;
        if matches!(stage, Stage::TurnInput | Stage::TurnOutput) {
            self.ctx.turn().emit_with(|| EventKind::Error(failed.clone()));
        }
        // If the store failed, it was not the middleware's fault.
        Some(Ended { over: !self.recorder.is_failing(), ..Ended::failed(failed) })
    }

    /// The iterations, until one of them ends the dispatch.
    async fn dispatch(&self) -> Ended {
        if self.done {
            let _ = self.ctx.ack();
            return Ended::completed();
        }
        // Tools that live for one dispatch go when it succeeds.
        let _tools = self.ctx.turn().tools().bind_context(&self.ctx);
        let mut iteration = self.iterated;
        loop {
            if let Some(reason) = self.ctx.cancellation().reason() {
                return Ended::cancelled(reason);
            }
            // A step that was taken is brought to its end, as it would have been.
            if !self.past.iter().any(|step| step.iteration == iteration)
                && let Some(limit) = self.limit_reached(iteration)
            {
                return Ended::limit(limit);
            }
            if let Some(ended) = self.iteration(iteration).await {
                return ended;
            }
            iteration += 1;
        }
    }

    fn limit_reached(&self, iteration: u32) -> Option<Limit> {
        let limits = &self.runner.limits;
        let progress = self.progress();
        if iteration >= limits.iterations {
            Some(Limit::Iterations)
        } else if limits.tokens.is_some_and(|limit| progress.usage.total >= limit) {
            Some(Limit::Tokens)
        } else if self.watch.has_reached(limits.wall_time) {
            Some(Limit::WallTime)
        } else {
            None
        }
    }

    /// One iteration; says how the dispatch ended if it has.
    async fn iteration(&self, n: u32) -> Option<Ended> {
        let ctx = match self.tools() {
            Ok(tools) => self.ctx.at_iteration(n, Arc::new(tools)),
            Err(error) => return Some(Ended::failed(error.at("forge"))),
        };
        let started_at = self.runner.clock.now();
        let begun = self.watch.elapsed();
        ctx.emit_with(|| EventKind::IterationStart {});
        let before = self.progress().usage;
        let ended = self.iterate(&ctx).await;
        let mut progress = self.progress();
        progress.iterations = n + 1;
        let spent = Usage::new(
            progress.usage.prompt.saturating_sub(before.prompt),
            progress.usage.completion.saturating_sub(before.completion),
        );
        drop(progress);
        let done = ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Completed);
        if !self.progress().over {
            self.recorder.defer_stash(ctx.stash());
            self.recorder.defer(Entry::Iterated { iteration: n, done }.write());
        }
        ctx.emit_with(|| EventKind::IterationEnd {
            usage: Some(spent),
            started_at,
            duration: self.watch.elapsed().saturating_sub(begun),
        });
        ended
    }

    /// The tools of an iteration: a copy in any case, because what is registered during an iteration ends
    /// with it.
    fn tools(&self) -> Result<ToolRegistry, ErrorReport> {
        let forged = self.runner.formats.forge(self.ctx.artifacts());
        let (forged, own) = (forged.map_err(|error| ErrorReport::of(&error))?, self.ctx.tools());
        if forged.is_empty() {
            return Ok(ToolRegistry::clone(own));
        }
        let merged = ToolRegistry::merge([&**own, &forged], OnCollision::Keep);
        merged.map_err(|error| ErrorReport::of(&error))
    }

    async fn iterate(&self, ctx: &DispatchContext) -> Option<Ended> {
        let n = ctx.iteration();
        let known = self.past.iter().find(|step| step.iteration == n);
        let then = match known {
            // The model has spoken already: only its calls may be left.
            Some(step) => {
                if let Some(ended) = Box::pin(self.unfinished(ctx)).await {
                    return Some(ended);
                }
                if let Some(limit) = &step.limit {
                    return Some(Ended::limit(limit.clone()));
                }
                step.then.clone()
            }
            None => {
                if let Some(ended) = self.pipeline(&self.runner.dispatch_input, ctx).await {
                    return Some(ended);
                }
                if let Some(ended) = signalled(ctx) {
                    return Some(ended);
                }
                match self.step(ctx).await {
                    Ok(_) if self.progress().over => {
                        let _ = ctx.ack();
                        return Some(Ended::completed());
                    }
                    Ok(then) => then,
                    Err(ended) => return Some(ended),
                }
            }
        };
        ctx.set_pending(match then {
            Then::Done => Some(Signal::Ack),
            Then::Fail(reason) => Some(Signal::Nack { reason }),
            _ => None,
        });
        if let Some(reason) = ctx.cancellation().reason() {
            return Some(Ended::cancelled(reason));
        }
        if let Some(ended) = self.pipeline(&self.runner.dispatch_output, ctx).await {
            return Some(ended);
        }
        match ctx.pending() {
            Some(Signal::Ack) if ctx.signal().is_none() => {
                let _ = ctx.ack();
            }
            Some(Signal::Nack { reason }) if ctx.signal().is_none() => {
                let _ = ctx.nack(reason);
            }
            _ => {}
        }
        signalled(ctx)
    }

    fn occurrences(&self) -> std::sync::MutexGuard<'_, Occurrences> {
        self.occurrences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many iterations there were, and what they cost.
    fn spent(&self) -> (u32, Usage) {
        let progress = self.progress();
        (progress.iterations, progress.usage)
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the dispatch ended, if somebody has said so.
fn signalled(ctx: &DispatchContext) -> Option<Ended> {
    Some(match ctx.signal()? {
        Signal::Nack { reason } => Ended::failed(ErrorReport::reason(reason)),
        _ => Ended::completed(),
    })
}
