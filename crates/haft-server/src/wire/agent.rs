//! Agents and their tools, and turns that are started from the page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentRow {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// What takes its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// An agent with its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentDetail {
    /// What stands in lists.
    pub(crate) agent: AgentRow,
    /// Its system prompt.
    pub(crate) system_prompt: String,
    /// Its tools, in the order in which the model sees them.
    pub(crate) tools: Vec<ToolRow>,
    /// An estimate of the tokens of the system prompt and the tools.
    pub(crate) estimated_tokens: u64,
}

/// A tool of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRow {
    /// Its name.
    pub(crate) name: String,
    /// What it does, as the model is told.
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Its effect: `read-only`, `idempotent` or `once`.
    pub(crate) effect: String,
    /// The question that is asked before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
    /// An estimate of the tokens of its definition.
    pub(crate) estimated_tokens: u64,
}

/// Arguments for a tool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallRequest {
    /// The arguments.
    pub(crate) arguments: Value,
}

/// What the calls before the fork do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ForkCalls {
    /// They return what the record has.
    #[default]
    FromRecord,
    /// They run again.
    RunAgain,
}

/// What the calls after the fork do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ForkTools {
    /// A call that the record has returns that result, and every other call fails.
    #[default]
    FromRecord,
    /// A read-only call that the record has returns that result. Other read-only calls run, and calls with effects require
    /// approval.
    Run,
}

/// A fork of a turn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForkRequest {
    /// The first step that is taken anew, counted from 1.
    #[schemars(range(min = 1))]
    pub(crate) step: u32,
    /// A message of the user before that step.
    #[serde(default)]
    pub(crate) message: Option<String>,
    /// What the calls before that step do.
    #[serde(default)]
    pub(crate) earlier_calls: ForkCalls,
    /// What the calls from that step on do.
    #[serde(default)]
    pub(crate) later_calls: ForkTools,
}

/// A recording to replay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayRequest {
    /// The agent whose tools the recording used.
    pub(crate) agent: String,
    /// The text of the recording.
    pub(crate) recording: String,
    /// The message of the user.
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// A turn that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StartedTurn {
    /// Its id.
    pub(crate) turn: String,
}
