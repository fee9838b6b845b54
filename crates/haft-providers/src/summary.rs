//! A rolling summary in place of what was said long ago.
//!
//! The newest exchanges stay as they are. When those before them have grown, a [`Summarizer`] writes what matters of
//! them down, together with what it wrote before, and its text stands in their place from then on. It is kept in the
//! stash of the turn, so that it survives a restart, and can be given to the next turn of a conversation.
//!
//! What a summary says is no better than what it was made of: it has the lowest trust of all that it covers, and
//! comes into the prompt through the same funnel as everything else.
//!
//! ```
//! use haft_providers::chat_completions::ChatCompletions;
//! use haft_providers::{Provider, RollingSummary};
//!
//! let small = Provider::builder(ChatCompletions::new(), "gpt-5-nano").key("sk-…").build()?;
//! let model = Provider::builder(ChatCompletions::new(), "gpt-5")
//!     .key("sk-…")
//!     .rolling_summary(RollingSummary::new(small).keep_exchanges(4))
//!     .build()?;
//! # let _ = model;
//! # Ok::<(), haft_providers::provider::ProviderError>(())
//! ```

mod covered;
mod kept;
mod roll;
mod text;

use haft_core::error::codes;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use haft_core::error::{Coded, ErrorCode};
use haft_core::step::StepContext;
use haft_core::trust::PromptText;
use haft_core::usage::Usage;

pub(super) use self::kept::Recalled;
pub use self::kept::STASH_KEY;
pub(super) use self::roll::Rolling;

/// Writes summaries: a function, or a [`Provider`](super::Provider).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not write summaries",
    note = "give a `Provider`, or a function `async fn(SummaryRequest) -> Result<Summary, SummaryError>`"
)]
pub trait Summarizer: Send + Sync + 'static {
    /// Writes a summary of a text. One without words means that there is nothing new to say.
    fn summarize<'a>(&'a self, cx: &'a StepContext, request: SummaryRequest) -> SummaryFuture<'a>;
}

/// A summary that is being written.
pub type SummaryFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Summary, SummaryError>> + Send + 'a>>;

impl<F, Fut> Summarizer for F
where
    F: Fn(SummaryRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Summary, SummaryError>> + Send + 'static,
{
    fn summarize<'a>(&'a self, _: &'a StepContext, request: SummaryRequest) -> SummaryFuture<'a> {
        Box::pin(self(request))
    }
}

/// What is to be summarised.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// What a summary has to have, and what to make of what follows.
    pub instructions: PromptText,
    /// The summary so far, if there is one, and what was said since, in the envelopes of its trust.
    pub text: PromptText,
}

/// A summary, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The text.
    pub text: String,
    /// What it cost.
    pub usage: Usage,
}

impl Summary {
    /// A summary that cost nothing.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: Usage::default() }
    }

    /// The same one with what it cost.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }
}

/// A summary could not be written.
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
    /// Says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Says that trying again may help.
    #[must_use]
    pub fn try_again(self) -> Self {
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

/// When summaries are written, and by whom.
///
/// A summarizer that fails fails the step. One that answers with nothing changes nothing: the old summary stays, and
/// what it does not cover stays as it is.
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

    /// How many of the newest exchanges stay as they are; 2. Zero counts as one: what is asked now always stays.
    pub fn keep_exchanges(mut self, exchanges: usize) -> Self {
        self.keep = exchanges.max(1);
        self
    }

    /// How many tokens exchanges before them may have until they are summarised; 2500.
    pub fn over_tokens(mut self, tokens: u64) -> Self {
        self.over_tokens = tokens;
        self
    }

    /// How many characters a request to the summarizer may have, the summary so far included; 12 000. What is longer
    /// takes several requests, and one entry that is longer by itself is only mentioned.
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
