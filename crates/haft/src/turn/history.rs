//! What the journal of a stored turn says.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{RecordId, ToolCall};
use haft_core::clock::Timestamp;
use haft_core::context::HydratedRange;
use haft_core::event::ErrorReport;
use haft_core::record::RecordName;
use haft_core::step::{ExecutorDescription, NextAction};
use haft_core::store::{RowKind, StoreError, StoredTurn};
use haft_core::usage::Usage;
use serde::Serialize;
use serde_json::{Map, Value};

use super::TurnOutcome;
use super::journal::StepEntry;
use super::log::StoredLog;

/// A stored turn as its journal has it: what it began with, its steps, and its end.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::TurnHistory;
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = ScriptExecutor::parse(r#"{"name": "greeting", "steps": [{"say": "Hello!"}]}"#)?;
/// let agent = Agent::builder(script).build()?;
/// let turn = agent.turn([]).system("Be polite.").report().await?.turn;
/// let history = TurnHistory::read(&agent.stored_turns().load_turn(&turn).await?.ok_or("no turn")?)?;
/// assert_eq!(history.executor.to_string(), "script `greeting`");
/// assert_eq!((history.steps.len(), history.steps[0].messages.len()), (1, 1));
/// assert!(history.steps[0].request.is_none(), "a script sends no requests");
/// assert_eq!((&*history.system_prompt, history.end.is_some()), ("Be polite.", true));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnHistory {
    /// Its system prompt.
    pub system_prompt: Arc<str>,
    /// The stash with which it began.
    pub stash: Value,
    /// When it was created.
    pub started_at: Timestamp,
    /// What took its steps last.
    pub executor: ExecutorDescription,
    /// When it was resumed with another [definition](crate::turn::AgentBuilder::definition) of its agent than before.
    pub redefined_at: Vec<Timestamp>,
    /// The earlier turns of its conversation that it shows.
    pub earlier_turns: Option<HydratedRange>,
    /// Its steps, in order.
    pub steps: Vec<StepHistory>,
    /// How it ended, or `None` if it has not.
    pub end: Option<TurnEnd>,
    /// How its last attempt ended, if the turn did not end with it and no process has resumed it.
    pub stop: Option<AttemptEnd>,
    /// How long it waited for its stores before its first step.
    pub(super) opening: Duration,
}

/// The end of an attempt to run a turn, which can be resumed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AttemptEnd {
    /// When it was stored.
    pub at: Timestamp,
    /// What went wrong.
    pub error: ErrorReport,
}

/// What the time of a turn was spent on. Calls that ran in parallel are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnTime {
    /// Waiting for the model to begin.
    pub model_wait: Duration,
    /// The model writing.
    pub model_write: Duration,
    /// Tools, from the beginning of a handler to the end of a streamed result.
    pub tools: Duration,
    /// Waiting for the stores of turns and of results. The last commit of a turn cannot contain its own time.
    pub storing: Duration,
    /// Waiting for the decisions of people.
    pub people: Duration,
}

/// The end of a stored turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnEnd {
    /// When it was stored.
    pub at: Timestamp,
    /// How the turn ended.
    pub outcome: TurnOutcome,
    /// What went wrong.
    pub error: Option<ErrorReport>,
}

/// A step of a stored turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepHistory {
    /// Its iteration, counted from zero.
    pub iteration: u32,
    /// What took it.
    pub executor: ExecutorDescription,
    /// The thoughts that it added.
    pub thoughts: Vec<RecordName>,
    /// The messages that it added.
    pub messages: Vec<RecordName>,
    /// The calls that it proposed.
    pub calls: Vec<RecordId>,
    /// What followed it.
    pub then: NextAction,
    /// What it cost.
    pub usage: Usage,
    /// The model that was asked.
    pub model: Option<String>,
    /// The options that were part of the request.
    pub options: Option<Map<String, Value>>,
    /// The request that was sent.
    pub request: Option<SentRequest>,
    /// The digest of the tools that were offered.
    pub tools_sha256: Option<String>,
    /// The tools that its request offered in addition to those of the requests before.
    pub new_tools: Vec<String>,
    /// When the executor was asked.
    pub started_at: Timestamp,
    /// How long it took until the model began to write, or until the whole step came at once.
    pub wait: Duration,
    /// How long the model wrote.
    pub write: Duration,
    /// How long the turn waited for its stores, from the step to the end of its iteration.
    pub storing: Duration,
    /// The place of its entry in the journal.
    pub(super) place: usize,
}

/// A request that was sent, by its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SentRequest {
    /// The SHA-256 of its body.
    pub sha256: String,
    /// The size of its body.
    pub bytes: u64,
    /// How many bytes at its beginning are those of the request before, in whole blocks of 256 bytes: what a prompt
    /// cache can reuse. Nothing for the first request that a process sent.
    pub prefix: Option<u64>,
}

impl TurnHistory {
    /// Reads the journal of a turn.
    ///
    /// # Errors
    ///
    /// An entry cannot be read, or a program of another version wrote it.
    pub fn read(turn: &StoredTurn) -> Result<Self, StoreError> {
        let mut read = StoredLog::read(&turn.summary.id, &turn.journal)?;
        Ok(Self::take_from(&mut read))
    }

    /// How long the turn took, waits at gates included, if it has ended.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        self.end.as_ref().map(|end| end.at.duration_since(self.started_at))
    }

    /// What its time was spent on. `calls` are its calls.
    #[must_use]
    pub fn time<'c>(&self, calls: impl IntoIterator<Item = &'c ToolCall>) -> TurnTime {
        let mut time = TurnTime { storing: self.opening, ..TurnTime::default() };
        for step in &self.steps {
            time.model_wait += step.wait;
            time.model_write += step.write;
            time.storing += step.storing;
        }
        for call in calls {
            time.tools += Duration::from_millis(call.time.tool);
            time.people += Duration::from_millis(call.time.person);
        }
        time
    }

    /// What went wrong: the error that it ended with, or that its last attempt did.
    #[must_use]
    pub fn error(&self) -> Option<&ErrorReport> {
        match &self.end {
            Some(end) => end.error.as_ref(),
            None => self.stop.as_ref().map(|it| &it.error),
        }
    }

    /// Takes what it has out of a journal that was read.
    pub(super) fn take_from(read: &mut StoredLog) -> Self {
        let end = read.log.end().zip(read.ended_at).map(|(end, at)| TurnEnd {
            at,
            outcome: end.outcome.clone(),
            error: end.error.as_deref().cloned(),
        });
        Self {
            system_prompt: Arc::clone(&read.system_prompt),
            stash: std::mem::take(&mut read.first_stash),
            started_at: read.started_at,
            executor: (*read.executor).clone(),
            redefined_at: std::mem::take(&mut read.redefined_at),
            earlier_turns: read.hydrations.first().and_then(|it| it.range.clone()),
            steps: std::mem::take(&mut read.steps),
            end,
            stop: read.stop.take().filter(|_| read.log.end().is_none()),
            opening: read.opening,
        }
    }
}

impl StepHistory {
    /// A step as its entry in the journal describes it.
    pub(super) fn of_entry(place: usize, step: StepEntry, executor: &ExecutorDescription) -> Self {
        let (tools_sha256, new_tools) = step.tools.map(|it| (it.sha256, it.appended)).unzip();
        Self {
            iteration: step.iteration,
            executor: executor.clone(),
            thoughts: step.thoughts.into_vec(),
            messages: step.messages,
            calls: step.calls,
            then: step.then,
            usage: step.usage,
            model: step.model.map(str::into_string),
            options: step.options.map(|it| *it),
            request: step.request.map(|it| SentRequest {
                sha256: it.sha256,
                bytes: it.bytes,
                prefix: it.prefix,
            }),
            tools_sha256,
            new_tools: new_tools.unwrap_or_default(),
            started_at: step.time.at,
            wait: Duration::from_millis(step.time.wait),
            write: Duration::from_millis(step.time.write),
            storing: Duration::ZERO,
            place,
        }
    }

    /// How long the model took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.wait + self.write
    }

    /// The records that the step added, by kind and id: thoughts, then messages, then calls.
    pub fn records(&self) -> impl Iterator<Item = (RowKind, String)> {
        let named = |kind, names: &[RecordName]| {
            let names = names.iter().map(|name| (kind, name.as_str().to_owned()));
            names.collect::<Vec<_>>()
        };
        let thoughts = named(RowKind::Thought, &self.thoughts);
        let messages = named(RowKind::Message, &self.messages);
        let calls = self.calls.iter().map(|call| (RowKind::ToolCall, call.to_string()));
        thoughts.into_iter().chain(messages).chain(calls)
    }
}

/// A duration in whole milliseconds, as it is stored.
pub(super) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
