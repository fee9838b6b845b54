//! `haft mcp list`, `haft mcp pin`

use std::process::ExitCode;

use anyhow::Result;
use haft::Tool;
use haft::artifacts::tokens::{Encoding, ExactCounter, TokenCounter as _};
use haft_mcp::client::{McpTools, OfferedTool};

use super::super::{count_noun, print_text};
use crate::agent::{AgentDir, describe_problem};
use crate::args::{McpListArgs, McpPinArgs};
use crate::output::{ServerLine, ServerProblem, ServerTool, ServerToolCount, to_line};
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::UserError;

/// Connects to the MCP servers of an agent, and prints what they offer.
pub(super) async fn list_servers(args: &McpListArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut agent = AgentDir::load(&args.agent.agent)?;
    agent.prepare(args.trust, terminal).await?;
    let mut text = String::new();
    for server in agent.servers() {
        let listing = ServerListing::new(&agent, server).await;
        match args.json {
            true => text.push_str(&to_line(&listing.line())?),
            false => text.push_str(&listing.to_text(terminal)),
        }
    }
    if agent.servers().is_empty() && !args.json {
        text.push_str("the agent uses no MCP servers\n");
    }
    print_text(&text)
}

/// Accepts the definitions that the MCP servers of an agent have now.
pub(super) async fn pin_definitions(args: &McpPinArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut agent = AgentDir::load(&args.agent.agent)?;
    agent.prepare(args.trust, terminal).await?;
    let mut pins = agent.read_pins()?;
    let mut text = String::new();
    for server in agent.servers() {
        let accepted = pins.accept_all(server);
        for tool in &accepted {
            let line = format!("accepted `{tool}` of `{}`\n", server.name());
            text.push_str(&sanitize(line.trim_end()));
            text.push('\n');
        }
        if accepted.is_empty() {
            text.push_str(&format!("`{}` has no changed definitions\n", server.name()));
        }
    }
    if agent.servers().is_empty() {
        return Err(UserError::new("the agent uses no MCP servers").into());
    }
    pins.write()?;
    print_text(&text)
}

/// What a server offers.
struct ServerListing<'s> {
    server: &'s McpTools,
    description: Option<String>,
    tools: Vec<ListedTool>,
}

struct ListedTool {
    offered: OfferedTool,
    /// The tool as the agent has it; nothing if it is left out.
    tool: Option<Tool>,
    /// How many tokens its definition takes in each request.
    tokens: u64,
}

/// What the MCP servers of an agent cost.
pub(in crate::commands) fn server_costs(agent: &AgentDir) -> Vec<ServerToolCount> {
    let cost = |server: &McpTools| {
        let tools = ListedTool::all(agent, server);
        let used: Vec<_> = tools.iter().filter(|it| it.tool.is_some()).collect();
        let tokens = used.iter().map(|it| it.tokens).sum();
        ServerToolCount { server: server.name().to_owned(), tools: used.len(), tokens }
    };
    agent.servers().iter().map(cost).collect()
}

impl ListedTool {
    /// What a server offers to an agent.
    fn all(agent: &AgentDir, server: &McpTools) -> Vec<Self> {
        let prefixed = |tool: &OfferedTool| format!("{}_{}", server.name(), tool.name);
        let find = |tool: &OfferedTool| {
            let names = [prefixed(tool), tool.name.clone()];
            let is_it = |it: &&Tool| {
                names.iter().any(|name| it.name().as_str() == name)
                    && it.definition_tier() != haft::trust::TrustTier::FirstParty
            };
            agent.tools.iter().find(is_it).cloned()
        };
        let tools = server.offered().into_iter().map(|offered| {
            let tool = find(&offered).filter(|_| offered.is_accepted());
            let tokens = count_tokens(&offered);
            Self { offered, tool, tokens }
        });
        tools.collect()
    }
}

impl<'s> ServerListing<'s> {
    async fn new(agent: &AgentDir, server: &'s McpTools) -> Self {
        let tools = ListedTool::all(agent, server);
        Self { server, description: server.server_description().await, tools }
    }

    fn tokens(&self) -> u64 {
        self.tools.iter().filter(|it| it.tool.is_some()).map(|it| it.tokens).sum()
    }

    fn line(&self) -> ServerLine<'_> {
        let tools = self.tools.iter().map(|it| ServerTool {
            name: &it.offered.name,
            tool: it.tool.as_ref().map(|tool| tool.name().as_str()),
            tokens: it.tokens,
            hash: it.offered.digest.to_string(),
            changed: !it.offered.is_accepted(),
            findings: it.offered.findings.iter().map(ToString::to_string).collect(),
        });
        let problems = self.server.problems().into_iter();
        let problems = problems.map(|it| ServerProblem { tool: it.tool, reason: it.reason });
        ServerLine {
            server: self.server.name(),
            description: self.description.as_deref(),
            tokens: self.tokens(),
            tools: tools.collect(),
            problems: problems.collect(),
        }
    }

    fn to_text(&self, terminal: &Terminal) -> String {
        let name = terminal.style_stdout(TextRole::Key, sanitize(self.server.name()));
        let about = sanitize(self.description.as_deref().unwrap_or("not connected"));
        let offered = self.tools.iter().filter(|it| it.tool.is_some()).count();
        let count = count_noun(offered, "tool");
        let mut text = format!("{name}: {about}; {count}, about {} tokens\n", self.tokens());
        for listed in &self.tools {
            let Some(tool) = &listed.tool else { continue };
            let first = listed.offered.description.lines().next().unwrap_or_default();
            let shown: String = first.chars().take(MAX_SHOWN).collect();
            text.push_str(&format!(
                "  {:<32} {:>6} tokens  {}\n",
                sanitize(tool.name().as_str()),
                listed.tokens,
                sanitize(&shown)
            ));
        }
        let warning = terminal.style_stdout(TextRole::Warning, "warning");
        for problem in server_problems(self.server) {
            text.push_str(&format!("  {warning}: {}\n", sanitize(&problem)));
        }
        text
    }
}

/// Descriptions of tools that try to instruct the model, for the user. Tools that are left out were reported when the server
/// was connected.
pub(in crate::commands) fn suspicious_descriptions(agent: &AgentDir) -> Vec<String> {
    agent.servers().iter().flat_map(describe_findings).collect()
}

/// What is wrong with the tools of a server, for the user.
fn server_problems(server: &McpTools) -> Vec<String> {
    let problems = server.problems().into_iter().map(|it| describe_problem(server.name(), &it));
    problems.chain(describe_findings(server)).collect()
}

/// The descriptions of a server that try to instruct the model.
fn describe_findings(server: &McpTools) -> Vec<String> {
    let mut found = Vec::new();
    for tool in server.offered() {
        found.extend(tool.findings.iter().map(|finding| {
            format!(
                "the description of `{}` of the MCP server `{}` is suspicious: {finding}",
                tool.name,
                server.name()
            )
        }));
    }
    found
}

/// The tokens of a definition in a request, in the encoding of current OpenAI models.
fn count_tokens(tool: &OfferedTool) -> u64 {
    let text = format!("{} {} {}", tool.name, tool.description, tool.input_schema());
    ExactCounter.count(Encoding::O200kBase, &text).map_or(0, |count| count.tokens)
}

/// The most characters of a description in a listing.
const MAX_SHOWN: usize = 60;
