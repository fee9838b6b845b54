//! Building a server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use haft::events::EventHub;
use haft::turn::{Agent, AgentBuilder, GatePolicy, InvalidAgent};
use haft_core::Tool;
use haft_core::artifact::ArtifactKind;
use haft_core::clock::{Clock, SystemClock};
use haft_core::forge::Formats;
use haft_core::registry::{ToolRegistry, ToolRegistryError};
use haft_core::tool::{IntoTool, InvalidTool, ToolRole};
use rmcp::model::{Implementation, InitializeResult, ServerCapabilities};
use tokio::sync::Semaphore;

use super::artifacts::StoredResults;
use super::definitions::{self, DefinitionOptions};
use super::events::DEFAULT_LOG_LEVEL;
use super::executor::RequestedCallExecutor;
use super::gates::ClientApprover;
use super::pending::PendingCalls;
use super::request_state::RequestStates;
use super::{McpServer, ServerShared};
use crate::answer_limits::AnswerLimits;
use crate::query_tools::QueryTools;

/// A server in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct McpServerBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    tools: Vec<Result<Tool, InvalidTool>>,
    formats: Option<Formats>,
    agent: Box<dyn FnOnce(AgentBuilder) -> AgentBuilder + Send>,
    secret: Option<[u8; 32]>,
    limits: AnswerLimits,
    lifetime: Duration,
    resource_links: bool,
    concurrent_calls: usize,
    clock: Arc<dyn Clock>,
}

/// A server that cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServer {
    /// Two tools have one name.
    #[error(transparent)]
    Registry(#[from] ToolRegistryError),
    /// A query tool cannot be built.
    #[error(transparent)]
    Tool(#[from] InvalidTool),
    /// The agent was refused.
    #[error(transparent)]
    Runner(#[from] InvalidAgent),
    /// A tool has the name of a query tool, so that a call would be ambiguous.
    #[error("`{name}` is the name of a query tool; give the tool another name")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// The operating system has no random bytes.
    #[error("there are no random bytes for the key of request states: {reason}")]
    NoRandomness {
        /// Why not.
        reason: String,
    },
}

impl McpServerBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            tools: Vec::new(),
            formats: None,
            agent: Box::new(|agent| agent),
            secret: None,
            limits: AnswerLimits::GENERIC,
            lifetime: DEFAULT_LIFETIME,
            resource_links: false,
            concurrent_calls: DEFAULT_CONCURRENT_CALLS,
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The version that clients see; the default is that of this crate.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// How the tools are to be used, for the model of the client.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool. Clients see tools in the order in which they were added.
    pub fn tool(self, tool: impl IntoTool) -> Self {
        self.tools([tool])
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl IntoTool>) -> Self {
        self.tools.extend(tools.into_iter().map(IntoTool::into_tool));
        self
    }

    /// The formats of large results; the default are the standard ones.
    pub fn formats(mut self, formats: Formats) -> Self {
        self.formats = Some(formats);
        self
    }

    /// Configures the agent of the calls: its store, spools, limits, deadlines and observers. Its tools, its approver
    /// and its policy for gates belong to the server.
    ///
    /// ```
    /// use haft::turn::Limits;
    /// use haft_mcp::McpServer;
    ///
    /// let limits = Limits::new();
    /// let server = McpServer::builder("shop").agent(move |agent| agent.limits(limits)).build()?;
    /// # drop(server);
    /// # Ok::<(), haft_mcp::server::InvalidServer>(())
    /// ```
    pub fn agent(
        mut self,
        configure: impl FnOnce(AgentBuilder) -> AgentBuilder + Send + 'static,
    ) -> Self {
        self.agent = Box::new(configure);
        self
    }

    /// The key that seals the state of calls that wait for input. Processes with the same store and the same key can
    /// continue each other's calls; by default the key is random.
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sets the maximum size of one answer.
    pub fn answer_limits(mut self, limits: AnswerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How long results and calls that wait for input are stored; the default is 24 hours.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Adds a resource link to the answer that has a handle. The default is false, because several clients reject
    /// results with links.
    pub fn resource_links(mut self, links: bool) -> Self {
        self.resource_links = links;
        self
    }

    /// How many calls may run at once; the default is 32. Others wait.
    pub fn concurrent_calls(mut self, calls: usize) -> Self {
        self.concurrent_calls = calls.max(1);
        self
    }

    /// The clock; the default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Finishes the server.
    ///
    /// # Errors
    ///
    /// The definition of a tool has faults, two tools have one name, a tool has the name of a query tool, or the agent was refused.
    pub fn build(self) -> Result<McpServer, InvalidServer> {
        let tools = ToolRegistry::new(self.tools.into_iter().collect::<Result<Vec<_>, _>>()?)?;
        let formats = self.formats.unwrap_or_else(haft::artifacts::standard_formats);
        let queries = QueryTools::new(&formats, &result_kinds(&tools), self.limits)?;
        if let Some(taken) = queries.tools().iter().find(|query| tools.has(query.name().as_str())) {
            return Err(InvalidServer::ReservedName { name: taken.name().to_string() });
        }
        let options = DefinitionOptions { lifetime: self.lifetime };
        let definitions = definitions::list(&tools.all(), queries.tools(), &options);
        let pending = Arc::new(PendingCalls::new());
        let hub = EventHub::new();
        let agent = Agent::builder(RequestedCallExecutor)
            .tools(tools.all())
            .formats(formats)
            .inline_below(self.limits.bytes / 2)
            .clock(Arc::clone(&self.clock));
        let agent = (self.agent)(agent)
            .observer(hub.clone())
            .gate_policy(GatePolicy::Suspend)
            .approver(ClientApprover::new(Arc::clone(&pending)))
            .build()?;
        let info = Implementation::new(self.name, self.version);
        let mut info = InitializeResult::new(capabilities()).with_server_info(info);
        info.instructions = self.instructions;
        let shared = ServerShared {
            info,
            results: StoredResults::new(agent.clone(), self.clock, self.lifetime),
            agent,
            hub,
            tools,
            queries,
            definitions,
            pending,
            states: RequestStates::new(self.secret, self.lifetime)?,
            limits: self.limits,
            resource_links: self.resource_links,
            slots: Semaphore::new(self.concurrent_calls),
        };
        Ok(McpServer {
            shared: Arc::new(shared),
            log_level: Arc::new(AtomicU8::new(DEFAULT_LOG_LEVEL)),
            lists_artifacts: true,
        })
    }
}

/// The kinds of results that the tools can have. Every tool can return more text than fits an answer.
fn result_kinds(tools: &ToolRegistry) -> Vec<ArtifactKind> {
    let mut kinds = vec![ArtifactKind::TEXT];
    for tool in tools.all() {
        let own = match tool.role() {
            ToolRole::Standard(kind) => Some(kind.clone()),
            _ => None,
        };
        kinds.extend(own.into_iter().chain(tool.declared_kinds().iter().cloned()));
    }
    kinds
}

#[expect(deprecated, reason = "clients of the revisions before 2026-07-28 still use logging")]
fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder().enable_tools().enable_resources().enable_logging().build()
}

impl fmt::Debug for McpServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerBuilder")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// How long results and waiting calls are stored.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How many calls may run at once.
const DEFAULT_CONCURRENT_CALLS: usize = 32;
