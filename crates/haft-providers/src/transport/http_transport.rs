//! The transport over sockets.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_http::{HttpClient, HttpClientBuilder, HttpLimits, Secret};
use http::{Request, Response};

use super::{Body, HttpError, Transport, request_host};

/// Sends requests over HTTP/1.1, with TLS for https. Cheap to clone; clones share their connections.
///
/// A transport that [`HttpTransport::builder`] makes follows no redirect, because that could carry a key to another host:
/// a redirect is a response like any other. It reads nothing from the environment, proxies included. It asks for an
/// uncompressed body and refuses a compressed one, so that the limit of bytes holds for what is kept in memory.
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
/// # Ok::<(), haft_providers::transport::HttpError>(())
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    client: HttpClient,
}

impl HttpTransport {
    /// A transport to be configured.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }

    /// Sends requests with a client that the caller has configured, for example with a TLS setup, a proxy or a resolver of
    /// its own, within the default limits.
    ///
    /// These promises remain: the limits on the head, on idle time, on total time and on the bytes of the body; no user or
    /// password in a URL; no API key over plain http to another machine, which the provider checks; and a response from
    /// another origin than the addressed one is an error.
    ///
    /// These become the caller's: whether redirects are followed, which may carry headers to another host before the
    /// response is refused; the limit on connecting; proxies; retries below this crate; and compression, if the client
    /// decompresses by itself.
    ///
    /// ```
    /// use haft_providers::transport::HttpTransport;
    ///
    /// let client = haft_http::reqwest::Client::builder()
    ///     .redirect(haft_http::reqwest::redirect::Policy::none())
    ///     .build()?;
    /// let transport = HttpTransport::from_client(client);
    /// # let _ = transport;
    /// # Ok::<(), haft_http::reqwest::Error>(())
    /// ```
    #[must_use]
    pub fn from_client(client: haft_http::reqwest::Client) -> Self {
        HttpClient::from_client(client, HttpLimits::default()).into()
    }

    async fn send_request(&self, request: Request<Bytes>) -> Result<Response<Body>, HttpError> {
        let host = request_host(&request);
        let response = self.client.send(request).await?;
        Ok(response.map(|body| Body::new(body).with_host(host)))
    }
}

/// A transport with the limits of the client.
impl From<HttpClient> for HttpTransport {
    fn from(client: HttpClient) -> Self {
        Self { client }
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        Box::pin(self.send_request(request))
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("client", &self.client).finish()
    }
}

/// Configures an [`HttpTransport`].
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct HttpTransportBuilder {
    limits: HttpLimits,
    client: HttpClientBuilder,
}

impl HttpTransportBuilder {
    /// Sets how long a connection may take: name, socket, TLS and proxy.
    pub fn connect_timeout(self, limit: Duration) -> Self {
        Self { limits: self.limits.connect(limit), ..self }
    }

    /// Sets how long the head of a response may take, counted from the request.
    pub fn headers_timeout(self, limit: Duration) -> Self {
        Self { limits: self.limits.headers(limit), ..self }
    }

    /// Sets how long no bytes may arrive while a body is awaited. Comments that keep a connection alive count as bytes.
    pub fn idle_timeout(self, limit: Duration) -> Self {
        Self { limits: self.limits.idle(limit), ..self }
    }

    /// Sets how long the whole exchange may take, from the request to the end of the body.
    pub fn total_timeout(self, limit: Duration) -> Self {
        Self { limits: self.limits.total(limit), ..self }
    }

    /// Sets how many bytes a body may have.
    pub fn max_body_bytes(self, limit: u64) -> Self {
        Self { limits: self.limits.body_bytes(limit), ..self }
    }

    /// Sends everything through an HTTP proxy, `http://user:password@host:port`. The proxy sees the hosts, and all of
    /// what goes over plain http.
    pub fn proxy(self, url: impl Into<Secret>) -> Self {
        Self { client: self.client.proxy(url), ..self }
    }

    /// Uses the proxies that the environment names: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, and `NO_PROXY` for the
    /// hosts that need none. Without this, nothing is read from the environment.
    pub fn proxy_from_env(self) -> Self {
        Self { client: self.client.proxy_from_env(), ..self }
    }

    /// Trusts these root certificates in addition, in PEM. Call it again for more.
    pub fn root_certificates(self, pem: &[u8]) -> Self {
        Self { client: self.client.root_certificates(pem), ..self }
    }

    /// Builds the transport.
    ///
    /// # Errors
    ///
    /// The proxy is not a URL, the certificates are not PEM, or the machine has no TLS that can be used.
    pub fn build(self) -> Result<HttpTransport, HttpError> {
        Ok(self.client.limits(self.limits).build()?.into())
    }
}
