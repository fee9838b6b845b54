//! Records of calls: the part of an invocation that the turn stores.

use std::num::NonZeroU32;

use crate::call::{CallError, CallState, ToolCall};
use crate::error::{Coded as _, codes};
use crate::failure::ToolFailure;
use crate::id::RecordId;
use crate::tier::TrustTier;

use super::{Invocation, ToolEffect, ToolError, ToolOutput, ToolRole};

impl Invocation {
    /// The record of this call as it was requested, for a call that no turn requested. `occurrence` tells equal calls
    /// of one turn apart.
    #[must_use]
    pub fn to_requested(&self, occurrence: NonZeroU32) -> ToolCall {
        let id = RecordId::new(self.call_id, occurrence);
        let tool = self.tool.name().as_str().into();
        let call = ToolCall::requested_with_id(id, tool, self.raw.clone(), self.started_at);
        call.at_place(0, self.ordinal)
    }

    /// The text that the handler returned, or `None` if it failed, or returned something else.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            Ok(ToolOutput::Text(text) | ToolOutput::Answer { text, .. }) => Some(text),
            _ => None,
        }
    }

    fn call_state(&self) -> CallState {
        match &self.outcome {
            Ok(_) => CallState::Succeeded,
            Err(ToolError::Cancelled { .. }) => CallState::Cancelled,
            Err(ToolError::Downstream { failure, .. }) if self.is_in_doubt(failure) => {
                CallState::Unknown
            }
            Err(_) => CallState::Failed,
        }
    }

    /// Whether this call must not be repeated and its tool does not know what it did.
    pub(super) fn is_in_doubt(&self, failure: &ToolFailure) -> bool {
        failure.is_outcome_unknown() && self.tool.effect() == ToolEffect::Once
    }

    fn call_error(&self) -> Option<CallError> {
        let error = self.outcome.as_ref().err()?;
        match self.call_state() {
            CallState::Unknown => Some(CallError::in_doubt(&error.to_string())),
            _ => Some(CallError::of(error)),
        }
    }

    fn result_label(&self) -> TrustTier {
        match &self.outcome {
            // Only a query has another source than the tool; the label of a tool's own text has a ceiling.
            Ok(ToolOutput::Answer { label, .. })
                if *self.tool.role() == ToolRole::ArtifactQuery =>
            {
                *label
            }
            Ok(ToolOutput::Answer { label, .. }) => label.floor(self.tool.text_tier()),
            Ok(_) => self.tool.text_tier(),
            Err(_) => TrustTier::UNTRUSTED,
        }
    }
}

impl ToolCall {
    /// Ends a requested call with what its tool did. The results are added by the [`Spooler`](super::Spooler), which
    /// stores them.
    pub(crate) fn complete(mut self, done: &Invocation) -> Self {
        let ended_at = done.started_at.saturating_add(done.duration);
        self.started_at = done.accepted.is_some().then_some(done.started_at);
        self.accepted.clone_from(&done.accepted);
        self.changes.clone_from(&done.changes);
        self.state = done.call_state();
        self.results = None;
        self.error = done.call_error();
        self.label = done.result_label();
        self.from_artifact_tool = *done.tool.role() == ToolRole::ArtifactQuery;
        self.inline = false;
        (self.updated_at, self.completed_at) = (ended_at, Some(ended_at));
        // The record of an unknown outcome has a cause only if the result could not be stored.
        let error = done.outcome.as_ref().err().filter(|_| self.state != CallState::Unknown);
        self.with_cause(error.and_then(ToolError::operator_cause))
    }
}

impl CallError {
    /// The part of an error that the record stores.
    #[must_use]
    pub fn of(error: &ToolError) -> Self {
        Self { code: error.code(), message: error.to_string(), retryable: error.retryable() }
    }

    /// The error of a call that must not be repeated and whose outcome is unknown.
    pub(super) fn in_doubt(reason: &str) -> Self {
        let message = format!("{reason}; what it did is not known, do not repeat it blindly");
        Self::new(codes::TOOL_OUTCOME_UNKNOWN, message, false)
    }
}
