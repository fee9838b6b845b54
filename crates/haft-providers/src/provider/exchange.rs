//! Sending a request and reading the answer.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_core::event::LogLevel;
use haft_core::step::StepContext;
use serde_json::json;
use tokio::time::timeout;

use super::hearing::{Heard, Hearing};
use super::{Exposure, ProviderError, Shared};
use crate::dialect::{AnswerError, Decoder, Dialect, Framing};
use crate::options::{Control, RetryOptions};
use crate::retry::{Client, ClientError, Hints, RetryNotice, RetryPolicy, RetryReason};
use crate::sse::FrameTooLarge;
use crate::transport::{
    Body, Request, Secret, Transport, TransportError, TransportFuture, Wait, host, is_credential,
    is_exposed,
};
use crate::{ndjson, sse};

/// Most bytes of one frame of a stream.
const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Most bytes of an answer that comes whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;

type Ears<'c> = (Box<dyn Decoder>, Hearing<'c>);

impl<D: Dialect> Shared<D> {
    /// Sends a body and listens to the answer.
    pub(super) async fn exchange(
        &self,
        cx: &StepContext,
        control: &Control,
        body: Bytes,
        ears: Ears<'_>,
    ) -> Result<Heard, ProviderError> {
        self.guard_key(control)?;
        let request = self.request(control, body);
        let (client, observe) = (self.client(control), |notice| tell(cx, &notice));
        let response = client.send(request, cx.dispatch().cancellation(), &observe).await;
        let response = response.map_err(|error| self.failed(error))?;
        let kind = response.headers.get("content-type").unwrap_or_default();
        let is_whole = kind.trim_start().starts_with("application/json");
        let body = response.body;
        if control.stream && !(is_whole && self.dialect.framing() == Framing::Sse) {
            return self.pieces(body, control.stream_idle_timeout, ears).await;
        }
        let (mut decoder, mut hearing) = ears;
        let all = body.bytes(MAX_WHOLE).await.map_err(|source| self.broken(source))?;
        let read = decoder.whole(&all, &mut |event| hearing.take(event));
        read.map_err(|source| self.unreadable(source))?;
        self.heard(hearing)
    }

    async fn pieces(
        &self,
        mut body: Body,
        idle: Option<Duration>,
        (mut decoder, mut hearing): Ears<'_>,
    ) -> Result<Heard, ProviderError> {
        let code = self.dialect.codes().stream;
        let mut frames = Frames::new(self.dialect.framing());
        while !hearing.is_over() {
            match next_chunk(&mut body, idle).await {
                Ok(Some(chunk)) => frames.feed(chunk),
                Ok(None) => break,
                // The connection may go when all has been said.
                Err(_) if hearing.is_complete() => break,
                Err(source) => return Err(self.broken(source)),
            }
            loop {
                let frame = frames.next();
                let frame =
                    frame.map_err(|error| ProviderError::frame_too_large(code.clone(), error))?;
                let Some((name, data)) = frame else { break };
                let read = decoder.event(name.as_deref(), &data, &mut |event| hearing.take(event));
                read.map_err(|source| self.unreadable(source))?;
                if let Some(error) = hearing.failed() {
                    return Err(ProviderError::answer_too_large(code, error));
                }
            }
        }
        // A last frame without its end may be whole; if it is not, it is as if it had not come.
        if !hearing.is_complete()
            && let Some((name, data)) = frames.rest()
        {
            let read = decoder.event(name.as_deref(), &data, &mut |event| hearing.take(event));
            match read {
                Err(source @ AnswerError::Provider { .. }) => return Err(self.unreadable(source)),
                Err(AnswerError::Malformed(_)) | Ok(()) => {}
            }
        }
        self.heard(hearing)
    }

    fn heard(&self, hearing: Hearing<'_>) -> Result<Heard, ProviderError> {
        match hearing.failed() {
            Some(error) => Err(ProviderError::answer_too_large(self.dialect.codes().stream, error)),
            None => Ok(hearing.finish()),
        }
    }

    fn request(&self, control: &Control, body: Bytes) -> Request {
        let path = self.dialect.path(&control.model, control.stream);
        let accept = match self.dialect.framing() {
            _ if !control.stream => "application/json",
            Framing::Sse => "text/event-stream",
            Framing::Ndjson => "application/x-ndjson",
        };
        let mut request = Request::post(format!("{}{path}", self.base_url), body)
            .header("content-type", "application/json")
            .header("accept", accept);
        for (name, value) in self.dialect.headers(self.key.as_ref().map(Secret::expose)) {
            request = request.header(name, Secret::from(value));
        }
        for (name, value) in &control.headers {
            request = request.header(name.as_str(), Secret::from(value.as_str()));
        }
        request
    }

    /// A key does not go where others can read it, be it the provider's or one in a header of the options.
    pub(super) fn guard_key(&self, control: &Control) -> Result<(), ProviderError> {
        let has_key = self.key.is_some() || control.headers.keys().any(|name| is_credential(name));
        if has_key && self.exposure == Exposure::Refused && is_exposed(&self.base_url) {
            return Err(ProviderError::PlainHttp { host: host(&self.base_url) });
        }
        Ok(())
    }

    fn client(&self, control: &Control) -> Client {
        let transport = match control.request_timeout {
            Some(limit) => Arc::new(Hurried { inner: Arc::clone(&self.transport), limit }),
            None => Arc::clone(&self.transport),
        };
        Client::new(transport).retry(patched(self.retry.clone(), &control.retry))
    }

    fn failed(&self, error: ClientError) -> ProviderError {
        let codes = self.dialect.codes();
        let code = match &error {
            ClientError::Status(status)
                if self.dialect.is_overflow(status.status, &status.body) =>
            {
                return ProviderError::Overflow { code: codes.overflow, what: error.to_string() };
            }
            ClientError::Transport { source: TransportError::Timeout { .. }, .. } => codes.timeout,
            _ => codes.http,
        };
        ProviderError::Request { code, source: Box::new(error) }
    }

    fn broken(&self, source: TransportError) -> ProviderError {
        let codes = self.dialect.codes();
        let stalled = matches!(source, TransportError::Timeout { .. });
        ProviderError::Body { code: if stalled { codes.stalled } else { codes.stream }, source }
    }

    fn unreadable(&self, source: AnswerError) -> ProviderError {
        ProviderError::Answer { code: self.dialect.codes().stream, source }
    }
}

async fn next_chunk(
    body: &mut Body,
    idle: Option<Duration>,
) -> Result<Option<Bytes>, TransportError> {
    let Some(limit) = idle else { return body.chunk().await };
    let stalled =
        |_| TransportError::Timeout { host: "the provider".to_owned(), what: Wait::Idle, limit };
    timeout(limit, body.chunk()).await.map_err(stalled)?
}

/// Tells observers that a request is sent again.
fn tell(cx: &StepContext, notice: &RetryNotice) {
    let (reason, status) = match &notice.reason {
        RetryReason::Status { status, .. } => ("http-status", Some(*status)),
        RetryReason::Transport(TransportError::Timeout { .. }) => ("request-timeout", None),
        RetryReason::Transport(_) => ("transport-error", None),
    };
    let payload = json!({
        "reason": reason, "status": status, "attempt": notice.attempt,
        "maxAttempts": notice.max_attempts, "delayMs": notice.delay.as_millis(),
    });
    cx.dispatch().log(LogLevel::Warn, "retry-attempt", "the request is sent again", Some(payload));
}

fn patched(mut policy: RetryPolicy, options: &RetryOptions) -> RetryPolicy {
    let RetryOptions { max_attempts, base_delay_ms, max_delay_ms, budget_ms, .. } = options;
    policy.max_attempts = max_attempts.unwrap_or(policy.max_attempts);
    let time = |ms: &Option<u64>, default| ms.map_or(default, Duration::from_millis);
    policy.base_delay = time(base_delay_ms, policy.base_delay);
    policy.max_delay = time(max_delay_ms, policy.max_delay);
    policy.budget = time(budget_ms, policy.budget);
    if let Some(statuses) = &options.retriable_statuses {
        policy.statuses.clone_from(statuses);
    }
    policy.hints = match options.honor_retry_after {
        Some(true) => Hints::Heed,
        Some(false) => Hints::Ignore,
        None => policy.hints,
    };
    policy
}

/// A transport whose answers have to begin in time.
struct Hurried {
    inner: Arc<dyn Transport>,
    limit: Duration,
}

impl Transport for Hurried {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        Box::pin(async move {
            let limit = self.limit;
            let late = |_| TransportError::Timeout {
                host: "the provider".to_owned(),
                what: Wait::Headers,
                limit,
            };
            timeout(limit, self.inner.send(request)).await.map_err(late)?
        })
    }
}

impl fmt::Debug for Hurried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hurried").field("inner", &self.inner).field("limit", &self.limit).finish()
    }
}

/// The frames of a stream, whichever way they are told apart.
enum Frames {
    Sse(sse::Decoder),
    Ndjson(ndjson::Decoder),
}

/// The name of an event, and its data.
type Frame<'f> = (Option<Cow<'f, str>>, Cow<'f, str>);

impl Frames {
    fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(sse::Decoder::new(MAX_FRAME)),
            Framing::Ndjson => Self::Ndjson(ndjson::Decoder::new(MAX_FRAME)),
        }
    }

    fn feed(&mut self, bytes: Bytes) {
        match self {
            Self::Sse(frames) => frames.feed(bytes),
            Self::Ndjson(frames) => frames.feed(bytes),
        }
    }

    fn next(&mut self) -> Result<Option<Frame<'_>>, FrameTooLarge> {
        Ok(match self {
            Self::Sse(frames) => frames.next_event()?.map(|event| frame(&event)),
            Self::Ndjson(frames) => frames.next_line()?.map(|line| (None, sse::text_of(line))),
        })
    }

    /// What came behind the last whole frame.
    fn rest(&mut self) -> Option<Frame<'_>> {
        match self {
            Self::Sse(frames) => frames.finish().map(|event| frame(&event)),
            Self::Ndjson(frames) => frames.finish().map(|line| (None, sse::text_of(line))),
        }
    }
}

fn frame<'f>(event: &sse::Event<'f>) -> Frame<'f> {
    let name = (!event.name.is_empty()).then(|| String::from_utf8_lossy(event.name));
    (name, event.text())
}
