//! The arguments of `haft media`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct MediaArgs {
    #[command(subcommand)]
    pub(crate) command: MediaCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MediaCommand {
    /// List the media of a turn
    List {
        /// Id of the turn, a unique beginning or end of it, or `last`
        turn: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArg,
    },
    /// Save media of a turn to files
    Save {
        /// Id of the turn, a unique beginning or end of it, or `last`
        turn: String,
        /// File name or number of the medium, as `haft media list` prints them [default: all]
        name: Option<String>,
        /// File or directory to write to; `-` for standard output [default: the current directory]
        #[arg(short, long, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        store: StoreArg,
    },
    /// Show an image of a turn in the terminal, if it can display images
    Show {
        /// Id of the turn, a unique beginning or end of it, or `last`
        turn: String,
        /// File name or number of the medium [default: the first image]
        name: Option<String>,
        #[command(flatten)]
        store: StoreArg,
    },
}
