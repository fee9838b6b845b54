//! One request and its response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::tool::{ByteStream, ToolFailure};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

use super::error::{FetchError, UrlRefusal};
use super::fetcher::Fetcher;
use super::policy::UrlPolicy;
use super::resolver::find_refusal;
use super::{display_url, preview, tool_failure};
use crate::limits::LONGEST;
use crate::{HttpBody, HttpError, HttpPhase};

/// The response to a GET request: its head has arrived, and its body is read chunk by chunk.
#[derive(Debug)]
pub struct FetchResponse {
    url: Url,
    content_type: Option<String>,
    body: HttpBody,
    deadline: Instant,
}

impl FetchResponse {
    /// The URL that responded, after redirects.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The content type as the server sent it, if it is readable text.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// Waits for the next chunk of the body. `None` is its end.
    ///
    /// # Errors
    ///
    /// Fails if a limit is reached or the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let (url, body) = (&self.url, &mut self.body);
        within(self.deadline, url, async { body.chunk().await.map_err(|it| body_error(url, it)) })
            .await
    }
}

/// What is sent to a URL.
#[derive(Clone, Debug)]
pub(super) enum FetchRequest {
    Get,
    /// Sends JSON, with headers that are added to those of the fetcher.
    Post {
        headers: HeaderMap,
        json: Bytes,
    },
}

impl FetchRequest {
    /// How many redirects are followed. A body was meant for one address, so it is never sent on.
    fn max_redirects(&self, policy: &UrlPolicy) -> usize {
        match self {
            Self::Get => policy.redirects,
            Self::Post { .. } => 0,
        }
    }

    /// Whether a response with this status has what was asked for. Missing content is not what a GET request asked
    /// for, but it tells a POST request that it was accepted. Partial content is neither.
    fn is_answered_by(&self, status: StatusCode) -> bool {
        match self {
            Self::Get => status.is_success() && !matches!(status.as_u16(), 204..=206),
            Self::Post { .. } => status.is_success() && status != StatusCode::PARTIAL_CONTENT,
        }
    }
}

/// Sends a request and follows redirects, if the policy allows them.
pub(super) async fn send_request(
    fetcher: &Fetcher,
    url: &Url,
    request: &FetchRequest,
) -> Result<FetchResponse, FetchError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(FetchError::NoRuntime);
    }
    let deadline = Instant::now() + fetcher.config().deadlines.total.min(LONGEST);
    let (url, response) = within(deadline, url, follow_redirects(fetcher, url, request)).await?;
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    Ok(FetchResponse { url, content_type, body: response.into_body(), deadline })
}

async fn follow_redirects(
    fetcher: &Fetcher,
    url: &Url,
    request: &FetchRequest,
) -> Result<(Url, Response<HttpBody>), FetchError> {
    let policy = &fetcher.config().policy;
    let mut url = url.clone();
    let mut redirects_left = request.max_redirects(policy);
    loop {
        policy.check(&url)?;
        let response = send_once(fetcher, &url, request).await?;
        let status = response.status();
        if request.is_answered_by(status) {
            return Ok((url, response));
        }
        let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
            return Err(FetchError::Status { url: display_url(&url), status: status.as_u16() });
        };
        let next = redirect_target(&url, location.as_bytes())?;
        if redirects_left == 0 {
            let (url, to) = (display_url(&url), display_url(&next));
            return Err(FetchError::Redirected { url, status: status.as_u16(), to });
        }
        policy.check_redirect(&url, &next)?;
        redirects_left -= 1;
        url = next;
    }
}

async fn send_once(
    fetcher: &Fetcher,
    url: &Url,
    request: &FetchRequest,
) -> Result<Response<HttpBody>, FetchError> {
    let config = fetcher.config();
    let mut headers = config.headers(url)?;
    let (method, body) = match request {
        FetchRequest::Get => (Method::GET, Bytes::new()),
        FetchRequest::Post { headers: own, json } => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            for name in own.keys() {
                headers.remove(name);
            }
            headers.extend(own.clone());
            (Method::POST, json.clone())
        }
    };
    let mut message =
        Request::builder().method(method).uri(url.as_str()).body(body).map_err(|error| {
            FetchError::InvalidUrl { url: display_url(url), reason: error.to_string() }
        })?;
    *message.headers_mut() = headers;
    config.client.send(message).await.map_err(|error| head_error(url, error))
}

/// The error of a request that got no response.
fn head_error(url: &Url, error: HttpError) -> FetchError {
    if let Some(why) = find_refusal(&error) {
        return FetchError::Refused { url: display_url(url), why };
    }
    match error {
        HttpError::Connect { source, .. }
        | HttpError::Tls { source, .. }
        | HttpError::Broken { source, .. } => {
            FetchError::Unreachable { url: display_url(url), source: source.into() }
        }
        other => common_error(url, other),
    }
}

/// The error of a body that did not arrive.
fn body_error(url: &Url, error: HttpError) -> FetchError {
    match error {
        HttpError::Broken { received, source, .. } => {
            FetchError::Interrupted { url: display_url(url), received, source: source.into() }
        }
        other => common_error(url, other),
    }
}

fn common_error(url: &Url, error: HttpError) -> FetchError {
    let url = display_url(url);
    match error {
        HttpError::Timeout { phase, .. } => FetchError::Timeout { url, phase },
        HttpError::TooLarge { limit, .. } => FetchError::TooLarge { url, limit },
        HttpError::Encoded { encoding, .. } => {
            FetchError::Encoded { url, encoding: preview(&encoding) }
        }
        other => FetchError::Unreachable { url, source: other.into() },
    }
}

/// The URL that a redirect leads to.
fn redirect_target(url: &Url, location: &[u8]) -> Result<Url, FetchError> {
    let location = String::from_utf8_lossy(location);
    let next = url.join(&location).map_err(|error| FetchError::InvalidUrl {
        url: preview(&location),
        reason: error.to_string(),
    })?;
    if url.scheme() == "https" && next.scheme() == "http" {
        let why = UrlRefusal::Downgrade;
        return Err(FetchError::Refused { url: display_url(&next), why });
    }
    Ok(next)
}

async fn within<T>(
    deadline: Instant,
    url: &Url,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let slow = || FetchError::Timeout { url: display_url(url), phase: HttpPhase::Total };
    timeout_at(deadline, work).await.map_err(|_| slow())?
}

/// The body of the response to a request that is sent when the stream is polled for the first time. Nothing happens
/// after an error.
pub(super) fn response_stream(
    fetcher: Fetcher,
    url: Arc<Url>,
    request: FetchRequest,
) -> ByteStream {
    let has_effect = matches!(request, FetchRequest::Post { .. });
    let first = async move { next_chunk(send_request(&fetcher, &url, &request).await?).await };
    ByteStream::new(ResponseStream { next: Some(Box::pin(first)), has_effect })
}

type NextChunk = Result<Option<(Bytes, FetchResponse)>, FetchError>;

struct ResponseStream {
    next: Option<Pin<Box<dyn Future<Output = NextChunk> + Send>>>,
    /// Whether the request asks the server to do something.
    has_effect: bool,
}

async fn next_chunk(mut response: FetchResponse) -> NextChunk {
    Ok(response.chunk().await?.map(|bytes| (bytes, response)))
}

impl Stream for ResponseStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(next) = &mut self.next {
            match ready!(next.as_mut().poll(cx)) {
                Ok(Some((bytes, response))) => {
                    self.next = Some(Box::pin(next_chunk(response)));
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Ok(None) => self.next = None,
                Err(error) => {
                    self.next = None;
                    let is_unknown = self.has_effect && error.is_outcome_unknown();
                    let failure = tool_failure(error);
                    let failure = if is_unknown { failure.outcome_unknown() } else { failure };
                    return Poll::Ready(Some(Err(failure)));
                }
            }
        }
        Poll::Ready(None)
    }
}
