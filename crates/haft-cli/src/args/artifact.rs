//! The command line of `haft artifact`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ArtifactArgs {
    #[command(subcommand)]
    pub(crate) command: ArtifactCommand,
    /// Query an artifact of this turn; FILE is its handle
    #[arg(long, global = true, value_name = "TURN")]
    pub(crate) turn: Option<String>,
    /// Directory of the store, for --turn [default: .haft]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Print the first lines
    Head {
        /// The file
        file: PathBuf,
        /// Number of lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
    },
    /// Print the last lines
    Tail {
        /// The file
        file: PathBuf,
        /// Number of lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
    },
    /// Print a range of lines
    Cat {
        /// The file
        file: PathBuf,
        /// First line to print; the first line of the file is 1
        #[arg(long, value_name = "LINE", default_value = "1")]
        start: NonZeroU64,
        /// Last line to print [default: the end of the file]
        #[arg(long, value_name = "LINE")]
        end: Option<u64>,
    },
    /// Print the lines that match a pattern
    Grep(GrepArgs),
    /// Count the lines
    Count {
        /// The file
        file: PathBuf,
    },
    /// Count the tokens
    Tokens {
        /// The file
        file: PathBuf,
        /// Encoding: o200k_base, cl100k_base, p50k_base, p50k_edit, r50k_base, gpt2
        #[arg(long, default_value = "o200k_base")]
        encoding: String,
    },
    /// Query JSON, JSON Lines or JSON5
    #[command(subcommand)]
    Json(JsonCommand),
    /// Query Markdown
    #[command(subcommand)]
    Md(MarkdownCommand),
}

#[derive(Debug, Args)]
pub(crate) struct GrepArgs {
    /// The file
    pub(crate) file: PathBuf,
    /// Regular expression
    pub(crate) pattern: String,
    /// Print only the number of matching lines
    #[arg(long)]
    pub(crate) count: bool,
    /// Stop after N matches
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Print N lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: u64,
    /// Ignore case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Print one JSON object per line, with `line` and `text`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JsonCommand {
    /// Print the values that a JSONPath selects
    Get {
        /// The file
        file: PathBuf,
        /// JSONPath, such as `$.items[0].name`
        path: String,
    },
    /// Print the keys of an object, or of all records
    Keys {
        /// The file
        file: PathBuf,
    },
    /// Print the records that match a filter
    Filter {
        /// The file
        file: PathBuf,
        /// JSONPath filter, such as `$[?@.role == "admin"]`
        condition: String,
    },
    /// Count the records
    Length {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MarkdownCommand {
    /// List the headings
    Headings {
        /// The file
        file: PathBuf,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print a section by its heading
    Section {
        /// The file
        file: PathBuf,
        /// Text of the heading without `#`; case is ignored
        title: String,
    },
    /// List the links
    Links {
        /// The file
        file: PathBuf,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}
