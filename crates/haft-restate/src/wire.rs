//! What the handlers of an object take and return, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A turn to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnRequest {
    /// The message of the user.
    pub message: String,
}

impl TurnRequest {
    /// A turn that answers a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnResult {
    /// The id of the turn.
    pub turn: String,
    /// `completed`, `failed`, `cancelled` or `limit-reached`.
    pub status: String,
    /// The text of the last message of the assistant.
    pub text: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The kinds of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GateChoice {
    /// The call runs, or the gate gets the value `true`.
    Approve,
    /// The call runs with other arguments.
    ApproveEdited,
    /// The gate gets a value.
    Resolve,
    /// The call does not run, and the model is told why.
    Deny,
}

/// A decision about a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GateDecision {
    /// The gate.
    pub gate: String,
    /// What was decided.
    pub choice: GateChoice,
    /// The arguments of `approve-edited`, or the value of `resolve`.
    #[serde(default)]
    pub value: Option<Value>,
    /// The guidance of `deny`.
    #[serde(default)]
    pub guidance: Option<String>,
    /// Who decided.
    pub by: String,
}

impl GateDecision {
    /// A decision without a value and without guidance.
    pub fn new(gate: impl Into<String>, choice: GateChoice, by: impl Into<String>) -> Self {
        Self { gate: gate.into(), choice, value: None, guidance: None, by: by.into() }
    }
}

/// A turn to cancel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTurn {
    /// The turn.
    pub turn: String,
    /// Who cancels it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// What a handler that waits has stored, so that a decision finds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitingTurn {
    pub(crate) turn: String,
    pub(crate) awakeable: String,
}

/// The result of an attempt to run a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Attempt {
    /// The turn has ended.
    Ended(TurnResult),
    /// It waits at gates.
    Waiting,
    /// It can be resumed after a while: a provider or the store failed, or the lease of a process that died is still active.
    Retry,
}

/// Whether a turn still waits, and for how long at most.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GateState {
    /// A gate was settled meanwhile.
    Settled,
    /// All gates are open.
    Open {
        /// When the first of them closes by itself, in milliseconds.
        expires_in_ms: Option<u64>,
    },
}
