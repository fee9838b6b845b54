//! How a request fails after all retries.

use std::fmt;
use std::time::Duration;

use crate::transport::HttpError;
use haft_core::cancel::CancelReason;
use haft_core::clock::Timestamp;
use haft_core::error::{Coded, ErrorCode, codes};

/// A request failed, and is not retried. The messages contain no credential of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The provider responded with a status other than 2xx.
    #[error("{0}")]
    Status(Box<StatusError>),
    /// There was no response, or its body was interrupted before its first byte.
    #[error("no response in {attempts} attempts")]
    Transport {
        /// Why the last attempt failed.
        #[source]
        source: HttpError,
        /// The number of attempts.
        attempts: u32,
    },
    /// The request was cancelled.
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
    /// The host.
    pub host: String,
    /// The status.
    pub status: u16,
    /// The beginning of the body, at most 8 KiB, with `[redacted]` for credentials of the request.
    pub body: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// When that time ends.
    pub retry_at: Option<Timestamp>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
    /// Why it is not retried.
    pub gave_up: GiveUpReason,
}

/// Why a request is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GiveUpReason {
    /// The same request would fail again.
    NotRetryable,
    /// It was sent as often as the policy allows.
    AttemptsExhausted,
    /// The next attempt would begin after the budget of the policy.
    BudgetExhausted,
    /// The provider asks to wait for longer than the policy allows.
    RetryAfterTooLong,
    /// The quota is exhausted: a payment may help, waiting does not.
    QuotaExhausted,
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, status, attempts, .. } = self;
        write!(f, "`{host}` answered with status {status}")?;
        if let Some(id) = &self.request_id {
            write!(f, " (request `{id}`)")?;
        }
        if !matches!(self.gave_up, GiveUpReason::NotRetryable | GiveUpReason::QuotaExhausted)
            || *attempts > 1
        {
            write!(f, " in attempt {attempts}")?;
        }
        match self.gave_up {
            GiveUpReason::BudgetExhausted => {
                f.write_str(", and another one would begin too late")?
            }
            GiveUpReason::RetryAfterTooLong => {
                f.write_str(", and waiting is not allowed for that long")?
            }
            GiveUpReason::QuotaExhausted => f.write_str(", because the quota is spent")?,
            GiveUpReason::NotRetryable | GiveUpReason::AttemptsExhausted => {}
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

impl SendError {
    /// The response with an error status, if there was one.
    #[must_use]
    pub fn as_status(&self) -> Option<&StatusError> {
        if let Self::Status(error) = self { Some(error) } else { None }
    }
}

impl Coded for SendError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Transport { source, .. } => source.code(),
            Self::Status(_) | Self::Cancelled { .. } => codes::LLM_EXECUTION_EXECUTOR_ERROR,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Status(error) => {
                !matches!(error.gave_up, GiveUpReason::NotRetryable | GiveUpReason::QuotaExhausted)
            }
            Self::Transport { source, .. } => source.retryable(),
            Self::Cancelled { .. } => false,
        }
    }
}

/// How many characters of a body a message shows.
const SHOWN: usize = 256;
