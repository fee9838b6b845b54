//! What goes wrong when a tool is called.

use crate::cancel::CancelReason;
use crate::error::codes;
use crate::error::{Coded, ErrorCode};
use crate::failure::ToolFailure;
use crate::schema::Problems;

/// Why a call did not give a result. Its text is what the model sees.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments broke the schema. The handler was not called.
    #[error(
        "the arguments of `{tool}` were refused:\n{problems}\nmend them and call `{tool}` again"
    )]
    InvalidArgs {
        /// The tool.
        tool: String,
        /// Every problem.
        problems: Problems,
    },
    /// The handler failed.
    #[error("`{tool}` failed: {failure}")]
    Downstream {
        /// The tool.
        tool: String,
        /// What the handler said.
        failure: ToolFailure,
    },
    /// The handler panicked. The call is over, the loop is not.
    #[error(
        "`{tool}` failed unexpectedly; this is a defect of the tool, calling it the same way again will not help"
    )]
    Panicked {
        /// The tool.
        tool: String,
        /// What the panic said; for the operator.
        panic: String,
    },
    /// The call was cancelled.
    #[error("the call of `{tool}` was cancelled: {reason}")]
    Cancelled {
        /// The tool.
        tool: String,
        /// Why.
        reason: CancelReason,
    },
    /// There is no such tool.
    #[error("there is no tool `{tool}`{}", .nearest.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    Unknown {
        /// The name that was called.
        tool: String,
        /// The name it is closest to.
        nearest: Option<String>,
    },
    /// The model saw the tool earlier in the turn, and it cannot be called any more.
    #[error("`{tool}` cannot be called any more: {reason}")]
    Unavailable {
        /// The tool.
        tool: String,
        /// Why.
        reason: Unavailability,
    },
}

/// Why a tool that the model has seen cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailability {
    /// It was hidden.
    #[error("it is not offered at this point of the conversation")]
    Hidden,
    /// It was removed.
    #[error("it was removed")]
    Removed,
    /// It was registered during the turn, and its source has not registered it again since the turn was resumed.
    #[error(
        "it was added during this turn, and was not added again after an interruption; use the call that added it again, or go on without it"
    )]
    NotRestored,
}

impl ToolError {
    /// What made the call fail, for the operator. The model does not see it.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InvalidArgs { problems, .. } => Some(problems),
            Self::Downstream { failure, .. } => failure.source().map(|it| it as _),
            Self::Panicked { .. }
            | Self::Cancelled { .. }
            | Self::Unknown { .. }
            | Self::Unavailable { .. } => None,
        }
    }
}

impl Coded for ToolError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidArgs { .. } => codes::INVALID_TOOL_ARGS,
            Self::Downstream { .. } | Self::Panicked { .. } => codes::TOOL_DOWNSTREAM_ERROR,
            Self::Cancelled { .. } => codes::TOOL_CANCELLED,
            Self::Unknown { .. } | Self::Unavailable { .. } => codes::UNKNOWN_TOOL,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Downstream { failure, .. } => failure.is_retryable(),
            other => other.code().retryable(),
        }
    }
}
