//! What the journal of a stored turn says about its steps.

use std::time::Duration;

use haft_core::call::RecordId;
use haft_core::record::RecordName;
use haft_core::step::{ExecutorDescription, NextAction};
use haft_core::store::{RowKind, StoreError, StoredTurn};
use haft_core::usage::Usage;
use serde::Serialize;
use serde_json::{Map, Value};

use super::journal::{JournalEntry, ReplayedStash, parse_journal};

/// The steps of a stored turn, and what took them.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::TurnHistory;
/// use haft::{TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = ScriptExecutor::parse(r#"{"name": "greeting", "steps": [{"say": "Hello!"}]}"#)?;
/// let runner = TurnRunner::builder(script).build()?;
/// let turn = runner.run(TurnInput::new("Be polite.")).await?.turn;
/// let history = TurnHistory::read(&runner.load_turn(&turn).await?.ok_or("no turn")?)?;
/// assert_eq!(history.executor.map(|it| it.to_string()).as_deref(), Some("script `greeting`"));
/// assert_eq!((history.steps.len(), history.steps[0].messages.len()), (1, 1));
/// assert!(history.steps[0].request.is_none(), "a script sends no requests");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnHistory {
    /// What took its steps last, or `None` for a turn of an earlier version.
    pub executor: Option<ExecutorDescription>,
    /// Its steps, in order.
    pub steps: Vec<StepHistory>,
}

/// A step of a stored turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepHistory {
    /// Its iteration, counted from zero.
    pub iteration: u32,
    /// What took it, or `None` for a step of an earlier version.
    pub executor: Option<ExecutorDescription>,
    /// The thoughts that it added. Steps of earlier versions do not name theirs.
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
    /// How long the executor took, or `None` for a step of an earlier version.
    pub duration: Option<Duration>,
    /// The place of its entry in the journal.
    pub(super) place: usize,
}

/// A request that was sent, by its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// An entry cannot be read, or a newer program wrote it.
    pub fn read(turn: &StoredTurn) -> Result<Self, StoreError> {
        let mut executor = None;
        let mut steps = Vec::new();
        for (place, entry) in
            parse_journal(&turn.summary.id, &turn.journal)?.into_iter().enumerate()
        {
            match entry {
                JournalEntry::Started { executor: first, .. } => executor = first.map(|it| *it),
                JournalEntry::Resumed { executor: Some(other), .. } => executor = Some(*other),
                JournalEntry::Step {
                    iteration,
                    thoughts,
                    messages,
                    calls,
                    then,
                    usage,
                    request,
                    model,
                    options,
                    tools,
                    milliseconds,
                    ..
                } => steps.push(StepHistory {
                    iteration,
                    executor: executor.clone(),
                    thoughts: thoughts.into_vec(),
                    messages,
                    calls,
                    then,
                    usage,
                    model: model.map(str::into_string),
                    options: options.map(|it| *it),
                    request: request.map(|it| SentRequest {
                        sha256: it.sha256,
                        bytes: it.bytes,
                        prefix: it.prefix,
                    }),
                    tools_sha256: tools.as_ref().map(|it| it.sha256.clone()),
                    new_tools: tools.map(|it| it.appended).unwrap_or_default(),
                    duration: milliseconds.map(Duration::from_millis),
                    place,
                }),
                _ => {}
            }
        }
        Ok(Self { executor, steps })
    }
}

/// The stash of a turn as it was stored before an entry of its journal.
///
/// # Errors
///
/// An entry cannot be read, or a newer program wrote it.
pub(super) fn read_stash(turn: &StoredTurn, before: usize) -> Result<Value, StoreError> {
    let mut latest = ReplayedStash::default();
    for entry in parse_journal(&turn.summary.id, &turn.journal)?.into_iter().take(before) {
        match entry {
            JournalEntry::Started { stash, .. } | JournalEntry::Stash { stash } => {
                latest.replace(stash);
            }
            JournalEntry::StashDelta(delta) => latest.add(delta),
            _ => {}
        }
    }
    latest.into_value().map_err(|error| StoreError::Damaged {
        what: format!("turn `{}`", turn.summary.id),
        reason: format!("its stash: {error}"),
    })
}

impl StepHistory {
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
