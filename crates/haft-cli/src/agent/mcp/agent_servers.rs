//! The MCP servers of an agent: connects to them and adds their tools.

use std::sync::Arc;

use anyhow::Result;
use haft::stores::DirSpoolStore;
use haft_mcp::client::{McpTools, OAuthClient, ToolProblem};
use tempfile::TempDir;

use super::super::AgentDir;
use super::super::source::AgentFileError;
use super::{McpServerTable, PinFile, add_tools};
use crate::temp_dir::new_temp_dir;
use crate::user_error::UserError;

/// The MCP servers to which an agent is connected.
#[derive(Default)]
pub(in crate::agent) struct ConnectedServers {
    all: Vec<McpTools>,
    /// Where the servers' large results arrive.
    _spool_dir: Option<TempDir>,
}

impl AgentDir {
    /// The MCP servers that are connected.
    pub(crate) fn servers(&self) -> &[McpTools] {
        &self.servers.all
    }

    /// The client for the login of the user at an MCP server, and the port that the browser is sent to. Asks the server
    /// for access first, because it may say only in its refusal how a login works.
    pub(crate) async fn login_client(&self, server: &str) -> Result<(OAuthClient, u16)> {
        let table = self.server_table(server)?;
        let client = table.login_client(server, &self.dir);
        let (client, port) = client.map_err(|error| self.locate_in_server(error, server))?;
        // Where large results of servers arrive.
        let spool_dir = new_temp_dir()?;
        let spools = Arc::new(DirSpoolStore::open(spool_dir.path())?.without_sync());
        Ok(match table.find_challenge(server, &self.dir, spools).await {
            Some(challenge) => (client.challenge(challenge), port),
            None => (client, port),
        })
    }

    /// Removes the tokens of a login at an MCP server, and returns whether there were any.
    pub(crate) fn remove_tokens(&self, server: &str) -> Result<bool> {
        let removed = self.server_table(server)?.remove_tokens(server, &self.dir);
        Ok(removed.map_err(|error| self.locate_in_server(error, server))?)
    }

    fn server_table(&self, server: &str) -> Result<&McpServerTable> {
        self.file.tools.servers().get(server).ok_or_else(|| {
            let names: Vec<_> = self.file.tools.servers().keys().map(String::as_str).collect();
            let error = UserError::new(format!("the agent has no MCP server `{server}`"));
            match names.is_empty() {
                true => error.hint("a table `[tools.mcp.NAME]` of the agent file adds one").into(),
                false => error.hint(format!("it has: {}", names.join(", "))).into(),
            }
        })
    }

    fn locate_in_server(&self, error: AgentFileError, server: &str) -> UserError {
        self.source.locate(error.in_table(["tools", "mcp", server]))
    }

    /// The definitions of tools that the user has accepted.
    pub(crate) fn read_pins(&self) -> Result<PinFile> {
        PinFile::read(&self.dir)
    }

    /// Connects to the MCP servers and adds their tools. Definitions that were not seen before are pinned. Returns what the
    /// user should know.
    pub(in crate::agent) async fn connect_servers(&mut self) -> Result<Vec<String>> {
        if !self.has_servers() || !self.servers.all.is_empty() {
            return Ok(Vec::new());
        }
        let mut pins = self.read_pins()?;
        let spool_dir = new_temp_dir()?;
        // The results of a call are copied to the store of its turn.
        let spools = Arc::new(DirSpoolStore::open(spool_dir.path())?.without_sync());
        let (mut warnings, mut new_pins) = (Vec::new(), 0);
        let (mut tools, built) = (self.tools.clone(), self.tools.len());
        let mut servers = Vec::new();
        for (name, table) in self.file.tools.servers() {
            let connected = match table.find_problem(&self.dir) {
                // The operating system does not say which file it did not find.
                Some(problem) => Err(problem),
                None => table.connect(name, &self.sandbox, Arc::clone(&spools), &pins).await,
            };
            let connected = connected.map_err(|error| self.locate_in_server(error, name));
            let server = match connected {
                Ok(server) => server,
                Err(error) if table.is_optional() => {
                    warnings.push(error.to_string());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            add_tools(&mut tools, &server);
            let problems = server.problems().into_iter();
            warnings.extend(problems.map(|it| describe_problem(name, &it)));
            new_pins += pins.add_new(&server);
            servers.push(server);
        }
        if new_pins > 0
            && let Err(error) = pins.write()
        {
            warnings.push(format!("the definitions of MCP tools are not pinned: {error:#}"));
        }
        let tools = self.file.tools.apply_approvals(tools, built, &self.file.approvals);
        self.tools = tools.map_err(|error| self.source.locate(error))?;
        self.servers = ConnectedServers { all: servers, _spool_dir: Some(spool_dir) };
        Ok(warnings)
    }
}

/// A tool of an MCP server that is left out, for the user.
pub(crate) fn describe_problem(server: &str, problem: &ToolProblem) -> String {
    let ToolProblem { tool, reason, .. } = problem;
    let hint = match reason.contains("accepted") {
        true => "; `haft mcp pin AGENT` accepts it",
        false => "",
    };
    format!("the tool `{tool}` of the MCP server `{server}` is left out: {reason}{hint}")
}
