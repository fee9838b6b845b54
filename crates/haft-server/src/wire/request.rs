//! What the model saw, and what it responded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{TimelineItem, TokenUsage};

/// Who wrote a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceTier {
    /// The developer or the operator.
    FirstParty,
    /// A third party, not in public.
    ThirdPartyPrivate,
    /// The open web, or an unknown author.
    ThirdPartyPublic,
    /// A handle of content outside the prompt.
    Handle,
    /// The model itself.
    Model,
    /// The user.
    User,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PartKind {
    /// The tools that are offered.
    Tools,
    /// The system prompt.
    System,
    /// A message of the user.
    User,
    /// What the model said and called.
    Assistant,
    /// The result of a call.
    Result,
    /// Anything else.
    Other,
}

/// How a part relates to the request of the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PartChange {
    /// It is there byte by byte, at the same place.
    Same,
    /// Another part stands at its place.
    Changed,
    /// The request before ends here.
    New,
}

/// The kinds of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SegmentKind {
    /// Text outside of envelopes.
    Text,
    /// The opening line of an envelope.
    Open,
    /// The content of an envelope.
    Body,
    /// The closing line of an envelope.
    Close,
}

/// A piece of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Segment {
    /// What it is.
    pub(crate) kind: SegmentKind,
    /// Who wrote it.
    pub(crate) tier: SourceTier,
    /// Its text.
    pub(crate) text: String,
}

/// A part of a request, in the order in which providers read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptPart {
    /// What it is.
    pub(crate) kind: PartKind,
    /// Its title.
    pub(crate) title: String,
    /// The least trusted author of it.
    pub(crate) tier: SourceTier,
    /// How many bytes of the request it takes.
    pub(crate) bytes: u64,
    /// How it relates to the request of the step before.
    pub(crate) change: PartChange,
    /// Its text.
    pub(crate) segments: Vec<Segment>,
    /// The text that stood in its place in the request before, or the beginning of it; only if the part changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
}

/// The request of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestView {
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// The model that is asked.
    pub(crate) model: String,
    /// The options that are part of the request.
    pub(crate) options: Map<String, Value>,
    /// The names of the tools that are offered.
    pub(crate) tools: Vec<String>,
    /// The size of the body.
    pub(crate) bytes: u64,
    /// The SHA-256 of the body.
    pub(crate) sha256: String,
    /// Whether it was rendered byte by byte as it was sent; nothing if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) identical: Option<bool>,
    /// Its parts.
    pub(crate) parts: Vec<PromptPart>,
    /// How many bytes of the request before a prompt cache can reuse, in whole parts.
    pub(crate) kept: u64,
    /// How many bytes of the request before it cannot reuse.
    pub(crate) lost: u64,
    /// Why it cannot, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost_because: Option<String>,
    /// The body as JSON.
    pub(crate) body: Value,
}

/// The response of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResponseView {
    /// The step, counted from 1.
    pub(crate) step: u32,
    /// The model that responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Thoughts, messages and calls.
    pub(crate) items: Vec<TimelineItem>,
    /// What it cost.
    pub(crate) usage: TokenUsage,
    /// How long it took, in milliseconds.
    pub(crate) model_ms: f64,
    /// What followed: `continue`, `done` or `fail`.
    pub(crate) then: String,
}
