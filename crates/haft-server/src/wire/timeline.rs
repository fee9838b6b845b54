//! The timeline of a turn: its steps, and what happened in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorView, GatePreview, MediaRow, SentSummary, SourceTier, TokenUsage};

/// A step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StepRow {
    /// Its number, counted from 1.
    pub number: u32,
    /// When it began, in milliseconds since the turn began.
    pub start_ms: f64,
    /// How long the model took, in milliseconds.
    pub model_ms: f64,
    /// How long all of it took, in milliseconds; nothing while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// The tokens of the step.
    pub usage: TokenUsage,
    /// What they cost, in US dollars; nothing if the price of the model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The request that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<SentSummary>,
}

/// One thing that happened in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TimelineItem {
    /// A name that stays the same when the item changes.
    pub key: String,
    /// The step, counted from 1; 0 for the input of the turn.
    pub step: u32,
    /// When it began, in milliseconds since the turn began.
    pub at_ms: f64,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What it is.
    #[serde(flatten)]
    pub content: ItemContent,
}

/// A row of a timeline: the head of a step, or something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "row", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TimelineRow {
    /// A step. Its items follow.
    Step(StepRow),
    /// Something that happened.
    Item(TimelineItem),
}

/// A window of the rows of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RowPage {
    /// The place of the first one, counted from 0.
    pub start: usize,
    /// The rows.
    pub rows: Vec<TimelineRow>,
    /// How many rows the timeline has.
    pub total: usize,
}

/// Which rows of a timeline to read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RowRange {
    /// The place of the first one, counted from 0.
    pub start: usize,
    /// How many; the default is 200.
    pub count: Option<usize>,
    /// The key of a row that the window is to contain, such as `step/12` or the key of an item. Then `start` does not count.
    pub at: Option<String>,
    /// Whether the beginning of a long turn is enough: the response comes before the turn is read, and says if it is
    /// `partial`.
    pub partial: bool,
}

/// What to search for in a timeline.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RowSearch {
    /// Words of a message, a thought, a tool, its arguments, its result or its error, or the key of a call. The case of
    /// letters does not matter.
    pub search: String,
}

/// The rows of a timeline that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RowMatches {
    /// The places of the first ones, counted from 0.
    pub places: Vec<usize>,
    /// How many rows match.
    pub total: usize,
}

/// How the layout of a timeline changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct KindsChange {
    /// The first row whose kind is another one, counted from 0.
    pub from: usize,
    /// The kinds from there on, to the end of the timeline.
    pub kinds: String,
}

/// A row that was added or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChangedRow {
    /// Its place, counted from 0.
    pub at: usize,
    /// The row.
    pub row: TimelineRow,
}

/// Steps of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StepPage {
    /// The steps.
    pub steps: Vec<StepRow>,
    /// How many steps the turn has.
    pub total: usize,
}

/// Which calls of a turn to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct CallFilter {
    /// Only queries of the artifact with this handle.
    pub artifact: Option<String>,
    /// The first one, counted from 0.
    pub start: usize,
    /// How many; the default is 500.
    pub count: Option<usize>,
}

/// Calls of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallPage {
    /// The calls, as items of the timeline.
    pub calls: Vec<TimelineItem>,
    /// How many calls the filter selects.
    pub total: usize,
}

/// The kinds of things that happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ItemContent {
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
#[non_exhaustive]
pub struct CallRow {
    /// The id of its record.
    pub record: String,
    /// Its content key.
    pub call_key: String,
    /// The tool.
    pub tool: String,
    /// The arguments as the model wrote them, in one line, or the beginning of it.
    pub arguments: String,
    /// What coercion changed, as short labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coercions: Vec<String>,
    /// Its state: `requested`, `approved`, `running`, `succeeded`, `failed`, `cancelled` or `unknown`.
    pub state: String,
    /// Whether the handler did not run because the arguments were refused or the call was denied.
    pub refused: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// What it returned, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRow>,
    /// Which call of the turn with this key it is, counted from 1.
    pub attempt: u32,
    /// Its gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateMark>,
    /// Whether a person changed the arguments.
    pub edited: bool,
}

/// The gate of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GateMark {
    /// Its id.
    pub id: String,
    /// How it was decided: `resolved`, `rejected`, `aborted` or `timeout`; nothing while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// What a call returned, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResultRow {
    /// The first line, or the beginning of it.
    pub text: String,
    /// How many bytes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The handles of its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<String>,
    /// The kind of its first artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_kind: Option<String>,
    /// Its media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaRow>,
}

/// One change that coercion made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CoercionRow {
    /// A short label, such as `text → number`.
    pub label: String,
    /// The JSON pointer to the value.
    pub pointer: String,
    /// What was done, in words.
    pub text: String,
}

/// Everything about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallView {
    /// What stands in the timeline.
    pub call: CallRow,
    /// The step, counted from 1.
    pub step: u32,
    /// Its place among the calls of the step, counted from 1.
    pub ordinal: u32,
    /// When the model asked for it, in UTC.
    pub created_at: String,
    /// The arguments as the model wrote them.
    pub raw: String,
    /// The arguments that a person approved instead, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// The arguments that the handler received, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// What coercion changed.
    pub coercions: Vec<CoercionRow>,
    /// What the person who approved the call was told that it would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<GatePreview>,
    /// The text that went back to the model, or the beginning of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How many bytes of the result are left out.
    pub omitted_bytes: u64,
    /// How far the result is trusted.
    pub tier: SourceTier,
    /// Whether it is a query of an artifact.
    pub is_query: bool,
    /// The artifact that it queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queried_handle: Option<String>,
}
