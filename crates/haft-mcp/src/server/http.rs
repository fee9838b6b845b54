//! The server over streamable HTTP.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_http::address::{AddressPolicy, AddressRefusal, InvalidAddress};
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};

use super::McpServer;

/// The header of a session, which revisions before 2026-07-28 have.
const SESSION_HEADER: &str = "mcp-session-id";

/// Who may use a server over HTTP.
///
/// By default only programs on this machine: the `Host` of a request must be a loop-back name, and the `Origin`, which
/// requests of web pages have, must be the server itself.
#[derive(Clone)]
#[must_use = "options do nothing until they are passed to `http_service`"]
pub struct HttpOptions {
    token: Option<[u8; 32]>,
    policy: AddressPolicy,
    max_sessions: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        let policy = AddressPolicy::loopback(None);
        Self { token: None, policy, max_sessions: DEFAULT_SESSIONS }
    }
}

impl HttpOptions {
    /// Programs on this machine, without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires `Authorization: Bearer …` with this token.
    pub fn bearer_token(mut self, token: &str) -> Self {
        self.token = Some(Sha256::digest(token.trim()).into());
        self
    }

    /// Also accepts requests to this host: at every port, unless it is written with one.
    ///
    /// # Errors
    ///
    /// It is no host.
    pub fn allow_host(mut self, host: &str) -> Result<Self, InvalidAddress> {
        self.policy = self.policy.allow_host(host.parse()?);
        Ok(self)
    }

    /// Accepts requests of web pages of this origin, such as `https://app.example.com`.
    ///
    /// # Errors
    ///
    /// It is no origin.
    pub fn allow_origin(mut self, origin: &str) -> Result<Self, InvalidAddress> {
        self.policy = self.policy.allow_origin(origin.parse()?);
        Ok(self)
    }

    /// How many sessions of clients before 2026-07-28 may be open; the default is 256.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("has_token", &self.token.is_some())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A tower service that serves clients over streamable HTTP. Mount it at one path of an application:
///
/// ```
/// use haft_mcp::McpServer;
/// use haft_mcp::server::HttpOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = McpServer::builder("shop").build()?;
/// let service = server.http_service(&HttpOptions::new().bearer_token("a long random text"));
/// // axum::Router::new().route_service("/mcp", service)
/// # drop(service);
/// # Ok(())
/// # }
/// ```
pub struct McpHttpService<H: rmcp::ServerHandler = McpServer> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    options: HttpOptions,
}

impl<H: rmcp::ServerHandler> Clone for McpHttpService<H> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            sessions: Arc::clone(&self.sessions),
            options: self.options.clone(),
        }
    }
}

impl McpServer {
    /// The server as a service for HTTP. Without a token, clients cannot list results, because any program on the
    /// machine could.
    #[must_use]
    pub fn http_service(&self, options: &HttpOptions) -> McpHttpService {
        let server = match options.token {
            Some(_) => self.clone(),
            None => self.clone().without_artifact_list(),
        };
        McpHttpService::new(move || server.new_session(), options)
    }
}

impl<H: rmcp::ServerHandler> McpHttpService<H> {
    /// Serves handlers of your own, such as one that delegates to an [`McpServer`] and adds prompts. A handler is made
    /// for every session, and for every request without a session.
    pub fn new(handler: impl Fn() -> H + Send + Sync + 'static, options: &HttpOptions) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        // Hosts and origins are checked here, by the rules that every server of Haft has.
        let config = StreamableHttpServerConfig::default();
        let config = config.disable_allowed_hosts().disable_allowed_origins();
        let service =
            StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
        Self { service, sessions, options: options.clone() }
    }

    /// Whether a request may be served.
    async fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if let Some(token) = &self.options.token
            && !has_token(headers, token)
        {
            return Err(Refusal::Unauthorized);
        }
        if headers.contains_key(SESSION_HEADER) {
            return Ok(());
        }
        let open = self.sessions.sessions.read().await.len();
        if open < self.options.max_sessions { Ok(()) } else { Err(Refusal::TooManySessions) }
    }
}

/// Why a request is refused before it is read.
enum Refusal {
    Address(AddressRefusal),
    Unauthorized,
    TooManySessions,
}

impl Refusal {
    fn into_response(self) -> Response<BoxBody<Bytes, Infallible>> {
        let (status, text) = match self {
            Self::Address(refusal) => {
                let status = match refusal {
                    AddressRefusal::Host | AddressRefusal::Origin => StatusCode::FORBIDDEN,
                    _ => StatusCode::BAD_REQUEST,
                };
                (status, refusal.to_string())
            }
            Self::Unauthorized => {
                (StatusCode::UNAUTHORIZED, "a bearer token is required".to_owned())
            }
            Self::TooManySessions => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open".to_owned())
            }
        };
        let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
        *response.status_mut() = status;
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Whether a request has the token. Digests are compared, so that the time tells nothing about the token.
fn has_token(headers: &HeaderMap, token: &[u8; 32]) -> bool {
    let given = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let given = given.and_then(|it| it.split_once(' '));
    let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    given.is_some_and(|(_, given)| {
        let digest: [u8; 32] = Sha256::digest(given.trim()).into();
        digest == *token
    })
}

impl<B, H> tower_service::Service<Request<B>> for McpHttpService<H>
where
    B: Body + Send + 'static,
    B::Error: fmt::Display,
    B::Data: Send + 'static,
    H: rmcp::ServerHandler,
{
    type Response = Response<BoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        let address = this.options.policy.check(&request).map_err(Refusal::Address);
        Box::pin(async move {
            let checked = match address {
                Ok(()) => this.check(request.headers()).await,
                Err(refusal) => Err(refusal),
            };
            Ok(match checked {
                Ok(()) => this.service.handle(request).await,
                Err(refusal) => refusal.into_response(),
            })
        })
    }
}

impl<H: rmcp::ServerHandler> fmt::Debug for McpHttpService<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttpService").field("options", &self.options).finish_non_exhaustive()
    }
}

/// How many sessions may be open.
const DEFAULT_SESSIONS: usize = 256;
