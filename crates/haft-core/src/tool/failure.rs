//! What goes wrong when a tool is called.

use std::fmt;

use crate::cancel::CancelReason;
use crate::error::{Code, Coded};
use crate::schema::Problems;

/// Longest message a failing handler can show to the model, in bytes.
const MAX_MESSAGE: usize = 4096;

/// What a failing handler returns: words for the model, and the cause for the operator.
///
/// Any error becomes one with `?`:
///
/// ```
/// use haft_core::ToolFailure;
///
/// fn read(path: &str) -> Result<String, ToolFailure> {
///     if path.contains("..") {
///         return Err(ToolFailure::new("paths stay inside the folder"));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
/// assert_eq!(read("../x").unwrap_err().message(), "paths stay inside the folder");
/// ```
pub struct ToolFailure {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    retryable: bool,
}

impl ToolFailure {
    /// A failure with a message for the model.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: bounded(message.into()), source: None, retryable: false }
    }

    /// Keeps the cause for the operator. The model does not see it.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The words for the model.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The cause.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolFailure {
    fn from(error: E) -> Self {
        Self::new(error.to_string()).with_source(error)
    }
}

impl fmt::Debug for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFailure")
            .field("message", &self.message)
            .field("source", &self.source)
            .field("retryable", &self.retryable)
            .finish()
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

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
}

impl ToolError {
    /// What made the call fail, for the operator. The model does not see it.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InvalidArgs { problems, .. } => Some(problems),
            Self::Downstream { failure, .. } => failure.source().map(|it| it as _),
            Self::Panicked { .. } | Self::Cancelled { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl Coded for ToolError {
    fn error_code(&self) -> Code {
        match self {
            Self::InvalidArgs { .. } => Code::InvalidToolArgs,
            Self::Downstream { .. } | Self::Panicked { .. } => Code::ToolDownstreamError,
            Self::Cancelled { .. } => Code::ToolCancelled,
            Self::Unknown { .. } => Code::UnknownTool,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Downstream { failure, .. } => failure.is_retryable(),
            other => other.error_code().retryable(),
        }
    }
}

/// Keeps the start of a message that is too long, and says so.
pub(super) fn bounded(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        let total = message.len();
        let cut = (0..=MAX_MESSAGE).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(cut);
        message.push_str(&format!("… ({total} bytes in all)"));
    }
    message
}
