//! The timeline of a turn: its steps, and what happened in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorView, GatePreview, MediaRow, SentSummary, SourceTier, TokenUsage};

/// A step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepRow {
    /// Its number, counted from 1.
    pub(crate) number: u32,
    /// When it began, in milliseconds since the turn began.
    pub(crate) start_ms: f64,
    /// How long the model took, in milliseconds: until it began to write, and what it wrote.
    pub(crate) model_ms: f64,
    /// How long it took until the model began to write, in milliseconds.
    pub(crate) wait_ms: f64,
    /// How long the turn waited for its stores in the step, in milliseconds.
    pub(crate) storing_ms: f64,
    /// How long all of it took, in milliseconds, decisions of people included; nothing while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
    /// The tokens of the step.
    pub(crate) usage: TokenUsage,
    /// What they cost, in US dollars; nothing if the price of the model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<f64>,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The request that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<SentSummary>,
}

/// One thing that happened in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimelineItem {
    /// A name that stays the same when the item changes.
    pub(crate) key: String,
    /// The step, counted from 1; 0 for the input of the turn.
    pub(crate) step: u32,
    /// When it began, in milliseconds since the turn began. A call that has not run begins when the model asked for it.
    pub(crate) at_ms: f64,
    /// How long it took, in milliseconds: of a call, the work of its tool. Nothing for a call that has not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
    /// What it is.
    #[serde(flatten)]
    pub(crate) content: ItemContent,
}

/// A row of a timeline: the head of a step, or something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "row", rename_all = "kebab-case")]
pub(crate) enum TimelineRow {
    /// A step. Its items follow.
    Step(StepRow),
    /// Something that happened.
    Item(TimelineItem),
}

/// A window of the rows of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowPage {
    /// The place of the first one, counted from 0.
    pub(crate) start: usize,
    /// The rows.
    pub(crate) rows: Vec<TimelineRow>,
    /// How many rows the timeline has.
    pub(crate) total: usize,
}

/// Which rows of a timeline to read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RowRange {
    /// The place of the first one, counted from 0.
    pub(crate) start: usize,
    /// How many; the default is 200.
    pub(crate) count: Option<usize>,
    /// The key of a row that the window is to contain, such as `step/12` or the key of an item. Then `start` does not count.
    pub(crate) at: Option<String>,
}

/// What to search for in a timeline.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RowSearch {
    /// Words of a message, a thought, a tool, its arguments, its result or its error, or the key of a call. The case of
    /// letters does not matter.
    pub(crate) search: String,
}

/// The rows of a timeline that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowMatches {
    /// The places of the first ones, counted from 0.
    pub(crate) places: Vec<usize>,
    /// How many rows match.
    pub(crate) total: usize,
}

/// How the layout of a timeline changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KindsChange {
    /// The first row whose kind is another one, counted from 0.
    pub(crate) from: usize,
    /// The kinds from there on, to the end of the timeline.
    pub(crate) kinds: String,
}

/// A row that was added or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangedRow {
    /// Its place, counted from 0.
    pub(crate) at: usize,
    /// The row.
    pub(crate) row: TimelineRow,
}

/// Steps of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepPage {
    /// The steps.
    pub(crate) steps: Vec<StepRow>,
    /// How many steps the turn has.
    pub(crate) total: usize,
}

/// Which calls of a turn to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CallFilter {
    /// Only queries of the artifact with this handle.
    pub(crate) artifact: Option<String>,
    /// The first one, counted from 0.
    pub(crate) start: usize,
    /// How many; the default is 500.
    pub(crate) count: Option<usize>,
}

/// Calls of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallPage {
    /// The calls, as items of the timeline.
    pub(crate) calls: Vec<TimelineItem>,
    /// How many calls the filter selects.
    pub(crate) total: usize,
}

/// The kinds of things that happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum ItemContent {
    /// A message.
    Message {
        /// Who wrote it: `user` or `assistant`.
        role: String,
        /// Its text, or the beginning of it.
        text: String,
        /// How many bytes of the text are left out.
        omitted_bytes: u64,
        /// Its attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<MediaRow>,
    },
    /// A thought of the model.
    Thought {
        /// Its text, or the beginning of it.
        text: String,
        /// How many bytes of the text are left out.
        omitted_bytes: u64,
    },
    /// A tool call.
    Call(Box<CallRow>),
}

/// A tool call in a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallRow {
    /// The id of its record.
    pub(crate) record: String,
    /// Its content key.
    pub(crate) call_key: String,
    /// The tool.
    pub(crate) tool: String,
    /// The arguments as the model wrote them, in one line, or the beginning of it.
    pub(crate) arguments: String,
    /// What coercion changed, as short labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) coercions: Vec<String>,
    /// Its state: `requested`, `approved`, `running`, `succeeded`, `failed`, `cancelled` or `unknown`.
    pub(crate) state: String,
    /// Whether the handler did not run because the arguments were refused or the call was denied.
    pub(crate) refused: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorView>,
    /// What it returned, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ResultRow>,
    /// Which call of the turn with this key it is, counted from 1.
    pub(crate) attempt: u32,
    /// Its gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gate: Option<GateMark>,
    /// Whether a person changed the arguments.
    pub(crate) edited: bool,
    /// How long it waited for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision_time: Option<DecisionTime>,
}

/// How long a call waited for the decisions of people.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionTime {
    /// When that began, in milliseconds since the turn began.
    pub(crate) at_ms: f64,
    /// How long it took, in milliseconds; nothing while the call still waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
}

/// The gate of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateMark {
    /// Its id.
    pub(crate) id: String,
    /// How it was decided: `resolved`, `rejected`, `aborted` or `timeout`; nothing while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<String>,
}

/// What a call returned, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultRow {
    /// The first line, or the beginning of it.
    pub(crate) text: String,
    /// How many bytes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// The handles of its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) handles: Vec<String>,
    /// The kind of its first artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_kind: Option<String>,
    /// Its media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<MediaRow>,
}

/// One change that coercion made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CoercionRow {
    /// A short label, such as `text → number`.
    pub(crate) label: String,
    /// The JSON pointer to the value.
    pub(crate) pointer: String,
    /// What was done, in words.
    pub(crate) text: String,
}

/// Everything about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallView {
    /// What stands in the timeline.
    pub(crate) call: CallRow,
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// Its place among the calls of the step, counted from 1.
    pub(crate) ordinal: u32,
    /// When the model asked for it, in UTC.
    pub(crate) created_at: String,
    /// The arguments as the model wrote them.
    pub(crate) raw: String,
    /// The arguments that a person approved instead, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<String>,
    /// The arguments that the handler received, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepted: Option<String>,
    /// What coercion changed.
    pub(crate) coercions: Vec<CoercionRow>,
    /// What the person who approved the call was told that it would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<GatePreview>,
    /// The text that went back to the model, or the beginning of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<String>,
    /// How many bytes of the result are left out.
    pub(crate) omitted_bytes: u64,
    /// How far the result is trusted.
    pub(crate) tier: SourceTier,
    /// Whether it is a query of an artifact.
    pub(crate) is_query: bool,
    /// The artifact that it queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queried_handle: Option<String>,
}
