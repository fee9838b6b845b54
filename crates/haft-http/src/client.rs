//! The client: requests over sockets, with a limit on everything.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue, Request, Response};
use reqwest::{Certificate, Client, Proxy, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::describe_cause;
use crate::limits::LONGEST;
use crate::{HttpBody, HttpError, HttpLimits, HttpPhase, Secret, uri};

/// Sends requests over HTTP/1.1, with TLS for https. Cheap to clone; clones share their connections.
///
/// A client that [`HttpClient::builder`] makes keeps these promises:
///
/// | promise | also after [`HttpClient::from_client`] |
/// |---|---|
/// | limits of [`HttpLimits`] on the head, on idle time, on total time and on the bytes of the body | yes |
/// | only http and https, and no user or password in the URL | yes |
/// | asks for an uncompressed body, and refuses one that is still marked as compressed | yes |
/// | a response from another origin than the one that was addressed is an error | yes |
/// | the limit on connecting | no: the limits of that client apply |
/// | follows no redirect, so that no header reaches another host | no: that client may have sent the request on |
/// | reads nothing from the environment, proxies included | no |
/// | sends every request once | no: that client may retry |
///
/// ```
/// use std::time::Duration;
///
/// use haft_http::{HttpClient, HttpLimits};
///
/// let limits = HttpLimits::default().idle(Duration::from_secs(20));
/// let client = HttpClient::builder().limits(limits).build()?;
/// # let _ = client;
/// # Ok::<(), haft_http::HttpError>(())
/// ```
#[derive(Clone)]
pub struct HttpClient {
    client: Client,
    limits: HttpLimits,
}

impl HttpClient {
    /// A client to be configured.
    pub fn builder() -> HttpClientBuilder {
        HttpClientBuilder::default()
    }

    /// Uses a client that the caller has configured, for example with a TLS setup, a proxy or a resolver of its own.
    /// The table of [`HttpClient`] says which promises remain.
    #[must_use]
    pub const fn from_client(client: Client, limits: HttpLimits) -> Self {
        Self { client, limits }
    }

    /// The limits of its requests.
    pub const fn limits(&self) -> HttpLimits {
        self.limits
    }

    /// Sends a request and returns the head of the response, with a body that is read as it arrives. A response of any
    /// status is a response.
    ///
    /// # Errors
    ///
    /// There is no response, or it breaks one of the promises above.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, HttpError> {
        if tokio::runtime::Handle::try_current().is_err() {
            let reason = "there is no tokio runtime here".to_owned();
            return Err(HttpError::Unusable { reason });
        }
        let host = uri::host(&request.uri().to_string());
        let total = self.limits.total.min(LONGEST);
        let headers = self.limits.headers;
        let deadline = Instant::now() + total;
        let (url, prepared) = self.prepare(request)?;
        let sent = timeout_at(deadline, timeout(headers.min(LONGEST), prepared.send())).await;
        let slow = |phase, limit| HttpError::Timeout { host: host.clone(), phase, limit };
        let response = match sent {
            Err(_) => return Err(slow(HttpPhase::Total, total)),
            Ok(Err(_)) => return Err(slow(HttpPhase::Headers, headers)),
            Ok(Ok(Err(error))) => {
                return Err(HttpError::without_response(error, host, self.limits.connect));
            }
            Ok(Ok(Ok(response))) => response,
        };
        self.check_head(&response, &url, &host)?;
        let mut head = Response::builder().status(response.status()).body(())?;
        head.headers_mut().clone_from(response.headers());
        let limits = self.limits;
        Ok(head.map(|()| HttpBody::new(response, host, limits, deadline)))
    }

    fn prepare(
        &self,
        request: Request<Bytes>,
    ) -> Result<(Url, reqwest::RequestBuilder), HttpError> {
        let malformed = |reason: String| HttpError::Malformed { reason };
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string());
        let url = url.map_err(|error| malformed(format!("the URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(malformed("the URL is neither http nor https".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(malformed("the URL has a user or a password; use a header".to_owned()));
        }
        let mut headers = HeaderMap::with_capacity(head.headers.len() + 1);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in &head.headers {
            if name != ACCEPT_ENCODING {
                headers.append(name.clone(), value.clone());
            }
        }
        let prepared = self.client.request(head.method, url.clone()).headers(headers);
        Ok((url, if body.is_empty() { prepared } else { prepared.body(body) }))
    }

    /// Checks what the head of a response says before its body is read.
    fn check_head(
        &self,
        response: &reqwest::Response,
        url: &Url,
        host: &str,
    ) -> Result<(), HttpError> {
        let host = || host.to_owned();
        if response.url().origin() != url.origin() {
            let to = uri::host(response.url().as_str());
            return Err(HttpError::Redirected { host: host(), to });
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            let encoding = encoding.chars().take(MAX_ENCODING).collect();
            return Err(HttpError::Encoded { host: host(), encoding });
        }
        let limit = self.limits.body_bytes;
        // Of the response to a failed request, the status matters more than a body that is too long.
        let is_success = response.status().is_success();
        if is_success && response.content_length().is_some_and(|length| length > limit) {
            return Err(HttpError::TooLarge { host: host(), limit });
        }
        Ok(())
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl From<http::Error> for HttpError {
    fn from(error: http::Error) -> Self {
        Self::Malformed { reason: error.to_string() }
    }
}

/// Configures an [`HttpClient`].
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct HttpClientBuilder {
    limits: HttpLimits,
    proxy: ProxyChoice,
    roots: Vec<u8>,
    resolver: Option<Arc<dyn reqwest::dns::Resolve>>,
    schemes: Schemes,
    reuse: ConnectionReuse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ConnectionReuse {
    #[default]
    Idle,
    Never,
}

/// Through which proxy requests go.
#[derive(Clone, Debug, Default)]
enum ProxyChoice {
    #[default]
    Direct,
    /// The proxy that the environment variables name.
    Environment,
    Url(Secret),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Schemes {
    #[default]
    HttpAndHttps,
    HttpsOnly,
}

impl HttpClientBuilder {
    /// Sets the limits of each request.
    pub fn limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sends everything through an HTTP proxy, `http://user:password@host:port`. The proxy sees the hosts, and all of
    /// what goes over plain http.
    pub fn proxy(self, url: impl Into<Secret>) -> Self {
        Self { proxy: ProxyChoice::Url(url.into()), ..self }
    }

    /// Uses the proxies that the environment names: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, and `NO_PROXY` for the
    /// hosts that need none. Without this, nothing is read from the environment.
    pub fn proxy_from_env(self) -> Self {
        Self { proxy: ProxyChoice::Environment, ..self }
    }

    /// Trusts these root certificates in addition, in PEM. Call it again for more.
    pub fn root_certificates(mut self, pem: &[u8]) -> Self {
        self.roots.extend_from_slice(pem);
        self.roots.push(b'\n');
        self
    }

    /// Resolves names with this resolver in place of the one of the operating system.
    pub fn dns_resolver(self, resolver: Arc<dyn reqwest::dns::Resolve>) -> Self {
        Self { resolver: Some(resolver), ..self }
    }

    /// Refuses plain http, also for this machine.
    pub fn https_only(self) -> Self {
        Self { schemes: Schemes::HttpsOnly, ..self }
    }

    /// Opens a connection for every request. A server that closes idle connections then cannot break the next request,
    /// which is sent once.
    pub fn fresh_connections(self) -> Self {
        Self { reuse: ConnectionReuse::Never, ..self }
    }

    /// Builds the client.
    ///
    /// # Errors
    ///
    /// The proxy is not a URL, the certificates are not PEM, or the machine has no TLS that can be used.
    pub fn build(self) -> Result<HttpClient, HttpError> {
        let unusable = |reason: String| HttpError::Unusable { reason };
        let mut builder = select_tls(Client::builder())
            .map_err(unusable)?
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .https_only(self.schemes == Schemes::HttpsOnly)
            .connect_timeout(self.limits.connect);
        if self.reuse == ConnectionReuse::Never {
            builder = builder.pool_max_idle_per_host(0);
        }
        if let Some(resolver) = self.resolver {
            builder = builder.dns_resolver(resolver);
        }
        builder = match &self.proxy {
            ProxyChoice::Direct => builder.no_proxy(),
            ProxyChoice::Environment => builder,
            ProxyChoice::Url(url) => {
                // The error may quote the URL, which may have a password.
                let proxy = Proxy::all(url.expose());
                let proxy = proxy.map_err(|_| unusable("the proxy is not a URL".into()))?;
                builder.no_proxy().proxy(proxy)
            }
        };
        if !self.roots.is_empty() {
            builder = builder.tls_certs_merge(parse_roots(&self.roots).map_err(unusable)?);
        }
        let client = builder.build();
        let client = client
            .map_err(|error| unusable(format!("no HTTP client: {}", describe_cause(&error))))?;
        Ok(HttpClient { client, limits: self.limits })
    }
}

/// Selects rustls where it is compiled in, also if another crate of the program enables another backend.
#[cfg(any(feature = "rustls", feature = "rustls-no-provider"))]
fn select_tls(builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, String> {
    // Without a provider the builder of the HTTP library would panic.
    #[cfg(not(feature = "rustls"))]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err("the program has installed no cryptography provider for rustls".to_owned());
    }
    Ok(builder.tls_backend_rustls())
}

/// The backend of the operating system, or none.
#[cfg(not(any(feature = "rustls", feature = "rustls-no-provider")))]
fn select_tls(builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, String> {
    Ok(builder)
}

fn parse_roots(pem: &[u8]) -> Result<Vec<Certificate>, String> {
    let roots = Certificate::from_pem_bundle(pem).map_err(|error| {
        format!("the root certificates are not PEM: {}", describe_cause(&error))
    })?;
    if roots.is_empty() {
        return Err("the root certificates have no certificate".to_owned());
    }
    Ok(roots)
}

impl fmt::Debug for HttpClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientBuilder")
            .field("limits", &self.limits)
            .field("proxy", &self.proxy)
            .field("schemes", &self.schemes)
            .finish_non_exhaustive()
    }
}

/// The maximum number of characters of a content encoding in a message.
const MAX_ENCODING: usize = 40;
