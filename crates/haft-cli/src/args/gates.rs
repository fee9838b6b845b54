//! The arguments of `haft gates`, `haft approve` and `haft deny`.

use clap::Args;

use super::{AlwaysArgs, StoreArg};

#[derive(Debug, Args)]
pub(crate) struct GatesArgs {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The gate as `haft gates` lists it, the id of a turn with one open gate, or `last`
    pub(crate) gate: String,
    /// Value as JSON, for a gate that expects more than yes or no; `@FILE` to read a file, `-` to read standard input
    pub(crate) value: Option<String>,
    /// Approve the call with these arguments, as JSON, instead of the proposed ones; `@FILE` to read a file, `-` to
    /// read standard input
    #[arg(long, value_name = "JSON", conflicts_with = "value")]
    pub(crate) arguments: Option<String>,
    #[command(flatten)]
    pub(crate) always: AlwaysArgs,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The gate as `haft gates` lists it, the id of a turn with one open gate, or `last`
    pub(crate) gate: String,
    /// Reason that the model receives [default: it was not allowed]
    reason: Option<String>,
    /// Reason that the model receives, as an option
    #[arg(id = "reason_option", long = "reason", value_name = "TEXT", conflicts_with = "reason")]
    reason_option: Option<String>,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
}

impl DenyArgs {
    /// The reason that the model receives.
    pub(crate) fn reason(&self) -> &str {
        let given = self.reason.as_deref().or(self.reason_option.as_deref());
        given.unwrap_or("it was not allowed")
    }
}

// Options of the commands that decide a gate.
#[derive(Debug, Args)]
pub(crate) struct DecisionArgs {
    /// Name of the person who decides [default: the current user]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}
