//! HTTP over sockets, with a limit on everything.

mod reading;

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Proxy, Url};
use tokio::time::{Instant, timeout, timeout_at};

use self::reading::{Reading, reason};
use super::headers::Secret;
use super::{Body, Headers, Request, Response, Transport, TransportError, TransportFuture, Wait};

/// Sends requests over HTTP/1.1, with TLS for https. Cheap to clone; clones share their connections.
///
/// Follows no redirect, because that could carry a key to another host: a redirect is a response like any other.
/// Reads nothing from the environment, proxies included. Asks for bodies that are not compressed and refuses others, so
/// that the limit of bytes holds for what is kept in memory.
///
/// | limit | default |
/// |---|---|
/// | connecting: name, socket, TLS, proxy | 10 s |
/// | from the request to the head of the response | 120 s |
/// | between two chunks of the body | 60 s |
/// | from the request to the end of the body | 15 min |
/// | bytes of the body | 256 MiB |
///
/// ```
/// use std::time::Duration;
///
/// use haft_providers::transport::HttpTransport;
///
/// let transport = HttpTransport::builder().idle_timeout(Duration::from_secs(20)).build()?;
/// # let _ = transport;
/// # Ok::<(), haft_providers::transport::TransportError>(())
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    client: Client,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    connect: Duration,
    headers: Duration,
    idle: Duration,
    total: Duration,
    bytes: u64,
}

impl HttpTransport {
    /// A transport to be set up.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }

    async fn ask(&self, request: Request) -> Result<Response, TransportError> {
        if tokio::runtime::Handle::try_current().is_err() {
            let reason = "there is no tokio runtime here".to_owned();
            return Err(TransportError::Unusable { reason });
        }
        let host = super::host(&request.url);
        let total = self.limits.total.min(LONGEST);
        let deadline = Instant::now() + total;
        let asked = self.prepare(request)?.send();
        let head = timeout_at(deadline, timeout(self.limits.headers.min(LONGEST), asked)).await;
        let slow = |what, limit| TransportError::Timeout { host: host.clone(), what, limit };
        let response = match head {
            Err(_) => return Err(slow(Wait::Everything, total)),
            Ok(Err(_)) => return Err(slow(Wait::Headers, self.limits.headers)),
            Ok(Ok(Err(error))) => return Err(self.failure(error, host)),
            Ok(Ok(Ok(response))) => response,
        };
        let (status, headers) = (response.status().as_u16(), headers(response.headers()));
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes()).chars().take(40).collect();
            return Err(TransportError::Encoded { host, encoding });
        }
        let limits = self.limits;
        if response.content_length().is_some_and(|length| length > limits.bytes) {
            return Err(TransportError::TooLarge { host, limit: limits.bytes });
        }
        let body = Body::new(Reading::new(response, host.clone(), limits, deadline)).of(host);
        Ok(Response { status, headers, body })
    }

    fn prepare(&self, request: Request) -> Result<reqwest::RequestBuilder, TransportError> {
        let Request { method, url, headers, body } = request;
        let malformed = |reason: String| TransportError::Malformed { reason };
        let url = Url::parse(&url).map_err(|error| malformed(format!("the URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(malformed("the URL is neither http nor https".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(malformed("the URL has a user or a password; use a header".to_owned()));
        }
        let mut map = HeaderMap::with_capacity(headers.len() + 1);
        map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in headers.iter() {
            let wrong =
                |part| malformed(format!("the {part} of the header `{}`", name.escape_debug()));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
            let value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
            if key != ACCEPT_ENCODING {
                map.append(key, value);
            }
        }
        let method = match method {
            super::Method::Get => reqwest::Method::GET,
            super::Method::Post => reqwest::Method::POST,
            super::Method::Put => reqwest::Method::PUT,
            super::Method::Patch => reqwest::Method::PATCH,
            super::Method::Delete => reqwest::Method::DELETE,
        };
        let prepared = self.client.request(method, url).headers(map);
        Ok(if body.is_empty() { prepared } else { prepared.body(body) })
    }

    fn failure(&self, error: reqwest::Error, host: String) -> TransportError {
        let error = error.without_url();
        let reason = reason(&error);
        if error.is_timeout() {
            let limit = self.limits.connect;
            TransportError::Timeout { host, what: Wait::Connection, limit }
        } else if error.is_connect() && is_untrusted(&error) {
            TransportError::Tls { host, reason }
        } else if error.is_connect() {
            TransportError::Connect { host, reason }
        } else if error.is_builder() {
            TransportError::Malformed { reason }
        } else {
            TransportError::Broken { host, received: 0, reason }
        }
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        Box::pin(self.ask(request))
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Sets up an [`HttpTransport`].
#[derive(Clone)]
#[must_use]
pub struct HttpTransportBuilder {
    limits: Limits,
    proxy: Option<Secret>,
    roots: Vec<u8>,
}

impl HttpTransportBuilder {
    /// How long a connection may take: name, socket, TLS and proxy.
    pub fn connect_timeout(mut self, most: Duration) -> Self {
        self.limits.connect = most;
        self
    }

    /// How long the head of a response may take, from the request on.
    pub fn headers_timeout(mut self, most: Duration) -> Self {
        self.limits.headers = most;
        self
    }

    /// How long nothing may come while a body is waited for. Comments that keep a connection alive count as something.
    pub fn idle_timeout(mut self, most: Duration) -> Self {
        self.limits.idle = most;
        self
    }

    /// How long all of it may take, from the request to the end of the body.
    pub fn total_timeout(mut self, most: Duration) -> Self {
        self.limits.total = most;
        self
    }

    /// The most bytes that a body may have.
    pub fn max_body_bytes(mut self, most: u64) -> Self {
        self.limits.bytes = most;
        self
    }

    /// Sends everything through an HTTP proxy, `http://user:password@host:port`. It sees the hosts, and of http all.
    pub fn proxy(mut self, url: impl Into<Secret>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts these root certificates too, in PEM. Call it again for more.
    pub fn root_certificates(mut self, pem: &[u8]) -> Self {
        self.roots.extend_from_slice(pem);
        self.roots.push(b'\n');
        self
    }

    /// Makes it.
    ///
    /// # Errors
    ///
    /// The proxy is not a URL, the certificates are not PEM, or the machine has no TLS that can be used.
    pub fn build(self) -> Result<HttpTransport, TransportError> {
        let unusable = |what: &str, error: &reqwest::Error| TransportError::Unusable {
            reason: format!("{what}: {}", reason(error)),
        };
        let mut builder = Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(self.limits.connect);
        if let Some(proxy) = &self.proxy {
            // What the error says may quote the URL, which may have a password.
            let proxy = Proxy::all(proxy.expose()).map_err(|_| TransportError::Unusable {
                reason: "the proxy is not a URL".to_owned(),
            })?;
            builder = builder.proxy(proxy);
        }
        if !self.roots.is_empty() {
            let roots = Certificate::from_pem_bundle(&self.roots)
                .map_err(|error| unusable("the root certificates are not PEM", &error))?;
            if roots.is_empty() {
                let reason = "the root certificates have no certificate".to_owned();
                return Err(TransportError::Unusable { reason });
            }
            builder = builder.tls_certs_merge(roots);
        }
        let client = builder.build().map_err(|error| unusable("no HTTP client", &error))?;
        Ok(HttpTransport { client, limits: self.limits })
    }
}

impl Default for HttpTransportBuilder {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        let limits = Limits {
            connect: seconds(10),
            headers: seconds(120),
            idle: seconds(60),
            total: seconds(15 * 60),
            bytes: 256 << 20,
        };
        Self { limits, proxy: None, roots: Vec::new() }
    }
}

impl fmt::Debug for HttpTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransportBuilder")
            .field("limits", &self.limits)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

fn headers(map: &HeaderMap) -> Headers {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    map.iter().map(|(name, value)| (name.as_str(), text(value))).collect()
}

/// Whether a handshake failed, which is the only thing that connecting calls invalid data.
fn is_untrusted(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::InvalidData => return true,
            // What it wraps is not its source, but has the same source.
            Some(error) => error.get_ref().map(|it| it as _),
            None => error.source(),
        };
    }
    false
}

/// A year, so that adding it to any time is possible.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
