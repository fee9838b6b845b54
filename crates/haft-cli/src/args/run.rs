//! The arguments of `haft run`.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArg, RunOptions};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// The user's message; `@FILE` to read a file, `-` to read standard input [default: the prompt of the agent file]
    pub(crate) prompt: Option<String>,
    /// Attach FILE to the message; repeat it for several files
    ///
    /// Images, audio, video and PDF documents (up to 16 MiB) are recognized by their content and shown to the model. Other
    /// files must be UTF-8 text (up to 32 MiB): up to 16 KiB are shown in full, longer text is an artifact that the model
    /// queries. All attachments are marked as untrusted content.
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Require an answer that fits the JSON Schema in FILE, and print it as JSON
    ///
    /// An answer that does not fit goes back to the model with its problems, twice at most. The exit code is 6 if there is
    /// no valid answer.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    /// Record model steps and tool results to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Replay a recording from FILE; no model is called and no tool runs
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Print the first request to the model and exit; no model is called, no tool runs and nothing is stored
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub(crate) dry_run: bool,
}
