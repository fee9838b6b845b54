//! The arguments of `haft worker`, `haft submit` and `haft watch`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::cleanup::parse_age;
use super::{AgentArg, StoreArg};

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Agents whose turns are run: their directories, or a directory that contains them
    ///
    /// A store on this machine needs none: then the agents are those that the turns were submitted with.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) agents: Vec<PathBuf>,
    /// How many turns run at a time
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) concurrency: NonZeroUsize,
    /// Serve /healthz, /readyz and /metrics at this address; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Name of the worker in leases and journals [default: the number of the process]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Run only turns of this namespace
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// How long a turn stays reserved for a worker that gives no sign of life
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_lease)]
    pub(crate) lease: Duration,
    /// How long turns may run after SIGTERM or Ctrl-C; what is left then can be continued by other workers
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_age)]
    pub(crate) drain: Duration,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Trust the agents to run the programs of their `prepare` tables and MCP servers, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
    /// Print every event of the turns as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// The user's message; `@FILE` to read a file, `-` to read standard input [default: the prompt of the agent file]
    pub(crate) prompt: Option<String>,
    /// The model, such as `openai:gpt-5-mini`, or `script` for the agent's script [default: the model of the agent file]
    #[arg(long, value_name = "PROVIDER:MODEL", env = "HAFT_MODEL")]
    pub(crate) model: Option<String>,
    /// Conversation that the turn belongs to; its turns run one after the other
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// Turns of a higher priority run first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,
    /// Id of the turn, so that a turn which is submitted twice runs once [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Id of the turn, a unique beginning or end of it, or `last`
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses an address. A port alone is one of the loopback address.
fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let invalid = |_| format!("`{text}` is neither a port nor an address such as 127.0.0.1:9464");
    text.parse().map_err(invalid)
}

/// Parses the time of a lease. A lease that ends at once would leave every turn to the next claim.
fn parse_lease(text: &str) -> Result<Duration, String> {
    match parse_age(text)? {
        Duration::ZERO => Err("a lease lasts one second at least".to_owned()),
        lease => Ok(lease),
    }
}
