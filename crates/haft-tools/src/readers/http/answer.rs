//! One request and its answer, bit by bit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{FetchError, FetchPhase, RefusedUrl};
use super::fetcher::Fetcher;
use super::policy::UrlPolicy;
use super::resolver::refusal;
use super::{shown, shown_text};
use crate::readers::pull::{Pull, Step};

/// A URL that is asked with the first chunk, and then read.
pub(super) struct Reading {
    fetcher: Fetcher,
    url: Arc<Url>,
    state: State,
}

enum State {
    Asking(Request),
    Opened(Opened),
}

/// How a URL is asked.
pub(super) enum Request {
    Get,
    /// Sends JSON, with headers that come on top of the fetcher's own.
    Post {
        headers: HeaderMap,
        json: Bytes,
    },
}

struct Opened {
    response: Response,
    received: u64,
    deadline: Instant,
}

impl Reading {
    pub(super) fn new(fetcher: Fetcher, url: Arc<Url>, request: Request) -> Self {
        Self { fetcher, url, state: State::Asking(request) }
    }
}

impl Pull for Reading {
    type Error = FetchError;

    async fn pull(self) -> Step<Self> {
        let Self { fetcher, url, state } = self;
        let Opened { mut response, received, deadline } = match state {
            State::Opened(opened) => opened,
            State::Asking(request) => open(&fetcher, &url, &request).await?,
        };
        let Some(bytes) = chunk(&fetcher, &url, &mut response, (received, deadline)).await? else {
            return Ok(None);
        };
        let received = received.saturating_add(bytes.len() as u64);
        let limit = fetcher.shared().max_bytes;
        if received > limit {
            return Err(FetchError::TooLarge { url: shown(&url), limit });
        }
        let state = State::Opened(Opened { response, received, deadline });
        Ok(Some((bytes, Self { fetcher, url, state })))
    }
}

async fn open(fetcher: &Fetcher, url: &Url, request: &Request) -> Result<Opened, FetchError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(FetchError::NoRuntime);
    }
    let total = fetcher.shared().deadlines.total.min(LONGEST);
    let deadline = Instant::now() + total;
    let response = within(deadline, url, answer(fetcher, url, request)).await?;
    let url = response.url();
    if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let encoding = shown_text(&String::from_utf8_lossy(encoding.as_bytes()));
        return Err(FetchError::Encoded { url: shown(url), encoding });
    }
    let limit = fetcher.shared().max_bytes;
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(FetchError::TooLarge { url: shown(url), limit });
    }
    Ok(Opened { response, received: 0, deadline })
}

/// The next bytes of the answer.
async fn chunk(
    fetcher: &Fetcher,
    url: &Url,
    response: &mut Response,
    (received, deadline): (u64, Instant),
) -> Result<Option<Bytes>, FetchError> {
    within(deadline, url, async {
        match timeout(fetcher.shared().deadlines.idle, response.chunk()).await {
            Err(_) => Err(FetchError::TooSlow { url: shown(url), phase: FetchPhase::Idle }),
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => {
                let source = error.without_url().into();
                Err(FetchError::BrokeOff { url: shown(url), received, source })
            }
        }
    })
    .await
}

/// The head of the answer that has the content, past redirects if they are allowed.
async fn answer(fetcher: &Fetcher, url: &Url, request: &Request) -> Result<Response, FetchError> {
    let policy = &fetcher.shared().policy;
    let mut url = url.clone();
    let mut left = request.redirects(policy);
    loop {
        policy.check(&url)?;
        let response = ask(fetcher, &url, request).await?;
        let status = response.status();
        if request.is_answered_by(status) {
            return Ok(response);
        }
        let redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.headers().get(LOCATION).filter(|_| redirect) else {
            return Err(FetchError::Status { url: shown(&url), status: status.as_u16() });
        };
        let next = target(&url, location.as_bytes())?;
        if left == 0 {
            let to = shown(&next);
            return Err(FetchError::Redirected { url: shown(&url), status: status.as_u16(), to });
        }
        left -= 1;
        url = next;
    }
}

impl Request {
    /// What is sent was meant for one address, so that it is never sent on.
    fn redirects(&self, policy: &UrlPolicy) -> usize {
        match self {
            Self::Get => policy.redirects,
            Self::Post { .. } => 0,
        }
    }

    /// Content that is missing is not the medium that was asked for, but tells that something was taken.
    /// Content that is partial is neither.
    fn is_answered_by(&self, status: StatusCode) -> bool {
        match self {
            Self::Get => status.is_success() && !matches!(status.as_u16(), 204..=206),
            Self::Post { .. } => status.is_success() && status != StatusCode::PARTIAL_CONTENT,
        }
    }
}

async fn ask(fetcher: &Fetcher, url: &Url, request: &Request) -> Result<Response, FetchError> {
    let shared = fetcher.shared();
    let method = match request {
        Request::Get => Method::GET,
        Request::Post { .. } => Method::POST,
    };
    let mut asked = shared.client.request(method, url.clone()).header(ACCEPT_ENCODING, "identity");
    asked = asked.headers(shared.headers(url)?);
    if let Request::Post { headers, json } = request {
        asked = asked.header(CONTENT_TYPE, "application/json");
        asked = asked.headers(headers.clone()).body(json.clone());
    }
    let slow = |phase| FetchError::TooSlow { url: shown(url), phase };
    match timeout(shared.deadlines.head, asked.send()).await {
        Err(_) => Err(slow(FetchPhase::Head)),
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(if let Some(why) = refusal(&error) {
            FetchError::Refused { url: shown(url), why }
        } else if error.is_timeout() {
            slow(FetchPhase::Connect)
        } else {
            FetchError::Unreachable { url: shown(url), source: error.without_url().into() }
        }),
    }
}

/// Where a redirect leads.
fn target(url: &Url, location: &[u8]) -> Result<Url, FetchError> {
    let location = String::from_utf8_lossy(location);
    let next = url.join(&location).map_err(|error| FetchError::InvalidUrl {
        url: shown_text(&location),
        reason: error.to_string(),
    })?;
    if url.scheme() == "https" && next.scheme() == "http" {
        let why = RefusedUrl::Downgrade;
        return Err(FetchError::Refused { url: shown(&next), why });
    }
    Ok(next)
}

async fn within<T>(
    deadline: Instant,
    url: &Url,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let slow = || FetchError::TooSlow { url: shown(url), phase: FetchPhase::Total };
    timeout_at(deadline, work).await.map_err(|_| slow())?
}

/// A year, so that adding it to any time is possible.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
