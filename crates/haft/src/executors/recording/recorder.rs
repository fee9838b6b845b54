//! Records the steps of an executor.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::artifact::SpooledArtifact;
use haft_core::call::{ToolCall, ToolResults};
use haft_core::error::{Coded as _, codes};
use haft_core::media::{Media, MemoryReader};
use haft_core::record::{Message, Thought};
use haft_core::step::{
    DispatchExecutor, ExecutorDescription, NextAction, Step, StepContext, StepError, StepRequest,
};
use haft_core::tool::{Tool, ToolRole};
use haft_core::usage::Usage;
use serde_json::Value;

use super::form::{
    CallForm, ContentForm, FailureForm, MessageForm, OutcomeForm, PartForm, ProposalForm,
    RequestForm, StepForm, ThoughtForm, ToolForm, Versioned,
};
use super::{Recording, RecordingError};
use crate::turn::TurnReport;

/// Takes and records the steps of another executor. Cheap to clone: pass one clone to the agent, and use another to
/// make the [`Recording`] when the turn has ended.
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
/// let recording = recorder.finish(&report).await?;
/// assert_eq!((recording.n_steps(), recording.n_calls()), (1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RecordingExecutor {
    executor: Arc<dyn DispatchExecutor>,
    turns: Arc<Mutex<HashMap<String, RecordedTurn>>>,
    limit: u64,
}

/// The recorded part of a turn.
#[derive(Default)]
struct RecordedTurn {
    tools: BTreeMap<String, ToolForm>,
    steps: BTreeMap<u32, StepForm>,
    /// The body of the last request.
    last_request: String,
}

impl RecordingExecutor {
    /// Records an executor.
    #[must_use]
    pub fn new(executor: impl DispatchExecutor + 'static) -> Self {
        Self { executor: Arc::new(executor), turns: Arc::default(), limit: 64 * 1024 * 1024 }
    }

    /// How many bytes of results a recording may have; the default is 64 MiB.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Returns the recording of an ended turn, and removes the turn from the recorder.
    ///
    /// # Errors
    ///
    /// Steps of the turn were taken by another executor, or its results are too large or cannot be read.
    pub async fn finish(&self, report: &TurnReport) -> Result<Recording, RecordingError> {
        let turn = report.turn.as_str();
        let RecordedTurn { tools, steps, .. } = self.lock_turns().remove(turn).unwrap_or_default();
        // The last iteration has no step if it ended before the executor was asked.
        let needed = report.iterations.saturating_sub(1).max(1);
        if let Some(iteration) = (0..needed).find(|n| !steps.contains_key(n)) {
            return Err(RecordingError::Incomplete { turn: turn.to_owned(), iteration });
        }
        let mut left = self.limit;
        let mut calls = Vec::with_capacity(report.calls.len());
        for call in &report.calls {
            calls.extend(self.call_form(call, &mut left).await?);
        }
        let version = Versioned::new();
        let (tools, steps) = (tools.into_values().collect(), steps.into_values().collect());
        Ok(Recording { version, tools, steps, calls })
    }

    /// Drops a turn without making a recording of it.
    pub fn forget(&self, turn: &str) {
        self.lock_turns().remove(turn);
    }

    async fn call_form(
        &self,
        call: &ToolCall,
        left: &mut u64,
    ) -> Result<Option<CallForm>, RecordingError> {
        let mut room = RecordingRoom { left, limit: self.limit, call };
        let outcome = match (&call.results, &call.error) {
            (Some(ToolResults::Text(text)), _) => {
                room.take(text.len() as u64)?;
                OutcomeForm::Text(text.clone())
            }
            (Some(ToolResults::Artifacts(all)), _) => {
                let mut parts = Vec::with_capacity(all.len());
                for artifact in all {
                    room.take(artifact.reader().byte_length())?;
                    parts.push(part_form(artifact).await?);
                }
                OutcomeForm::Artifacts(parts)
            }
            (Some(ToolResults::Media(all)), _) => {
                let mut media = Vec::with_capacity(all.len());
                for item in all {
                    let (record, bytes) = media_with_content(item, *room.left).await?;
                    room.take(bytes)?;
                    media.push(record);
                }
                OutcomeForm::Media(media)
            }
            (_, Some(error)) => OutcomeForm::Error(error.clone()),
            _ => return Ok(None),
        };
        let (id, tool) = (call.id(), call.tool().to_owned());
        Ok(Some(CallForm { id, tool, args: call.raw().to_text().into_owned(), outcome }))
    }

    async fn record_step(
        &self,
        ctx: &StepContext,
        step: &Result<Step, StepError>,
    ) -> Result<(), StepError> {
        let request = step.as_ref().ok().and_then(|step| step.request.as_ref());
        let mut step = match step {
            Ok(step) => self.step_form(ctx.dispatch().iteration(), step).await?,
            Err(error) => StepForm {
                iteration: ctx.dispatch().iteration(),
                thoughts: Vec::new(),
                messages: Vec::new(),
                calls: Vec::new(),
                then: NextAction::Continue,
                usage: Usage::default(),
                failure: Some(FailureForm {
                    code: Some(error.code())
                        .filter(|it| *it != codes::LLM_EXECUTION_EXECUTOR_ERROR),
                    message: error.message().to_owned(),
                    retryable: error.is_retryable(),
                }),
                request: None,
            },
        };
        let mut turns = self.lock_turns();
        let turn = turns.entry(ctx.dispatch().turn_id().to_owned()).or_default();
        if let Some(request) = request {
            step.request = Some(RequestForm::of(request, &turn.last_request));
            turn.last_request = String::from_utf8_lossy(&request.body).into_owned();
        }
        let is_query = |tool: &Tool| *tool.role() == ToolRole::ArtifactQuery;
        for tool in ctx.dispatch().tools().all().into_iter().filter(|tool| !is_query(tool)) {
            let name = tool.name().to_string();
            turn.tools.entry(name.clone()).or_insert_with(|| ToolForm {
                name,
                description: tool.description().to_owned(),
                input_schema: tool.input_schema().json_schema_text().to_owned(),
            });
        }
        turn.steps.insert(step.iteration, step);
        Ok(())
    }

    async fn step_form(&self, iteration: u32, step: &Step) -> Result<StepForm, StepError> {
        let mut messages = Vec::with_capacity(step.messages.len());
        for message in &step.messages {
            messages.push(self.message_form(message).await?);
        }
        Ok(StepForm {
            iteration,
            thoughts: step.thoughts.iter().map(thought_form).collect(),
            messages,
            calls: step.calls.iter().map(ProposalForm::of).collect(),
            then: step.then.clone(),
            usage: step.usage,
            failure: None,
            request: None,
        })
    }

    async fn message_form(&self, message: &Message) -> Result<MessageForm, StepError> {
        let mut attachments = Vec::with_capacity(message.attachments().len());
        for media in message.attachments() {
            attachments.push(media_with_content(media, self.limit).await?.0);
        }
        let text = message.content().map(|text| text.as_str().to_owned());
        Ok(MessageForm { text, attachments })
    }

    fn lock_turns(&self) -> MutexGuard<'_, HashMap<String, RecordedTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DispatchExecutor for RecordingExecutor {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let step = self.executor.step(ctx.clone()).await;
            self.record_step(&ctx, &step).await?;
            step
        })
    }

    /// The description of the executor whose steps are recorded.
    fn description(&self) -> ExecutorDescription {
        self.executor.description()
    }

    fn render_request(
        &self,
        ctx: StepContext,
    ) -> BoxFuture<'_, Result<Option<StepRequest>, StepError>> {
        self.executor.render_request(ctx)
    }
}

impl fmt::Debug for RecordingExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingExecutor")
            .field("turns", &self.lock_turns().len())
            .finish_non_exhaustive()
    }
}

/// How much more a recording can take.
struct RecordingRoom<'r> {
    left: &'r mut u64,
    limit: u64,
    call: &'r ToolCall,
}

impl RecordingRoom<'_> {
    fn take(&mut self, bytes: u64) -> Result<(), RecordingError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                *self.left = left;
                Ok(())
            }
            None => {
                let call = self.call.id().to_string();
                Err(RecordingError::TooLarge { call, limit: self.limit })
            }
        }
    }
}

fn thought_form(thought: &Thought) -> ThoughtForm {
    ThoughtForm {
        text: thought.content().as_str().to_owned(),
        payload: thought.payload().cloned(),
        replay_compatibility: thought.replay_compatibility().map(str::to_owned),
    }
}

async fn part_form(artifact: &SpooledArtifact) -> Result<PartForm, RecordingError> {
    let reader = artifact.reader();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < reader.byte_length() {
        let more = reader.read_at(bytes.len() as u64, CHUNK).await?;
        if more.is_empty() {
            break;
        }
        bytes.extend_from_slice(&more);
    }
    let (kind, label) = (artifact.kind().clone(), artifact.label());
    Ok(PartForm { kind, label, content: ContentForm::of(bytes) })
}

/// A media item with its bytes at hand, and how many they are.
async fn media_with_content(
    media: &Media,
    limit: u64,
) -> Result<(Value, u64), haft_core::media::MediaError> {
    let bytes = media.bytes(limit).await?;
    let length = bytes.len() as u64;
    let media = media.clone().with_reader(Arc::new(MemoryReader::new(bytes)));
    // A reader in memory has a descriptor, and everything else of a media item is JSON.
    Ok((serde_json::to_value(media).unwrap_or_default(), length))
}

const CHUNK: usize = 256 * 1024;
