//! MCP servers in agent files, in a build without the feature `mcp`.

use anyhow::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Agent;
use super::source::AgentFileError;
use crate::user_error::UserError;

/// An MCP server, which this program cannot use. Its keys are not checked.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct McpServerTable {
    /// Whether the agent runs without the server if the server cannot be used; default: false.
    #[serde(default)]
    optional: bool,
}

impl McpServerTable {
    /// The command line of the server; none, because it is not started.
    #[expect(clippy::unused_self, reason = "with the feature it is a key of the table")]
    pub(super) const fn shown_command(&self) -> Option<String> {
        None
    }

    /// Refuses a server that the agent needs.
    pub(super) fn validate(&self) -> Result<(), AgentFileError> {
        if self.optional {
            return Ok(());
        }
        let missing = UserError::missing_feature("mcp");
        let error = AgentFileError::whole_file(&missing);
        Err(error.hint(missing.advice().unwrap_or_default()))
    }

    /// No program is started.
    #[expect(clippy::unused_self, reason = "with the feature it reads the table")]
    pub(super) const fn find_problem(&self, _: &std::path::Path) -> Option<AgentFileError> {
        None
    }

    /// No variable is needed.
    #[expect(clippy::unused_self, reason = "with the feature it reads the table")]
    pub(super) const fn find_unset_variable(&self) -> Option<AgentFileError> {
        None
    }
}

impl Agent {
    /// Applies the approval rules, and returns a warning for each optional server.
    #[expect(clippy::unused_async, reason = "with the feature it connects to the servers")]
    pub(super) async fn connect_servers(&mut self) -> Result<Vec<String>> {
        if !self.has_servers() {
            return Ok(Vec::new());
        }
        let (tools, built) = (self.tools.clone(), self.tools.len());
        let tools = self.file.tools.apply_approvals(tools, built, &self.file.approvals);
        self.tools = tools.map_err(|error| self.source.locate(error))?;
        let missing = UserError::missing_feature("mcp");
        let names = self.file.tools.servers().keys();
        let warning = |name: &String| self.error_at(&["tools", "mcp", name], &missing).to_string();
        Ok(names.map(warning).collect())
    }
}
