//! How a provider fails.

use std::io;
use std::time::Duration;

use haft_core::error::{Coded, ErrorCode, codes as core_codes};
use haft_core::record::InvalidRecord;
use haft_core::step::StepError;
use haft_core::tokens::TokenError;

use super::excerpt::ResponseExcerpt;
use crate::assembly::AssembleError;
use crate::codes;
use crate::context_window::PromptSize;
use crate::dialect::{DecodeError, EncodeError};
use crate::options::InvalidOptions;
use crate::retry::SendError;
use crate::summary::SummaryError;
use crate::transport::HttpError;

/// A provider cannot be built, or its step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Options were refused.
    #[error(transparent)]
    Options(#[from] InvalidOptions),
    /// No transport can be made.
    #[error("requests cannot be sent")]
    NoTransport {
        /// Why.
        source: HttpError,
    },
    /// The operating system has no random bytes for the secret of envelopes.
    #[error("there are no random bytes for the names of envelopes")]
    NoRandomBytes {
        /// Why.
        source: io::Error,
    },
    /// A key would be sent over plain http to another machine.
    #[error(
        "a key is not sent to `{host}` over plain http, where it can be read on the way; use https, or `allow_key_over_plain_http`"
    )]
    PlainHttp {
        /// The host.
        host: String,
    },
    /// No prompt can be assembled from the turn.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// Tokens could not be counted.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The prompt cannot be expressed in the dialect.
    #[error("the request cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The prompt does not fit into the context window.
    #[error("the prompt does not fit: {what}")]
    Overflow {
        /// The size of the prompt, and the limit.
        what: String,
    },
    /// The provider responded with an error status, or not at all.
    #[error("{source}")]
    Request {
        /// What happened.
        source: Box<SendError>,
    },
    /// The response was interrupted, or stalled.
    #[error("{source}")]
    Body {
        /// What happened.
        source: HttpError,
    },
    /// The response cannot be decoded, or reports an error.
    #[error("{source}")]
    Response {
        /// What happened.
        source: DecodeError,
    },
    /// The response ended before its end was reported.
    #[error("the answer broke off before its end; none of its calls was made")]
    Incomplete,
    /// Nothing of the response is in a format of the dialect: the address is that of another service, or what came is
    /// the page of a proxy or a login page.
    #[error(
        "{response}, which is no response of the dialect `{dialect}`; check the base URL and the dialect"
    )]
    NoModelResponse {
        /// The name of the dialect.
        dialect: &'static str,
        /// What came.
        response: Box<ResponseExcerpt>,
        /// Whether a retry may help: the response may have broken off before its first event.
        retryable: bool,
    },
    /// The response exceeds the size limit.
    #[error("{what}")]
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// Old exchanges could not be summarized.
    #[error(transparent)]
    Summary {
        /// Why.
        #[from]
        source: SummaryError,
    },
    /// What the model generated cannot be recorded.
    #[error(transparent)]
    Record(#[from] InvalidRecord),
}

impl ProviderError {
    /// How long the provider asks to wait, if it says so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Request { source } => source.as_status()?.retry_after,
            _ => None,
        }
    }

    pub(super) fn overflow(size: &PromptSize, limit: u64, encoding: &str) -> Self {
        let total = size.total;
        let parts: Vec<String> = size
            .per_section
            .iter()
            .map(|(section, tokens)| format!("{section:?} {tokens}"))
            .collect();
        let what = format!(
            "{total} tokens by `{encoding}`, and {limit} are allowed ({})",
            parts.join(", ")
        );
        Self::Overflow { what }
    }
}

impl Coded for ProviderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Options(error) => error.code(),
            Self::NoTransport { .. }
            | Self::NoRandomBytes { .. }
            | Self::PlainHttp { .. }
            | Self::Encode(_) => core_codes::LLM_EXECUTION_EXECUTOR_ERROR,
            Self::Assemble(error) => error.code(),
            Self::Tokens(error) => error.code(),
            Self::Overflow { .. } => codes::PROVIDER_CONTEXT_OVERFLOW,
            Self::Request { source } => match &**source {
                SendError::Transport { source: HttpError::Timeout { .. }, .. } => {
                    codes::PROVIDER_REQUEST_TIMEOUT
                }
                _ => codes::PROVIDER_HTTP_ERROR,
            },
            Self::NoModelResponse { .. } => codes::PROVIDER_HTTP_ERROR,
            Self::Body { source: HttpError::Timeout { .. } } => codes::PROVIDER_STREAM_STALLED,
            Self::Body { .. }
            | Self::Response { .. }
            | Self::Incomplete
            | Self::TooLarge { .. } => codes::PROVIDER_STREAM_ERROR,
            Self::Summary { source } => source.code(),
            Self::Record(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Request { source } => source.retryable(),
            Self::Body { source } => source.retryable(),
            Self::Summary { source } => source.retryable(),
            Self::Response { source: DecodeError::Provider { retryable, .. } }
            | Self::NoModelResponse { retryable, .. } => *retryable,
            Self::Response { source: DecodeError::Malformed(_) } | Self::Incomplete => true,
            Self::Assemble(AssembleError::Media(error)) => error.retryable(),
            Self::Assemble(AssembleError::Spool(error)) => error.retryable(),
            _ => false,
        }
    }
}

/// The error of the step: with the code, and whether a retry may help.
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
    StepError::coded(code, message).with_retryable(retryable).with_source(error)
}
