//! Gates: points at which a turn waits for a decision from outside.
//!
//! A [`Gate`] is a record, not a promise: it says why the turn waits, the format of the answer and the deadline, and it
//! is stored, so that another process can list and settle it. An answer is a [`GateSettlement`], signed with the
//! [`GateKey`] that the application keeps from tools and models. The signature covers the gate as the runner opened it
//! (turn, call, accepted arguments, question) and the answer, so that an answer cannot be forged, edited, reused, moved
//! to another call, or given by the model to itself.

mod approvals;
mod grant;
mod key;

#[cfg(test)]
mod tests;

use crate::error::codes;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::error::{Coded, ErrorCode};
use crate::id::{CallId, Digest, RecordId};
use crate::json::canonical_text;
use crate::preview::CallPreview;
use crate::schema::args::Args;
use crate::schema::{ForeignSchemaError, Problems, ValueSchema};
use crate::store::{GateId, StoreError, TurnId};

pub use self::approvals::{ApprovalStore, GrantRow, Spending};
pub use self::grant::{Grant, GrantId, GrantRefusal, GrantScope, GrantSubject, StandingApproval};
pub use self::key::{GateKey, GateSignature, InvalidSignature};

/// A request for a decision from outside the turn.
///
/// ```
/// use std::time::Duration;
/// use haft_core::gate::GateRequest;
///
/// let ask = GateRequest::new("May I delete the branch?")
///     .payload(serde_json::json!({"branch": "old"}))
///     .schema(serde_json::json!({"type": "boolean"}))
///     .timeout(Duration::from_secs(3600));
/// # let _ = ask;
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request asks nothing until it is waited for"]
pub struct GateRequest {
    pub(crate) reason: String,
    pub(crate) payload: Value,
    pub(crate) schema: Option<Value>,
    pub(crate) timeout: Option<Duration>,
}

impl GateRequest {
    /// A request for an answer of any shape, without a timeout.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), payload: Value::Null, schema: None, timeout: None }
    }

    /// What the person or program that answers needs to know.
    pub fn payload(mut self, payload: Value) -> Self {
        self.payload = payload;
        self
    }

    /// A JSON Schema that the answer must meet.
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// How long to wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// A gate as it is stored and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Gate {
    /// Its name.
    pub id: GateId,
    /// The turn that waits.
    pub turn: TurnId,
    /// Why it waits, in words for the person or program that answers.
    pub reason: String,
    /// What the person or program that answers needs to know.
    pub payload: Value,
    /// A JSON Schema that the answer must meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The call that waits, or `None` for a gate that middleware opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<BoundCall>,
    /// Whether it asks for approval of the call before its handler starts.
    #[serde(default)]
    pub approval: bool,
    /// The JSON Schema of the tool's arguments, which edited arguments must meet. Only gates that ask for approval have
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_schema: Option<Value>,
    /// What the call would change, as its tool says. Only gates that ask for approval have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<CallPreview>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it closes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The call that a gate belongs to, with the arguments that its handler gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct BoundCall {
    /// The record of the call.
    pub record: RecordId,
    /// The tool.
    pub tool: String,
    /// The accepted arguments, as canonical JSON text: every digit counts.
    pub accepted: String,
    /// The definition of the tool when the gate was opened.
    pub definition: Digest,
}

impl BoundCall {
    /// A call with the arguments that were accepted for it, of a tool with this definition.
    #[must_use]
    pub fn new(
        record: RecordId,
        tool: impl Into<String>,
        accepted: &Args,
        definition: Digest,
    ) -> Self {
        let accepted = canonical_text(accepted.root());
        Self { record, tool: tool.into(), accepted, definition }
    }

    /// Content key of the call.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.record.call_id()
    }
}

impl Gate {
    /// Opens a gate for a request.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::gate::{Gate, GateRequest};
    ///
    /// let request = GateRequest::new("Deploy?").schema(serde_json::json!({"type": "boolean"}));
    /// let gate = Gate::open("gate-1".parse()?, "turn-1".parse()?, request, Timestamp::EPOCH)?;
    /// assert!(gate.check(&serde_json::json!(true)).is_ok());
    /// assert!(gate.check(&serde_json::json!("yes")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The question is empty, the schema is not one, or the timeout is zero.
    pub fn open(
        id: GateId,
        turn: TurnId,
        request: GateRequest,
        at: Timestamp,
    ) -> Result<Self, InvalidGate> {
        let GateRequest { reason, payload, schema, timeout } = request;
        if reason.trim().is_empty() {
            return Err(InvalidGate::NoReason);
        }
        if timeout.is_some_and(|it| it.is_zero()) {
            return Err(InvalidGate::NoTime);
        }
        if let Some(schema) = &schema {
            ValueSchema::from_json_schema(schema.clone())?;
        }
        let expires_at = timeout.map(|timeout| at.saturating_add(timeout));
        Ok(Self {
            id,
            turn,
            reason,
            payload,
            schema,
            call: None,
            approval: false,
            argument_schema: None,
            preview: None,
            opened_at: at,
            expires_at,
        })
    }

    /// Binds it to a call.
    #[must_use]
    pub fn bound_to(mut self, call: BoundCall) -> Self {
        self.call = Some(call);
        self
    }

    /// Makes it ask for approval of the call.
    #[must_use]
    pub fn requiring_approval(mut self) -> Self {
        self.approval = true;
        self
    }

    /// Lets a person edit the arguments of the call within this JSON Schema.
    #[must_use]
    pub fn with_argument_schema(mut self, schema: Value) -> Self {
        self.argument_schema = Some(schema);
        self
    }

    /// Shows what the call would change.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::gate::{Gate, GateRequest};
    /// use haft_core::tool::CallPreview;
    ///
    /// let request = GateRequest::new("May this file be changed?");
    /// let gate = Gate::open("gate-1".parse()?, "turn-1".parse()?, request, Timestamp::EPOCH)?;
    /// let gate = gate.with_preview(CallPreview::diff("-one\n+two\n"));
    /// assert!(gate.preview.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_preview(mut self, preview: CallPreview) -> Self {
        self.preview = Some(preview);
        self
    }

    /// The gate as if it had been opened at the same time as another one.
    #[must_use]
    pub fn with_times_of(mut self, other: &Self) -> Self {
        (self.opened_at, self.expires_at) = (other.opened_at, other.expires_at);
        self.preview.clone_from(&other.preview);
        self
    }

    /// Validates an answer.
    ///
    /// # Errors
    ///
    /// The answer breaks the schema; every problem.
    pub fn check(&self, answer: &Value) -> Result<(), Problems> {
        // A schema that does not compile was refused when the gate was opened.
        match self.schema.clone().map(ValueSchema::from_json_schema) {
            Some(Ok(schema)) => schema.check(answer),
            _ => Ok(()),
        }
    }
}

impl Gate {
    /// Validates edited arguments.
    ///
    /// # Errors
    ///
    /// The gate does not ask for approval of a call, or the arguments break the schema of its tool.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), InvalidEdit> {
        let schema = self.argument_schema.clone().filter(|_| self.approval);
        let schema = schema.ok_or(InvalidEdit::NotAnApproval)?;
        Ok(ValueSchema::from_json_schema(schema)?.check(arguments)?)
    }
}

/// Edited arguments that were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEdit {
    /// Only the arguments of a call that waits for its approval can be edited.
    #[error("the gate does not wait for the approval of a call, so there are no arguments to edit")]
    NotAnApproval,
    /// The arguments break the schema of the tool.
    #[error("the edited arguments do not meet the schema of the tool:\n{0}")]
    Problems(#[from] Problems),
    /// The schema in the gate cannot be used.
    #[error("the schema of the arguments cannot be used: {0}")]
    Schema(#[from] ForeignSchemaError),
}

impl Coded for InvalidEdit {
    fn code(&self) -> ErrorCode {
        codes::INVALID_TURN_GATE_RESOLUTION
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GateDecision {
    /// Yes, with a value that meets the schema.
    Resolved {
        /// The value.
        value: Value,
    },
    /// No.
    Rejected {
        /// Why, in words for the model.
        reason: String,
    },
    /// The turn stopped waiting.
    Aborted,
    /// No decision arrived in time.
    Timeout,
}

impl GateDecision {
    /// Its name in messages.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Resolved { .. } => "resolved",
            Self::Rejected { .. } => "rejected",
            Self::Aborted => "aborted",
            Self::Timeout => "timeout",
        }
    }
}

/// A decision, who made it, and the proof that they were allowed to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct GateSettlement {
    /// What was answered.
    pub decision: GateDecision,
    /// The arguments that the call was approved with, as canonical JSON text, if they are not the proposed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// Which later calls are approved as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<StandingApproval>,
    /// The grant that approved the call, or `None` where a person or a program decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// Who answered.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The proof, or `None` where the turn itself closed the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<GateSignature>,
}

impl GateSettlement {
    /// The settlement with which a turn closes a gate without a decision. It is a refusal, so it needs no signature.
    #[must_use]
    pub fn closed(decision: GateDecision, at: Timestamp) -> Self {
        let by = "runner".to_owned();
        Self { decision, edited: None, always: None, grant: None, by, at, signature: None }
    }

    /// Whether it is this decision of this person, with these edited arguments. This recognizes a request that was
    /// repeated because its response was lost.
    #[must_use]
    pub fn repeats(&self, decision: &GateDecision, edited: Option<&Value>, by: &str) -> bool {
        let stored = self.edited.as_deref().map(serde_json::from_str::<Value>);
        let is_same_edit = match (stored, edited) {
            (None, None) => true,
            (Some(Ok(stored)), Some(edited)) => stored == *edited,
            _ => false,
        };
        is_same_edit && self.decision == *decision && self.by == by && self.grant.is_none()
    }
}

/// A gate that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidGate {
    /// It does not say why the turn waits.
    #[error("a gate needs a reason: words for whoever answers")]
    NoReason,
    /// The timeout is zero, so the gate would close at once.
    #[error("a gate needs a timeout above zero, or none")]
    NoTime,
    /// The schema of the answer is not a valid JSON Schema.
    #[error("the schema of the answer cannot be used: {0}")]
    Schema(#[from] ForeignSchemaError),
}

impl Coded for InvalidGate {
    fn code(&self) -> ErrorCode {
        codes::INVALID_INITIAL_TURN_GATE_VALUE
    }
}

/// Why waiting at a gate returned no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// It could not be opened.
    #[error(transparent)]
    Invalid(#[from] InvalidGate),
    /// The request was refused.
    #[error("refused by {by}: {reason}")]
    Rejected {
        /// Who refused it.
        by: String,
        /// Why.
        reason: String,
    },
    /// No decision arrived in time.
    #[error("no decision arrived in time")]
    Timeout,
    /// The turn stopped waiting.
    #[error("the turn stopped waiting")]
    Aborted,
    /// The decision has no valid signature for this gate.
    #[error("the answer is not valid for this question: {0}")]
    Forged(#[from] InvalidSignature),
    /// The context has no gates.
    #[error("gates are not supported here")]
    NotSupported,
    /// The gate could not be stored or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GateError {
    /// The error for an answer that is not valid, or for a stored question that differs from the one that was asked.
    #[must_use]
    pub const fn forged() -> Self {
        Self::Forged(InvalidSignature)
    }
}

impl Coded for GateError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => codes::INVALID_INITIAL_TURN_GATE_VALUE,
            Self::Rejected { .. } => codes::TURN_GATE_REJECTED,
            Self::Timeout => codes::TURN_GATE_TIMEOUT,
            Self::Aborted => codes::TURN_GATE_ABORTED,
            Self::Forged(_) => codes::TURN_GATE_FORGED,
            Self::NotSupported => codes::LLM_EXECUTION_GATE_NOT_SUPPORTED,
            Self::Store(error) => error.code(),
        }
    }
}
