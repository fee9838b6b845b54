//! How a handler fails.

use std::fmt;

/// Longest message a failing handler can show to the model, in bytes.
const MAX_MESSAGE: usize = 4096;

/// Any error that code of the application fails with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
        Self { message: bounded_message(message.into()), source: None, retryable: false }
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

/// Keeps the start of a message that is too long, and says so.
pub(crate) fn bounded_message(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        let total = message.len();
        let cut = (0..=MAX_MESSAGE).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(cut);
        message.push_str(&format!("… ({total} bytes in all)"));
    }
    message
}
