//! The types of the API as they travel: what a client of any language sees.
//!
//! They are separate from the types of the library, so that a change inside the library does not change the API. Fields are
//! added and never renamed.

mod agent;
mod artifact;
mod gate;
mod request;
mod submit;
mod timeline;
mod turn;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::agent::{
    AgentDetail, AgentRow, ForkCalls, ForkRequest, ForkTools, ReplayRequest, StartedTurn,
    ToolCallRequest, ToolRow,
};
pub(crate) use self::artifact::{
    ArtifactOptions, ArtifactQuery, ArtifactRow, ArtifactState, CsvPage, LinePage, LineRow,
    MediaRow, OutlineRow, QueryResult, SearchEnd, SearchHit, SearchPage,
};
pub(crate) use self::gate::{
    AlwaysRequest, GateCheck, GateChoice, GateDecisionRequest, GatePreview, GateProposal, GateView,
    GrantRow, GrantedScope,
};
pub(crate) use self::request::{
    PartChange, PartKind, PromptPart, RequestView, ResponseView, Segment, SegmentKind, SourceTier,
};
pub(crate) use self::submit::SubmitRequest;
pub(crate) use self::submit::{MAX_CONVERSATION_CHARS, MIN_PRIORITY};
pub(crate) use self::timeline::{
    CallFilter, CallPage, CallRow, CallView, ChangedRow, CoercionRow, DecisionTime, GateMark,
    ItemContent, KindsChange, ResultRow, RowMatches, RowPage, RowRange, RowSearch, StepPage,
    StepRow, TimelineItem, TimelineRow,
};
pub(crate) use self::turn::{
    ConversationPage, ConversationRow, ErrorView, ListChange, Notice, SentSummary, StreamEnd,
    TextDelta, TokenUsage, TurnActions, TurnChange, TurnCounts, TurnDetail, TurnFacts, TurnFilter,
    TurnPage, TurnRow, TurnState, TurnTimes, TurnUpdate,
};

/// The longest id of a turn or gate, in characters.
pub(crate) const MAX_ID_CHARS: usize = 200;
/// The characters of such an id: no control characters.
pub(crate) const ID_PATTERN: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// What the server is and what a client may do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerInfo {
    /// The version of Haft.
    pub(crate) version: String,
    /// Whether actions are refused.
    pub(crate) read_only: bool,
    /// The name of the store, for people.
    pub(crate) store: String,
    /// Whether the server knows agents, so that it can fork turns, replay recordings and call tools.
    pub(crate) has_agents: bool,
}

/// Why a request failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiProblem {
    /// The stable code.
    pub(crate) code: String,
    /// What failed.
    pub(crate) message: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// Every problem of a value that breaks a schema, by its JSON pointer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<FieldProblem>,
}

/// What is wrong with one field of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldProblem {
    /// The JSON pointer to the field; empty for the whole value.
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

/// A reason in words.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReasonRequest {
    /// The reason.
    pub(crate) reason: Option<String>,
}
