//! Errors of fetching.

use haft_core::error::{Coded, ErrorCode, codes};

use http::StatusCode;

use super::error_body::ErrorBody;
use crate::refusal::UrlRefusal;
use crate::{HttpError, HttpPhase};

/// A URL could not be fetched. The messages show URLs without their query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The text is not a URL.
    #[error("`{url}` is not a URL: {reason}")]
    InvalidUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The policy does not allow the URL.
    #[error("`{url}` is refused: {why}")]
    Refused {
        /// The URL.
        url: String,
        /// Why.
        why: UrlRefusal,
    },
    /// The response is a redirect, and no more redirects are followed. [`UrlPolicy::allow_redirects`] follows more; a
    /// request that changes something is never sent on.
    ///
    /// [`UrlPolicy::allow_redirects`]: super::UrlPolicy::allow_redirects
    #[error(
        "`{url}` answered with a redirect ({status}) to `{to}`, which is not followed; use that address if it is the right one"
    )]
    Redirected {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// Where it leads.
        to: String,
    },
    /// The status is not that of a complete response.
    #[error("`{url}` answered with status {}{body}", status_text(*status))]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// What the server says about it.
        body: ErrorBody,
    },
    /// The response is compressed, although the request asked for an uncompressed one.
    #[error("`{url}` answered in the encoding `{encoding}`, which was not asked for")]
    Encoded {
        /// The URL.
        url: String,
        /// The encoding.
        encoding: String,
    },
    /// The response is larger than [`FetcherBuilder::max_bytes`](super::FetcherBuilder::max_bytes) allows.
    #[error(
        "the response of `{url}` has more than {limit} bytes, which is the limit; ask for less"
    )]
    TooLarge {
        /// The URL.
        url: String,
        /// The maximum number of bytes.
        limit: u64,
    },
    /// A deadline has passed, one of [`FetcherBuilder::deadlines`](super::FetcherBuilder::deadlines).
    #[error("`{url}` took too long {}; try again later", phase_text(*phase))]
    Timeout {
        /// The URL.
        url: String,
        /// The phase that took too long.
        phase: HttpPhase,
    },
    /// There was no response.
    #[error("`{url}` could not be reached")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why.
        source: HttpError,
    },
    /// The connection broke while the body was read.
    #[error("the connection to `{url}` was lost after {received} bytes of the response: {reason}")]
    Interrupted {
        /// The URL.
        url: String,
        /// How many bytes had arrived.
        received: u64,
        /// Why.
        reason: String,
    },
    /// A header of the application is invalid.
    #[error("the header `{name}` for `{origin}` is not a valid one")]
    Header {
        /// The origin that the header was meant for.
        origin: String,
        /// The name of the header.
        name: String,
    },
    /// The request was sent outside a Tokio runtime.
    #[error("URLs can be fetched on a tokio runtime only")]
    NoRuntime,
    /// The client could not be created, for example because the machine has no root certificates.
    #[error("the HTTP client could not be made")]
    Client {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A stored locator does not name a URL.
    #[error("the locator of a fetched medium is {{\"url\": \"…\"}} and nothing else")]
    Locator,
}

impl FetchError {
    /// Whether the server may have done what the request asked for.
    pub(super) fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Timeout { phase, .. } => *phase != HttpPhase::Connect,
            Self::Status { status, .. } => (500..=599).contains(status),
            Self::Unreachable { source, .. } => !source.nothing_was_sent(),
            Self::Interrupted { .. }
            | Self::TooLarge { .. }
            | Self::Encoded { .. }
            | Self::Redirected { .. } => true,
            _ => false,
        }
    }
}

/// The status with its name.
fn status_text(status: u16) -> String {
    let name = StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
    name.map_or_else(|| status.to_string(), |name| format!("{status} {name}"))
}

/// The end of "took too long …".
const fn phase_text(phase: HttpPhase) -> &'static str {
    match phase {
        HttpPhase::Connect => "to connect",
        HttpPhase::Headers => "to answer",
        HttpPhase::Idle => "to send more",
        HttpPhase::Total => "in all",
    }
}

impl Coded for FetchError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidUrl { .. } | Self::Refused { .. } | Self::Locator => {
                codes::NOT_A_MEDIA_READER
            }
            _ => codes::TOOL_DOWNSTREAM_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Unreachable { .. } | Self::Interrupted { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            _ => false,
        }
    }
}
