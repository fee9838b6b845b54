//! A rolling summary that replaces old exchanges of a long conversation.
//!
//! The newest exchanges stay in full. When the exchanges before them exceed a limit, a [`Summarizer`] summarizes them
//! together with the previous summary, and the new summary replaces them from then on. It is stored in the stash of the
//! turn, so that it survives a restart and can be passed to the next turn of a conversation.
//!
//! A summary is no more trusted than its sources: it has the lowest trust of all that it covers, and enters the prompt
//! through the same funnel as everything else.
//!
//! ```
//! use haft_providers::dialects::chat_completions::ChatCompletions;
//! use haft_providers::{Provider, RollingSummary};
//!
//! let small = Provider::builder(ChatCompletions::new(), "gpt-5-nano").key("sk-…").build()?;
//! let model = Provider::builder(ChatCompletions::new(), "gpt-5")
//!     .key("sk-…")
//!     .rolling_summary(RollingSummary::new(small).keep_exchanges(4))
//!     .build()?;
//! # let _ = model;
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```

mod rolling;
mod stored;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::step::StepContext;
use haft_core::trust::PromptText;
use haft_core::usage::Usage;

pub(crate) use self::rolling::SummaryContext;
pub use self::stored::STASH_KEY;
pub(crate) use self::stored::StoredSummary;

/// Writes summaries: a function, or a [`Provider`](crate::Provider).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not write summaries",
    note = "give a `Provider`, or a function `async fn(SummaryRequest) -> Result<Summary, SummaryError>`"
)]
pub trait Summarizer: Send + Sync + 'static {
    /// Writes a summary of a text. An empty summary means that there is nothing to add.
    fn summarize<'a>(
        &'a self,
        ctx: &'a StepContext,
        request: SummaryRequest,
    ) -> BoxFuture<'a, Result<Summary, SummaryError>>;
}

impl<F, Fut> Summarizer for F
where
    F: Fn(SummaryRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Summary, SummaryError>> + Send + 'static,
{
    fn summarize<'a>(
        &'a self,
        _: &'a StepContext,
        request: SummaryRequest,
    ) -> BoxFuture<'a, Result<Summary, SummaryError>> {
        Box::pin(self(request))
    }
}

/// A request for a summary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// What a summary has to contain, and how to treat the text.
    pub instructions: PromptText,
    /// The previous summary, if there is one, and the exchanges since, in the envelopes of their trust.
    pub text: PromptText,
}

/// A summary, and the tokens that it used.
///
/// ```
/// use haft_core::usage::Usage;
/// use haft_providers::summary::Summary;
///
/// let summary = Summary::new("The user likes tea.").usage(Usage::new(200, 10));
/// assert_eq!(summary.usage.total, 210);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The text.
    pub text: String,
    /// The tokens that it used.
    pub usage: Usage,
}

impl Summary {
    /// A summary that used no tokens.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: Usage::default() }
    }

    /// Sets the tokens that it used.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }
}

/// A summary could not be written.
///
/// ```
/// use haft_providers::summary::SummaryError;
///
/// let error = SummaryError::new("the model is overloaded").into_retryable();
/// assert_eq!(error.to_string(), "no summary could be written: the model is overloaded");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("no summary could be written: {message}")]
#[non_exhaustive]
pub struct SummaryError {
    message: String,
    retryable: bool,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl SummaryError {
    /// An error with this reason.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Marks the error as one for which a retry may help.
    #[must_use]
    pub fn into_retryable(self) -> Self {
        Self { retryable: true, ..self }
    }
}

impl Coded for SummaryError {
    fn code(&self) -> ErrorCode {
        codes::LLM_EXECUTION_EXECUTOR_ERROR
    }

    fn retryable(&self) -> bool {
        self.retryable
    }
}

/// When summaries are written, and by which summarizer.
///
/// An error of the summarizer fails the step. An empty summary changes nothing: the previous summary stays, and the
/// exchanges after it stay in full.
#[derive(Clone)]
#[must_use]
pub struct RollingSummary {
    summarizer: Arc<dyn Summarizer>,
    keep: usize,
    over_tokens: u64,
    request_chars: usize,
}

impl RollingSummary {
    /// Summaries of this summarizer.
    pub fn new(summarizer: impl Summarizer) -> Self {
        Self {
            summarizer: Arc::new(summarizer),
            keep: 2,
            over_tokens: 2_500,
            request_chars: 12_000,
        }
    }

    /// Sets how many of the newest exchanges stay in full; 2 by default. Zero counts as one: the current exchange always
    /// stays.
    pub fn keep_exchanges(mut self, exchanges: usize) -> Self {
        self.keep = exchanges.max(1);
        self
    }

    /// Sets how many tokens older exchanges may have before they are summarized; 2500 by default.
    pub fn over_tokens(mut self, tokens: u64) -> Self {
        self.over_tokens = tokens;
        self
    }

    /// Sets how many characters a request to the summarizer may have, the previous summary included; 12 000 by default.
    /// Longer texts take several requests, and a notice replaces an entry that is longer by itself.
    pub fn request_chars(mut self, chars: usize) -> Self {
        self.request_chars = chars;
        self
    }
}

impl fmt::Debug for RollingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RollingSummary")
            .field("keep", &self.keep)
            .field("over_tokens", &self.over_tokens)
            .field("request_chars", &self.request_chars)
            .finish_non_exhaustive()
    }
}
