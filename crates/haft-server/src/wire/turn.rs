//! Turns in lists, and one turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactRow, GateView, StepRow, TimelineItem};

/// How far a turn has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TurnState {
    /// A process runs it.
    Running,
    /// No process runs it, and it can be resumed.
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
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens that the model read.
    pub prompt: u64,
    /// Tokens that the model wrote.
    pub completion: u64,
    /// Tokens of the prompt that came from a cache.
    pub cached: u64,
}

/// A turn in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnRow {
    /// Its id.
    pub id: String,
    /// The first words of the user.
    pub title: String,
    /// The agent that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What takes its steps: `provider:model`, or `script`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How far it has got.
    pub state: TurnState,
    /// The conversation that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// When it began, in UTC.
    pub created_at: String,
    /// How long it took, or has taken so far, in milliseconds.
    pub duration_ms: f64,
    /// How many steps it has.
    pub steps: u32,
    /// How many calls it has.
    pub calls: u32,
    /// How many of them were refused or failed.
    pub failed_calls: u32,
    /// How many of them had their arguments coerced.
    pub coerced_calls: u32,
    /// How many bytes of results are stored outside the prompt.
    pub artifact_bytes: u64,
    /// What it cost.
    pub usage: TokenUsage,
    /// How many gates are open.
    pub open_gates: u32,
    /// The question of the first open gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What went wrong, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Which turns to list. All conditions must hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TurnFilter {
    /// Words that the title, the agent, a tool or the id contains.
    pub search: Option<String>,
    /// Only turns in this state.
    pub state: Option<TurnState>,
    /// Only turns of this agent.
    pub agent: Option<String>,
    /// Only turns of this model.
    pub model: Option<String>,
    /// Only turns of this conversation.
    pub conversation: Option<String>,
    /// Only turns with calls whose arguments were coerced.
    pub coerced: Option<bool>,
    /// Only turns that began at this time or later, in UTC.
    pub since: Option<String>,
    /// Only turns with at least this many tokens.
    pub min_tokens: Option<u64>,
    /// Only turns that began before this one.
    pub before: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// A page of turns, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnPage {
    /// The turns.
    pub turns: Vec<TurnRow>,
    /// The value of `before` that continues the list; nothing at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many turns were looked at.
    pub scanned: usize,
}

/// A conversation in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationRow {
    /// Its id.
    pub id: String,
    /// The first words of its newest turn.
    pub title: String,
    /// Its turns, newest first.
    pub turns: Vec<TurnRow>,
}

/// An error with its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorView {
    /// The stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What went wrong.
    pub message: String,
    /// The chain of causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Whether another attempt may succeed.
    pub retryable: bool,
}

/// What the journal says about a request that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SentSummary {
    /// The size of its body.
    pub bytes: u64,
    /// How many bytes at its beginning are those of the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// How many bytes of the request before it does not begin with.
    pub lost: u64,
    /// The SHA-256 of its body.
    pub sha256: String,
}

/// What a client may do with a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnActions {
    /// Whether it can be resumed.
    pub resume: bool,
    /// Whether it can be cancelled.
    pub cancel: bool,
    /// Whether it can be forked.
    pub fork: bool,
}

/// One turn with its timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnDetail {
    /// What stands in lists.
    pub turn: TurnRow,
    /// Its steps, in order.
    pub steps: Vec<StepRow>,
    /// What happened, in order.
    pub items: Vec<TimelineItem>,
    /// Its gates, in the order in which they were opened.
    pub gates: Vec<GateView>,
    /// Its artifacts.
    pub artifacts: Vec<ArtifactRow>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// How many earlier turns of the conversation the model saw.
    pub earlier_turns: u64,
    /// What a client may do with it.
    pub actions: TurnActions,
    /// The system prompt.
    pub system_prompt: String,
}

/// What a live stream of a turn says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TurnChange {
    /// Records were added or changed.
    Update(Box<TurnUpdate>),
    /// The model wrote more text.
    Delta(TextDelta),
}

/// Records of a turn that were added or changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnUpdate {
    /// What stands in lists.
    pub turn: TurnRow,
    /// Steps that were added or changed.
    pub steps: Vec<StepRow>,
    /// Items that were added or changed, by their keys.
    pub items: Vec<TimelineItem>,
    /// All gates of the turn.
    pub gates: Vec<GateView>,
    /// All artifacts of the turn.
    pub artifacts: Vec<ArtifactRow>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// What a client may do with it.
    pub actions: TurnActions,
}

/// Text that a model writes at this moment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextDelta {
    /// The message or thought, by the key of the item that it becomes.
    pub key: String,
    /// The step, counted from 1.
    pub step: u32,
    /// Whether it is a thought.
    pub is_thought: bool,
    /// The text that follows what came before.
    pub text: String,
    /// Whether the text so far is to be forgotten.
    pub restart: bool,
}

/// What the live stream of the list says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListChange {
    /// Turns that were added or changed.
    pub turns: Vec<TurnRow>,
    /// How many gates are open.
    pub open_gates: usize,
}
