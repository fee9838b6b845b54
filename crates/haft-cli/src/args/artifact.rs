//! `haft artifact`, as it is typed.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// Print the first lines
    Head {
        /// The file
        file: PathBuf,
        /// How many lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
    },
    /// Print the last lines
    Tail {
        /// The file
        file: PathBuf,
        /// How many lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
    },
    /// Print a range of lines
    Cat {
        /// The file
        file: PathBuf,
        /// The first line; lines are counted from 1
        #[arg(long, value_name = "LINE", default_value = "1")]
        start: NonZeroU64,
        /// The last line; the end of the file if not said
        #[arg(long, value_name = "LINE")]
        end: Option<u64>,
    },
    /// Print the lines that match a pattern
    Grep(Grep),
    /// Count the lines
    Count {
        /// The file
        file: PathBuf,
    },
    /// Count the tokens
    Tokens {
        /// The file
        file: PathBuf,
        /// The encoding: o200k_base, cl100k_base, p50k_base, p50k_edit, r50k_base, gpt2
        #[arg(long, default_value = "o200k_base")]
        encoding: String,
    },
    /// Query JSON, JSON lines or JSON5
    #[command(subcommand)]
    Json(Json),
    /// Query Markdown
    #[command(subcommand)]
    Md(Markdown),
}

#[derive(Debug, Args)]
pub(crate) struct Grep {
    /// The file
    pub(crate) file: PathBuf,
    /// The pattern: a regular expression
    pub(crate) pattern: String,
    /// Print only how many lines match
    #[arg(long)]
    pub(crate) count: bool,
    /// Stop after so many matches
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Show so many lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: u64,
    /// Take upper and lower case for the same
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Print one JSON object per line, with `line` and `text`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Json {
    /// Print what a JSONPath finds
    Get {
        /// The file
        file: PathBuf,
        /// The path, such as `$.items[0].name`
        path: String,
    },
    /// Print the keys of the object, or of all records
    Keys {
        /// The file
        file: PathBuf,
    },
    /// Print the records that meet a condition
    Filter {
        /// The file
        file: PathBuf,
        /// The condition, such as `$[?@.role == "admin"]`
        condition: String,
    },
    /// Count the records
    Length {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Markdown {
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
        /// The heading, without its marks; upper and lower case are the same
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
