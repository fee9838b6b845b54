//! Gates: what waits for a decision, and the decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FieldProblem;

/// A gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateView {
    /// Its id.
    pub(crate) id: String,
    /// The turn that waits.
    pub(crate) turn: String,
    /// The first words of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The question.
    pub(crate) question: String,
    /// What the person who decides needs to know.
    pub(crate) payload: Value,
    /// Whether it asks for approval of a call.
    pub(crate) approval: bool,
    /// The JSON Schema of the value that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
    /// The JSON Schema of the arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) argument_schema: Option<Value>,
    /// The record of the call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<String>,
    /// The tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The arguments that its handler would get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Value>,
    /// What the call would change, if its tool can say; nothing once the gate was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<GatePreview>,
    /// When it was opened, in UTC.
    pub(crate) opened_at: String,
    /// When it closes by itself, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    /// When it was decided, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled_at: Option<String>,
    /// How it was decided: `resolved`, `rejected`, `aborted` or `timeout`; nothing while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<String>,
    /// The guidance of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guidance: Option<String>,
}

/// What a call would change, in a form to read. The text may contain content of any author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GatePreview {
    /// What the text is: `diff`, which is a unified diff, or `text`.
    pub(crate) kind: String,
    /// The text.
    pub(crate) text: String,
    /// Whether lines at the end were left out.
    #[serde(default)]
    pub(crate) cut: bool,
}

/// The kinds of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GateChoice {
    /// The call runs with the arguments that the model proposed, or the gate gets the value `true`.
    Approve,
    /// The call runs with other arguments.
    ApproveEdited,
    /// The gate gets a value.
    Resolve,
    /// The call does not run, and the model is told why.
    Deny,
}

/// A decision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateDecisionRequest {
    /// What was decided.
    pub(crate) choice: GateChoice,
    /// With `approve`: later calls of the tool are approved too.
    #[serde(default)]
    pub(crate) always: Option<AlwaysRequest>,
    /// The arguments of `approve-edited`.
    #[serde(default)]
    pub(crate) arguments: Option<Value>,
    /// The value of `resolve`.
    #[serde(default)]
    pub(crate) value: Option<Value>,
    /// The guidance of `deny`.
    #[serde(default)]
    pub(crate) guidance: Option<String>,
}

/// Where a standing approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GrantedScope {
    /// In the turn that asked.
    Turn,
    /// In every turn of the agent that asked.
    Agent,
}

/// A standing approval: later calls of the tool run without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AlwaysRequest {
    /// Where it holds.
    pub(crate) scope: GrantedScope,
    /// Whether it covers calls with any arguments, and not only with the same ones.
    #[serde(default)]
    pub(crate) any_arguments: bool,
    /// After how many seconds it ends. By default, one for a turn ends with the turn, and one for an agent after 30 days.
    #[serde(default)]
    pub(crate) expires_seconds: Option<u64>,
}

/// A standing approval that was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantRow {
    /// Its id.
    pub(crate) id: String,
    /// The tool; nothing if the stored approval cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The turn in which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// The agent in whose turns it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The arguments that it covers; nothing if it covers all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Value>,
    /// Who gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// When it was given, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) given_at: Option<String>,
    /// When it ends, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    /// Why it approves nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
}

/// A value that may become a decision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateProposal {
    /// The arguments of the call.
    #[serde(default)]
    pub(crate) arguments: Option<Value>,
    /// The value of the gate.
    #[serde(default)]
    pub(crate) value: Option<Value>,
}

/// What validation says about a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateCheck {
    /// Every problem; none if the value is valid.
    pub(crate) problems: Vec<FieldProblem>,
}
