//! The tools of an agent for other clients.
//!
//! [`McpServer`] offers tools over the Model Context Protocol, in the revisions 2025-06-18, 2025-11-25 and 2026-07-28 at
//! once. A call is the only call of a turn: its arguments are validated, its approval is asked for, its deadline holds,
//! and its record has a content key, as if a model of Haft had made it.
//!
//! - A large result stays with the server. The client gets its beginning, a handle, and the names of the tools that
//!   query it. These tools are part of the list from the beginning, so that the list never changes.
//! - A handle has 128 random bits and a lifetime, which the server states. It is found again after a restart if the
//!   store of the agent is.
//! - A question of a tool (an approval, or [`DispatchContext::ask`](haft_core::DispatchContext::ask)) reaches
//!   the user of the client: as an elicitation where the client has a connection, and since 2026-07-28 as an
//!   `input_required` result whose sealed state names the turn that waits.
//! - `ctx.log(…)` of a handler becomes a log message, and with the topic `progress` and a payload
//!   `{"progress": 1, "total": 4}` a progress notification.
//!
//! ```
//! use haft::Tool;
//! use haft_mcp::McpServer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
//! let server = McpServer::builder("clock").tool(now).build()?;
//! // `server.serve_stdio().await?` serves a client that started this process.
//! # drop(server);
//! # Ok(())
//! # }
//! ```

mod artifacts;
mod builder;
mod definitions;
mod events;
mod executor;
mod gates;
mod handler;
#[cfg(feature = "server-http")]
mod http;
mod pending;
mod request_state;
mod results;
mod tool_call;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use haft::Agent;
use haft::events::EventHub;
use haft_core::registry::ToolRegistry;
use rmcp::ServiceExt as _;
use rmcp::model::{InitializeResult, Tool as ToolDefinition};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

pub use self::builder::{InvalidServer, McpServerBuilder};
#[cfg(feature = "proxy")]
pub(crate) use self::definitions::{DefinitionOptions, define_query, describe_lifetime};
#[cfg(feature = "server-http")]
pub use self::http::{HttpOptions, McpHttpService};

use self::artifacts::StoredResults;
use self::pending::PendingCalls;
use self::request_state::RequestStates;
use crate::answer_limits::AnswerLimits;
use crate::query_tools::QueryTools;

/// Offers tools to clients of the Model Context Protocol. Cheap to clone.
///
/// It is a [`ServerHandler`](rmcp::ServerHandler) of `rmcp`, so that another handler can delegate to it and add prompts
/// or resources.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<ServerShared>,
    /// The lowest level of log messages that the session wants, as the client set it.
    log_level: Arc<AtomicU8>,
    /// Whether the client of the session may list the results of all calls.
    lists_artifacts: bool,
}

/// What all sessions of a server share.
struct ServerShared {
    info: InitializeResult,
    agent: Agent,
    hub: EventHub,
    tools: ToolRegistry,
    queries: QueryTools,
    /// What clients see: the tools, then the query tools.
    definitions: Vec<ToolDefinition>,
    results: StoredResults,
    pending: Arc<PendingCalls>,
    states: RequestStates,
    limits: AnswerLimits,
    resource_links: bool,
    slots: Semaphore,
}

/// A connection to a client failed.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the client failed: {reason}")]
#[non_exhaustive]
pub struct ConnectionError {
    /// What went wrong.
    pub reason: String,
}

impl McpServer {
    /// Starts a server with the name that clients see.
    pub fn builder(name: impl Into<String>) -> McpServerBuilder {
        McpServerBuilder::new(name.into())
    }

    /// The same server for a new client, which sets its own log level.
    #[must_use]
    pub fn new_session(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            log_level: Arc::new(AtomicU8::new(events::DEFAULT_LOG_LEVEL)),
            lists_artifacts: self.lists_artifacts,
        }
    }

    /// Refuses to list results, for clients that must not see those of others. They can query a result whose handle they
    /// know.
    #[must_use]
    pub fn without_artifact_list(mut self) -> Self {
        self.lists_artifacts = false;
        self
    }

    /// Serves the client that started this process, over standard input and output, until it closes its end.
    ///
    /// # Errors
    ///
    /// The connection failed.
    pub async fn serve_stdio(&self) -> Result<(), ConnectionError> {
        let (input, output) = rmcp::transport::stdio();
        self.serve_stream(input, output).await
    }

    /// Serves one client over two streams, a message per line, until the client closes its end.
    ///
    /// # Errors
    ///
    /// The connection failed.
    pub async fn serve_stream<R, W>(&self, input: R, output: W) -> Result<(), ConnectionError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let failed = |reason: String| ConnectionError { reason };
        let session = self.new_session();
        let service = Box::pin(session.serve((input, output)))
            .await
            .map_err(|error| failed(error.to_string()))?;
        service.waiting().await.map(|_| ()).map_err(|error| failed(error.to_string()))
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.shared.info.server_info.name)
            .field("tools", &self.shared.definitions.len())
            .finish_non_exhaustive()
    }
}
