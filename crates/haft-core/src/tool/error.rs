//! What goes wrong when a tool is called.

use std::error::Error;
use std::fmt;

use crate::cancel::CancelReason;
use crate::error::codes;
use crate::error::{Coded, ErrorCode};
use crate::failure::{PanicError, ToolFailure};
use crate::schema::Problems;

/// Most tools that an error lists when it lists all of them.
pub(super) const MAX_LISTED: usize = 16;

/// Most names that an error offers instead of one that does not exist.
pub(super) const MAX_NEAREST: usize = 3;

/// Why a call did not give a result. Its text is what the model sees.
///
/// [`source`](Error::source) is the cause, which only the operator sees: the error that the handler failed with, or the
/// message of its panic.
///
/// ```
/// use std::error::Error;
///
/// use haft_core::{DispatchContext, Tool, ToolFailure};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn Error>> {
/// let read = Tool::builder("read").description("Reads.").handler(|| {
///     let cause = std::io::Error::other("disk failure");
///     Err::<String, _>(ToolFailure::new("there is nothing to read").with_source(cause))
/// });
/// let ctx = DispatchContext::builder("turn-1").build();
/// let error = read.build()?.executor(&ctx).call("{}").await.outcome.unwrap_err();
/// assert_eq!(error.to_string(), "`read` failed: there is nothing to read");
/// assert!(error.source().is_some_and(|cause| cause.is::<std::io::Error>()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments broke the schema. The handler was not called.
    InvalidArgs {
        /// The tool.
        tool: String,
        /// Every problem.
        problems: Problems,
    },
    /// The handler failed.
    Downstream {
        /// The tool.
        tool: String,
        /// The error of the handler.
        failure: ToolFailure,
    },
    /// The handler panicked. The call is over, the loop is not.
    Panicked {
        /// The tool.
        tool: String,
        /// The message of the panic; for the operator.
        panic: PanicError,
    },
    /// The call was cancelled.
    Cancelled {
        /// The tool.
        tool: String,
        /// Why.
        reason: CancelReason,
    },
    /// There is no such tool.
    Unknown {
        /// The name that was called.
        tool: String,
        /// Names that are close to it, the closest first.
        nearest: Vec<String>,
        /// The names of all tools that are offered, if they are few.
        offered: Vec<String>,
    },
    /// The model saw the tool earlier in the turn, and it cannot be called any more.
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
    /// It was removed.
    #[error("it was removed")]
    Removed,
    /// It was registered during the turn, and its source has not registered it again since the turn was resumed.
    #[error(
        "it was added during this turn, and was not added again after an interruption; use the call that added it again, or go on without it"
    )]
    NotRestored,
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgs { tool, problems } => write!(
                f,
                "the arguments of `{tool}` were refused:\n{problems}\ncorrect them and call `{tool}` again"
            ),
            Self::Downstream { tool, failure } => write!(f, "`{tool}` failed: {failure}"),
            Self::Panicked { tool, .. } => write!(
                f,
                "`{tool}` failed unexpectedly; this is a defect of the tool, calling it the same way again will not \
                 help"
            ),
            Self::Cancelled { tool, reason } => {
                write!(f, "the call of `{tool}` was cancelled: {reason}")
            }
            Self::Unknown { tool, nearest, offered } => {
                write!(f, "there is no tool `{tool}`")?;
                if !nearest.is_empty() {
                    write!(f, "; did you mean {}?", NameList(nearest, " or "))?;
                }
                if !offered.is_empty() {
                    let end = if nearest.is_empty() { "; the" } else { " The" };
                    write!(f, "{end} tools are {}", NameList(offered, " and "))?;
                }
                Ok(())
            }
            Self::Unavailable { tool, reason } => {
                write!(f, "`{tool}` cannot be called any more: {reason}")
            }
        }
    }
}

/// Names as a sentence lists them, with the word before the last one.
struct NameList<'n>(&'n [String], &'static str);

impl fmt::Display for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names, before_last) = *self;
        for (at, name) in names.iter().enumerate() {
            match at {
                0 => {}
                at if at + 1 == names.len() => f.write_str(before_last)?,
                _ => f.write_str(", ")?,
            }
            write!(f, "`{name}`")?;
        }
        Ok(())
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::InvalidArgs { problems, .. } => Some(problems),
            Self::Downstream { failure, .. } => failure.as_cause(),
            Self::Panicked { panic, .. } => Some(panic),
            Self::Cancelled { .. } | Self::Unknown { .. } | Self::Unavailable { .. } => None,
        }
    }
}

impl ToolError {
    /// Why the handler failed, for the operator: the chain of causes, or the message of its panic. Nothing if no
    /// handler failed. The text is bounded.
    #[must_use]
    pub fn operator_cause(&self) -> Option<String> {
        match self {
            Self::Downstream { failure, .. } => Some(failure.operator_text()),
            Self::Panicked { panic, .. } => Some(panic.to_string()),
            Self::InvalidArgs { .. }
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
