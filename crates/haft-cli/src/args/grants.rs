//! The arguments of `haft grants`, and of approvals that hold for later calls.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::StoreArg;
use super::cleanup::parse_age;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<GrantsCommand>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// Revoke standing approvals for good
    Revoke {
        /// Ids of the standing approvals, or unique prefixes of them
        #[arg(required = true, value_name = "GRANT")]
        grants: Vec<String>,
        #[command(flatten)]
        store: StoreArg,
    },
}

// Options that approve later calls as well.
#[derive(Debug, Args)]
pub(crate) struct AlwaysArgs {
    /// Approve later calls of the tool as well, in this turn or by this agent
    #[arg(long, value_enum, value_name = "SCOPE", conflicts_with_all = ["value", "arguments"])]
    pub(crate) always: Option<GrantSelection>,
    /// Approve only later calls with the same arguments
    #[arg(long, requires = "always")]
    pub(crate) same_arguments: bool,
    /// How long the standing approval holds, such as `12h` [default: 30d for an agent]
    #[arg(long, value_name = "AGE", requires = "always", value_parser = parse_age)]
    pub(crate) expires: Option<Duration>,
}

/// Where a standing approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrantSelection {
    /// In the turn that asked
    Turn,
    /// In every turn of the agent that asked
    Agent,
}
