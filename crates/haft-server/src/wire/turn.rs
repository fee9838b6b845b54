//! Turns in lists, and one turn.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactRow, ChangedRow, GateView, ID_PATTERN, KindsChange, MAX_ID_CHARS, RowPage};

/// How far a turn has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TurnState {
    /// It waits for a process that runs it.
    Queued,
    /// A process runs it.
    Running,
    /// Its end was asked for, and the process that runs it has not seen it yet.
    CancelRequested,
    /// Its last attempt ended before it did. No process runs it, and it can be resumed.
    Interrupted,
    /// It waits at a gate.
    Waiting,
    /// It was completed.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It reached a limit.
    LimitReached,
    /// What is stored of it is not what was written. It can only be removed.
    Damaged,
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    /// Tokens that the model read.
    pub(crate) prompt: u64,
    /// Tokens that the model wrote.
    pub(crate) completion: u64,
    /// Tokens of the prompt that came from a cache.
    pub(crate) cached: u64,
}

/// A turn in a list. It is built from what the store says in its lists, so that a list costs the same for turns of any size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnRow {
    /// Its id.
    pub(crate) id: String,
    /// The first words of the user.
    pub(crate) title: String,
    /// The agent that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The model that takes its steps; nothing if no model does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How far it has got.
    pub(crate) state: TurnState,
    /// The conversation that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<String>,
    /// When it began, in UTC.
    pub(crate) created_at: String,
    /// How long it took, or has taken so far, in milliseconds.
    pub(crate) duration_ms: f64,
    /// How many tokens it has used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<u64>,
    /// The tools that it called, sorted; of very many the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<String>,
    /// The question of its first open gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// Why it stopped, if it was interrupted, or ended without being completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<ErrorView>,
    /// What only the turn itself says; lists do not read it. `/turns/{turn}/facts` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) facts: Option<TurnFacts>,
}

/// What a turn did, in numbers and a few words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnFacts {
    /// How many steps it has.
    pub(crate) steps: u32,
    /// How many calls it has.
    pub(crate) calls: u32,
    /// How many of them were refused or failed.
    pub(crate) failed_calls: u32,
    /// How many of them had their arguments coerced.
    pub(crate) coerced_calls: u32,
    /// How many of them had been made before with the same arguments.
    pub(crate) repeated_calls: u32,
    /// How many bytes of results are stored outside the prompt.
    pub(crate) artifact_bytes: u64,
    /// The tokens of all steps.
    pub(crate) usage: TokenUsage,
    /// What the tokens cost, in US dollars; nothing if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<f64>,
    /// How many gates are open.
    pub(crate) open_gates: u32,
    /// How long it took by its journal, in milliseconds, decisions of people included; nothing if it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
    /// What the time was spent on.
    pub(crate) times: TurnTimes,
    /// The beginning of what the user said last, with its line breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
    /// The beginning of the last reply, with its line breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reply: Option<String>,
    /// What went wrong, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What the time of a turn was spent on, in milliseconds. Calls that ran in parallel are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnTimes {
    /// Waiting for the model to begin.
    pub(crate) model_wait: f64,
    /// The model writing.
    pub(crate) model_write: f64,
    /// Tools, from the beginning of a handler to the end of a streamed result.
    pub(crate) tools: f64,
    /// Waiting for the stores of turns and of results.
    pub(crate) storing: f64,
    /// Waiting for the decisions of people.
    pub(crate) people: f64,
}

/// How many turns match a filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnCounts {
    /// All of them, in whatever state.
    pub(crate) total: usize,
    /// How many are in each state.
    pub(crate) states: BTreeMap<String, usize>,
    /// How many tokens they used together.
    pub(crate) tokens: u64,
    /// Whether older turns were not counted.
    pub(crate) has_more: bool,
}

/// Which turns to list. All conditions must hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TurnFilter {
    /// Words that the first words, the agent or the conversation has, or words that begin with them. The id of a turn finds
    /// that turn.
    pub(crate) search: Option<String>,
    /// Only turns in this state.
    pub(crate) state: Option<TurnState>,
    /// Only turns of this agent.
    pub(crate) agent: Option<String>,
    /// Only turns of this model.
    pub(crate) model: Option<String>,
    /// Only turns of this conversation.
    pub(crate) conversation: Option<String>,
    /// Only turns with calls whose arguments were coerced. The turns themselves are read, so that a page looks at fewer turns.
    pub(crate) coerced: Option<bool>,
    /// Only turns that called this tool.
    pub(crate) tool: Option<String>,
    /// Only turns that began at this time or later, as RFC 3339 writes it.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) since: Option<String>,
    /// Only turns with at least this many tokens.
    pub(crate) min_tokens: Option<u64>,
    /// Only turns that began before this one.
    #[schemars(length(min = 1, max = MAX_ID_CHARS), regex(pattern = ID_PATTERN))]
    pub(crate) before: Option<String>,
    /// At most this many.
    pub(crate) limit: Option<usize>,
}

/// A page of turns, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnPage {
    /// The turns.
    pub(crate) turns: Vec<TurnRow>,
    /// The value of `before` that continues the list; nothing at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// How many turns were looked at.
    pub(crate) scanned: usize,
    /// The title of the conversation, if only its turns were asked for and it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation_title: Option<String>,
}

/// A conversation in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationRow {
    /// Its id.
    pub(crate) id: String,
    /// Its title, or the first words of the oldest of these turns.
    pub(crate) title: String,
    /// Its turns that were looked at, newest first. `/turns` with the conversation lists all.
    pub(crate) turns: Vec<TurnRow>,
}

/// A page of conversations, those with the newest turns first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationPage {
    /// The conversations.
    pub(crate) conversations: Vec<ConversationRow>,
    /// The value of `before` that continues the list; nothing at its end. A conversation can stand on several pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// An error with its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorView {
    /// The stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// What went wrong.
    pub(crate) message: String,
    /// The chain of causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stage: Option<String>,
    /// Whether another attempt may succeed.
    pub(crate) retryable: bool,
}

/// What the journal says about a request that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SentSummary {
    /// The size of its body.
    pub(crate) bytes: u64,
    /// How many bytes at its beginning are those of the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<u64>,
    /// How many bytes of the request before it does not begin with.
    pub(crate) lost: u64,
    /// The SHA-256 of its body.
    pub(crate) sha256: String,
}

/// What a client may do with a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnActions {
    /// Whether it can be resumed.
    pub(crate) resume: bool,
    /// Whether it can be cancelled.
    pub(crate) cancel: bool,
    /// Whether it can be forked.
    pub(crate) fork: bool,
}

/// One turn with the layout of its timeline, and a window of its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnDetail {
    /// What stands in lists.
    pub(crate) turn: TurnRow,
    /// The kinds of all rows of the timeline, one letter for each: `s` a step, `t` text, `c` a call, `r` a call that was
    /// refused or failed.
    pub(crate) kinds: String,
    /// A window of the rows. `/turns/{turn}/rows` reads others.
    pub(crate) rows: RowPage,
    /// When the last step ended, in milliseconds since the turn began.
    pub(crate) end_ms: f64,
    /// Its gates, in the order in which they were opened.
    pub(crate) gates: Vec<GateView>,
    /// Its artifacts.
    pub(crate) artifacts: Vec<ArtifactRow>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorView>,
    /// How many earlier turns of the conversation the model saw.
    pub(crate) earlier_turns: u64,
    /// What a client may do with it.
    pub(crate) actions: TurnActions,
    /// The system prompt.
    pub(crate) system_prompt: String,
}

/// What a live stream of a turn says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum TurnChange {
    /// Records were added or changed.
    Update(Box<TurnUpdate>),
    /// The model wrote more text.
    Delta(TextDelta),
    /// The process that runs the turn says something about it, such as that it asks the provider again. Notices are not
    /// stored.
    Notice(Notice),
}

/// What changed in a turn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnUpdate {
    /// What stands in lists.
    pub(crate) turn: TurnRow,
    /// How the layout of the timeline changed. Rows from there on have other places than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kinds: Option<KindsChange>,
    /// Rows that were added or changed: the last ones, if there are many.
    pub(crate) rows: Vec<ChangedRow>,
    /// Whether more rows changed than are sent, so that rows which a client has are to be read again.
    pub(crate) more_rows: bool,
    /// When the last step ended, in milliseconds since the turn began.
    pub(crate) end_ms: f64,
    /// All gates of the turn.
    pub(crate) gates: Vec<GateView>,
    /// All artifacts of the turn.
    pub(crate) artifacts: Vec<ArtifactRow>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorView>,
    /// What a client may do with it.
    pub(crate) actions: TurnActions,
}

/// Something that the process which runs a turn says about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Notice {
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// Its level: `info`, `warn` or `error`.
    pub(crate) level: String,
    /// What it is about, such as `retry-attempt`.
    pub(crate) topic: String,
    /// What it says.
    pub(crate) text: String,
}

/// Text that a model writes at this moment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextDelta {
    /// The message or thought, by the key of the item that it becomes.
    pub(crate) key: String,
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// Whether it is a thought.
    pub(crate) is_thought: bool,
    /// The text that follows what came before.
    pub(crate) text: String,
    /// Whether the text so far is to be forgotten.
    pub(crate) restart: bool,
}

/// What the live stream of the list says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListChange {
    /// Turns that were added or changed.
    pub(crate) turns: Vec<TurnRow>,
    /// How many gates are open.
    pub(crate) open_gates: usize,
}

/// The end of a stream of changes: the turn has ended, and nothing follows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StreamEnd {}
