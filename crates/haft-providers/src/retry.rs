//! Trying again what is worth it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_core::cancel::Cancellation;
//! use haft_providers::retry::{Client, RetryPolicy};
//! use haft_providers::transport::{HttpTransport, Request, Secret};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let transport = HttpTransport::builder().build()?;
//! let client = Client::new(Arc::new(transport)).retry(RetryPolicy::default().max_attempts(5));
//! let request = Request::post("https://api.example.com/v1/chat", "{}")
//!     .header("authorization", Secret::new("Bearer sk-1234"));
//! let response = client.send(request, &Cancellation::new(), &|_| {}).await?;
//! # let _ = response;
//! # Ok(())
//! # }
//! ```

mod date;
mod error;
mod hint;
mod jitter;
mod policy;
mod quota;
mod stop;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::{Clock, SystemClock};
use haft_core::error::Coded as _;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::hint::Hint;
use self::jitter::Jitter;
use self::stop::{Stoppable, or_cancelled};
use super::transport::scrub::Scrubber;
use super::transport::{Body, Headers, Method, Request, Response, Transport, TransportError, host};

pub use self::error::{ClientError, StatusError, Stopped};
pub use self::policy::{Hints, RetryPolicy};

/// Sends requests by a transport, and again if that is worth it. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    policy: Arc<RetryPolicy>,
    clock: Arc<dyn Clock>,
    jitter: Arc<Jitter>,
}

/// An attempt failed, and there will be another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryNotice {
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// How long until the next.
    pub delay: Duration,
    /// Why it failed.
    pub reason: RetryReason,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryReason {
    /// The provider answered, but not with success.
    Status {
        /// The status.
        status: u16,
        /// How long the provider asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// There was no answer.
    Transport(TransportError),
}

impl Client {
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

    /// Sets what is tried again.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets the clock that dates from providers are compared with.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets what the small differences of delays are made from, so that a run can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Arc::new(Jitter::new(seed));
        self
    }

    /// Sends a request until there is a response of status 2xx with the first bytes of its body, or until it is not worth
    /// another attempt. `observe` is told of each attempt that failed and will be followed by another.
    ///
    /// A POST request without an `Idempotency-Key` gets one. All attempts have the same, so that a provider that knows
    /// such keys does the work once. Cancelling ends every wait at once, and the body with
    /// [`TransportError::Cancelled`].
    ///
    /// # Errors
    ///
    /// Another status, no response, or a cancellation.
    pub async fn send(
        &self,
        mut request: Request,
        cancellation: &Cancellation,
        observe: &(dyn Fn(RetryNotice) + Sync),
    ) -> Result<Response, ClientError> {
        if request.method == Method::Post && request.headers.get(IDEMPOTENCY_KEY).is_none() {
            request.headers.set(IDEMPOTENCY_KEY, format!("haft-{}", Uuid::new_v4()));
        }
        let began = Instant::now();
        let mut attempt = 1;
        loop {
            let result = or_cancelled(cancellation, self.attempt(&request)).await?;
            let failed = match result {
                Ok(mut response) => {
                    let body = std::mem::replace(&mut response.body, Body::empty());
                    let host = host(&request.url);
                    let body = Stoppable::new(body, cancellation.cancelled(), host.clone());
                    response.body = Body::new(body).of(host);
                    return Ok(response);
                }
                Err(failed) => failed,
            };
            let delay = match self.next_delay(&failed, attempt, began) {
                Ok(delay) => delay,
                Err(stopped) => {
                    let error = self.give_up(failed, &request, (attempt, stopped));
                    return Err(or_cancelled(cancellation, error).await?);
                }
            };
            let reason = failed.reason();
            drop(failed);
            observe(RetryNotice { attempt, max_attempts: self.policy.max_attempts, delay, reason });
            if let Ok(reason) = timeout(delay, cancellation.cancelled()).await {
                return Err(ClientError::Cancelled { reason });
            }
            attempt += 1;
        }
    }

    /// Sends once, and waits for the first bytes of a success.
    async fn attempt(&self, request: &Request) -> Result<Response, Failed> {
        let sent = self.transport.send(request.clone());
        let mut response = sent.await.map_err(Failed::Transport)?;
        if response.is_success() {
            response.body.begin().await.map_err(Failed::Transport)?;
            return Ok(response);
        }
        let hint = Hint::read(&response.headers, self.clock.now());
        let mut text = None;
        if response.status == TOO_MANY_REQUESTS {
            // Too many of them for now, or no more at all: only the body tells.
            let body = std::mem::replace(&mut response.body, Body::empty());
            text = Some(beginning(body, &Scrubber::of(request)).await);
        }
        Err(Failed::Status(Box::new(Refusal { response, hint, text })))
    }

    /// How long to wait for the next attempt, or why there is none.
    fn next_delay(
        &self,
        failed: &Failed,
        attempt: u32,
        began: Instant,
    ) -> Result<Duration, Stopped> {
        let policy = &*self.policy;
        let heed = policy.hints == Hints::Heed;
        let (worth, after) = match failed {
            Failed::Transport(error) => (error.retryable(), None),
            Failed::Status(refusal) if refusal.text.as_deref().is_some_and(quota::is_spent) => {
                return Err(Stopped::Quota);
            }
            Failed::Status(refusal) => {
                let listed = policy.statuses.contains(&refusal.response.status);
                let hint = if heed { refusal.hint } else { Hint::default() };
                (hint.again.unwrap_or(listed), hint.after)
            }
        };
        if !worth {
            return Err(Stopped::Hopeless);
        }
        if attempt >= policy.max_attempts {
            return Err(Stopped::Attempts);
        }
        let backoff = policy.backoff(attempt);
        let left = policy.budget.saturating_sub(began.elapsed());
        let delay = match after {
            // Coming back before that is no use, and counts against whoever does.
            Some(after) if after > policy.max_delay => return Err(Stopped::TooLong),
            Some(after) if after >= backoff => self.jitter.above(after),
            _ => self.jitter.around(backoff),
        };
        if delay > left { Err(Stopped::Budget) } else { Ok(delay) }
    }

    async fn give_up(
        &self,
        failed: Failed,
        request: &Request,
        (attempts, stopped): (u32, Stopped),
    ) -> ClientError {
        let Refusal { response, hint, text } = match failed {
            Failed::Transport(source) => return ClientError::Transport { source, attempts },
            Failed::Status(refusal) => *refusal,
        };
        let Response { status, headers, body } = response;
        let scrubber = Scrubber::of(request);
        let text = match text {
            Some(text) => text,
            None => beginning(body, &scrubber).await,
        };
        let retry_at = hint.after.map(|after| self.clock.now().saturating_add(after));
        ClientError::Status(Box::new(StatusError {
            host: host(&request.url),
            status,
            request_id: request_id(&headers).map(|id| scrubber.text(&id)),
            body: text,
            retry_after: hint.after,
            retry_at,
            attempts,
            stopped,
        }))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("transport", &self.transport)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Why an attempt gave nothing.
enum Failed {
    Transport(TransportError),
    Status(Box<Refusal>),
}

/// An answer that is no success.
struct Refusal {
    response: Response,
    hint: Hint,
    /// The beginning of the body, where it was read already.
    text: Option<String>,
}

impl Failed {
    fn reason(&self) -> RetryReason {
        match self {
            Self::Transport(error) => RetryReason::Transport(error.clone()),
            Self::Status(refusal) => RetryReason::Status {
                status: refusal.response.status,
                retry_after: refusal.hint.after,
            },
        }
    }
}

/// The beginning of a body that says what is wrong, as far as it comes soon.
async fn beginning(mut body: Body, scrubber: &Scrubber) -> String {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < MAX_TEXT
            && let Ok(Some(chunk)) = body.chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
    };
    // What came until then is said all the same.
    let _ = timeout(TEXT_TIMEOUT, read).await;
    bytes.truncate(MAX_TEXT);
    let mut text = String::from_utf8_lossy(&scrubber.beginning(&bytes)).into_owned();
    while text.len() > MAX_TEXT {
        text.pop();
    }
    text
}

fn request_id(headers: &Headers) -> Option<String> {
    let names = ["x-request-id", "request-id", "x-amzn-requestid"];
    let id = names.iter().find_map(|name| headers.get(name))?;
    Some(id.chars().filter(|it| !it.is_control()).take(MAX_ID).collect())
}

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const TOO_MANY_REQUESTS: u16 = 429;

const MAX_TEXT: usize = 8 * 1024;
const MAX_ID: usize = 128;
/// How long the text of an error is waited for.
const TEXT_TIMEOUT: Duration = Duration::from_secs(5);
