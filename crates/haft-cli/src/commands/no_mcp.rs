//! What `haft check` says about MCP servers, in a build without the feature `mcp`.

use crate::agent::Agent;
use crate::output::ServerToolCount;

/// What the MCP servers of an agent cost.
pub(super) const fn server_costs(_: &Agent) -> Vec<ServerToolCount> {
    Vec::new()
}

/// Descriptions of tools that try to instruct the model.
pub(super) const fn suspicious_descriptions(_: &Agent) -> Vec<String> {
    Vec::new()
}
