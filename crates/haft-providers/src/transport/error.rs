//! How sending fails.

use haft_core::error::codes;
use std::fmt;
use std::time::Duration;

use haft_core::error::{Coded, ErrorCode};

/// There is no response, or its body broke off. Tells the host, and nothing else of the URL or of the headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request cannot be sent by anybody: its URL or a header of it is malformed.
    #[error("the request is malformed: {reason}")]
    Malformed {
        /// What is wrong, without the value.
        reason: String,
    },
    /// No connection: the name is unknown, nobody listens, or the proxy refuses. Nothing was sent.
    #[error("no connection to `{host}`: {reason}")]
    Connect {
        /// To whom.
        host: String,
        /// Why.
        reason: String,
    },
    /// The other side could not prove who it is. Nothing was sent.
    #[error("no secure connection to `{host}`: {reason}")]
    Tls {
        /// To whom.
        host: String,
        /// Why.
        reason: String,
    },
    /// Something took too long.
    #[error("`{host}` took longer than {limit:?} {what}")]
    Timeout {
        /// Who.
        host: String,
        /// What took too long.
        what: Wait,
        /// How long it may take.
        limit: Duration,
    },
    /// The connection broke while something was under way.
    #[error("the connection to `{host}` broke after {received} bytes of the response: {reason}")]
    Broken {
        /// To whom.
        host: String,
        /// How many bytes of the body had come.
        received: u64,
        /// Why.
        reason: String,
    },
    /// The body is larger than may be read.
    #[error("the response of `{host}` has more than {limit} bytes")]
    TooLarge {
        /// Whose.
        host: String,
        /// The most bytes that may be read.
        limit: u64,
    },
    /// The body is compressed, although that was not asked for.
    #[error("the response of `{host}` is in the encoding `{encoding}`, which was not asked for")]
    Encoded {
        /// Whose.
        host: String,
        /// The encoding.
        encoding: String,
    },
    /// Whoever waits for the body has given up.
    #[error("reading the response of `{host}` was cancelled")]
    Cancelled {
        /// Whose.
        host: String,
    },
    /// The recording has no response to this request.
    #[error("the recording has no response: {reason}")]
    NotRecorded {
        /// What differs.
        reason: String,
    },
    /// The transport itself cannot work here: no runtime, no root certificates, a bad proxy.
    #[error("the transport cannot be used: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
}

impl TransportError {
    /// Whether it is certain that the other side got nothing of the request, so that sending it again repeats nothing.
    #[must_use]
    pub const fn nothing_was_sent(&self) -> bool {
        match self {
            Self::Malformed { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Timeout { what: Wait::Connection, .. }
            | Self::NotRecorded { .. }
            | Self::Unusable { .. } => true,
            Self::Timeout { .. }
            | Self::Broken { .. }
            | Self::TooLarge { .. }
            | Self::Encoded { .. }
            | Self::Cancelled { .. } => false,
        }
    }
}

impl Coded for TransportError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Timeout { .. } => codes::DEADLINE_EXCEEDED,
            _ => codes::LLM_EXECUTION_EXECUTOR_ERROR,
        }
    }

    /// Connections that fail, break or stall may do better. What is malformed, too large or not trusted will not.
    fn retryable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Broken { .. } => true,
            Self::Timeout { what, .. } => *what != Wait::Everything,
            _ => false,
        }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// A connection: the name, the socket, TLS, the proxy.
    Connection,
    /// The head of the response.
    Headers,
    /// The next bytes of the body.
    Idle,
    /// The end of the body.
    Everything,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "to connect",
            Self::Headers => "to begin a response",
            Self::Idle => "to send more of the response",
            Self::Everything => "to end the response",
        })
    }
}
