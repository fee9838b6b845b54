//! One request and its response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::tool::{ByteStream, ToolFailure};
use http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

use super::error::FetchError;
use super::error_body::ErrorBody;
use super::fetcher::Fetcher;
use super::request::CheckedRequest;
use super::{display_url, preview, tool_failure};
use crate::limits::LONGEST;
use crate::redact::is_credential_header;
use crate::refusal::UrlRefusal;
use crate::{HttpBody, HttpError, HttpPhase, Scrubber};

/// The response to a request: its head has arrived, and its body is read chunk by chunk.
#[derive(Debug)]
pub struct FetchResponse {
    url: Url,
    status: StatusCode,
    headers: HeaderMap,
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
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// The status and the headers as text, one per line. Cookies are omitted, because they grant access.
    fn head_text(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, value) in self.headers.iter().filter(|(name, _)| *name != SET_COOKIE) {
            text.push_str(&format!(
                "{name}: {}\n",
                preview(&String::from_utf8_lossy(value.as_bytes()))
            ));
        }
        text
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

/// Sends a request and follows redirects, if the policy allows them.
pub(super) async fn send_request(
    fetcher: &Fetcher,
    url: &Url,
    request: &CheckedRequest,
) -> Result<FetchResponse, FetchError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(FetchError::NoRuntime);
    }
    let deadline = Instant::now() + fetcher.config().deadlines.total.min(LONGEST);
    let work = follow_redirects(fetcher, url, request, deadline);
    let (url, response) = within(deadline, url, work).await?;
    let (head, body) = response.into_parts();
    Ok(FetchResponse { url, status: head.status, headers: head.headers, body, deadline })
}

async fn follow_redirects(
    fetcher: &Fetcher,
    url: &Url,
    request: &CheckedRequest,
    deadline: Instant,
) -> Result<(Url, Response<HttpBody>), FetchError> {
    let policy = &fetcher.config().policy;
    let mut url = url.clone();
    let mut redirects_left = request.max_redirects(policy);
    loop {
        policy.check(&url)?;
        let (response, secrets) = send_once(fetcher, &url, request).await?;
        let status = response.status();
        if request.is_answered_by(status) {
            return Ok((url, response));
        }
        let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
            let body = ErrorBody::read(response, deadline, &secrets).await;
            return Err(FetchError::Status {
                url: display_url(&url),
                status: status.as_u16(),
                body,
            });
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

/// Sends a request. Also returns what must not be quoted from the response: it may repeat what it was sent.
async fn send_once(
    fetcher: &Fetcher,
    url: &Url,
    request: &CheckedRequest,
) -> Result<(Response<HttpBody>, Scrubber), FetchError> {
    let config = fetcher.config();
    let mut headers = config.headers(url)?;
    if request.json.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for name in request.headers.keys() {
        headers.remove(name);
    }
    headers.extend(request.headers.clone());
    let body = request.json.clone().unwrap_or_default();
    let method = Method::from(request.method);
    let mut message =
        Request::builder().method(method).uri(url.as_str()).body(body).map_err(|error| {
            FetchError::InvalidUrl { url: display_url(url), reason: error.to_string() }
        })?;
    *message.headers_mut() = headers;
    let secrets = credentials(&message);
    let response = config.client.send(message).await.map_err(|error| head_error(url, error))?;
    Ok((response, secrets))
}

/// The credentials of a request. The values of other headers are words that an error may need.
fn credentials(message: &Request<Bytes>) -> Scrubber {
    let mut request = Request::new(());
    request.uri_mut().clone_from(message.uri());
    for (name, value) in message.headers() {
        if is_credential_header(name.as_str()) {
            request.headers_mut().append(name, value.clone());
        }
    }
    Scrubber::for_request(&request)
}

/// The error of a request that got no response.
fn head_error(url: &Url, error: HttpError) -> FetchError {
    match error {
        HttpError::Refused { why, .. } => FetchError::Refused { url: display_url(url), why },
        other => common_error(url, other),
    }
}

/// The error of a body that did not arrive.
fn body_error(url: &Url, error: HttpError) -> FetchError {
    match error {
        HttpError::Broken { received, reason, .. } => {
            FetchError::Interrupted { url: display_url(url), received, reason }
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
        source => FetchError::Unreachable { url, source },
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
    request: CheckedRequest,
) -> ByteStream {
    let has_effect = !request.method.is_read_only();
    let first =
        async move { first_chunk(send_request(&fetcher, &url, &request).await?, &request).await };
    ByteStream::new(ResponseStream { next: Some(Box::pin(first)), has_effect })
}

type NextChunk = Result<Option<(Bytes, FetchResponse)>, FetchError>;

struct ResponseStream {
    next: Option<Pin<Box<dyn Future<Output = NextChunk> + Send>>>,
    /// Whether the request asks the server to do something.
    has_effect: bool,
}

/// The head as text if the request is about it, otherwise the first chunk of the body.
async fn first_chunk(response: FetchResponse, request: &CheckedRequest) -> NextChunk {
    if request.method.is_about_head() {
        return Ok(Some((response.head_text().into(), response)));
    }
    next_chunk(response).await
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
