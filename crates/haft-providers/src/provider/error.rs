//! How a step of a provider fails.

use haft_core::error::codes;
use std::time::Duration;

use haft_core::error::{Coded, ErrorCode};
use haft_core::record::InvalidRecord;
use haft_core::step::StepError;
use haft_core::tokens::TokenError;

use crate::assemble::AssembleError;
use crate::budget::Measured;
use crate::dialect::{AnswerError, CannotEncode};
use crate::generation::AnswerTooLarge;
use crate::options::InvalidOptions;
use crate::retry::ClientError;
use crate::sse::FrameTooLarge;
use crate::summary::SummaryError;
use crate::transport::TransportError;

/// A provider cannot be made, or its step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Options were refused.
    #[error(transparent)]
    Options(#[from] InvalidOptions),
    /// Requests cannot be sent from here.
    #[error("requests cannot be sent")]
    NoTransport {
        /// Why.
        source: TransportError,
    },
    /// A key would be sent where everybody on the way can read it.
    #[error(
        "a key is not sent to `{host}` over plain http, where it can be read on the way; use https, or `allow_key_over_plain_http`"
    )]
    PlainHttp {
        /// Where it would be sent.
        host: String,
    },
    /// The turn cannot be put into a prompt.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// Tokens could not be counted.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The prompt cannot be said in the dialect.
    #[error("the request cannot be written: {0}")]
    Encode(#[from] CannotEncode),
    /// The prompt does not fit.
    #[error("the prompt does not fit: {what}")]
    Overflow {
        /// The code of the dialect.
        code: ErrorCode,
        /// How much there is, and how much may be.
        what: String,
    },
    /// The provider answered with an error, or not at all.
    #[error("{source}")]
    Request {
        /// The code of the dialect.
        code: ErrorCode,
        /// What happened.
        source: Box<ClientError>,
    },
    /// The answer broke off or stopped coming.
    #[error("{source}")]
    Body {
        /// The code of the dialect.
        code: ErrorCode,
        /// What happened.
        source: TransportError,
    },
    /// The answer cannot be read, or reports an error.
    #[error("{source}")]
    Answer {
        /// The code of the dialect.
        code: ErrorCode,
        /// What happened.
        source: AnswerError,
    },
    /// The answer is larger than may be held in memory.
    #[error("{what}")]
    TooLarge {
        /// The code of the dialect.
        code: ErrorCode,
        /// What is too large.
        what: String,
    },
    /// What was said long ago could not be summarised.
    #[error(transparent)]
    Summary {
        /// Why.
        #[from]
        source: SummaryError,
    },
    /// What the model said cannot be kept.
    #[error(transparent)]
    Record(#[from] InvalidRecord),
}

impl ProviderError {
    /// How long the provider asks to be left alone, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Request { source, .. } => source.as_status()?.retry_after,
            _ => None,
        }
    }

    pub(super) fn overflow(
        code: ErrorCode,
        measured: &Measured,
        limit: u64,
        encoding: &str,
    ) -> Self {
        let total = measured.total;
        let parts: Vec<String> = measured
            .per_bucket
            .iter()
            .map(|(bucket, tokens)| format!("{bucket:?} {tokens}"))
            .collect();
        let what = format!(
            "{total} tokens by `{encoding}`, and {limit} are allowed ({})",
            parts.join(", ")
        );
        Self::Overflow { code, what }
    }

    pub(super) fn answer_too_large(code: ErrorCode, error: AnswerTooLarge) -> Self {
        Self::TooLarge { code, what: error.to_string() }
    }

    pub(super) fn frame_too_large(code: ErrorCode, error: FrameTooLarge) -> Self {
        Self::TooLarge { code, what: error.to_string() }
    }
}

impl Coded for ProviderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Options(error) => error.code(),
            Self::NoTransport { .. } | Self::PlainHttp { .. } | Self::Encode(_) => {
                codes::LLM_EXECUTION_EXECUTOR_ERROR
            }
            Self::Assemble(error) => error.code(),
            Self::Tokens(error) => error.code(),
            Self::Overflow { code, .. }
            | Self::Request { code, .. }
            | Self::Body { code, .. }
            | Self::Answer { code, .. }
            | Self::TooLarge { code, .. } => code.clone(),
            Self::Summary { source } => source.code(),
            Self::Record(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Request { source, .. } => source.retryable(),
            Self::Body { source, .. } => source.retryable(),
            Self::Summary { source } => source.retryable(),
            Self::Answer { source: AnswerError::Provider { retryable, .. }, .. } => *retryable,
            Self::Answer { source: AnswerError::Malformed(_), .. } => true,
            Self::Assemble(AssembleError::Media(error)) => error.retryable(),
            Self::Assemble(AssembleError::Spool(error)) => error.retryable(),
            _ => false,
        }
    }
}

/// The error that the loop gets: with the code, and saying whether trying again may help.
pub(super) fn to_step_error(error: ProviderError) -> StepError {
    let (code, retryable) = (error.code(), error.retryable());
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !message.contains(&cause_text) {
            message.push_str(": ");
            message.push_str(&cause_text);
        }
        source = cause.source();
    }
    let step = StepError::coded(code, message).with_source(error);
    if retryable { step.retryable() } else { step }
}
