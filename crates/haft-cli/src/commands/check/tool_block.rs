//! What the tools of an agent cost in each request.

use anyhow::Result;
use haft::Tool;
use haft::artifacts::standard_formats;
use haft::artifacts::tokens::{Encoding, ExactCounter, TokenCounter as _};
use haft::tools::ToolRegistry;
use serde_json::{Value, json};

use super::Findings;
use crate::agent::AgentDir;
use crate::output::ToolTokens;
use crate::user_error::UserError;

/// The tools of the first request with the tokens of their definitions, as Chat Completions has them.
pub(super) fn measure_tools(agent: &AgentDir) -> Result<Vec<ToolTokens>> {
    let registry = ToolRegistry::new(agent.tools.iter().cloned())?;
    let queries = standard_formats().query_tools(&registry.declared_kinds())?;
    agent.tools.iter().chain(&queries).map(measure_tool).collect()
}

fn measure_tool(tool: &Tool) -> Result<ToolTokens> {
    let schema: Value = serde_json::from_str(tool.input_schema().json_schema_text())?;
    let name = tool.name().as_str();
    let function = json!({"name": name, "description": tool.description(), "parameters": schema});
    let text = json!({"type": "function", "function": function}).to_string();
    let tokens = ExactCounter.count(Encoding::O200kBase, &text).map_or(0, |count| count.tokens);
    Ok(ToolTokens { name: name.to_owned(), tokens })
}

/// Warns of more tools than models choose well among, and of definitions that cost much.
pub(super) fn check_tool_block(tools: &[ToolTokens], findings: &mut Findings) {
    let (count, tokens) = (tools.len(), total_tokens(tools));
    if count <= MAX_TOOLS && tokens <= MAX_TOKENS {
        return;
    }
    let warning = UserError::new(format!(
        "each request has {count} tools, {tokens} tokens; models choose worse among many, and each request pays for them"
    ));
    findings.warnings.push(warning.hint(
        "offer those that the agent needs: `only = [\"…\"]` or `except = [\"…\"]` in the table of a pack or of an MCP server",
    ));
}

/// The tokens of all definitions.
pub(super) fn total_tokens(tools: &[ToolTokens]) -> u64 {
    tools.iter().map(|it| it.tokens).sum()
}

/// From how many tools on a warning is given, and from how many tokens on.
const MAX_TOOLS: usize = 20;
const MAX_TOKENS: u64 = 4_000;
