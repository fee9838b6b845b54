//! The tools of one server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::artifact::ArtifactKind;
use haft_core::event::LogLevel;
use haft_core::spool::SpoolStore;
use haft_core::tool::{Digest, ToolEffect, ToolFailure, ToolOutput};
use haft_core::trust::ForeignText;
use haft_core::{Args, CallContext, Tool};
use serde_json::Value;

use super::call::RemoteTool;
use super::connection::Connection;
use super::definition::definition_digest;
use super::error::McpClientError;
use super::inspection::{DescriptionFinding, find_active_token, inspect_description};
use super::options::{ApprovalRule, McpOptions, PrefixPolicy};
use super::server::McpEndpoint;

/// The tools of one server. Cheap to clone: a handle.
///
/// The connection lasts until the last handle and the last tool are dropped.
#[derive(Clone)]
pub struct McpTools(Arc<Shared>);

struct Shared {
    connection: Connection,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The tools that the server offers, in the order in which it first did.
    offered: Vec<OfferedTool>,
    problems: Vec<ToolProblem>,
    /// The names under which tools were given out, by the names of the server.
    given: BTreeMap<String, String>,
}

/// A tool as a server offers it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OfferedTool {
    /// The name that the server gives it.
    pub name: String,
    /// The description, as the server wrote it.
    pub description: String,
    /// The hash of the definition.
    pub digest: Digest,
    /// What is suspicious about the description.
    pub findings: Vec<DescriptionFinding>,
    definition: Arc<rmcp::model::Tool>,
    /// Why it cannot be called: its definition is not one that was accepted.
    standing: Standing,
}

/// What the accepted definitions of a server say about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Accepted,
    /// Another definition of the tool was accepted, or that of another server.
    Changed,
    /// The tools of the server were accepted without it.
    New,
}

impl Standing {
    /// Nothing is accepted yet if no tool of the server is.
    fn of(pins: &BTreeMap<String, Digest>, name: &str, digest: Digest) -> Self {
        match pins.get(name) {
            Some(pin) if *pin == digest => Self::Accepted,
            Some(_) => Self::Changed,
            None if pins.is_empty() => Self::Accepted,
            None => Self::New,
        }
    }

    /// Why a tool is left out.
    const fn problem(self) -> Option<&'static str> {
        match self {
            Self::Accepted => None,
            Self::Changed => {
                Some("its definition, or its server, has changed since it was accepted")
            }
            Self::New => Some("it is new since the tools of its server were accepted"),
        }
    }
}

impl OfferedTool {
    fn new(server: &str, tool: rmcp::model::Tool) -> Self {
        let description = tool.description.as_deref().unwrap_or_default().to_owned();
        Self {
            name: tool.name.to_string(),
            digest: definition_digest(server, &tool),
            findings: inspect_description(&description),
            description,
            definition: Arc::new(tool),
            standing: Standing::Accepted,
        }
    }

    /// The JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        Value::Object(self.definition.input_schema.as_ref().clone())
    }

    /// Whether the definition is one that was accepted. Another one cannot be called.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.standing == Standing::Accepted
    }
}

/// A tool of a server that is not offered, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolProblem {
    /// The name that the server gives it.
    pub tool: String,
    /// Why it is not offered.
    pub reason: String,
}

impl McpTools {
    /// Connects to a server and lists its tools.
    ///
    /// # Errors
    ///
    /// The server cannot be started, does not implement the protocol, or does not respond in time.
    pub async fn connect(
        name: &str,
        server: McpEndpoint,
        spools: Arc<dyn SpoolStore>,
    ) -> Result<Self, McpClientError> {
        Self::connect_with(name, server, spools, McpOptions::default()).await
    }

    /// Connects to a server with custom options.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        name: &str,
        server: McpEndpoint,
        spools: Arc<dyn SpoolStore>,
        options: McpOptions,
    ) -> Result<Self, McpClientError> {
        let connection = Connection::new(name.into(), server, options, spools);
        let tools = Self(Arc::new(Shared { connection, state: Mutex::default() }));
        tools.refresh().await?;
        Ok(tools)
    }

    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.connection.server
    }

    /// The tools that the server offers, in its order. Tools that were added later are at the end.
    #[must_use]
    pub fn offered(&self) -> Vec<OfferedTool> {
        self.state().offered.clone()
    }

    /// The tools that are not offered, and why. It is complete after a call of [`tools`](Self::tools).
    #[must_use]
    pub fn problems(&self) -> Vec<ToolProblem> {
        self.state().problems.clone()
    }

    /// The hashes of all definitions, to be stored and passed as [`McpOptions::pins`] the next time.
    #[must_use]
    pub fn pins(&self) -> BTreeMap<String, Digest> {
        self.state().offered.iter().map(|tool| (tool.name.clone(), tool.digest)).collect()
    }

    /// The name, the version and the protocol of the server, as it states them, or `None` while it is not connected.
    pub async fn server_description(&self) -> Option<String> {
        let live = self.0.connection.live().await.ok()?;
        let info = live.peer_info()?;
        let protocol = info.protocol_version.as_str();
        Some(match &info.server_info {
            Some(server) => format!("{} {}, protocol {protocol}", server.name, server.version),
            None => format!("protocol {protocol}"),
        })
    }

    /// The tools, with names that are not taken. A name that is taken gets the name of the server in front, unless
    /// [`McpOptions::prefix`] says otherwise.
    #[must_use]
    pub fn tools(&self, is_taken: impl Fn(&str) -> bool) -> Vec<Tool> {
        let offered = self.state().offered.clone();
        self.build_tools(&offered, is_taken)
    }

    /// Lists the tools of the server again, and returns how many are new. A tool whose definition has changed cannot be
    /// called any more. New tools stand behind the others; the order of those does not change.
    ///
    /// # Errors
    ///
    /// The server does not respond.
    pub async fn refresh(&self) -> Result<usize, McpClientError> {
        let connection = &self.0.connection;
        let live = connection.live().await?;
        connection.is_stale.store(false, Ordering::Release);
        let listed = connection.list_tools(&live).await?;
        let mut state = self.state();
        let mut seen = BTreeSet::new();
        let mut added = 0;
        for tool in listed {
            let mut tool = OfferedTool::new(&connection.identity, tool);
            if !connection.options.selects(&tool.name) {
                continue;
            }
            if !seen.insert(tool.name.clone()) {
                state.add_problem(&tool.name, "the server offers another tool of this name");
                continue;
            }
            match state.offered.iter_mut().find(|it| it.name == tool.name) {
                Some(known) if known.digest == tool.digest => {}
                Some(known) => known.standing = Standing::Changed,
                None => {
                    let pins = &connection.options.pins;
                    tool.standing = Standing::of(pins, &tool.name, tool.digest);
                    state.offered.push(tool);
                    added += 1;
                }
            }
        }
        Ok(added)
    }

    fn build_tools(&self, offered: &[OfferedTool], is_taken: impl Fn(&str) -> bool) -> Vec<Tool> {
        let mut built: Vec<Tool> = Vec::with_capacity(offered.len());
        for tool in offered {
            if let Some(reason) = tool.standing.problem() {
                self.state().add_problem(&tool.name, reason);
                continue;
            }
            let is_used =
                |name: &str| is_taken(name) || built.iter().any(|it| it.name().as_str() == name);
            match self.name_of(tool, is_used).and_then(|name| self.build_tool(&name, tool)) {
                Ok(it) => {
                    self.state().given.insert(tool.name.clone(), it.name().to_string());
                    built.push(it);
                }
                Err(reason) => self.state().add_problem(&tool.name, &reason),
            }
        }
        built
    }

    /// The name of a tool for the model.
    fn name_of(
        &self,
        tool: &OfferedTool,
        is_used: impl Fn(&str) -> bool,
    ) -> Result<String, String> {
        let prefixed = || format!("{}_{}", self.name(), tool.name);
        let name = match self.0.connection.options.prefix {
            PrefixPolicy::Always => prefixed(),
            PrefixPolicy::OnCollision if is_used(&tool.name) => prefixed(),
            PrefixPolicy::OnCollision | PrefixPolicy::Never => tool.name.clone(),
        };
        if is_used(&name) { Err(format!("the name `{name}` is taken")) } else { Ok(name) }
    }

    fn build_tool(&self, name: &str, tool: &OfferedTool) -> Result<Tool, String> {
        if let Some(place) = find_active_token(&tool.name, &tool.input_schema()) {
            return Err(format!("{place} has a tag or a control token that models act on"));
        }
        let options = &self.0.connection.options;
        let rules = options.rules_of(&tool.name);
        let effect = rules.effect.unwrap_or(ToolEffect::Once);
        let text = match tool.description.trim().is_empty() {
            true => "The server gives no description.",
            false => &tool.description,
        };
        let (tools, remote) =
            (self.clone(), RemoteTool { name: tool.name.as_str().into(), effect });
        let mut builder = Tool::builder(name)
            .foreign_description(ForeignText::new(text, options.tier))
            .json_schema(object_schema(tool.input_schema()))
            .artifact_kinds([ArtifactKind::TEXT, ArtifactKind::JSON])
            .effect(effect)
            .timeout(options.max_call_time)
            .definition_part("mcp_server", self.name())
            .definition_part("mcp_definition", tool.digest.to_string())
            .handler(move |args: Args, ctx: CallContext| {
                let (tools, remote) = (tools.clone(), remote.clone());
                async move { tools.call(&remote, &args, &ctx).await }
            });
        let is_destructive =
            tool.definition.annotations.as_ref().is_some_and(|it| {
                it.destructive_hint == Some(true) && it.read_only_hint != Some(true)
            });
        match rules.approval {
            Some(ApprovalRule::Required(question)) => builder = builder.requires_approval(question),
            None if is_destructive => {
                let question = format!(
                    "The MCP server `{}` calls `{}` destructive. Run it?",
                    self.name(),
                    tool.name
                );
                builder = builder.requires_approval(question);
            }
            Some(ApprovalRule::NotRequired) | None => {}
        }
        builder.build().map_err(|error| error.to_string())
    }

    async fn call(
        &self,
        remote: &RemoteTool,
        args: &Args,
        ctx: &CallContext,
    ) -> Result<ToolOutput, ToolFailure> {
        // A connection that was lost is opened again here, and then the definitions are looked at.
        self.0.connection.live().await.map_err(McpClientError::into_failure)?;
        self.update(ctx).await?;
        let state = self.state().offered.iter().find(|it| *it.name == *remote.name).cloned();
        if state.is_none_or(|tool| !tool.is_accepted()) {
            return Err(ToolFailure::new(format!(
                "the MCP server `{}` has changed the definition of `{}`; the operator has to accept it first",
                self.name(),
                remote.name
            )));
        }
        self.0.connection.call_tool(remote, args, ctx).await
    }

    /// Looks at the definitions again if the server says that they have changed, and registers new tools for the turn.
    async fn update(&self, ctx: &CallContext) -> Result<(), ToolFailure> {
        if !self.0.connection.is_stale.load(Ordering::Acquire) {
            return Ok(());
        }
        let added = self.refresh().await.map_err(McpClientError::into_failure)?;
        if added == 0 {
            return Ok(());
        }
        let fresh = {
            let state = self.state();
            let is_new = |tool: &&OfferedTool| !state.given.contains_key(&tool.name);
            state.offered.iter().filter(is_new).cloned().collect::<Vec<_>>()
        };
        let registry = ctx.tools();
        for tool in self.build_tools(&fresh, |name| registry.has(name)) {
            let name = tool.name().to_string();
            if let Err(error) = registry.register(tool) {
                ctx.log(LogLevel::Warn, "mcp.tools", &format!("`{name}`: {error}"), None);
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add_problem(&mut self, tool: &str, reason: &str) {
        let problem = ToolProblem { tool: tool.to_owned(), reason: reason.to_owned() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTools").field("server", &self.name()).finish_non_exhaustive()
    }
}

/// A schema with an object at its root, which some servers take for granted.
fn object_schema(schema: Value) -> Value {
    match schema {
        Value::Object(mut members) if !members.contains_key("type") => {
            members.insert("type".to_owned(), "object".into());
            Value::Object(members)
        }
        other => other,
    }
}
