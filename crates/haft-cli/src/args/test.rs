//! The arguments of `haft test`.

use std::path::PathBuf;

use clap::Args;

use super::AgentArg;

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Run the tests on the agent's directory itself; without it, each runs on a copy
    ///
    /// Files of the directory `tests/files` are laid over the copy. Stores are not copied, and directories with a
    /// CACHEDIR.TAG, such as `target`, are linked. Links that lead out of the directory lead to the same files, so what a tool
    /// does outside of the directory is done for real.
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Run only tests whose name contains this text
    pub(crate) filter: Option<String>,
    /// Run the prompts with this model; may be repeated [default: the model of the agent file]
    #[arg(long = "model", value_name = "PROVIDER:MODEL")]
    pub(crate) models: Vec<String>,
    /// Write the results to FILE in the format of JUnit
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print one JSON object per test
    #[arg(long)]
    pub(crate) json: bool,
    /// Approve all tool calls; without it they are denied
    #[arg(long)]
    pub(crate) yes: bool,
    /// Trust the agent to run the programs of its `prepare` table, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
}
