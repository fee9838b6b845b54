//! The arguments of `haft mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use haft_mcp::ClientProfile;

use super::cleanup::parse_age;
use super::{AgentArg, StoreArg};
use crate::user_error::UserError;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum McpCommand {
    /// Offer the tools of an agent to MCP clients
    ///
    /// A call takes the same path as the call of a model: its arguments are validated, its approval is asked of the user
    /// of the client, and its timeout applies. A large result stays in the store; the client gets its beginning, an id,
    /// and tools that query it.
    Serve(McpServeArgs),
    /// Stand before MCP servers and keep large results out of the client's prompt
    ///
    /// Messages pass as they are. A result that is too large for the client is stored while it arrives; the client gets
    /// its beginning, an id, and tools that query it. These tools are in the list from the beginning. With several
    /// servers, only their tools are passed on.
    #[command(after_help = PROXY_EXAMPLES)]
    Proxy(McpProxyArgs),
    /// List the MCP servers that an agent uses, and what they offer
    ///
    /// Starts the servers. Prints for each tool what its definition costs in each request, and warns about definitions
    /// that have changed, names that are taken, and descriptions that try to instruct the model.
    List(McpListArgs),
    /// Accept the tool definitions that the MCP servers of an agent have now
    ///
    /// The hashes of accepted definitions are in the state directory of the user. A tool whose definition has changed is left
    /// out until it is accepted.
    Pin(McpPinArgs),
    /// Log in at an MCP server that is protected by OAuth
    ///
    /// Prints the address of the login page and waits until the browser comes back. The tokens are stored in the state
    /// directory of the user, readable for the user only, and are refreshed when they expire.
    Login(McpLoginArgs),
    /// Remove the tokens of a login at an MCP server
    Logout(McpLogoutArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Name of the server: NAME of the table [tools.mcp.NAME]
    #[arg(value_name = "NAME")]
    pub(crate) server: String,
    /// How long to wait for the browser, such as 10m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_age)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct McpLogoutArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Name of the server: NAME of the table [tools.mcp.NAME]
    #[arg(value_name = "NAME")]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Trust the agent to run its programs, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
    /// Print one JSON object per server
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpPinArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Trust the agent to run its programs, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
}

const PROXY_EXAMPLES: &str = "\
Examples:
  haft mcp proxy -- npx -y @modelcontextprotocol/server-filesystem .
  haft mcp proxy --client claude-code --deny 'write_*' -- uvx mcp-server-git
  haft mcp proxy --url docs=https://docs.example.com/mcp --server files='my-server --root .'";

#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Serve streamable HTTP at http://ADDRESS/mcp instead of standard input and output, such as 127.0.0.1:8808
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// File with the bearer token that HTTP clients must send [default: the variable HAFT_MCP_TOKEN]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept HTTP requests to this host name in addition to those of this machine
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Accept HTTP requests of web pages of this origin, such as https://app.example.com:443
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Keep answers within the limits of this client: claude-code, codex, cursor or generic
    #[arg(long, value_name = "CLIENT", default_value = "generic")]
    pub(crate) client: ClientProfile,
    /// How long results and calls that wait for approval are stored, such as 12h
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = parse_age)]
    pub(crate) lifetime: Duration,
    /// Add a resource link to the answer for a large result; several clients reject such answers
    #[arg(long)]
    pub(crate) resource_links: bool,
    /// Approve all tool calls without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Trust the agent to run the programs of its `prepare` table, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct McpProxyArgs {
    /// The server: a program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// A server over streamable HTTP; NAME stands in front of a tool whose name is taken
    #[arg(long, value_name = "[NAME=]URL")]
    pub(crate) url: Vec<String>,
    /// A server that is a program, with its arguments in one text; may be repeated
    #[arg(long, value_name = "[NAME=]COMMAND")]
    pub(crate) server: Vec<String>,
    /// Variable with the bearer token for servers over HTTP
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub(crate) token_env: Option<String>,
    /// Keep answers within the limits of this client: claude-code, codex, cursor or generic
    #[arg(long, value_name = "CLIENT", default_value = "generic")]
    pub(crate) client: ClientProfile,
    /// Offer only tools with these names; `*` stands for any characters
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// Do not offer tools with these names; `*` stands for any characters
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
    /// Directory for large results [default: a directory per list of servers in ~/.local/state/haft/mcp-proxy]
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    /// Store at most BYTES of results; the oldest are removed first
    #[arg(long, value_name = "BYTES", default_value_t = 2 * 1024 * 1024 * 1024)]
    pub(crate) max_bytes: u64,
    /// How long results are stored, such as 12h
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = parse_age)]
    pub(crate) max_age: Duration,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum ServerSpec {
    Url(String),
    Command(Vec<String>),
}

impl McpProxyArgs {
    /// The servers and their names: the command first, then the others in the order of their kinds.
    pub(crate) fn servers(&self) -> Result<Vec<(String, ServerSpec)>, UserError> {
        let mut servers = Vec::new();
        if let Some(program) = self.command.first() {
            servers.push((server_name_of(program), ServerSpec::Command(self.command.clone())));
        }
        for text in &self.server {
            let (name, command) = split_name(text);
            let command = split_words(command).ok_or_else(|| {
                UserError::new(format!("a quote is not closed in the server `{text}`"))
            })?;
            let name = name.map(str::to_owned);
            let name = name.or_else(|| command.first().map(|it| server_name_of(it)));
            servers.push((name.unwrap_or_default(), ServerSpec::Command(command)));
        }
        for text in &self.url {
            let (name, url) = split_name(text);
            let host = url.split("//").nth(1).and_then(|it| it.split(['/', ':', '?']).next());
            let name = name.map_or_else(|| plain_name(host.unwrap_or("server")), str::to_owned);
            servers.push((name, ServerSpec::Url(url.to_owned())));
        }
        if servers.is_empty() {
            let error = UserError::new("there is no server to stand before");
            return Err(error.hint("pass its command: haft mcp proxy -- COMMAND ARGS"));
        }
        Ok(servers)
    }
}

/// Splits `NAME=rest`. A name has letters, digits, `_` and `-`.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let is_name = |it: &str| {
        !it.is_empty()
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// The name of a server that is started by this program: its file name, with `_` for everything but ASCII letters and digits.
fn server_name_of(program: &str) -> String {
    let name = std::path::Path::new(program).file_name().and_then(|it| it.to_str());
    plain_name(name.unwrap_or("server"))
}

fn plain_name(text: &str) -> String {
    let plain = |ch: char| if ch.is_ascii_alphanumeric() { ch } else { '_' };
    text.chars().map(plain).collect()
}

/// Splits a command into words as a shell does, with single and double quotes; nothing if a quote is not closed.
fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for ch in text.chars() {
        match (quote, ch) {
            (Some(open), _) if ch == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (None, _) if ch.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let words = |text| split_words(text);
        assert_eq!(words("a  'b c' d\"e f\" ''").unwrap(), ["a", "b c", "de f", ""]);
        assert_eq!(words("a 'b"), None);
        assert_eq!(words("").unwrap(), Vec::<String>::new());
        assert_eq!(split_name("files=a b=c"), (Some("files"), "a b=c"));
        assert_eq!(split_name("https://x/?a=b"), (None, "https://x/?a=b"));
    }
}
