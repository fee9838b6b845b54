//! Where a server is.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::{fmt, io};

use haft_core::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

/// Where a server is. Cheap to clone.
#[derive(Clone)]
pub struct McpEndpoint(pub(super) EndpointKind);

#[derive(Clone)]
pub(super) enum EndpointKind {
    Streams(Arc<dyn ServerStreams>),
    #[cfg(feature = "http")]
    Http(Arc<HttpServer>),
}

impl McpEndpoint {
    /// A server behind a pair of byte streams, such as a [`ServerCommand`].
    #[must_use]
    pub fn streams(streams: impl ServerStreams + 'static) -> Self {
        Self(EndpointKind::Streams(Arc::new(streams)))
    }

    /// A server behind an address.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http(server: HttpServer) -> Self {
        Self(EndpointKind::Http(Arc::new(server)))
    }

    /// Which server it is: another program or another address is another server.
    pub(super) fn identity(&self) -> String {
        match &self.0 {
            EndpointKind::Streams(streams) => streams.identity(),
            #[cfg(feature = "http")]
            EndpointKind::Http(server) => server.url.clone(),
        }
    }
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            EndpointKind::Streams(_) => f.write_str("McpEndpoint(streams)"),
            #[cfg(feature = "http")]
            EndpointKind::Http(server) => write!(f, "McpEndpoint({})", server.url),
        }
    }
}

/// Opens the streams of a server, once for each connection. A program that starts servers in a way of its own implements
/// it.
pub trait ServerStreams: Send + Sync {
    /// Which server it is, such as a program with its arguments: approvals and accepted definitions do not hold for another
    /// one. It has no secrets, and is the same in every process.
    fn identity(&self) -> String;

    /// Starts the server and returns its streams.
    fn open(&self) -> BoxFuture<'_, io::Result<StreamPair>>;
}

/// The streams of a server.
pub struct StreamPair {
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) input: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) guard: Box<dyn Any + Send + Sync>,
}

impl StreamPair {
    /// The output and the input of a server. The server must end when the guard is dropped.
    #[must_use]
    pub fn new(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        guard: impl Any + Send + Sync,
    ) -> Self {
        Self { output: Box::new(output), input: Box::new(input), guard: Box::new(guard) }
    }
}

impl fmt::Debug for StreamPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamPair")
    }
}

/// A server that is a program. It is killed when its connection ends. Its standard error is discarded.
///
/// The program inherits no environment variables: name those that it needs with [`env`](Self::env).
#[derive(Clone, Debug)]
pub struct ServerCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
}

impl ServerCommand {
    /// The path of a program, or the name of one in `PATH` of this process.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        Self { program, args: Vec::new(), env: Vec::new(), dir: None }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }
}

impl ServerStreams for ServerCommand {
    /// The program, its arguments and directory, and the names of its variables.
    fn identity(&self) -> String {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        format!("{:?} {:?} {:?} {names:?}", self.program, self.args, self.dir)
    }

    fn open(&self) -> BoxFuture<'_, io::Result<StreamPair>> {
        Box::pin(async {
            let mut command = Command::new(&self.program);
            command.args(&self.args).env_clear();
            command.envs(self.env.iter().map(|(name, value)| (name, value)));
            if let Some(dir) = &self.dir {
                command.current_dir(dir);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.kill_on_drop(true).spawn()?;
            let (output, input) = (child.stdout.take(), child.stdin.take());
            let missing = || io::Error::other("the program has no streams");
            let output = output.ok_or_else(missing)?;
            Ok(StreamPair::new(output, input.ok_or_else(missing)?, child))
        })
    }
}

/// A server behind an address.
#[cfg(feature = "http")]
#[derive(Clone)]
pub struct HttpServer {
    pub(super) url: String,
    pub(super) token: Option<haft_http::Secret>,
    pub(super) headers: Vec<(http::HeaderName, http::HeaderValue)>,
    pub(super) client: Option<haft_http::HttpClient>,
    #[cfg(feature = "oauth")]
    pub(super) authorization: Option<Arc<std::sync::Mutex<Authorization>>>,
}

#[cfg(feature = "http")]
impl HttpServer {
    /// The address of the endpoint, such as `https://example.com/mcp`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: None,
            headers: Vec::new(),
            client: None,
            #[cfg(feature = "oauth")]
            authorization: None,
        }
    }

    /// Sends a bearer token with every request.
    #[must_use]
    pub fn bearer_token(mut self, token: impl Into<haft_http::Secret>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn header(mut self, name: http::HeaderName, value: http::HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sends requests by this client. Its limits must allow for exchanges that last.
    #[must_use]
    pub fn client(mut self, client: haft_http::HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Gets access by OAuth, with what [`OAuthClient::authorize`](super::OAuthClient::authorize) returns. The manager has
    /// the credentials and refreshes them.
    #[cfg(feature = "oauth")]
    #[must_use]
    pub fn authorization(mut self, manager: rmcp::transport::AuthorizationManager) -> Self {
        let manager = Authorization::Manager(Box::new(manager));
        self.authorization = Some(Arc::new(std::sync::Mutex::new(manager)));
        self
    }
}

#[cfg(feature = "http")]
impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The credentials of a server, shared by its connections.
#[cfg(feature = "oauth")]
pub(super) enum Authorization {
    /// No connection has been opened.
    Manager(Box<rmcp::transport::AuthorizationManager>),
    /// The client of the latest connection.
    Client(rmcp::transport::AuthClient<crate::transport::HttpTransportClient>),
    /// The manager is being moved.
    Empty,
}

#[cfg(feature = "oauth")]
impl Authorization {
    /// A client for the next connection, with the credentials of the one before.
    pub(super) fn next_client(
        &mut self,
        http: crate::transport::HttpTransportClient,
    ) -> Option<rmcp::transport::AuthClient<crate::transport::HttpTransportClient>> {
        let mut client = match std::mem::replace(self, Self::Empty) {
            Self::Manager(manager) => rmcp::transport::AuthClient::new(http.clone(), *manager),
            Self::Client(client) => client,
            Self::Empty => return None,
        };
        client.http_client = http;
        *self = Self::Client(client.clone());
        Some(client)
    }
}
