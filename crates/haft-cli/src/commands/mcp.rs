//! `haft mcp`

mod list;
mod login;
mod proxy;
mod serve;

use std::process::ExitCode;

use anyhow::Result;

pub(super) use self::list::{server_costs, suspicious_descriptions};
use crate::args::{McpArgs, McpCommand};
use crate::terminal::Terminal;

pub(super) async fn run_mcp(args: McpArgs, terminal: &Terminal) -> Result<ExitCode> {
    match args.command {
        McpCommand::Serve(args) => serve::serve_agent(args, terminal).await,
        McpCommand::Proxy(args) => proxy::serve_proxy(args).await,
        McpCommand::List(args) => list::list_servers(&args, terminal).await,
        McpCommand::Pin(args) => list::pin_definitions(&args, terminal).await,
        McpCommand::Login(args) => login::log_in(&args).await,
        McpCommand::Logout(args) => login::log_out(&args),
    }
}
