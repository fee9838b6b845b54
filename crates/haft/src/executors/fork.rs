//! Forks: a new turn that begins as a stored one did.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::call::{CallId, RecordId, ToolCall, ToolResults};
use haft_core::context::{CallContext, DispatchContext};
use haft_core::record::{Message, MessageRole, Record as _, RecordName, Thought};
use haft_core::step::{
    DispatchExecutor, ExecutorDescription, ProposedCall, Step, StepContext, StepError, StepRequest,
};
use haft_core::store::TurnId;
use haft_core::tool::{Tool, ToolEffect, ToolFailure, ToolOutput, ToolRole};

use super::recorded_tool::with_recorded_output;
use crate::turn::{OpenedTurn, StepHistory, StoredTurns, TurnError, TurnMessages};

/// A new turn that repeats the steps of a stored turn up to an iteration, and continues differently from there. The
/// stored turn is not changed.
///
/// The repeated steps cost nothing, and their calls return the recorded results. From the fork on, another executor
/// takes the steps; tools run only if [`LaterCalls::Run`] allows it.
///
/// ```
/// use std::sync::Arc;
/// use haft::executors::{Fork, ScriptExecutor};
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
/// let script = |says: &str| {
///     let steps = format!(r#"{{"steps": [{{"call": {{"roll": {{}}}}}}, {{"say": "{says}"}}]}}"#);
///     ScriptExecutor::parse(&steps)
/// };
/// let agent = Agent::builder(script("It is {{ last.roll }}.")?).tool(roll.clone()).build()?;
/// let turn = agent.turn("Roll!").system("Play.").report().await?.turn;
///
/// let fork = Fork::load(agent.stored_turns(), &turn, 1).await?.message("Be brief.");
/// let messages = fork.messages();
/// let executor = fork.executor(Arc::new(script("{{ last.roll }}!")?), [roll.clone()]);
/// let forked = Agent::builder(executor).tool(roll).build()?.turn(messages).await?;
/// assert_eq!(forked.to_string(), "4!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a fork does nothing until its executor runs a turn"]
pub struct Fork {
    iteration: u32,
    message: Option<String>,
    later: LaterCalls,
    runs_earlier_calls: bool,
    input: Vec<Arc<Message>>,
    record: Arc<ForkRecord>,
}

/// What the calls after a fork do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaterCalls {
    /// A call that the record has returns that result, and every other call fails. No tool runs.
    #[default]
    FromRecord,
    /// A read-only call that the record has returns that result. Other read-only calls run, and calls with effects require
    /// approval.
    Run,
}

/// The steps that are repeated.
struct ForkRecord {
    steps: HashMap<u32, RecordedStep>,
    calls: HashMap<RecordId, Arc<ToolCall>>,
}

struct RecordedStep {
    thoughts: Vec<Arc<Thought>>,
    messages: Vec<Arc<Message>>,
    calls: Vec<Arc<ToolCall>>,
}

impl Fork {
    /// Loads a stored turn to fork it before an iteration, counted from zero.
    ///
    /// # Errors
    ///
    /// There is no such turn or iteration, or a stored record cannot be read.
    pub async fn load(
        turns: &StoredTurns,
        turn: &TurnId,
        iteration: u32,
    ) -> Result<Self, TurnError> {
        let OpenedTurn { history, ctx, .. } = turns.open_turn(turn).await?;
        if history.steps.iter().all(|step| step.iteration < iteration) {
            let reason = format!("the turn has {} steps", history.steps.len());
            return Err(TurnError::Invalid { field: "iteration", reason });
        }
        let records = ctx.turn();
        let of_steps: Vec<&RecordName> =
            history.steps.iter().flat_map(|step| &step.messages).collect();
        let messages = records.messages().of_turn();
        let input =
            messages.into_iter().filter(|message| !of_steps.contains(&message.id())).collect();
        let earlier = history.steps.iter().filter(|step| step.iteration < iteration);
        let steps = earlier.map(|step| (step.iteration, RecordedStep::read(step, &ctx)));
        let calls = records.tool_calls().of_turn().into_iter().map(|call| (call.id(), call));
        let record = Arc::new(ForkRecord { steps: steps.collect(), calls: calls.collect() });
        let later = LaterCalls::default();
        Ok(Self { iteration, message: None, later, runs_earlier_calls: false, input, record })
    }

    /// Adds a user message before the first new step.
    pub fn message(mut self, text: impl Into<String>) -> Self {
        self.message = Some(text.into());
        self
    }

    /// Sets what the calls after the fork do.
    pub fn later_calls(mut self, later: LaterCalls) -> Self {
        self.later = later;
        self
    }

    /// Runs the calls before the fork again instead of returning the recorded results.
    pub fn run_earlier_calls(mut self) -> Self {
        self.runs_earlier_calls = true;
        self
    }

    /// The messages that the stored turn began with, to ask the new one with.
    #[must_use]
    pub fn messages(&self) -> TurnMessages {
        self.input.iter().map(|message| Message::clone(message)).collect()
    }

    /// The executor of the new turn. `inner` takes the steps from the fork on, and `tools` are those of the turn.
    #[must_use]
    pub fn executor(
        self,
        inner: Arc<dyn DispatchExecutor>,
        tools: impl IntoIterator<Item = Tool>,
    ) -> ForkExecutor {
        let tools =
            tools.into_iter().filter(|tool| matches!(tool.role(), ToolRole::Standard(_))).collect();
        ForkExecutor { fork: self, inner, tools }
    }
}

impl fmt::Debug for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork").field("iteration", &self.iteration).finish_non_exhaustive()
    }
}

/// Repeats steps of a stored turn, and then lets another executor take them.
#[derive(Clone)]
pub struct ForkExecutor {
    fork: Fork,
    inner: Arc<dyn DispatchExecutor>,
    tools: Vec<Tool>,
}

impl fmt::Debug for ForkExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkExecutor").field("fork", &self.fork).finish_non_exhaustive()
    }
}

impl DispatchExecutor for ForkExecutor {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let iteration = ctx.dispatch().iteration();
            if let Some(step) = self.fork.record.steps.get(&iteration) {
                if !self.fork.runs_earlier_calls {
                    self.replace_tools(&ctx, |_| true)?;
                }
                return step.rebuild(&ctx);
            }
            if iteration == self.fork.iteration {
                self.put_message(&ctx).await?;
            }
            let step = self.inner.step(ctx.clone()).await?;
            self.prepare_tools(&ctx, &step)?;
            Ok(step)
        })
    }

    /// A turn that was begun by a fork is resumed as a turn of the other executor.
    fn description(&self) -> ExecutorDescription {
        self.inner.description()
    }

    fn render_request(
        &self,
        ctx: StepContext,
    ) -> BoxFuture<'_, Result<Option<StepRequest>, StepError>> {
        self.inner.render_request(ctx)
    }
}

impl ForkExecutor {
    /// Adds the message of the fork after the repeated records, once.
    async fn put_message(&self, ctx: &StepContext) -> Result<(), StepError> {
        let Some(text) = &self.fork.message else { return Ok(()) };
        let dispatch = ctx.dispatch();
        let messages = dispatch.turn().messages();
        let id = format!("{}/fork/message", dispatch.turn_id());
        if messages.all().iter().any(|message| message.id().as_str() == id) {
            return Ok(());
        }
        let message = Message::user_at(id, text.as_str(), dispatch.clock().now())?;
        let stored = dispatch.turn().store_message(message).await;
        stored.map_err(|error| StepError::new(error.to_string()))
    }

    /// Installs the tools that the calls of a step use.
    fn prepare_tools(&self, ctx: &StepContext, step: &Step) -> Result<(), StepError> {
        if self.fork.later == LaterCalls::FromRecord {
            return self.replace_tools(ctx, |_| true);
        }
        // A tool is replaced if all of its calls in this step are in the record. A call that is not runs, and the others of
        // the tool run with it, which a read-only tool allows.
        let is_recorded = |tool: &Tool| {
            let mut calls =
                step.calls.iter().filter(|call| call.tool == tool.name().as_str()).peekable();
            let has_calls = calls.peek().is_some();
            has_calls
                && tool.effect() == ToolEffect::ReadOnly
                && calls.all(|call| self.fork.record.find(call.args.call_id(&call.tool)).is_some())
        };
        self.replace_tools(ctx, is_recorded)?;
        for tool in self.tools.iter().filter(|tool| !is_recorded(tool)) {
            let asks = tool.effect() != ToolEffect::ReadOnly && tool.requires_approval().is_none();
            let tool = match asks {
                true => {
                    tool.with_approval(format!("May `{}` be called in this fork?", tool.name()))
                }
                false => Ok(tool.clone()),
            };
            let registered = tool.and_then(|tool| ctx.dispatch().tools().overwrite(tool));
            registered.map_err(|error| StepError::new(error.to_string()))?;
        }
        Ok(())
    }

    /// Replaces tools by copies that return the recorded results.
    fn replace_tools(
        &self,
        ctx: &StepContext,
        is_replaced: impl Fn(&Tool) -> bool,
    ) -> Result<(), StepError> {
        for tool in self.tools.iter().filter(|tool| is_replaced(tool)) {
            let record = Arc::clone(&self.fork.record);
            let recorded = with_recorded_output(tool, move |_, ctx| record.output(ctx));
            let registered = recorded.and_then(|tool| ctx.dispatch().tools().overwrite(tool));
            registered.map_err(|error| StepError::new(error.to_string()))?;
        }
        Ok(())
    }
}

impl RecordedStep {
    fn read(step: &StepHistory, ctx: &DispatchContext) -> Self {
        let records = ctx.turn();
        Self {
            thoughts: step.thoughts.iter().filter_map(|id| records.thoughts().get(id)).collect(),
            // Corrections of an answer are made again.
            messages: step
                .messages
                .iter()
                .filter_map(|id| records.messages().get(id))
                .filter(|message| message.role() == MessageRole::Assistant)
                .collect(),
            calls: step.calls.iter().filter_map(|id| records.tool_calls().get(id)).collect(),
        }
    }

    /// The step, with records of the new turn.
    fn rebuild(&self, ctx: &StepContext) -> Result<Step, StepError> {
        let now = ctx.dispatch().clock().now();
        let mut step = Step::new();
        for known in &self.thoughts {
            let mut thought = Thought::new(ctx.next_id("thought"), known.content().clone(), now);
            if let Some(payload) = known.payload() {
                thought = thought.with_payload(payload.clone());
            }
            if let Some(tag) = known.replay_compatibility() {
                thought = thought.with_replay_compatibility(tag);
            }
            step = step.think(thought.checked()?);
        }
        for known in &self.messages {
            let message = Message::new(ctx.next_id("message"), MessageRole::Assistant, now);
            let message = message.with_attachments(known.attachments().iter().cloned());
            let message = match known.content() {
                Some(text) => message.with_content(text.clone()),
                None => message,
            };
            step = step.say(message.checked()?);
        }
        for known in &self.calls {
            let mut call = ProposedCall::new(known.tool(), known.raw().clone());
            call.provider_id.clone_from(&known.provider_id);
            let tag = known.replay_compatibility().map(Into::into);
            call.payload = known.payload().cloned().zip(tag);
            step = step.call(call);
        }
        Ok(step)
    }
}

impl ForkRecord {
    /// A recorded call with this key.
    fn find(&self, id: CallId) -> Option<&Arc<ToolCall>> {
        let first = self.calls.get(&RecordId::first(id));
        first.or_else(|| self.calls.values().find(|call| call.call_id() == id))
    }

    /// What a call returned when it was recorded.
    fn output(&self, ctx: &CallContext) -> Result<ToolOutput, ToolFailure> {
        let by_record = self.calls.get(&ctx.record_id());
        let Some(call) = by_record.or_else(|| self.find(ctx.call_id())) else {
            return Err(ToolFailure::new(
                "this call is not in the record of the turn that was forked, and tools do not run in this fork",
            ));
        };
        match (&call.results, &call.error) {
            (Some(ToolResults::Text(text)), _) => Ok(ToolOutput::Text(text.clone())),
            (Some(ToolResults::Artifacts(all)), _) => {
                Ok(ToolOutput::Artifacts(all.iter().cloned().map(Into::into).collect()))
            }
            (Some(ToolResults::Media(all)), _) => Ok(ToolOutput::Media(all.clone())),
            (_, Some(error)) => {
                // The executor says again which tool failed.
                let prefix = format!("`{}` failed: ", call.tool());
                Err(ToolFailure::new(error.message.strip_prefix(&prefix).unwrap_or(&error.message)))
            }
            _ => Err(ToolFailure::new("the record has no result of this call")),
        }
    }
}
