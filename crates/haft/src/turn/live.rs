//! A turn while it runs.

mod unfinished;

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::call::{CallError, CallState, Occurrences, ToolCall};
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::{DispatchContext, RecordError, Signal, TurnContext};
use haft_core::error::Code;
use haft_core::event::{ErrorReport, EventKind, ToolCallReport};
use haft_core::pipeline::{Context, Pipeline, PipelineError};
use haft_core::record::{Instruction, LoadError, Memory, Message, Record, Retrievable, Thought};
use haft_core::registry::ToolRegistry;
use haft_core::stash::Registry;
use haft_core::step::{ProposedCall, Step, StepContext, Then};
use haft_core::store::{
    GateRow, Holder, Lease, NewTurn, Row, RowKind, StoreError, StoredTurn, TurnId, Write,
};
use haft_core::tokens::Tokenizable;
use haft_core::tool::OnCollision;
use haft_core::usage::Usage;

use super::calls::Calls;
use super::gates::TurnGates;
use super::journal::{Entry, Journal, StepEntry, VERSION};
use super::lease::LeasedRecorder;
use super::limits::Deadlines;
use super::report::Ended;
use super::runner::Shared;
use super::watch::{Interrupted, Stopwatch, bounded};
use super::{Outcome, TurnError, TurnInput, TurnReport};

/// Begins a turn and runs it to its end.
pub(super) async fn begin(
    runner: &Arc<Shared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    // Boxes here and below keep what is over out of the future of a turn, which may wait for long.
    let live = Box::pin(begun(runner, input, cancellation)).await?;
    Ok(live.run().await)
}

/// Keeps what a turn begins with.
async fn begun(
    runner: &Arc<Shared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> Result<Box<Live>, TurnError> {
    let id = input.turn_id()?;
    let stash = input.registry()?;
    let started = Entry::Started {
        version: VERSION,
        system_prompt: input.prompt_text()?,
        stash: input.stash.clone(),
        at: runner.clock.now(),
    };
    let mut new = NewTurn::new(id.clone(), holder(runner));
    new.conversation.clone_from(&input.conversation);
    new.writes.push(started.write()?);
    new.writes.extend(rows("instructions", &input.instructions)?);
    new.writes.extend(rows("messages", &input.messages)?);
    new.writes.extend(rows("memories", &input.memories)?);
    new.writes.extend(rows("thoughts", &input.thoughts)?);
    new.writes.extend(rows("retrievables", &input.retrievables)?);
    let lease = runner.store.create(new).await?;
    let past = Past { stash, ..Past::default() };
    let live = Box::new(Live::new(runner, lease, input.system_prompt, past, &cancellation));
    let ctx = live.ctx.turn();
    for instruction in input.instructions {
        ctx.instructions().put(instruction);
    }
    for message in input.messages {
        ctx.messages().put(message);
    }
    for memory in input.memories {
        ctx.memories().put(memory);
    }
    for thought in input.thoughts {
        ctx.thoughts().put(thought);
    }
    for record in input.retrievables {
        // There is no call yet whose id it could have.
        ctx.restore_retrievable(record)?;
    }
    Ok(live)
}

/// Goes on with a turn.
pub(super) async fn resume(
    runner: &Arc<Shared>,
    id: &TurnId,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    let (stored, journal) = load(runner, id).await?;
    if journal.ended.is_some() {
        return ended(runner, stored, journal).await;
    }
    let lease = runner.store.claim(id.clone(), holder(runner)).await?;
    match Box::pin(loaded(runner, lease.clone(), &cancellation)).await {
        Ok(Loaded::Over(over)) => {
            let (stored, journal) = *over;
            runner.store.release(lease).await?;
            ended(runner, stored, journal).await
        }
        Ok(Loaded::Live(live)) => Ok(live.run().await),
        Err(error) => {
            // Whoever can read it need not wait until the lease has run out.
            let _ = runner.store.release(lease).await;
            Err(error)
        }
    }
}

/// A turn that was taken over.
enum Loaded {
    Over(Box<(StoredTurn, Journal)>),
    Live(Box<Live>),
}

async fn loaded(
    runner: &Arc<Shared>,
    lease: Lease,
    cancellation: &Cancellation,
) -> Result<Loaded, TurnError> {
    let id = lease.turn.clone();
    // Whoever had it may have gone on until now.
    let (stored, journal) = load(runner, &id).await?;
    if journal.ended.is_some() {
        return Ok(Loaded::Over(Box::new((stored, journal))));
    }
    let stash = Registry::from_value(journal.stash.clone());
    let stash = stash.map_err(|error| StoreError::Damaged {
        what: format!("turn `{id}`"),
        reason: error.to_string(),
    })?;
    let prompt = Tokenizable::new(journal.system_prompt.clone());
    let past = Past {
        stash,
        resumed: true,
        usage: journal.usage(),
        said: journal.steps.iter().flat_map(|step| step.messages.iter().cloned()).collect(),
        steps: journal.steps,
        iterated: journal.iterated,
        done: journal.done,
        gates: stored.gates,
    };
    let live = Live::new(runner, lease, prompt, past, cancellation);
    live.load(&stored.rows).await?;
    let (by, at) = (runner.name.clone(), runner.clock.now());
    let entry = Entry::Resumed { version: VERSION, by, at };
    live.recorder.defer(entry.write()?);
    Ok(Loaded::Live(Box::new(live)))
}

async fn load(runner: &Shared, id: &TurnId) -> Result<(StoredTurn, Journal), TurnError> {
    let stored = runner.store.load(id.clone()).await?;
    let stored = stored.ok_or_else(|| StoreError::unknown_turn(id))?;
    let journal = Journal::read(id, &stored.journal)?;
    Ok((stored, journal))
}

/// The report of a turn that is over.
async fn ended(
    runner: &Arc<Shared>,
    stored: StoredTurn,
    journal: Journal,
) -> Result<TurnReport, TurnError> {
    let said: Vec<&String> = journal.steps.iter().flat_map(|step| &step.messages).collect();
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    for row in &stored.rows {
        match row.kind {
            RowKind::Message if said.contains(&&row.id) => {
                messages.push(Arc::new(Message::from_row(row, &runner.loader).await?));
            }
            RowKind::ToolCall => {
                calls.push(Arc::new(ToolCall::from_row(row, &runner.loader).await?))
            }
            _ => {}
        }
    }
    let usage = journal.usage();
    let end = journal.ended;
    Ok(TurnReport {
        turn: stored.summary.id,
        outcome: end.as_ref().map_or(Outcome::Failed, |end| end.outcome.clone()),
        messages,
        usage: end.as_ref().map_or(usage, |end| end.usage),
        iterations: end.as_ref().map_or(0, |end| end.iterations),
        calls,
        error: end.and_then(|end| end.error),
        duration: std::time::Duration::ZERO,
    })
}

fn holder(runner: &Shared) -> Holder {
    Holder::new(runner.name.clone(), runner.clock.now(), runner.deadlines.lease)
}

/// The writes that keep records of the input, of which no two have the same id.
fn rows<T: Record>(field: &'static str, records: &[T]) -> Result<Vec<Write>, TurnError> {
    let mut ids = HashSet::with_capacity(records.len());
    if let Some(twice) = records.iter().find(|record| !ids.insert(record.key())) {
        return Err(TurnError::invalid(field, format_args!("two have the id `{}`", twice.key())));
    }
    let rows = records.iter().map(|record| record.to_row().map(Write::Put));
    rows.collect::<Result<_, _>>().map_err(|error| RecordError::from(error).into())
}

/// What a turn has behind it when it is resumed.
#[derive(Default)]
struct Past {
    stash: Registry,
    resumed: bool,
    usage: Usage,
    /// The ids of what the assistant said.
    said: Vec<String>,
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
#[derive(Clone, Default)]
struct Progress {
    iterations: u32,
    usage: Usage,
    said: Vec<String>,
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
            turn: id.clone(),
            store: Arc::clone(&runner.store),
            key: runner.key.clone(),
            clock: Arc::clone(&runner.clock),
            recorder: Arc::clone(&recorder),
            bells: Arc::clone(&runner.bells),
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
        let progress = Progress { iterations: past.iterated, usage: past.usage, said: past.said };
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

    /// Puts what was stored back on the shelves.
    async fn load(&self, rows: &[Row]) -> Result<(), TurnError> {
        let (ctx, loader) = (self.ctx.turn(), &self.runner.loader);
        for row in rows {
            match row.kind {
                RowKind::Message => {
                    ctx.messages().put(Message::from_row(row, loader).await?);
                }
                RowKind::Memory => {
                    ctx.memories().put(Memory::from_row(row, loader).await?);
                }
                RowKind::Thought => {
                    ctx.thoughts().put(Thought::from_row(row, loader).await?);
                }
                RowKind::Instruction => {
                    ctx.instructions().put(Instruction::from_row(row, loader).await?);
                }
                RowKind::Retrievable => {
                    ctx.restore_retrievable(Retrievable::from_row(row, loader).await?)?;
                }
                RowKind::ToolCall => {
                    let call = ToolCall::from_row(row, loader).await?;
                    self.occurrences().restore(call.id());
                    ctx.restore_tool_call(call)?;
                }
                _ => {
                    let kind = row.kind.as_str();
                    return Err(
                        LoadError::damaged(row.kind, format!("no {kind} is known here")).into()
                    );
                }
            }
        }
        Ok(())
    }

    /// Runs the stages of the turn. Whatever happens, it ends with a report.
    async fn run(self: Box<Self>) -> TurnReport {
        let started_at = self.runner.clock.now();
        let turn = self.ctx.turn().clone();
        turn.emit_with(|| EventKind::TurnStart {});
        let mut ended = self.within_wall_time(&turn).await;
        let Progress { iterations, usage, said } = self.progress().clone();
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
        let messages = turn.turn_messages();
        let is_said = |message: &Arc<Message>| said.iter().any(|id| id == message.id().as_str());
        TurnReport {
            turn: self.id,
            outcome: ended.outcome,
            messages: messages.into_iter().filter(is_said).collect(),
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
            Ended { outcome: Outcome::Cancelled { .. }, .. } => Ended::limit("wall-time"),
            ended => ended,
        }
    }

    async fn stages(&self, turn: &TurnContext) -> Ended {
        if let Err(ended) = Box::pin(self.spool_input(turn)).await {
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
        if let Some(Signal::Nack { reason }) = self.ctx.signal()
            && ended.outcome == Outcome::Completed
        {
            ended = Ended::failed(ErrorReport::reason(reason));
        }
        self.ctx.settled(ended.status());
        let Progress { iterations, usage, .. } = self.progress().clone();
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
        if ended.outcome != Outcome::Completed {
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
                    let error = ErrorReport::coded(Code::DeadlineExceeded, message).at("store");
                    return Err(Ended { over: false, ..Ended::failed(error) });
                }
            }
        }
        Ok(())
    }

    /// Runs a pipeline of the turn; says how the turn ended if it has.
    async fn pipeline<C: Context>(&self, pipeline: &Pipeline<C>, ctx: &C) -> Option<Ended> {
        let cancellation = self.ctx.turn().cancellation();
        self.gates.enter(pipeline.stage());
        let result = if pipeline.is_empty() {
            Ok(Ok(()))
        } else {
            let Deadlines { pipeline: limit, grace, .. } = self.runner.deadlines;
            let limit = self.watch.worked() + limit;
            let run = Box::pin(pipeline.run(ctx));
            Box::pin(bounded(run, &self.watch, limit, cancellation, grace)).await
        };
        let stage = pipeline.stage();
        let failed = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(ErrorReport::of(&error).at(stage)),
            Err(Interrupted::Deadline) => {
                let message = format!("the {stage} pipeline did not end in time");
                Some(ErrorReport::coded(Code::DeadlineExceeded, message).at(stage))
            }
            Err(Interrupted::Cancelled(_)) => None,
            Err(Interrupted::Panicked(panic)) => {
                let source = format!("a middleware panicked: {panic}").into();
                Some(ErrorReport::of(&PipelineError::Failed { stage, source }).at(stage))
            }
        };
        if let Some(reason) = cancellation.reason() {
            return Some(Ended::cancelled(reason));
        }
        let failed = failed?;
        if stage.starts_with("turn-") {
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

    fn limit_reached(&self, iteration: u32) -> Option<&'static str> {
        let limits = &self.runner.limits;
        let progress = self.progress();
        if iteration >= limits.iterations {
            Some("iterations")
        } else if limits.tokens.is_some_and(|limit| progress.usage.total >= limit) {
            Some("tokens")
        } else if self.watch.has_reached(limits.wall_time) {
            Some("wall-time")
        } else {
            None
        }
    }

    /// One iteration; says how the dispatch ended if it has.
    async fn iteration(&self, n: u32) -> Option<Ended> {
        let forged = match self.runner.formats.forge(self.ctx.artifacts()) {
            Ok(forged) => forged,
            Err(error) => return Some(Ended::failed(ErrorReport::of(&error).at("forge"))),
        };
        // A copy in any case: what is registered during an iteration ends with it.
        let tools = match &**self.ctx.turn().tools() {
            own if forged.is_empty() => Ok(own.clone()),
            own => ToolRegistry::merge([own, &forged], OnCollision::Keep),
        };
        let tools = match tools {
            Ok(tools) => Arc::new(tools),
            Err(error) => return Some(Ended::failed(ErrorReport::of(&error).at("forge"))),
        };
        let ctx = self.ctx.at_iteration(n, Arc::clone(&tools));
        // Tools that live for one dispatch go when it succeeds.
        let _turn = self.ctx.turn().tools().bind_context(&ctx);
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
        if let Ok(entry) = (Entry::Iterated { iteration: n, done }).write() {
            self.recorder.defer_stash(ctx.stash());
            self.recorder.defer(entry);
        }
        ctx.emit_with(|| EventKind::IterationEnd {
            usage: Some(spent),
            started_at,
            duration: self.watch.elapsed().saturating_sub(begun),
        });
        ended
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
                    return Some(Ended::limit(limit));
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

    /// Takes a step of the model, keeps it, and runs its calls.
    async fn step(&self, ctx: &DispatchContext) -> Result<Then, Ended> {
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
                    Interrupted::Panicked(panic) => {
                        (Code::LlmExecutionExecutorError, format!("the executor panicked: {panic}"))
                    }
                    _ => (Code::DeadlineExceeded, format!("the executor took more than {limit:?}")),
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
            Some("tool-calls")
        } else if calls.iter().any(too_often) {
            Some("identical-calls")
        } else {
            None
        };
        if let Some(limit) = limit {
            // What the model said is kept, and its calls end without having been made.
            let now = self.runner.clock.now();
            let message = format!("not made: the turn came to its limit of {limit}");
            let error = CallError::new(Code::LimitReached, message, false);
            let ended = |call: &Arc<ToolCall>| {
                let call = ToolCall::clone(call);
                Arc::new(call.ended(CallState::Cancelled, error.clone(), now))
            };
            calls = calls.iter().map(ended).collect();
        }
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let said: Vec<String> =
            messages.iter().map(|message| message.id().as_str().to_owned()).collect();
        let entry = Entry::Step {
            iteration: ctx.iteration(),
            messages: said.clone(),
            calls: calls.iter().map(|call| call.id()).collect(),
            then: then.clone(),
            usage,
            limit: limit.map(str::to_owned),
        };
        let unkept = |error: RecordError| Ended::unkept(&error);
        let entry = entry.write().map_err(|error| unkept(error.into()))?;
        self.recorder.defer_stash(ctx.stash());
        let thoughts = thoughts.into_iter().map(Arc::new).collect();
        ctx.store_step(thoughts, messages, calls.clone(), vec![entry]).await.map_err(unkept)?;
        let mut progress = self.progress();
        progress.usage += usage;
        progress.said.extend(said);
        drop(progress);
        match limit {
            Some(limit) => Err(Ended::limit(limit)),
            None => Ok(calls),
        }
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

    async fn run_calls(
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

    fn occurrences(&self) -> std::sync::MutexGuard<'_, Occurrences> {
        self.occurrences.lock().unwrap_or_else(PoisonError::into_inner)
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
