//! The arguments of `haft serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArg;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Agents that clients can use: their directories, or a directory that contains them
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Address to listen on; other addresses than loopback need tokens in the token file
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub(crate) address: IpAddr,
    /// Port to listen on; 0 for a free one
    #[arg(long, default_value_t = 4984)]
    pub(crate) port: u16,
    /// How many turns this process runs at a time; 0 to leave them to `haft worker`
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) run: usize,
    #[command(flatten)]
    pub(crate) tokens: TokenFileArg,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Trust the agents to run the programs of their `prepare` tables and MCP servers, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
}

// What a tenant and the service may use.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Unfinished turns of a tenant before no more can be submitted
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_turns: usize,
    /// Requests of a tenant that are served at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) max_requests: usize,
    /// Event streams of a tenant that are open at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) max_streams: usize,
    /// Connections of clients with a token that are open at a time
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) max_connections: usize,
    /// Longest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    pub(crate) max_body: usize,
}

// The option that selects the token file.
#[derive(Debug, Args)]
pub(crate) struct TokenFileArg {
    /// File with the hashes of tokens [default: tokens.json in ~/.local/state/haft]
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Create, list and revoke the tokens of tenants
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token of a tenant and print it, once
    ///
    /// The file has a hash of the token, from which it cannot be restored.
    Create {
        /// Tenant whose turns the token opens: letters, digits, `-`, `_` and `.`
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// Who uses the token; decisions are recorded under this name [default: the tenant]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        tokens: TokenFileArg,
    },
    /// List tokens, without their secrets
    List {
        #[command(flatten)]
        tokens: TokenFileArg,
        /// Print one line of JSON per token
        #[arg(long)]
        json: bool,
    },
    /// Revoke tokens; services refuse them within a second
    Revoke {
        /// Ids of tokens, or unique beginnings of them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        tokens: TokenFileArg,
    },
}
