//! How a request fails for good.

use haft_core::error::codes;
use std::fmt;
use std::time::Duration;

use haft_core::cancel::CancelReason;
use haft_core::clock::Timestamp;
use haft_core::error::{Coded, ErrorCode};

use crate::transport::TransportError;

/// A request failed for good. Nothing of it shows a credential of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The provider answered with a status other than 2xx.
    #[error("{0}")]
    Status(Box<StatusError>),
    /// There was no response, or its body broke off before its first byte.
    #[error("no response in {attempts} attempts")]
    Transport {
        /// Why the last attempt failed.
        #[source]
        source: TransportError,
        /// How often it was sent.
        attempts: u32,
    },
    /// It was cancelled.
    #[error("the request was cancelled: {reason}")]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
}

/// A response with a status other than 2xx.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// Who answered.
    pub host: String,
    /// The status.
    pub status: u16,
    /// The beginning of the body, at most 8 KiB, with `[redacted]` for credentials of the request.
    pub body: String,
    /// How long the provider asks to be left alone.
    pub retry_after: Option<Duration>,
    /// When that is over.
    pub retry_at: Option<Timestamp>,
    /// The provider's name for the request.
    pub request_id: Option<String>,
    /// How often it was sent.
    pub attempts: u32,
    /// Why it is not sent again.
    pub stopped: Stopped,
}

/// Why a request is not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stopped {
    /// The same request would fail again.
    Hopeless,
    /// It was sent as often as it may be.
    Attempts,
    /// The next attempt would begin too late.
    Budget,
    /// The provider asks to be left alone for longer than is waited.
    TooLong,
    /// The quota is spent: waiting does not help, paying may.
    Quota,
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, status, attempts, .. } = self;
        write!(f, "`{host}` answered with status {status}")?;
        if let Some(id) = &self.request_id {
            write!(f, " (request `{id}`)")?;
        }
        if !matches!(self.stopped, Stopped::Hopeless | Stopped::Quota) || *attempts > 1 {
            write!(f, " in attempt {attempts}")?;
        }
        match self.stopped {
            Stopped::Budget => f.write_str(", and another one would begin too late")?,
            Stopped::TooLong => f.write_str(", and waiting is not allowed for that long")?,
            Stopped::Quota => f.write_str(", because the quota is spent")?,
            Stopped::Hopeless | Stopped::Attempts => {}
        }
        if let (Some(after), Some(at)) = (self.retry_after, self.retry_at) {
            write!(f, "; it asks to come back in {after:?}, at {at}")?;
        }
        let body = self.body.trim();
        let mut shown = body.chars().map(|it| if it.is_control() { ' ' } else { it });
        if !body.is_empty() {
            write!(f, ": {}", shown.by_ref().take(SHOWN).collect::<String>())?;
        }
        if shown.next().is_some() && !body.is_empty() { f.write_str("…") } else { Ok(()) }
    }
}

impl ClientError {
    /// The response that was no success, if there was one.
    #[must_use]
    pub fn as_status(&self) -> Option<&StatusError> {
        if let Self::Status(error) = self { Some(error) } else { None }
    }
}

impl Coded for ClientError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Transport { source, .. } => source.code(),
            Self::Status(_) | Self::Cancelled { .. } => codes::LLM_EXECUTION_EXECUTOR_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Status(error) => !matches!(error.stopped, Stopped::Hopeless | Stopped::Quota),
            Self::Transport { source, .. } => source.retryable(),
            Self::Cancelled { .. } => false,
        }
    }
}

/// How many characters of a body a message shows.
const SHOWN: usize = 256;
