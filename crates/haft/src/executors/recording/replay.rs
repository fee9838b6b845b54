//! Replays a recording.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use haft_core::call::{RecordId, ToolCall};
use haft_core::context::{CallContext, Signal};
use haft_core::error::codes;
use haft_core::record::{Message, MessageRole, Record as _, Thought};
use haft_core::step::{DispatchExecutor, ExecutorDescription, Step, StepContext, StepError};
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use haft_core::{Args, BoxFuture};

use super::super::difference::{ValueNames, excerpt, list_differences};
use super::super::recorded_tool::with_recorded_output;
use super::super::results::read_call_text;
use super::form::{CallForm, OutcomeForm, StepForm, open_media};
use super::{NotReplayable, Recording, ReplayDifference, text_document};

/// Repeats the steps of a [`Recording`] and the results of its calls. Cheap to clone.
///
/// Its [`tools`](Self::tools) are those of the application with other handlers, which look up what was recorded by call
/// id and occurrence. The executor replaces the tools of the turn by them, so that no handler of a recorded tool runs,
/// however the agent was built. Queries on artifacts do run: they only read what was recorded, and their results are
/// compared with the recorded ones.
///
/// A call that is not in the recording ends the dispatch with an error that names the most similar recorded call and
/// the differences. A failure is repeated with its message, under the code `E_TOOL_DOWNSTREAM_ERROR`.
///
/// ```
/// use haft::executors::{RecordingExecutor, ScriptExecutor};
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let recorder = RecordingExecutor::new(script);
/// let agent = Agent::builder(recorder.clone()).build()?;
/// let report = agent.turn([]).system("Be polite.").report().await?;
///
/// let replay = recorder.finish(&report).await?.replay([])?;
/// let agent = Agent::builder(replay).build()?;
/// assert_eq!(agent.turn([]).system("Be polite.").report().await?.text(), "Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReplayExecutor {
    recorded: Arc<RecordedCalls>,
    tools: Vec<Tool>,
}

struct RecordedCalls {
    steps: HashMap<u32, StepForm>,
    calls: HashMap<RecordId, CallForm>,
}

impl Recording {
    /// Makes an executor from the recording, with these tools. Tools that are not in the recording are left out.
    ///
    /// # Errors
    ///
    /// A tool that was called is missing, or the input schema of one has changed since.
    pub fn replay(
        &self,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<ReplayExecutor, NotReplayable> {
        let tools: HashMap<String, Tool> =
            tools.into_iter().map(|tool| (tool.name().to_string(), tool)).collect();
        let recorded = Arc::new(RecordedCalls {
            steps: self.steps.iter().map(|step| (step.iteration, step.clone())).collect(),
            calls: self.calls.iter().map(|call| (call.id, call.clone())).collect(),
        });
        let (mut replayed, mut differences) = (Vec::new(), Vec::new());
        for known in &self.tools {
            let made = match tools.get(&known.name) {
                Some(tool) => schema_changes(&known.input_schema, tool)
                    .map_or_else(|| recorded.tool(tool).map_err(|error| error.to_string()), Err),
                None if self.calls.iter().any(|call| call.tool == known.name) => {
                    Err("it was called, and there is no such tool now".to_owned())
                }
                None => continue,
            };
            match made {
                Ok(tool) => replayed.push(tool),
                Err(what) => differences.push(ReplayDifference { tool: known.name.clone(), what }),
            }
        }
        if differences.is_empty() {
            Ok(ReplayExecutor { recorded, tools: replayed })
        } else {
            Err(NotReplayable { differences })
        }
    }
}

fn schema_changes(recorded: &str, tool: &Tool) -> Option<String> {
    let now = tool.input_schema().json_schema_text();
    if recorded == now {
        return None;
    }
    let (recorded, now) = (text_document(recorded), text_document(now));
    let changes = list_differences(recorded.root(), now.root(), NAMES);
    // The order of keys is no change.
    let lines = (!changes.is_empty()).then(|| changes.join("\n  "))?;
    Some(format!("its input schema has changed\n  {lines}"))
}

const NAMES: ValueNames = ValueNames { left: "recorded", right: "now" };

impl ReplayExecutor {
    /// The tools, with handlers that return recorded results.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }
}

impl DispatchExecutor for ReplayExecutor {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            for tool in &self.tools {
                ctx.dispatch()
                    .tools()
                    .overwrite(tool)
                    .map_err(|error| StepError::new(error.to_string()))?;
            }
            for call in ctx.dispatch().turn().tool_calls().of_turn() {
                if call.state().is_final() {
                    self.recorded.check_outcome(&call).await?;
                }
            }
            let Some(step) = self.recorded.steps.get(&ctx.dispatch().iteration()) else {
                let (steps, number) =
                    (self.recorded.steps.len(), ctx.dispatch().iteration().saturating_add(1));
                return Err(StepError::new(format!(
                    "the recording is over: it has {steps} steps, and a step {number} was asked for"
                )));
            };
            step.rebuild_step(&ctx)
        })
    }

    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::custom("replay")
    }
}

impl fmt::Debug for ReplayExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayExecutor")
            .field("steps", &self.recorded.steps.len())
            .field("calls", &self.recorded.calls.len())
            .field("tools", &self.tools.len())
            .finish()
    }
}

impl StepForm {
    /// The step, with records of this turn.
    fn rebuild_step(&self, ctx: &StepContext) -> Result<Step, StepError> {
        if let Some(failure) = &self.failure {
            let code = failure.code.clone().unwrap_or(codes::LLM_EXECUTION_EXECUTOR_ERROR);
            let error = StepError::coded(code, failure.message.clone());
            return Err(error.with_retryable(failure.retryable));
        }
        let mut step = Step::new().usage(self.usage);
        step.then = self.then.clone();
        let now = ctx.dispatch().clock().now();
        for known in &self.thoughts {
            let mut thought = Thought::new(ctx.next_id("thought"), known.text.as_str(), now);
            if let Some(payload) = &known.payload {
                thought = thought.with_payload(payload.clone());
            }
            if let Some(tag) = &known.replay_compatibility {
                thought = thought.with_replay_compatibility(tag.as_str());
            }
            step = step.think(thought.checked()?);
        }
        for known in &self.messages {
            let mut message = Message::new(ctx.next_id("message"), MessageRole::Assistant, now);
            if let Some(text) = &known.text {
                message = message.with_content(text.as_str());
            }
            for media in &known.attachments {
                message = message.with_attachment(
                    open_media(media).map_err(|error| StepError::new(error.to_string()))?,
                );
            }
            step = step.say(message.checked()?);
        }
        for known in &self.calls {
            step = step.call(known.to_proposed_call()?);
        }
        Ok(step)
    }
}

impl RecordedCalls {
    /// The tool with a handler that returns recorded results. It requires no approval and has no effect.
    fn tool(self: &Arc<Self>, tool: &Tool) -> Result<Tool, InvalidTool> {
        let recorded = Arc::clone(self);
        with_recorded_output(tool, move |args, ctx| recorded.recorded_output(args, ctx))
    }

    /// The recorded result of a call.
    fn recorded_output(&self, args: &Args, ctx: &CallContext) -> Result<ToolOutput, ToolFailure> {
        let id = ctx.record_id();
        if let Some(call) = self.calls.get(&id) {
            return call.outcome.output(&call.tool);
        }
        let tool = ctx.tool().name().to_string();
        let asked = ctx.turn().tool_calls().get(&id);
        let text = asked.map_or_else(|| args.to_string(), |call| call.raw().to_text().into_owned());
        let words = self.explain_missing_call(id, &tool, &text);
        // Whatever comes next would be about something that did not happen.
        ctx.end_dispatch(Signal::nack(words.clone()));
        Err(ToolFailure::new(words))
    }

    /// Says that a call is not in the recording, and what is.
    fn explain_missing_call(&self, id: RecordId, tool: &str, args: &str) -> String {
        let same = self.calls.keys().filter(|it| it.call_id() == id.call_id());
        let same = same.count();
        let time = id.occurrence().get();
        if same > 0 {
            return format!(
                "`{tool}` was called {same} times with these arguments when it was recorded, and this is \
                 time {time}"
            );
        }
        let now = text_document(args);
        let near = self.calls.values().filter(|call| call.tool == tool).map(|call| {
            let lines = list_differences(text_document(&call.args).root(), now.root(), NAMES);
            (lines.len(), call.id, lines)
        });
        match near.min() {
            Some((_, _, lines)) => format!(
                "this call of `{tool}` is not in the recording; what is different from the nearest one:\n{}",
                lines.join("\n")
            ),
            None => format!("the recording has no call of `{tool}`"),
        }
    }

    /// Whether a call ended as it did when it was recorded.
    async fn check_outcome(&self, call: &ToolCall) -> Result<(), StepError> {
        let tool = call.tool();
        let Some(known) = self.calls.get(&call.id()) else {
            let words = self.explain_missing_call(call.id(), tool, &call.raw().to_text());
            return Err(StepError::new(words));
        };
        let (expected, found) = match (&known.outcome, &call.error) {
            (OutcomeForm::Error(_), Some(_)) => return Ok(()),
            (OutcomeForm::Error(error), None) => (error.message.clone(), "a result".to_owned()),
            (_, Some(error)) => ("a result".to_owned(), error.message.clone()),
            (OutcomeForm::Text(text), None) if call.from_artifact_tool => {
                let found = read_call_text(call, text.len() + 1).await?.map(|said| said.text);
                (text.clone(), found.unwrap_or_default())
            }
            _ => return Ok(()),
        };
        if expected == found {
            return Ok(());
        }
        Err(StepError::new(format!(
            "`{tool}` gave something else than when it was recorded\nrecorded: {}\n     now: {}",
            excerpt(&expected),
            excerpt(&found)
        )))
    }
}
