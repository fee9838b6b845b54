//! How reading from the network fails.

use haft_core::error::codes;
use std::fmt;
use std::net::IpAddr;

use haft_core::error::{Audience, Coded, ErrorCode};

/// A URL could not be read as a medium. URLs are named without their query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A text is not a URL.
    #[error("`{url}` is not a URL: {reason}")]
    InvalidUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The policy does not allow it.
    #[error("`{url}` is refused: {why}")]
    Refused {
        /// The URL.
        url: String,
        /// Why.
        why: RefusedUrl,
    },
    /// The answer was a redirect, and no more of them are followed.
    #[error(
        "`{url}` answered with a redirect ({status}) to `{to}`, and no more redirects are followed; use that address if it is the right one; `UrlPolicy::allow_redirects` follows more for GET, and none for POST"
    )]
    Redirected {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// Where it leads.
        to: String,
    },
    /// The answer is not the medium.
    #[error("`{url}` answered with status {status} instead of the medium")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// The answer is compressed, although that was not asked for.
    #[error("`{url}` answered in the encoding `{encoding}`, which was not asked for")]
    Encoded {
        /// The URL.
        url: String,
        /// The encoding.
        encoding: String,
    },
    /// The answer is larger than may be read.
    #[error(
        "`{url}` has more than {limit} bytes; use something smaller or raise `FetcherBuilder::max_bytes`"
    )]
    TooLarge {
        /// The URL.
        url: String,
        /// The most bytes that may be read.
        limit: u64,
    },
    /// Something took too long.
    #[error("`{url}` took too long {phase}; try again later or raise `FetcherBuilder::deadlines`")]
    TooSlow {
        /// The URL.
        url: String,
        /// What took too long.
        phase: FetchPhase,
    },
    /// No answer came.
    #[error("`{url}` could not be reached")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer broke off.
    #[error("the answer of `{url}` broke off after {received} bytes")]
    BrokeOff {
        /// The URL.
        url: String,
        /// How much had come.
        received: u64,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The application gave something as a header that is none.
    #[error("the header `{name}` for `{origin}` is not a valid one")]
    Header {
        /// For which origin.
        origin: String,
        /// The name that was given.
        name: String,
    },
    /// The stream was polled where there is no runtime.
    #[error("media can be fetched on a tokio runtime only")]
    NoRuntime,
    /// The client could not be made, for example because the machine has no root certificates.
    #[error("the HTTP client could not be made")]
    Client {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A stored locator is not one of a URL.
    #[error("the locator of a fetched medium is {{\"url\": \"…\"}} and nothing else")]
    Locator,
}

/// Why a policy does not allow a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedUrl {
    /// It is neither http nor https.
    Scheme,
    /// It is http.
    PlainHttp,
    /// A redirect leads from https to http.
    Downgrade,
    /// It has a user name or a password.
    UserInfo,
    /// It has no host, or one that is not allowed.
    Host,
    /// Its host is, or resolves to, an address that is not of the public Internet. The address is for the
    /// operator; the text does not tell it.
    Address {
        /// What sort of address it is.
        sort: &'static str,
        /// The address.
        address: IpAddr,
    },
}

impl fmt::Display for RefusedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "only http and https can be read",
            Self::PlainHttp => "only https is allowed",
            Self::Downgrade => "a redirect leads from https to http",
            Self::UserInfo => "it has a user name or a password; the application gives credentials",
            Self::Host => "its host is not among those that are allowed",
            Self::Address { sort, .. } => {
                return write!(f, "it leads to an address that is not public ({sort})");
            }
        })
    }
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchPhase {
    /// Resolving the name and connecting.
    Connect,
    /// The head of the answer.
    Head,
    /// The next bytes of the answer.
    Idle,
    /// All of it.
    Total,
}

impl fmt::Display for FetchPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "to connect",
            Self::Head => "to answer",
            Self::Idle => "to send more",
            Self::Total => "in all",
        })
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

    fn audience(&self) -> Audience {
        match self {
            Self::Header { .. } | Self::NoRuntime | Self::Client { .. } => Audience::Operator,
            other => other.code().audience(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::TooSlow { .. } | Self::Unreachable { .. } | Self::BrokeOff { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            _ => false,
        }
    }
}
