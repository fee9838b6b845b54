//! Requests that send something.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft_core::error::Coded as _;
use haft_core::tool::{ByteStream, ToolFailure};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Client, Response};

use crate::readers::{FetchError, FetchPhase, Fetcher, RefusedUrl, UrlPolicy};

/// Sends JSON by POST, to addresses that a [`UrlPolicy`] allows.
///
/// The policy is the judge of every address, also of those that a name resolves to at the moment of the
/// connection. Redirects are not followed: what was sent was meant for one address. A policy that names hosts
/// refuses all names, because an address is none of them: who sends chooses the URL.
#[derive(Clone, Debug)]
pub struct Poster {
    client: Client,
    /// Judges addresses; it never fetches.
    judge: Fetcher,
    max_bytes: u64,
    longest: Duration,
}

impl Poster {
    /// Keeps to this policy. An answer has at most so many bytes, and takes at most so long.
    ///
    /// # Errors
    ///
    /// The machine has no root certificates, or its TLS cannot be used.
    pub fn new(policy: UrlPolicy, max_bytes: u64, longest: Duration) -> Result<Self, FetchError> {
        let judge = Fetcher::builder(policy).build()?;
        let client = Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(longest)
            .timeout(longest)
            .dns_resolver(Judged(judge.clone()))
            .build()
            .map_err(|error| FetchError::Client { source: error.into() })?;
        Ok(Self { client, judge, max_bytes, longest })
    }

    /// Sends JSON, and gives the answer as it comes. Nothing is sent before the stream is polled. The values
    /// of the headers are not logged.
    ///
    /// # Errors
    ///
    /// The text is not a URL, the policy does not allow it, or a header is not one. A name that resolves to an
    /// address which is not allowed shows in the stream, and so does everything else.
    pub fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        json: impl Into<Bytes>,
    ) -> Result<ByteStream, FetchError> {
        let url = self.judge.reader(url)?.url().to_owned();
        let headers = checked(&shown(&url), headers)?;
        let request = self
            .client
            .post(&url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT_ENCODING, "identity")
            .headers(headers)
            .body(json.into());
        let (limit, shown) = (self.max_bytes, shown(&url));
        let asked = async move {
            let response = request.send().await.map_err(|error| failed(&shown, error))?;
            Answer::new(response, shown, limit)?.next().await
        };
        Ok(ByteStream::new(Answers(Some(Box::pin(asked)))))
    }

    /// How long a request may take, answer included.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.longest
    }
}

fn checked(origin: &str, headers: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(key), Ok(mut value)) = header else {
            return Err(FetchError::Header {
                origin: origin.to_owned(),
                name: super::super::shown(name),
            });
        };
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

type Next = Result<Option<(Bytes, Answer)>, FetchError>;

/// An answer of which a part has come.
struct Answer {
    response: Response,
    url: String,
    received: u64,
    limit: u64,
}

impl Answer {
    fn new(response: Response, url: String, limit: u64) -> Result<Self, FetchError> {
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(reqwest::header::LOCATION);
            let to = to
                .map_or_else(String::new, |it| String::from_utf8_lossy(it.as_bytes()).into_owned());
            let to = super::super::shown(&to);
            return Err(FetchError::Redirected { url, status: status.as_u16(), to });
        }
        if !status.is_success() {
            return Err(FetchError::Status { url, status: status.as_u16() });
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
        {
            let encoding = super::super::shown(&String::from_utf8_lossy(encoding.as_bytes()));
            return Err(FetchError::Encoded { url, encoding });
        }
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(FetchError::TooLarge { url, limit });
        }
        Ok(Self { response, url, received: 0, limit })
    }

    async fn next(mut self) -> Next {
        let chunk = self.response.chunk().await.map_err(|error| match error.is_timeout() {
            true => FetchError::TooSlow { url: self.url.clone(), phase: FetchPhase::Total },
            false => FetchError::BrokeOff {
                url: self.url.clone(),
                received: self.received,
                source: error.without_url().into(),
            },
        })?;
        let Some(bytes) = chunk else { return Ok(None) };
        self.received = self.received.saturating_add(bytes.len() as u64);
        if self.received > self.limit {
            return Err(FetchError::TooLarge { url: self.url, limit: self.limit });
        }
        Ok(Some((bytes, self)))
    }
}

struct Answers(Option<Pin<Box<dyn Future<Output = Next> + Send>>>);

impl Stream for Answers {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(next) = &mut self.0 else { return Poll::Ready(None) };
        let next = ready!(next.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(match next {
            Ok(Some((bytes, answer))) => {
                self.0 = Some(Box::pin(answer.next()));
                Some(Ok(bytes))
            }
            Ok(None) => None,
            Err(error) => {
                let retryable = error.retryable();
                let failure = ToolFailure::from(error);
                Some(Err(if retryable { failure.retryable() } else { failure }))
            }
        })
    }
}

fn failed(url: &str, error: reqwest::Error) -> FetchError {
    let url = url.to_owned();
    if let Some(why) = refusal(&error) {
        FetchError::Refused { url, why }
    } else if error.is_timeout() {
        FetchError::TooSlow { url, phase: FetchPhase::Total }
    } else {
        FetchError::Unreachable { url, source: error.without_url().into() }
    }
}

/// A URL without its query, where secrets may be.
fn shown(url: &str) -> String {
    super::super::shown(url.split('?').next().unwrap_or_default())
}

/// Resolves names, and hands on the addresses that the policy allows. What it gives is what is connected to.
struct Judged(Fetcher);

impl Judged {
    /// Why an address is refused, as it would be if it stood in a URL.
    fn refuses(&self, address: IpAddr) -> Option<RefusedUrl> {
        let host = match address {
            IpAddr::V4(it) => it.to_string(),
            IpAddr::V6(it) => format!("[{it}]"),
        };
        match self.0.reader(&format!("https://{host}/")) {
            Ok(_) => None,
            Err(FetchError::Refused { why, .. }) => Some(why),
            Err(_) => Some(RefusedUrl::Host),
        }
    }
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let judge = Self(self.0.clone());
        Box::pin(async move {
            let mut refused = None;
            let mut allowed = Vec::new();
            for found in tokio::net::lookup_host((name.as_str().to_owned(), 0)).await? {
                match judge.refuses(found.ip()) {
                    None => allowed.push(SocketAddr::new(found.ip(), 0)),
                    Some(why) => refused = Some(RefusedName(why)),
                }
            }
            match refused {
                Some(why) if allowed.is_empty() => Err(why.into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

/// A name that has no address which is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RefusedName(RefusedUrl);

fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<RefusedUrl> {
    let causes = std::iter::successors(Some(error), |it| it.source());
    causes.filter_map(|it| it.downcast_ref::<RefusedName>()).map(|it| it.0.clone()).next()
}
