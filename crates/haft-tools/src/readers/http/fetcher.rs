//! What fetches, and within which limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_core::tool::{ByteStream, ToolFailure};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::Value;

use super::answer::{Reading, Request};
use super::error::FetchError;
use super::policy::UrlPolicy;
use super::resolver::{CheckedResolver, Lookup, system};
use super::{HttpReader, shown_text};
use crate::readers::pull::stream;
use crate::readers::{MAX_BYTES, failure, field};

type Headers = dyn Fn(&str) -> Vec<(String, String)> + Send + Sync;

/// Makes readers of URLs, and sends, all within one policy and the same limits. Clones share their
/// connections.
///
/// ```
/// use haft_tools::readers::{Fetcher, UrlPolicy};
///
/// # fn main() -> Result<(), haft_tools::readers::FetchError> {
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
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) policy: Arc<UrlPolicy>,
    pub(super) deadlines: Deadlines,
    pub(super) max_bytes: u64,
    headers: Option<Arc<Headers>>,
}

impl Fetcher {
    /// Starts a fetcher that keeps to this policy.
    pub fn builder(policy: UrlPolicy) -> FetcherBuilder {
        let (deadlines, max_bytes) = (Deadlines::default(), MAX_BYTES);
        FetcherBuilder { policy, deadlines, max_bytes, headers: None, lookup: system() }
    }

    /// A reader of this URL. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// The text is not a URL, or the policy does not allow it. A name that resolves to an address which
    /// is not allowed shows when it is read.
    pub fn reader(&self, url: &str) -> Result<HttpReader, FetchError> {
        Ok(HttpReader { fetcher: self.clone(), url: Arc::new(self.checked(url)?) })
    }

    /// Sends JSON by POST, and gives the answer as it comes, within the same policy and limits. Nothing is
    /// sent before the stream is polled, and nothing is sent twice.
    ///
    /// The headers are for this request alone; they come on top of those of
    /// [`FetcherBuilder::headers`], and in their place where names are equal. Redirects are not followed,
    /// also if the policy allows them: what is sent was meant for one address. An answer without content is
    /// an answer.
    ///
    /// # Errors
    ///
    /// The text is not a URL, the policy does not allow it, or a header is not one. A name that resolves to
    /// an address which is not allowed shows in the stream, and so does everything else.
    pub fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        json: impl Into<Bytes>,
    ) -> Result<ByteStream, FetchError> {
        let url = self.checked(url)?;
        let headers = header_map(&url.origin().ascii_serialization(), headers)?;
        let request = Request::Post { headers, json: json.into() };
        Ok(stream(Reading::new(self.clone(), Arc::new(url), request)))
    }

    /// A URL that the policy allows, as far as can be seen in it.
    fn checked(&self, url: &str) -> Result<Url, FetchError> {
        let invalid = |reason: String| FetchError::InvalidUrl { url: shown_text(url), reason };
        if url.len() > LONGEST {
            return Err(invalid(format!("it has more than {LONGEST} bytes")));
        }
        let mut url = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        url.set_fragment(None);
        self.shared.policy.check(&url)?;
        Ok(url)
    }

    /// For [`ReaderResolvers::with`](haft_core::media::ReaderResolvers::with), under [`HttpReader::TAG`].
    pub fn resolver(&self) -> impl Fn(&Value) -> Result<HttpReader, ToolFailure> + use<> {
        let fetcher = self.clone();
        move |locator| {
            let url = field(locator, "url").ok_or_else(|| failure(FetchError::Locator))?;
            fetcher.reader(url).map_err(failure)
        }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("policy", &self.shared.policy)
            .field("deadlines", &self.shared.deadlines)
            .field("max_bytes", &self.shared.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The headers of the application for a URL.
    pub(super) fn headers(&self, url: &Url) -> Result<HeaderMap, FetchError> {
        let Some(headers) = &self.headers else { return Ok(HeaderMap::new()) };
        let origin = url.origin().ascii_serialization();
        header_map(&origin, &headers(&origin))
    }
}

/// Headers whose values are not logged.
fn header_map(origin: &str, headers: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(key), Ok(mut value)) = header else {
            let (origin, name) = (origin.to_owned(), shown_text(name));
            return Err(FetchError::Header { origin, name });
        };
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// A fetcher in the making.
#[must_use]
pub struct FetcherBuilder {
    policy: UrlPolicy,
    deadlines: Deadlines,
    max_bytes: u64,
    headers: Option<Arc<Headers>>,
    lookup: Arc<Lookup>,
}

impl FetcherBuilder {
    /// Reads at most this many bytes of an answer, instead of
    /// [`MAX_BYTES`](crate::readers::MAX_BYTES).
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Waits so long and no longer.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Headers by origin, such as credentials. The function gets the origin of each request, as
    /// `https://example.com` or `https://example.com:8443`, and is asked again after a redirect, so that
    /// no credential goes to another origin. They are never stored.
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

    /// Makes it.
    ///
    /// # Errors
    ///
    /// The machine has no root certificates, or its TLS cannot be used.
    pub fn build(self) -> Result<Fetcher, FetchError> {
        let Self { policy, deadlines, max_bytes, headers, lookup } = self;
        let policy = Arc::new(policy);
        let resolver = CheckedResolver { policy: Arc::clone(&policy), lookup };
        let client = Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .https_only(policy.is_https_only())
            .connect_timeout(deadlines.connect)
            .dns_resolver(resolver)
            .build()
            .map_err(|error| FetchError::Client { source: error.into() })?;
        let shared = Shared { client, policy, deadlines, max_bytes, headers };
        Ok(Fetcher { shared: Arc::new(shared) })
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

/// How long the parts of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Deadlines {
    /// To resolve the name and connect; 10 seconds.
    pub connect: Duration,
    /// From the request to the head of the answer, connecting included; 30 seconds.
    pub head: Duration,
    /// Between two pieces of the answer; 30 seconds.
    pub idle: Duration,
    /// From the first poll of the stream to its end, redirects and the reading side's own pauses
    /// included; 5 minutes.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), head: seconds(30), idle: seconds(30), total: seconds(300) }
    }
}

impl Deadlines {
    /// Sets how long resolving and connecting may take.
    pub fn connect(mut self, most: Duration) -> Self {
        self.connect = most;
        self
    }

    /// Sets how long the head of an answer may take.
    pub fn head(mut self, most: Duration) -> Self {
        self.head = most;
        self
    }

    /// Sets how long nothing may come.
    pub fn idle(mut self, most: Duration) -> Self {
        self.idle = most;
        self
    }

    /// Sets how long all of it may take.
    pub fn total(mut self, most: Duration) -> Self {
        self.total = most;
        self
    }
}

const LONGEST: usize = 8 * 1024;
