//! How sending a request fails.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::HttpPhase;

/// There is no response, or its body did not arrive completely. The messages name the host, and nothing else of the URL
/// or of the headers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request cannot be sent by any client: its URL is malformed.
    #[error("the request is malformed: {reason}")]
    Malformed {
        /// What is wrong, without the value.
        reason: String,
    },
    /// There is no connection: the name is unknown, nothing listens, or the proxy refuses. Nothing was sent.
    #[error("no connection to `{host}`")]
    Connect {
        /// The host.
        host: String,
        /// Why.
        source: reqwest::Error,
    },
    /// The host could not prove its identity. Nothing was sent.
    #[error("no secure connection to `{host}`")]
    Tls {
        /// The host.
        host: String,
        /// Why.
        source: reqwest::Error,
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
    #[error("the connection to `{host}` broke after {received} bytes of the response")]
    Broken {
        /// The host.
        host: String,
        /// How many bytes of the body had arrived.
        received: u64,
        /// Why.
        source: reqwest::Error,
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
    /// The client followed a redirect to another origin. This client never does; one that the caller brought may.
    #[error("the request to `{host}` was redirected to `{to}`")]
    Redirected {
        /// The host that was addressed.
        host: String,
        /// The host that responded.
        to: String,
    },
    /// The client cannot work here: no runtime, no root certificates, an invalid proxy.
    #[error("the HTTP client cannot be used: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
}

/// What an error of the HTTP library and its causes say: on one line, without repetitions, at most 300 characters.
pub(crate) fn describe_cause(error: &reqwest::Error) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !messages.iter().any(|it| it.contains(&text)) {
            messages.push(text);
        }
        next = error.source();
    }
    let text = messages.join(": ");
    text.chars().filter(|it| !it.is_control()).take(MAX_REASON).collect()
}

impl HttpError {
    /// What the HTTP library says about the cause: on one line, bounded, without the URL. Empty if there is no such
    /// cause.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Connect { source, .. }
            | Self::Tls { source, .. }
            | Self::Broken { source, .. } => describe_cause(source),
            Self::Malformed { reason } | Self::Unusable { reason } => reason.clone(),
            Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::Encoded { .. }
            | Self::Redirected { .. } => String::new(),
        }
    }

    /// The error of a request that got no response.
    pub(crate) fn without_response(error: reqwest::Error, host: String, connect: Duration) -> Self {
        let source = error.without_url();
        if source.is_builder() {
            return Self::Malformed { reason: describe_cause(&source) };
        }
        if !source.is_connect() {
            return Self::Broken { host, received: 0, source };
        }
        if source.is_timeout() {
            Self::Timeout { host, phase: HttpPhase::Connect, limit: connect }
        } else if is_untrusted(&source) {
            Self::Tls { host, source }
        } else {
            Self::Connect { host, source }
        }
    }
}

/// Whether a handshake failed, which is the only thing that connecting calls invalid data.
fn is_untrusted(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::InvalidData => return true,
            // What it wraps is not its source, but has the same source.
            Some(error) => error.get_ref().map(|it| it as _),
            None => error.source(),
        };
    }
    false
}

const MAX_REASON: usize = 300;
