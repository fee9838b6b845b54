//! The arguments of `haft conversations`.

use clap::{Args, Subcommand, ValueEnum};

use super::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct ConversationsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConversationsCommand>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// Give a conversation a title
    Rename {
        /// Id of the conversation, a unique beginning of it, or `last`
        conversation: String,
        /// The title; empty to remove it
        title: String,
        #[command(flatten)]
        store: StoreArg,
    },
    /// Remove all turns of a conversation and their stored content
    #[command(visible_alias = "rm")]
    Remove {
        /// Id of the conversation, a unique beginning of it, or `last`
        conversation: String,
        #[command(flatten)]
        store: StoreArg,
    },
    /// Print a conversation
    Export {
        /// Id of the conversation, a unique beginning of it, or `last`
        conversation: String,
        /// Format of the output
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
        #[command(flatten)]
        store: StoreArg,
    },
}

/// A format of exported conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown, to read
    #[default]
    Markdown,
    /// JSON with all records
    Json,
}
