//! Retries of requests.
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_core::cancel::Cancellation;
//! use haft_providers::retry::{RetryClient, RetryPolicy};
//! use haft_providers::transport::{HttpTransport, Secret, post};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let transport = HttpTransport::builder().build()?;
//! let client = RetryClient::new(Arc::new(transport)).policy(RetryPolicy::default().max_attempts(5));
//! let mut request = post("https://api.example.com/v1/chat", "{}")?;
//! let key = Secret::new("Bearer sk-1234").to_header_value()?;
//! request.headers_mut().insert("authorization", key);
//! let response = client.send_with_retry(request, &Cancellation::new(), &|_| {}).await?;
//! # let _ = response;
//! # Ok(())
//! # }
//! ```

mod error;
mod hints;
mod policy;

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft_core::cancel::{Cancellation, CancelledFuture};
use haft_core::clock::{Clock, SystemClock};
use haft_core::error::Coded as _;
use haft_http::Scrubber;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::hints::{RetryHint, header, is_quota_exhausted};
use self::policy::Jitter;
use crate::transport::{Body, HttpError, Transport, request_host};

pub use self::error::{GiveUpReason, SendError, StatusError};
pub use self::policy::{RetryHints, RetryPolicy};

/// Sends requests by a transport, and retries them. Cheap to clone.
#[derive(Clone)]
pub struct RetryClient {
    transport: Arc<dyn Transport>,
    policy: Arc<RetryPolicy>,
    clock: Arc<dyn Clock>,
    jitter: Arc<Jitter>,
}

/// An attempt failed, and another one follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryNotice {
    /// The attempt that failed, counted from 1.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// How long until the next attempt.
    pub delay: Duration,
    /// Why the attempt failed.
    pub reason: RetryReason,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryReason {
    /// The provider responded with an error status.
    Status {
        /// The status.
        status: u16,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// There was no response.
    Transport(HttpError),
    /// The response broke off, stalled, or could not be read. None of its calls was made.
    Response(String),
}

impl fmt::Display for RetryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, .. } => write!(f, "the provider responded with status {status}"),
            Self::Transport(error) => error.fmt(f),
            Self::Response(error) => f.write_str(error),
        }
    }
}

/// The attempts to get one response so far. Retries of a request and of a response that breaks off share them.
#[derive(Debug)]
pub(crate) struct RetryProgress {
    /// The current attempt, counted from 1.
    attempt: u32,
    started: Instant,
}

impl RetryProgress {
    /// The first attempt, which starts now.
    pub(crate) fn start() -> Self {
        Self { attempt: 1, started: Instant::now() }
    }
}

impl RetryClient {
    /// A client with the default policy.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        // The upper half of a random id is as random as the whole.
        let (seed, _) = Uuid::new_v4().as_u64_pair();
        Self {
            transport,
            policy: Arc::default(),
            clock: Arc::new(SystemClock::new()),
            jitter: Arc::new(Jitter::new(seed)),
        }
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets the clock that dates from providers are compared with.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the seed of the random differences between delays, so that a run can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Arc::new(Jitter::new(seed));
        self
    }

    /// Sends a request until there is a response of status 2xx with the first bytes of its body, or until the policy allows
    /// no further attempt. `observe` is called for each attempt that failed and is followed by another.
    ///
    /// A POST request without an `Idempotency-Key` gets one. All attempts have the same key, so that a provider that
    /// supports such keys does the work once. A cancellation ends every wait at once, and the body with
    /// [`HttpError::Cancelled`].
    ///
    /// # Errors
    ///
    /// Another status, no response, or a cancellation.
    pub async fn send_with_retry(
        &self,
        request: Request<Bytes>,
        cancellation: &Cancellation,
        observe: &(dyn Fn(RetryNotice) + Sync),
    ) -> Result<Response<Body>, SendError> {
        self.send_attempts(request, &mut RetryProgress::start(), cancellation, observe).await
    }

    /// Sends a request as [`send_with_retry`](Self::send_with_retry) does, with the attempts that are left.
    pub(crate) async fn send_attempts(
        &self,
        mut request: Request<Bytes>,
        progress: &mut RetryProgress,
        cancellation: &Cancellation,
        observe: &(dyn Fn(RetryNotice) + Sync),
    ) -> Result<Response<Body>, SendError> {
        add_idempotency_key(&mut request);
        loop {
            let result = or_cancelled(cancellation, self.attempt(&request)).await?;
            let failed = match result {
                Ok(response) => return Ok(cancellable(response, &request, cancellation)),
                Err(failed) => failed,
            };
            let delay = match self.next_delay(&failed, progress) {
                Ok(delay) => delay,
                Err(reason) => {
                    let error = self.give_up(failed, &request, (progress.attempt, reason));
                    return Err(or_cancelled(cancellation, error).await?);
                }
            };
            let reason = failed.reason();
            drop(failed);
            self.await_delay(progress, (delay, reason), cancellation, observe).await?;
        }
    }

    /// Waits until a response that could not be read may be requested again. Returns false if the policy allows no further
    /// attempt.
    pub(crate) async fn await_retry(
        &self,
        progress: &mut RetryProgress,
        reason: String,
        cancellation: &Cancellation,
        observe: &(dyn Fn(RetryNotice) + Sync),
    ) -> Result<bool, SendError> {
        let Ok(delay) = self.backoff_delay(progress, None) else { return Ok(false) };
        let reason = RetryReason::Response(reason);
        self.await_delay(progress, (delay, reason), cancellation, observe).await?;
        Ok(true)
    }

    /// Reports the next attempt, and waits for its time.
    async fn await_delay(
        &self,
        progress: &mut RetryProgress,
        (delay, reason): (Duration, RetryReason),
        cancellation: &Cancellation,
        observe: &(dyn Fn(RetryNotice) + Sync),
    ) -> Result<(), SendError> {
        let (attempt, max_attempts) = (progress.attempt, self.policy.max_attempts);
        observe(RetryNotice { attempt, max_attempts, delay, reason });
        if let Ok(reason) = timeout(delay, cancellation.cancelled()).await {
            return Err(SendError::Cancelled { reason });
        }
        progress.attempt += 1;
        Ok(())
    }

    /// Sends once, and waits for the first bytes of a success.
    async fn attempt(&self, request: &Request<Bytes>) -> Result<Response<Body>, FailedAttempt> {
        let sent = self.transport.send(request.clone());
        let mut response = sent.await.map_err(FailedAttempt::Transport)?;
        if response.status().is_success() {
            let first = response.body_mut().await_first_chunk().await;
            first.map_err(FailedAttempt::Transport)?;
            return Ok(response);
        }
        let hint = RetryHint::from_headers(response.headers(), self.clock.now());
        let mut text = None;
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            // Too many requests for now, or none at all any more: only the body tells.
            let body = std::mem::replace(response.body_mut(), Body::empty());
            text = Some(read_error_text(body, &Scrubber::for_request(request)).await);
        }
        Err(FailedAttempt::Status(Box::new(ErrorResponse { response, hint, text })))
    }

    /// How long to wait for the next attempt, or why there is none.
    fn next_delay(
        &self,
        failed: &FailedAttempt,
        progress: &RetryProgress,
    ) -> Result<Duration, GiveUpReason> {
        let policy = &*self.policy;
        let (retryable, after) = match failed {
            FailedAttempt::Transport(error) => (error.retryable(), None),
            FailedAttempt::Status(error)
                if error.text.as_deref().is_some_and(is_quota_exhausted) =>
            {
                return Err(GiveUpReason::QuotaExhausted);
            }
            FailedAttempt::Status(error) => {
                let listed = policy.statuses.contains(&error.response.status().as_u16());
                let hint = match policy.hints {
                    RetryHints::Honor => error.hint,
                    RetryHints::Ignore => RetryHint::default(),
                };
                (hint.should_retry.unwrap_or(listed), hint.after)
            }
        };
        if !retryable {
            return Err(GiveUpReason::NotRetryable);
        }
        self.backoff_delay(progress, after)
    }

    /// How long the policy waits for the next attempt, or why there is none.
    fn backoff_delay(
        &self,
        progress: &RetryProgress,
        after: Option<Duration>,
    ) -> Result<Duration, GiveUpReason> {
        let policy = &*self.policy;
        if progress.attempt >= policy.max_attempts {
            return Err(GiveUpReason::AttemptsExhausted);
        }
        let backoff = policy.backoff(progress.attempt);
        let remaining = policy.budget.saturating_sub(progress.started.elapsed());
        let delay = match after {
            // A request before that time fails, and counts against the caller.
            Some(after) if after > policy.max_delay => return Err(GiveUpReason::RetryAfterTooLong),
            Some(after) if after >= backoff => self.jitter.spread_above(after),
            _ => self.jitter.spread_around(backoff),
        };
        if delay > remaining { Err(GiveUpReason::BudgetExhausted) } else { Ok(delay) }
    }

    async fn give_up(
        &self,
        failed: FailedAttempt,
        request: &Request<Bytes>,
        (attempts, gave_up): (u32, GiveUpReason),
    ) -> SendError {
        let ErrorResponse { response, hint, text } = match failed {
            FailedAttempt::Transport(source) => return SendError::Transport { source, attempts },
            FailedAttempt::Status(error) => *error,
        };
        let (head, body) = response.into_parts();
        let scrubber = Scrubber::for_request(request);
        let text = match text {
            Some(text) => text,
            None => read_error_text(body, &scrubber).await,
        };
        let retry_at = hint.after.map(|after| self.clock.now().saturating_add(after));
        SendError::Status(Box::new(StatusError {
            host: request_host(request),
            status: head.status.as_u16(),
            request_id: request_id(&head.headers).map(|id| scrubber.scrub_text(&id)),
            body: text,
            retry_after: hint.after,
            retry_at,
            attempts,
            gave_up,
        }))
    }
}

impl fmt::Debug for RetryClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryClient")
            .field("transport", &self.transport)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Why an attempt gave no response of status 2xx.
enum FailedAttempt {
    Transport(HttpError),
    Status(Box<ErrorResponse>),
}

/// A response with an error status.
struct ErrorResponse {
    response: Response<Body>,
    hint: RetryHint,
    /// The beginning of the body, if it was read already.
    text: Option<String>,
}

impl FailedAttempt {
    fn reason(&self) -> RetryReason {
        match self {
            Self::Transport(error) => RetryReason::Transport(error.clone()),
            Self::Status(error) => RetryReason::Status {
                status: error.response.status().as_u16(),
                retry_after: error.hint.after,
            },
        }
    }
}

fn add_idempotency_key(request: &mut Request<Bytes>) {
    if request.method() != Method::POST || request.headers().contains_key(IDEMPOTENCY_KEY) {
        return;
    }
    // An id has only characters that a header can have.
    if let Ok(key) = HeaderValue::try_from(format!("haft-{}", Uuid::new_v4())) {
        request.headers_mut().insert(IDEMPOTENCY_KEY, key);
    }
}

/// Reads the beginning of an error body, as much as arrives soon.
async fn read_error_text(mut body: Body, scrubber: &Scrubber) -> String {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < MAX_TEXT
            && let Ok(Some(chunk)) = body.next_chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
    };
    // What arrived until then is used all the same.
    let _ = timeout(TEXT_TIMEOUT, read).await;
    bytes.truncate(MAX_TEXT);
    let mut text = String::from_utf8_lossy(&scrubber.scrub_prefix(&bytes)).into_owned();
    while text.len() > MAX_TEXT {
        text.pop();
    }
    text
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let names = ["x-request-id", "request-id", "x-amzn-requestid"];
    let id = names.iter().find_map(|name| header(headers, name))?;
    Some(id.chars().filter(|it| !it.is_control()).take(MAX_ID).collect())
}

/// Waits for work, unless it is cancelled first.
async fn or_cancelled<T>(
    cancellation: &Cancellation,
    work: impl Future<Output = T>,
) -> Result<T, SendError> {
    tokio::select! {
        biased;
        reason = cancellation.cancelled() => Err(SendError::Cancelled { reason }),
        done = work => Ok(done),
    }
}

/// Ends the body of a response when the request is cancelled.
fn cancellable(
    response: Response<Body>,
    request: &Request<Bytes>,
    cancellation: &Cancellation,
) -> Response<Body> {
    let (host, cancelled) = (request_host(request), cancellation.cancelled());
    response.map(|body| {
        Body::new(CancellableBody { body, cancelled, host: host.clone() }).with_host(host)
    })
}

/// A body that ends when the request is cancelled.
struct CancellableBody {
    body: Body,
    cancelled: CancelledFuture,
    host: String,
}

impl Stream for CancellableBody {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if Pin::new(&mut self.cancelled).poll(cx).is_ready() {
            // The connection is closed now, not when the stream is dropped.
            self.body = Body::empty();
            return Poll::Ready(Some(Err(HttpError::Cancelled { host: self.host.clone() })));
        }
        Pin::new(&mut self.body).poll_next(cx)
    }
}

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The maximum number of bytes of the text of an error.
const MAX_TEXT: usize = 8 * 1024;
const MAX_ID: usize = 128;
/// How long the text of an error is awaited.
const TEXT_TIMEOUT: Duration = Duration::from_secs(5);
