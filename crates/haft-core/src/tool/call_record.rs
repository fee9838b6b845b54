//! Calls as records: what the turn remembers of an invocation.

use crate::call::{CallError, CallState, ToolCall};
use crate::error::Coded as _;
use crate::id::{RecordId, ToolName};
use crate::record::ProviderPayload;
use crate::trust::{TrustLabel, TrustTier};

use super::{Invocation, Tool, ToolError, ToolOutput, ToolRole};

impl ToolCall {
    /// The record of a finished invocation. Results other than text are added by whoever wraps and
    /// stores them.
    #[must_use]
    pub fn of(done: &Invocation, occurrence: std::num::NonZeroU32) -> Self {
        let ended = done.started_at.saturating_add(done.duration);
        let (state, error) = match &done.outcome {
            Ok(_) => (CallState::Succeeded, None),
            Err(error @ ToolError::Cancelled { .. }) => {
                (CallState::Cancelled, Some(CallError::of(error)))
            }
            Err(error) => (CallState::Failed, Some(CallError::of(error))),
        };
        Self {
            id: RecordId::new(done.call_id, occurrence),
            tool: ToolName::to_string(done.tool.name()),
            raw: done.raw.clone(),
            accepted: done.accepted.clone(),
            changes: done.changes.clone(),
            state,
            results: None,
            label: match &done.outcome {
                // Only a query has another source than the tool; what a tool says of its own text has a ceiling.
                Ok(ToolOutput::Answer { label, .. })
                    if *done.tool.role() == ToolRole::ArtifactQuery =>
                {
                    *label
                }
                Ok(ToolOutput::Answer { label, .. }) => {
                    label.floor(TrustLabel::of_tool_text(&done.tool))
                }
                Ok(_) => TrustLabel::of_tool_text(&done.tool),
                Err(_) => TrustLabel::UNTRUSTED,
            },
            error,
            from_artifact_tool: *done.tool.role() == ToolRole::ArtifactQuery,
            inline: false,
            iteration: 0,
            ordinal: done.ordinal,
            provider_id: None,
            replay: ProviderPayload::default(),
            created_at: done.started_at,
            updated_at: ended,
            completed_at: Some(ended),
        }
    }
}

impl CallError {
    /// What the record keeps of an error.
    #[must_use]
    pub fn of(error: &ToolError) -> Self {
        Self { code: error.code(), message: error.to_string(), retryable: error.retryable() }
    }
}

impl TrustLabel {
    /// The label of a tool's own text: first-party if the tool is trusted, else
    /// [`TrustLabel::UNTRUSTED`]. Take it when the call runs and keep it with the record, so that a
    /// later tool of the same name cannot change it.
    ///
    /// `trusted` is a ceiling. Text that the tool knows to come from elsewhere goes below it:
    /// `TrustLabel::of_tool_text(&tool).floor(TrustLabel::declared(tier))`.
    #[must_use]
    pub fn of_tool_text(tool: &Tool) -> Self {
        if tool.is_trusted() { Self::declared(TrustTier::FirstParty) } else { Self::UNTRUSTED }
    }
}
