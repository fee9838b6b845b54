//! The connection to a server: opened when it is needed, and opened again when it was lost.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::spool::SpoolStore;
use rmcp::model::{PaginatedRequestParams, ProtocolVersion, ServerPeerInfo, Tool};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    RunningService, ServiceError,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::Instrument as _;

use super::error::McpClientError;
use super::handler::{ConnectionHandler, RunningCalls};
use super::options::{McpOptions, ProtocolChoice};
use super::server::{EndpointKind, McpEndpoint};
use crate::request_span::{client_span, record_failure};
use crate::transport::{SpooledParts, StreamTransport};

/// A server, and the connection to it while there is one.
pub(super) struct Connection {
    pub(super) server: Arc<str>,
    /// Which server it is.
    pub(super) identity: String,
    endpoint: EndpointKind,
    pub(super) options: McpOptions,
    spools: Arc<dyn SpoolStore>,
    live: Mutex<Option<Arc<LiveConnection>>>,
    /// Lets one caller connect while the others wait for it.
    connecting: Semaphore,
    /// Whether the definitions of the server have to be looked at again.
    pub(super) is_stale: Arc<AtomicBool>,
    /// How often connecting has failed in a row.
    failures: AtomicU32,
}

/// An open connection. Dropping it ends the server if the server is a program.
pub(super) struct LiveConnection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) parts: SpooledParts,
    pub(super) calls: RunningCalls,
    /// First, because the protocol ends before the program does.
    _service: RunningService<RoleClient, ConnectionHandler>,
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl LiveConnection {
    fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    pub(super) fn peer_info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }
}

impl Connection {
    pub(super) fn new(
        server: Arc<str>,
        at: McpEndpoint,
        options: McpOptions,
        spools: Arc<dyn SpoolStore>,
    ) -> Self {
        Self {
            server,
            identity: at.identity(),
            endpoint: at.0,
            options,
            spools,
            live: Mutex::default(),
            connecting: Semaphore::new(1),
            is_stale: Arc::default(),
            failures: AtomicU32::new(0),
        }
    }

    /// The open connection, which is opened if there is none.
    pub(super) async fn live(&self) -> Result<Arc<LiveConnection>, McpClientError> {
        if let Some(live) = self.find_open_connection() {
            return Ok(live);
        }
        // The semaphore is never closed.
        let _permit = self.connecting.acquire().await;
        if let Some(live) = self.find_open_connection() {
            return Ok(live);
        }
        let is_again = self.lock_live().take().is_some();
        let failures = self.failures.load(Ordering::Acquire);
        if failures > 0 || is_again {
            sleep_until(Instant::now() + pause_after(failures)).await;
        }
        let limit = self.options.connect_timeout;
        let connected = match timeout(limit, self.connect_with_fallback()).await {
            Ok(connected) => connected,
            Err(_) => Err(McpClientError::Timeout { server: self.server.to_string(), limit }),
        };
        match connected {
            Ok(live) => {
                self.failures.store(0, Ordering::Release);
                self.is_stale.fetch_or(is_again, Ordering::AcqRel);
                let live = Arc::new(live);
                *self.lock_live() = Some(Arc::clone(&live));
                Ok(live)
            }
            Err(error) => {
                self.failures.fetch_add(1, Ordering::AcqRel);
                Err(error)
            }
        }
    }

    fn find_open_connection(&self) -> Option<Arc<LiveConnection>> {
        self.lock_live().clone().filter(|live| live.is_open())
    }

    /// Ends the connection. The next call opens another one.
    pub(super) fn disconnect(&self) {
        let live = self.lock_live().take();
        drop(live);
    }

    fn lock_live(&self) -> MutexGuard<'_, Option<Arc<LiveConnection>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects. If nothing else was asked for, a server that does not survive or understand the newest revision gets the
    /// handshake of the earlier ones on a new connection.
    async fn connect_with_fallback(&self) -> Result<LiveConnection, McpClientError> {
        match self.connect(self.options.protocol).await {
            Err(McpClientError::Handshake { .. })
                if self.options.protocol == ProtocolChoice::Auto =>
            {
                self.connect(ProtocolChoice::Initialize).await
            }
            connected => connected,
        }
    }

    async fn connect(&self, protocol: ProtocolChoice) -> Result<LiveConnection, McpClientError> {
        let parts = SpooledParts::new(Arc::clone(&self.spools));
        let calls = RunningCalls::default();
        let handler = ConnectionHandler {
            server: Arc::clone(&self.server),
            calls: calls.clone(),
            is_stale: Arc::clone(&self.is_stale),
        };
        let lifecycle = lifecycle(protocol);
        let (served, guard) = match &self.endpoint {
            EndpointKind::Streams(streams) => {
                let pair = streams.open().await.map_err(|source| McpClientError::Start {
                    server: self.server.to_string(),
                    source,
                })?;
                let limits = self.options.limits;
                let transport =
                    StreamTransport::new(pair.output, pair.input, parts.clone(), limits);
                (handler.serve_with_lifecycle(transport, lifecycle).await, Some(pair.guard))
            }
            #[cfg(feature = "http")]
            EndpointKind::Http(server) => {
                (self.connect_http(server, handler, &parts, lifecycle).await?, None)
            }
        };
        let service = served.map_err(|error| self.handshake_error(&error))?;
        let peer = service.peer().clone();
        Ok(LiveConnection { peer, parts, calls, _service: service, _guard: guard })
    }

    #[cfg(feature = "http")]
    async fn connect_http(
        &self,
        server: &super::server::HttpServer,
        handler: ConnectionHandler,
        parts: &SpooledParts,
        lifecycle: ClientLifecycleMode,
    ) -> Result<
        Result<RunningService<RoleClient, ConnectionHandler>, ClientInitializeError>,
        McpClientError,
    > {
        use rmcp::transport::StreamableHttpClientTransport;
        use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

        let unusable =
            |reason: String| McpClientError::Handshake { server: self.server.to_string(), reason };
        let client = crate::transport::HttpTransportClient::new(parts.clone(), self.options.limits);
        let mut client = client.map_err(|error| unusable(error.to_string()))?;
        if let Some(http) = &server.client {
            client = client.with_client(http.clone());
        }
        let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
        config = config.custom_headers(server.headers.iter().cloned().collect());
        if let Some(token) = &server.token {
            config = config.auth_header(token.expose());
        }
        #[cfg(feature = "oauth")]
        if let Some(authorization) = &server.authorization {
            let client = authorization
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next_client(client)
                .ok_or_else(|| unusable("its credentials are lost".to_owned()))?;
            let transport = StreamableHttpClientTransport::with_client(client, config);
            return Ok(handler.serve_with_lifecycle(transport, lifecycle).await);
        }
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Ok(handler.serve_with_lifecycle(transport, lifecycle).await)
    }

    fn handshake_error(&self, error: &ClientInitializeError) -> McpClientError {
        let server = self.server.to_string();
        #[cfg(feature = "http")]
        if let Some(challenge) = error.auth_challenge() {
            return McpClientError::Unauthorized { server, challenge: challenge.to_owned() };
        }
        McpClientError::Handshake { server, reason: handshake_reason(error) }
    }

    /// Lists the tools of the server, in the order of the server.
    pub(super) async fn list_tools(
        &self,
        live: &LiveConnection,
    ) -> Result<Vec<Tool>, McpClientError> {
        let limit = self.options.connect_timeout;
        match timeout(limit, self.list_pages(live)).await {
            Ok(listed) => listed,
            Err(_) => Err(McpClientError::Timeout { server: self.server.to_string(), limit }),
        }
    }

    async fn list_pages(&self, live: &LiveConnection) -> Result<Vec<Tool>, McpClientError> {
        if live.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        live.peer.clear_response_cache().await;
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..=self.options.max_tools {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let span = client_span("tools/list", None, &self.server);
            let page = live.peer.list_tools(Some(params)).instrument(span.clone()).await;
            let page = page.map_err(|error| {
                record_failure(&span, "_OTHER");
                self.service_error(&error)
            })?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if tools.len() > self.options.max_tools || cursor.is_none() {
                break;
            }
        }
        // A server whose pages never end offers too much as well.
        if tools.len() > self.options.max_tools || cursor.is_some() {
            let (server, limit) = (self.server.to_string(), self.options.max_tools);
            return Err(McpClientError::TooManyTools { server, limit });
        }
        Ok(tools)
    }

    fn service_error(&self, error: &ServiceError) -> McpClientError {
        let server = self.server.to_string();
        match challenge_of(error) {
            Some(challenge) => McpClientError::Unauthorized { server, challenge },
            None => McpClientError::Handshake { server, reason: service_reason(error) },
        }
    }
}

/// What a server says about how to authorize, if that is why a message could not be sent.
#[cfg(feature = "http")]
pub(super) fn challenge_of(error: &ServiceError) -> Option<String> {
    use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

    let ServiceError::TransportSend(error) = error else { return None };
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = source {
        if let Some(required) = current.downcast_ref::<AuthRequiredError>() {
            return Some(required.www_authenticate_header.clone());
        }
        if let Some(scope) = current.downcast_ref::<InsufficientScopeError>() {
            return Some(scope.www_authenticate_header.clone());
        }
        source = current.source();
    }
    None
}

#[cfg(not(feature = "http"))]
pub(super) const fn challenge_of(_: &ServiceError) -> Option<String> {
    None
}

/// Why a handshake failed, without names of types and without what the server sent.
fn handshake_reason(error: &ClientInitializeError) -> String {
    let reason = match error {
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its response to the handshake cannot be read".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => error_text(&*error.error),
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_reason(fallback),
        other => error_text(other),
    };
    cut_reason(&reason)
}

/// Why a request failed, without names of types.
fn service_reason(error: &ServiceError) -> String {
    let reason = match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => error_text(&*error.error),
        ServiceError::UnexpectedResponse => "its list of tools cannot be read".to_owned(),
        other => error_text(other),
    };
    cut_reason(&reason)
}

/// The beginning of what a server says.
fn cut_reason(reason: &str) -> String {
    let mut chars = reason.chars();
    let start: String = chars.by_ref().take(MAX_REASON).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

/// An error and its causes on one line.
pub(super) fn error_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn lifecycle(protocol: ProtocolChoice) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match protocol {
        ProtocolChoice::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        ProtocolChoice::Initialize => ClientLifecycleMode::Initialize,
        ProtocolChoice::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// How long to wait before the next attempt to connect.
fn pause_after(failures: u32) -> Duration {
    MIN_PAUSE.saturating_mul(2_u32.saturating_pow(failures.min(10))).min(MAX_PAUSE)
}

const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// The maximum number of characters of why a server cannot be used.
const MAX_REASON: usize = 500;
