//! `haft tools`, `haft describe`

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use haft::Tool;
use haft::artifacts::standard_formats;
use haft::tools::ToolRegistry;
use serde_json::Value;

use crate::agent::{ARTIFACT_KINDS, AgentDir};
use crate::args::{DescribeArgs, ToolsArgs};
use crate::output::{ToolLine, to_line};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn list_tools(args: &ToolsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = load_with_servers(&args.agent.agent, terminal).await?;
    let query_tools = if args.all { query_tools(&agent)? } else { Vec::new() };
    let tools = agent.tools.iter().chain(&query_tools);
    // Names of tools are ASCII.
    let width = tools.clone().map(|it| it.name().as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for tool in tools {
        if args.json {
            text.push_str(&to_line(&tool_line(tool)?)?);
        } else {
            let name =
                terminal.style_stdout(TextRole::Key, format!("{:<width$}", tool.name().as_str()));
            let first_line = tool.description().lines().next().unwrap_or_default();
            text.push_str(&format!("{name}  {}\n", sanitize(first_line)));
        }
    }
    super::print_text(&text)
}

/// Loads an agent, and connects to its MCP servers if it may run their programs.
async fn load_with_servers(path: &Path, terminal: &Terminal) -> Result<AgentDir> {
    let mut agent = AgentDir::load(path)?;
    if agent.has_servers() {
        match agent.is_trusted() {
            true => agent.prepare(false, terminal).await?,
            false => print_line(format_args!(
                "{}: {UNTRUSTED_SERVERS}",
                terminal.style_stderr(TextRole::Warning, "warning")
            )),
        }
    }
    Ok(agent)
}

/// What the user is told about the servers of an agent that is not trusted.
pub(super) const UNTRUSTED_SERVERS: &str = "the MCP servers are not started, because the agent is not trusted yet; \
     `haft mcp list AGENT --trust` starts them";

fn tool_line(tool: &Tool) -> Result<ToolLine<'_>> {
    Ok(ToolLine {
        name: tool.name().as_str(),
        description: tool.description(),
        input_schema: serde_json::from_str(tool.input_schema().json_schema_text())?,
    })
}

/// The tools with which a model queries the results of an agent's tools, as they are offered in addition to those.
fn query_tools(agent: &AgentDir) -> Result<Vec<Tool>> {
    let registry = ToolRegistry::new(agent.tools.iter().cloned())?;
    Ok(standard_formats().query_tools(&registry.declared_kinds())?)
}

/// The names of the tools with which a model queries artifacts.
pub(super) fn query_tool_names() -> Result<HashSet<String>> {
    let tools = standard_formats().query_tools(ARTIFACT_KINDS)?;
    Ok(tools.iter().map(|tool| tool.name().to_string()).collect())
}

/// Finds a tool of an agent by its name.
pub(super) fn find_tool(agent: &AgentDir, name: &str) -> Result<Tool> {
    let found = agent.tools.iter().find(|tool| tool.name().as_str() == name).cloned();
    let names =
        || agent.tools.iter().map(|tool| tool.name().as_str()).collect::<Vec<_>>().join(", ");
    Ok(found.ok_or_else(|| {
        let error = UserError::new(format!("`{}` has no tool `{name}`", agent.name()));
        error.hint(format!("its tools: {}", names())).code(FailureCode::NotFound)
    })?)
}

/// Prints a tool as a model sees it.
pub(super) async fn describe_tool(args: &DescribeArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = load_with_servers(&args.agent.agent, terminal).await?;
    // A query tool of any kind: its artifact may come from an earlier turn.
    let query_tools = standard_formats().query_tools(ARTIFACT_KINDS)?;
    let tool = match query_tools.into_iter().find(|tool| tool.name().as_str() == args.tool) {
        Some(query_tool) => query_tool,
        None => find_tool(&agent, &args.tool)?,
    };
    super::print_text(&tool_to_text(&tool, terminal)?)
}

/// Describes a tool for the user.
fn tool_to_text(tool: &Tool, terminal: &Terminal) -> Result<String> {
    let schema: Value = serde_json::from_str(tool.input_schema().json_schema_text())?;
    let name = terminal.style_stdout(TextRole::Key, tool.name().as_str());
    let mut text = format!("{name}: {}\n", sanitize(tool.description()));
    if let Value::String(effect) = serde_json::to_value(tool.effect())? {
        text.push_str(&format!("effect: {effect}\n"));
    }
    if let Some(reason) = tool.requires_approval() {
        text.push_str(&format!("requires approval: {}\n", sanitize(reason)));
    }
    text.push_str(&format!("arguments: {schema:#}\n"));
    Ok(text)
}
