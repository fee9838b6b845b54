//! Turns, their events and gates, and conversations.

use std::collections::HashMap;

use haft::events::{ErrorReport, Event, Usage};
use haft::executors::{ExecutorDescription, NextAction};
use haft::records::RecordId;
use haft::stores::{TurnStatus, TurnSummary};
use haft::tools::CallPreview;
use haft::turn::{GrantId, SentRequest, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A line of `haft run`, `chat`, `resume`, `watch` and `worker`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum EventLine<'e> {
    /// Something that happened.
    Event(&'e Event),
    /// A command that ends a turn or shows one says how it ended.
    Outcome(OutcomeLine<'e>),
}

/// How a turn ended.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum OutcomeLine<'e> {
    /// The turn had ended before it was to be resumed.
    TurnEnded {
        /// The turn.
        turn: &'e str,
        /// How it ended.
        status: TurnStatus,
        /// Its last message.
        text: &'e str,
        /// Its error.
        error: Option<&'e ErrorReport>,
    },
    /// The answer of the turn fits the schema of `--schema`.
    Answer {
        /// The turn.
        turn: &'e str,
        /// The answer.
        answer: Value,
    },
}

/// A line of `haft turns`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListedTurn {
    /// The turn, with the path of its agent, and with the provider and the name of its model.
    #[serde(flatten)]
    pub(crate) summary: TurnSummary,
    /// The beginning of what the user said last, on one line.
    #[serde(rename = "firstWords")]
    pub(crate) shown_words: String,
}

/// What `haft show` prints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedTurn<'t> {
    /// The turn as lists show it.
    pub(crate) turn: TurnSummary,
    /// The path of the agent.
    pub(crate) agent: Option<String>,
    /// What took its steps last.
    pub(crate) executor: &'t ExecutorDescription,
    /// The tokens of all steps.
    pub(crate) usage: Usage,
    /// What the turn cost, if the prices of its model are known.
    pub(crate) cost: Option<f64>,
    /// How long it took, waits at gates included; nothing before its end.
    pub(crate) milliseconds: Option<u64>,
    /// What its time was spent on.
    pub(crate) time: PrintedTime,
    /// The steps.
    pub(crate) steps: Vec<PrintedStep<'t>>,
    /// The records as they are stored, in the order in which they were first stored.
    pub(crate) records: Vec<PrintedRecord<'t>>,
    /// The results as the model saw them, by the records of their calls.
    pub(crate) seen_results: &'t HashMap<String, String>,
    /// The handles of artifacts, by the records of their calls.
    pub(crate) handles: &'t HashMap<String, Vec<String>>,
    /// The gates, open or settled.
    pub(crate) gates: Vec<PrintedGate<'t>>,
    /// The journal as it is stored. It is internal: a later version of Haft may write other entries.
    pub(crate) journal: Vec<Value>,
}

/// What the time of a turn was spent on, in milliseconds. Calls that ran in parallel are added up; each has its own part in
/// its record, as `time`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedTime {
    /// Waiting for the model to begin.
    pub(crate) model_wait: u64,
    /// The model writing.
    pub(crate) model_write: u64,
    /// Tools, from the beginning of a handler to the end of a streamed result.
    pub(crate) tools: u64,
    /// Waiting for the stores of turns and of results.
    pub(crate) storing: u64,
    /// Waiting for the decisions of people.
    pub(crate) people: u64,
}

/// A step of a turn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedStep<'t> {
    /// Its number, counted from 1.
    pub(crate) step: u32,
    /// What took it.
    pub(crate) executor: &'t ExecutorDescription,
    /// The model that was asked.
    pub(crate) model: Option<&'t str>,
    /// The options that were part of the request.
    pub(crate) options: Option<&'t Map<String, Value>>,
    /// The tools that the requests before did not offer.
    pub(crate) new_tools: &'t [String],
    /// Its tokens.
    pub(crate) usage: Usage,
    /// What it cost, if the prices of its model are known.
    pub(crate) cost: Option<f64>,
    /// When the model was asked.
    pub(crate) started_at: Timestamp,
    /// How long the model took.
    pub(crate) milliseconds: u64,
    /// How much of that passed before the model began to write.
    pub(crate) wait_milliseconds: u64,
    /// How long the turn waited for its stores in the step.
    pub(crate) storing_milliseconds: u64,
    /// The request that was sent.
    pub(crate) request: Option<&'t SentRequest>,
    /// The calls that it proposed.
    pub(crate) calls: &'t [RecordId],
}

/// A record of a turn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedRecord<'t> {
    /// What sort of record it is: `message`, `thought`, `tool-call` and so on.
    pub(crate) kind: &'t str,
    /// Its id.
    pub(crate) id: &'t str,
    /// The record as it is stored; text if it is damaged.
    pub(crate) record: Value,
}

/// A gate of a turn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedGate<'t> {
    /// Its id.
    pub(crate) gate: &'t str,
    /// The gate as it is stored.
    pub(crate) opened: Value,
    /// The decision as it is stored; nothing while the gate is open.
    pub(crate) settled: Option<Value>,
}

/// What `haft show --request` and `haft run --dry-run` print: a request to a model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedRequest<'r> {
    /// What takes the step.
    pub(crate) executor: &'r ExecutorDescription,
    /// The model that is asked.
    pub(crate) model: &'r str,
    /// The options that are part of the request.
    pub(crate) options: &'r Map<String, Value>,
    /// The names of the tools that are offered.
    pub(crate) tools: &'r [String],
    /// A digest of their names, descriptions and schemas.
    pub(crate) tools_sha256: &'r str,
    /// The SHA-256 of the body.
    pub(crate) sha256: String,
    /// The size of the body.
    pub(crate) bytes: usize,
    /// The body as it is sent to the provider.
    pub(crate) body: &'r Value,
    /// What is known of the request that was sent. A turn that does not exist yet has none of these fields.
    #[serde(flatten)]
    pub(crate) stored: Option<RequestFacts<'r>>,
}

/// A rendered request, compared with the one that was sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestFacts<'r> {
    /// The turn.
    pub(crate) turn: &'r str,
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// The request that was sent; nothing if the step was not taken.
    pub(crate) sent: Option<&'r SentRequest>,
    /// Whether this is the request that was sent, if that is known.
    pub(crate) identical: Option<bool>,
    /// Whether the same tools were offered, if that is known.
    pub(crate) same_tools: Option<bool>,
}

/// What `haft show --response` prints: what a step added.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedResponse<'t> {
    /// The turn.
    pub(crate) turn: &'t str,
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// What took it.
    pub(crate) executor: &'t ExecutorDescription,
    /// The model that was asked.
    pub(crate) model: Option<&'t str>,
    /// Its thoughts as they are stored.
    pub(crate) thoughts: Vec<Value>,
    /// Its messages as they are stored.
    pub(crate) messages: Vec<Value>,
    /// Its calls as they are stored.
    pub(crate) calls: Vec<Value>,
    /// What follows.
    pub(crate) then: &'t NextAction,
    /// Its tokens.
    pub(crate) usage: Usage,
}

/// What `haft submit` prints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubmittedTurn<'t> {
    /// The turn.
    pub(crate) turn: &'t str,
    /// Its status.
    pub(crate) status: TurnStatus,
    /// The conversation that it belongs to.
    pub(crate) conversation: Option<&'t str>,
    /// Its priority.
    pub(crate) priority: i32,
}

/// A line of `haft gates`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateLine<'g> {
    /// Its id.
    pub(crate) gate: &'g str,
    /// The turn that waits.
    pub(crate) turn: &'g str,
    /// The question.
    pub(crate) reason: &'g str,
    /// What it is about: for an approval the tool and its arguments.
    pub(crate) payload: &'g Value,
    /// The JSON Schema of the value that is expected; nothing for any value.
    pub(crate) schema: Option<&'g Value>,
    /// The JSON Schema of other arguments that can be approved.
    pub(crate) argument_schema: Option<&'g Value>,
    /// What the call would change.
    pub(crate) preview: Option<&'g CallPreview>,
    /// When it was opened.
    pub(crate) opened_at: Timestamp,
    /// When it closes without a decision.
    pub(crate) expires_at: Option<Timestamp>,
}

/// A line of `haft grants`. Only the id and the refusal are known of a grant that cannot be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantLine<'g> {
    /// Its id.
    pub(crate) grant: GrantId,
    /// The tool.
    pub(crate) tool: Option<&'g str>,
    /// The turn that it is limited to.
    pub(crate) turn: Option<&'g str>,
    /// The agent that it is limited to.
    pub(crate) agent: Option<&'g str>,
    /// The arguments that it is limited to.
    pub(crate) arguments: Option<Value>,
    /// The digest of the definition of the tool.
    pub(crate) definition: Option<String>,
    /// Who gave it.
    pub(crate) by: Option<&'g str>,
    /// When it was given.
    pub(crate) given_at: Option<Timestamp>,
    /// When it ends.
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether it can be used.
    pub(crate) is_valid: bool,
    /// Why it cannot be used.
    pub(crate) refusal: Option<String>,
}

/// A line of `haft conversations`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationLine<'c> {
    /// Its id.
    pub(crate) conversation: &'c str,
    /// Its title, or the beginning of its first message.
    pub(crate) title: &'c str,
    /// How many turns it has.
    pub(crate) turns: usize,
    /// When its newest turn was created.
    pub(crate) newest: Option<Timestamp>,
    /// The status of that turn.
    pub(crate) status: Option<TurnStatus>,
}

/// What `haft conversations export --format json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationExport<'c> {
    /// Its id.
    pub(crate) conversation: &'c str,
    /// Its title, if it was given one.
    pub(crate) title: Option<&'c str>,
    /// Its turns, from the oldest to the newest.
    pub(crate) turns: Vec<ExportedTurn<'c>>,
}

/// A turn of an exported conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportedTurn<'c> {
    /// The turn as lists show it.
    pub(crate) turn: &'c TurnSummary,
    /// Its records as they are stored.
    pub(crate) records: Vec<PrintedRecord<'c>>,
}
