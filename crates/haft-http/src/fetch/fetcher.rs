//! The fetcher: a client, a policy and limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::tool::{ByteStream, ToolFailure};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use serde_json::Value;

use super::error::FetchError;
use super::policy::UrlPolicy;
use super::request::{CheckedRequest, ExpectedResponse, FetchRequest};
use super::resolver::{CheckedResolver, Lookup, system_lookup};
use super::response::{FetchResponse, response_stream, send_request};
use super::{HttpReader, MAX_BYTES, preview, tool_failure};
use crate::{HttpClient, HttpLimits};

type HeaderSource = dyn Fn(&str) -> Vec<(String, String)> + Send + Sync;

/// Fetches URLs and sends requests, within one policy and the same limits. Clones share their connections.
///
/// ```
/// use haft_http::fetch::{Fetcher, UrlPolicy};
///
/// # fn main() -> Result<(), haft_http::fetch::FetchError> {
/// let fetcher = Fetcher::builder(UrlPolicy::public()).max_bytes(8 * 1024 * 1024).build()?;
/// let reader = fetcher.reader("https://example.com/cat.png")?;
/// assert_eq!(reader.url(), "https://example.com/cat.png");
/// let error = fetcher.reader("https://127.0.0.1/cat.png").unwrap_err();
/// assert!(error.to_string().contains("loopback"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fetcher {
    config: Arc<FetchConfig>,
}

pub(super) struct FetchConfig {
    pub(super) client: HttpClient,
    pub(super) policy: Arc<UrlPolicy>,
    pub(super) deadlines: FetchDeadlines,
    max_bytes: u64,
    headers: Option<Arc<HeaderSource>>,
}

impl Fetcher {
    /// Starts a fetcher with this policy.
    pub fn builder(policy: UrlPolicy) -> FetcherBuilder {
        let deadlines = FetchDeadlines::default();
        let max_bytes = MAX_BYTES;
        FetcherBuilder { policy, deadlines, max_bytes, headers: None, lookup: system_lookup() }
    }

    /// Creates a reader of a URL. No request is sent yet.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a URL or the policy does not allow it. A name that resolves to a forbidden address is
    /// an error of the stream.
    pub fn reader(&self, url: &str) -> Result<HttpReader, FetchError> {
        Ok(HttpReader { fetcher: self.clone(), url: Arc::new(self.check_url(url)?) })
    }

    /// Sends a GET request, and returns the response when its head has arrived.
    ///
    /// # Errors
    ///
    /// Fails if the policy does not allow the URL or an address behind it, if there is no response, or if the response
    /// is not a complete one with status 2xx.
    pub async fn get(&self, url: &str) -> Result<FetchResponse, FetchError> {
        let url = self.check_url(url)?;
        send_request(self, &url, &CheckedRequest::default()).await
    }

    /// Sends a request, and returns the body of the response as a stream. The request is sent once, when the stream is
    /// polled for the first time. A response without content is a success. The stream of a HEAD or an OPTIONS request
    /// begins with the status and the headers as text, one per line, without cookies.
    ///
    /// The headers of the request are added to those of [`FetcherBuilder::headers`]. Redirects are followed only for
    /// methods that change nothing, because a change was meant for one address.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a URL, the policy does not allow it, or a header is invalid. Every other error is one of
    /// the stream.
    pub fn send(&self, url: &str, request: FetchRequest) -> Result<ByteStream, FetchError> {
        let url = self.check_url(url)?;
        let FetchRequest { method, headers, json } = request;
        let headers = header_map(&url.origin().ascii_serialization(), &headers)?;
        let expected = ExpectedResponse::ContentOrNothing;
        let request = CheckedRequest { method, headers, json, expected };
        Ok(response_stream(self.clone(), Arc::new(url), request))
    }

    /// Parses a URL and applies the rules of the policy that need no name resolution.
    fn check_url(&self, url: &str) -> Result<Url, FetchError> {
        let invalid = |reason: String| FetchError::InvalidUrl { url: preview(url), reason };
        if url.len() > MAX_URL_LENGTH {
            return Err(invalid(format!("it has more than {MAX_URL_LENGTH} bytes")));
        }
        let mut url = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        url.set_fragment(None);
        self.config.policy.check(&url)?;
        Ok(url)
    }

    /// A function for [`ReaderResolvers::with`](haft_core::media::ReaderResolvers::with), under [`HttpReader::TAG`].
    pub fn resolver(&self) -> impl Fn(&Value) -> Result<HttpReader, ToolFailure> + use<> {
        let fetcher = self.clone();
        move |locator| {
            let url = locator_url(locator).ok_or_else(|| tool_failure(FetchError::Locator))?;
            fetcher.reader(url).map_err(tool_failure)
        }
    }

    pub(super) fn config(&self) -> &FetchConfig {
        &self.config
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("policy", &self.config.policy)
            .field("deadlines", &self.config.deadlines)
            .field("max_bytes", &self.config.max_bytes)
            .finish_non_exhaustive()
    }
}

impl FetchConfig {
    /// The headers that the application provides for a URL.
    pub(super) fn headers(&self, url: &Url) -> Result<HeaderMap, FetchError> {
        let Some(headers) = &self.headers else { return Ok(HeaderMap::new()) };
        let origin = url.origin().ascii_serialization();
        header_map(&origin, &headers(&origin))
    }
}

/// The URL in a locator that has this member and no other.
fn locator_url(locator: &Value) -> Option<&str> {
    let members = locator.as_object().filter(|it| it.len() == 1)?;
    members.get("url")?.as_str()
}

/// Converts headers, and marks their values as sensitive.
fn header_map(origin: &str, headers: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(key), Ok(mut value)) = header else {
            let origin = origin.to_owned();
            let name = preview(name);
            return Err(FetchError::Header { origin, name });
        };
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// Configures a [`Fetcher`].
#[must_use]
pub struct FetcherBuilder {
    policy: UrlPolicy,
    deadlines: FetchDeadlines,
    max_bytes: u64,
    headers: Option<Arc<HeaderSource>>,
    lookup: Arc<Lookup>,
}

impl FetcherBuilder {
    /// Sets the maximum size of a response. The default is [`MAX_BYTES`].
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Sets the deadlines of each request.
    pub fn deadlines(mut self, deadlines: FetchDeadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sets a function that returns headers for an origin, such as credentials. It is called with the origin of each
    /// request, for example `https://example.com` or `https://example.com:8443`, and again after each redirect, so that
    /// no credential is sent to another origin. The headers are never stored.
    pub fn headers(
        mut self,
        headers: impl Fn(&str) -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        self.headers = Some(Arc::new(headers));
        self
    }

    #[cfg(test)]
    pub(super) fn lookup(mut self, lookup: Arc<Lookup>) -> Self {
        self.lookup = lookup;
        self
    }

    /// Builds the fetcher.
    ///
    /// # Errors
    ///
    /// Fails if the machine has no root certificates or no usable TLS.
    pub fn build(self) -> Result<Fetcher, FetchError> {
        let Self { policy, deadlines, max_bytes, headers, lookup } = self;
        let policy = Arc::new(policy);
        let resolver = CheckedResolver { policy: Arc::clone(&policy), lookup };
        let limits = HttpLimits::default()
            .connect(deadlines.connect)
            .headers(deadlines.head)
            .idle(deadlines.idle)
            .total(deadlines.total)
            .body_bytes(max_bytes);
        let client = HttpClient::builder().limits(limits).dns_resolver(Arc::new(resolver));
        let client = if policy.is_https_only() { client.https_only() } else { client };
        let client = client.build().map_err(|error| FetchError::Client { source: error.into() })?;
        let config = FetchConfig { client, policy, deadlines, max_bytes, headers };
        Ok(Fetcher { config: Arc::new(config) })
    }
}

impl fmt::Debug for FetcherBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetcherBuilder")
            .field("policy", &self.policy)
            .field("deadlines", &self.deadlines)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// How long the phases of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct FetchDeadlines {
    /// To resolve the name and connect; 10 seconds.
    pub connect: Duration,
    /// From the request to the head of the response, including connecting; 30 seconds.
    pub head: Duration,
    /// Between two chunks of the body; 30 seconds.
    pub idle: Duration,
    /// From the request to the end of the body, including redirects and pauses of the caller; 5 minutes.
    pub total: Duration,
}

impl Default for FetchDeadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), head: seconds(30), idle: seconds(30), total: seconds(300) }
    }
}

impl FetchDeadlines {
    /// Sets how long resolving and connecting may take.
    pub fn connect(mut self, most: Duration) -> Self {
        self.connect = most;
        self
    }

    /// Sets how long the head of a response may take.
    pub fn head(mut self, most: Duration) -> Self {
        self.head = most;
        self
    }

    /// Sets how long no bytes may arrive.
    pub fn idle(mut self, most: Duration) -> Self {
        self.idle = most;
        self
    }

    /// Sets how long the whole request may take.
    pub fn total(mut self, most: Duration) -> Self {
        self.total = most;
        self
    }
}

const MAX_URL_LENGTH: usize = 8 * 1024;
