//! The command line of `haft artifact`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use haft::stores::{SpoolUrl, StoreUrl};

#[derive(Debug, Args)]
pub(crate) struct ArtifactArgs {
    #[command(subcommand)]
    pub(crate) command: ArtifactCommand,
    /// Query an artifact of this turn; FILE is its handle
    #[arg(long, global = true, value_name = "TURN")]
    pub(crate) turn: Option<String>,
    /// Store of the turn: a directory, `sqlite:FILE` or `postgres://…` [default: .haft]
    #[arg(long, global = true, value_name = "ADDRESS", env = "HAFT_STORE", hide_env = true)]
    pub(crate) store: Option<StoreUrl>,
    /// Store of large results: a directory or `s3://BUCKET/PREFIX` [default: next to the turns]
    #[arg(long, global = true, value_name = "ADDRESS", env = "HAFT_SPOOL", hide_env = true)]
    pub(crate) spool: Option<SpoolUrl>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ArtifactCommand {
    /// Describe a file, or list the artifacts of a turn
    ///
    /// Prints the kind, the size, the lines and what the content consists of: keys, columns or headings.
    Info {
        /// The file; without one, the artifacts of the turn are listed [default turn: the newest]
        file: Option<PathBuf>,
        /// Kind of the content: text, json, jsonl, markdown, csv, yaml or xml [default: by the file name]
        #[arg(long)]
        kind: Option<String>,
        /// Count the tokens in this encoding instead: o200k_base, cl100k_base, p50k_base, p50k_edit, r50k_base or gpt2
        #[arg(long, value_name = "ENCODING", requires = "file")]
        tokens: Option<String>,
        /// Print the list as one JSON object per line
        #[arg(long, conflicts_with = "file")]
        json: bool,
    },
    /// Print lines, or a section of a Markdown file
    Read {
        /// The file
        file: PathBuf,
        /// First line to print; the first line of the file is 1, and -10 prints the last 10
        #[arg(long, value_name = "LINE", allow_negative_numbers = true, default_value_t = 1)]
        start: i64,
        /// Last line to print [default: the end of the file]
        #[arg(long, value_name = "LINE")]
        end: Option<u64>,
        /// Text of a heading without `#`: print its section; case is ignored
        #[arg(long, value_name = "HEADING", conflicts_with_all = ["start", "end"])]
        section: Option<String>,
    },
    /// Print the lines that match a regular expression
    Grep(GrepArgs),
    /// Query JSON, YAML, XML, CSV or Markdown
    ///
    /// Examples:
    ///   haft artifact query orders.json '$.items[?@.price > 9].name'
    ///   haft artifact query sales.csv 'SELECT region, sum(sold) FROM data GROUP BY region'
    ///   haft artifact query guide.md headings
    #[command(verbatim_doc_comment)]
    Query {
        /// The file
        file: PathBuf,
        /// A JSONPath, SQL, or for Markdown `headings`, `links`, `code` or `frontmatter`
        query: String,
        /// Kind of the content: text, json, jsonl, markdown, csv, yaml or xml [default: by the file name]
        #[arg(long)]
        kind: Option<String>,
    },
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
