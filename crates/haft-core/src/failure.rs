//! How a handler fails.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Longest message a failing handler can show to the model, in bytes.
const MAX_MESSAGE: usize = 4096;

/// Most errors of a chain that are written out. A chain that is longer is a loop or a defect.
const MAX_CHAIN: usize = 32;

/// Any error that code of the application fails with.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a failing handler: a message for the model, and the cause for the operator.
///
/// Everything that converts to `Box<dyn Error + Send + Sync>` becomes one with `?`: error types, `anyhow::Error`,
/// boxed errors, `&str` and `String`. The message for the model is the text of the outermost error. The operator sees
/// the whole chain of causes, in the record of the call, in events and in `tracing`.
///
/// ```
/// use haft_core::ToolFailure;
///
/// fn read(path: &str) -> Result<String, ToolFailure> {
///     if path.contains("..") {
///         return Err("paths stay inside the directory")?;
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
/// assert_eq!(read("../x").unwrap_err().message(), "paths stay inside the directory");
/// ```
pub struct ToolFailure {
    message: String,
    source: Option<BoxError>,
    retryable: bool,
    outcome_unknown: bool,
}

impl ToolFailure {
    /// A failure with a message for the model.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        let message = bounded_message(message.into());
        Self { message, source: None, retryable: false, outcome_unknown: false }
    }

    /// Adds the cause, for the operator. The model does not see it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Says that the call may have had its effect, as when a connection breaks after the request was sent. A call that
    /// must not be repeated ([`ToolEffect::Once`](crate::tool::ToolEffect::Once)) then ends with an unknown outcome,
    /// and the model is told not to repeat it blindly.
    #[must_use]
    pub fn outcome_unknown(mut self) -> Self {
        self.outcome_unknown = true;
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

    /// Whether the call may have had its effect.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.outcome_unknown
    }

    /// The cause.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// The failure as a link of a chain of errors. A failure cannot be an error itself, because every error converts
    /// into one.
    pub(crate) fn as_cause(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }

    /// The whole failure for the operator: the message, and what caused it.
    pub(crate) fn operator_text(&self) -> String {
        append_causes(self.message.clone(), self.as_cause())
    }
}

impl<E: Into<BoxError>> From<E> for ToolFailure {
    fn from(error: E) -> Self {
        let source = error.into();
        Self::new(source.to_string()).with_source(source)
    }
}

/// A [`ToolFailure`] as an error, for errors that it is the cause of.
#[derive(Debug)]
pub struct FailureError(ToolFailure);

impl FailureError {
    /// The failure.
    #[must_use]
    pub fn failure(&self) -> &ToolFailure {
        &self.0
    }
}

impl From<ToolFailure> for FailureError {
    fn from(failure: ToolFailure) -> Self {
        Self(failure)
    }
}

impl fmt::Display for FailureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for FailureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_cause()
    }
}

/// The message of a panic, as an error for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {message}")]
#[non_exhaustive]
pub struct PanicError {
    /// The message of the panic.
    pub message: String,
}

impl PanicError {
    /// A panic with this message, which is bounded.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: bounded_message(message.into()) }
    }

    /// Awaits work whose panic is an error. After a panic the work is not polled again.
    ///
    /// # Errors
    ///
    /// The work panicked.
    pub async fn catch<T>(work: impl Future<Output = T>) -> Result<T, Self> {
        let mut work = pin!(work);
        poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(Self::new(panic_text(panic.as_ref())))),
        })
        .await
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// The text of an error and of its causes, from the outermost to the innermost, separated by `: `. A cause that its
/// error has quoted already is not repeated. The text is bounded.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    append_causes(error.to_string(), error.source())
}

/// The texts of the causes of an error, or `None` if its own text contains all of them.
pub(crate) fn causes_beyond(text: &str, cause: Option<&(dyn Error + 'static)>) -> Option<String> {
    let mut chain = String::new();
    for cause in links(cause) {
        let link = cause.to_string();
        if !link.is_empty() && !text.contains(&link) && !chain.contains(&link) {
            append_link(&mut chain, &link);
        }
    }
    (!chain.is_empty()).then(|| bounded_message(chain))
}

fn append_causes(mut text: String, cause: Option<&(dyn Error + 'static)>) -> String {
    for cause in links(cause) {
        let link = cause.to_string();
        if !text.contains(&link) {
            append_link(&mut text, &link);
        }
    }
    bounded_message(text)
}

fn append_link(chain: &mut String, link: &str) {
    if !chain.is_empty() {
        chain.push_str(": ");
    }
    chain.push_str(link);
}

fn links<'e>(
    cause: Option<&'e (dyn Error + 'static)>,
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(cause, |cause| (*cause).source()).take(MAX_CHAIN)
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

/// Truncates a message that is too long, and says so at its end.
pub(crate) fn bounded_message(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        let total = message.len();
        let cut = (0..=MAX_MESSAGE).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(cut);
        message.push_str(&format!("… ({total} bytes in all)"));
    }
    message
}
