//! How sending a request fails.

#[cfg(feature = "client")]
mod library;

use std::time::Duration;

use haft_core::error::{Coded, ErrorCode, codes};

#[cfg(feature = "client")]
pub(crate) use self::library::describe_cause;
use crate::HttpPhase;
#[cfg(feature = "fetch")]
use crate::refusal::UrlRefusal;

/// There is no response, or its body did not arrive completely. The messages name the host, and nothing else of the URL
/// or of the headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request cannot be sent by any client: its URL or a header is malformed.
    #[error("the request is malformed: {reason}")]
    Malformed {
        /// What is wrong, without the value.
        reason: String,
    },
    /// There is no connection: the name is unknown, nothing listens, or the proxy refuses. Nothing was sent.
    #[error("no connection to `{host}`: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The host could not prove its identity. Nothing was sent.
    #[error("no secure connection to `{host}`: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// A limit of time was reached.
    #[error("`{host}` took longer than {limit:?} {phase}")]
    Timeout {
        /// The host.
        host: String,
        /// What took too long.
        phase: HttpPhase,
        /// How long it may take.
        limit: Duration,
    },
    /// The connection broke while the exchange was in progress.
    #[error("the connection to `{host}` broke after {received} bytes of the response: {reason}")]
    Broken {
        /// The host.
        host: String,
        /// How many bytes of the body had arrived.
        received: u64,
        /// Why.
        reason: String,
    },
    /// The body is larger than allowed.
    #[error("the response of `{host}` has more than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The maximum number of bytes that may be read.
        limit: u64,
    },
    /// The body is compressed, although the request asked for an uncompressed one.
    #[error("the response of `{host}` is in the encoding `{encoding}`, which was not asked for")]
    Encoded {
        /// The host.
        host: String,
        /// The encoding.
        encoding: String,
    },
    /// The client followed a redirect to another origin. Only a client that the caller brought does that.
    #[error("the request to `{host}` was redirected to `{to}`")]
    Redirected {
        /// The host that was addressed.
        host: String,
        /// The host that responded.
        to: String,
    },
    /// The caller cancelled the request while the body was read.
    #[error("reading the response of `{host}` was cancelled")]
    Cancelled {
        /// The host.
        host: String,
    },
    /// The name of the host leads to no address that the policy of a fetcher allows. Nothing was sent.
    #[cfg(feature = "fetch")]
    #[error("the address of `{host}` is refused: {why}")]
    Refused {
        /// The host.
        host: String,
        /// Why.
        why: UrlRefusal,
    },
    /// The client cannot work here: no runtime, no root certificates, an invalid proxy.
    #[error("the HTTP client cannot be used: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
}

impl HttpError {
    /// Whether it is certain that the host received nothing of the request, so that a retry repeats nothing.
    ///
    /// ```
    /// use haft_http::HttpError;
    ///
    /// let malformed = HttpError::Malformed { reason: "the URL".into() };
    /// assert!(malformed.nothing_was_sent());
    /// let broken = HttpError::Broken { host: "a".into(), received: 3, reason: "reset".into() };
    /// assert!(!broken.nothing_was_sent());
    /// ```
    #[must_use]
    pub const fn nothing_was_sent(&self) -> bool {
        match self {
            #[cfg(feature = "fetch")]
            Self::Refused { .. } => true,
            Self::Malformed { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Timeout { phase: HttpPhase::Connect, .. }
            | Self::Unusable { .. } => true,
            Self::Timeout { .. }
            | Self::Broken { .. }
            | Self::TooLarge { .. }
            | Self::Encoded { .. }
            | Self::Redirected { .. }
            | Self::Cancelled { .. } => false,
        }
    }
}

impl Coded for HttpError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Timeout { .. } => codes::DEADLINE_EXCEEDED,
            _ => codes::LLM_EXECUTION_EXECUTOR_ERROR,
        }
    }

    /// Whether a retry may help: connections that fail, break or stall may succeed later; requests that are malformed,
    /// and responses that are too large or not trusted, do not.
    fn retryable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Broken { .. } => true,
            Self::Timeout { phase, .. } => *phase != HttpPhase::Total,
            _ => false,
        }
    }
}
