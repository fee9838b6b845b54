//! The command line of `haft artifact`.

use std::num::{NonZeroU64, NonZeroUsize};
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
    /// Query JSON or JSON Lines
    #[command(subcommand)]
    Json(JsonCommand),
    /// Query Markdown
    #[command(subcommand)]
    Md(MarkdownCommand),
    /// Query CSV
    #[command(subcommand)]
    Csv(CsvCommand),
    /// Query YAML
    #[command(subcommand)]
    Yaml(PathCommand),
    /// Query XML
    #[command(subcommand)]
    Xml(PathCommand),
    /// Run any query tool that a model has, such as `artifact_md_code_blocks`
    ///
    /// `haft tools AGENT --all` lists them, `haft describe AGENT TOOL` shows their arguments.
    Query {
        /// The file
        file: PathBuf,
        /// Name of the query tool
        tool: String,
        /// Arguments without `callId`: JSON text, `@FILE` to read a file, `-` to read standard input
        #[arg(default_value = "{}")]
        args: String,
        /// Kind of the content: text, json, jsonl, markdown, csv, yaml or xml [default: by the tool and the file name]
        #[arg(long)]
        kind: Option<String>,
    },
    /// List the artifacts of a turn
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CsvCommand {
    /// List the columns
    Columns {
        /// The file
        file: PathBuf,
    },
    /// Count the rows
    Length {
        /// The file
        file: PathBuf,
    },
    /// Print rows as JSON objects
    Rows {
        /// The file
        file: PathBuf,
        /// First row to print; the first row is 0
        #[arg(long, value_name = "N", default_value_t = 0)]
        start: u64,
        /// Row to stop before
        #[arg(long, value_name = "N")]
        end: Option<u64>,
        /// Print only these columns
        #[arg(long, value_name = "NAME")]
        columns: Vec<String>,
    },
    /// Print the rows whose column equals, contains, or is above or below a value
    Filter {
        /// The file
        file: PathBuf,
        /// Name of the column
        column: String,
        /// The whole field
        #[arg(long, value_name = "TEXT")]
        equals: Option<String>,
        /// A part of the field
        #[arg(long, value_name = "TEXT")]
        contains: Option<String>,
        /// The field is a number above this
        #[arg(long, value_name = "N")]
        above: Option<f64>,
        /// The field is a number below this
        #[arg(long, value_name = "N")]
        below: Option<f64>,
    },
    /// Print the fields of one column
    Pluck {
        /// The file
        file: PathBuf,
        /// Name of the column
        column: String,
    },
    /// Print the count, minimum, maximum, sum and mean of a column
    Stats {
        /// The file
        file: PathBuf,
        /// Name of the column
        column: String,
    },
    /// Group the rows by columns, and sum up a column of each group
    Group {
        /// The file
        file: PathBuf,
        /// Columns whose equal fields make a group
        #[arg(required = true, value_name = "COLUMN")]
        by: Vec<String>,
        /// Column to sum up
        #[arg(long, value_name = "COLUMN")]
        sum: Option<String>,
    },
}

/// Queries by path, which YAML and XML share.
#[derive(Debug, Subcommand)]
pub(crate) enum PathCommand {
    /// Print the values that a JSONPath selects
    Get {
        /// The file
        file: PathBuf,
        /// JSONPath, such as `$.items[0].name`
        path: String,
    },
    /// Print the keys
    Keys {
        /// The file
        file: PathBuf,
    },
    /// Print the records or elements that match a filter
    Filter {
        /// The file
        file: PathBuf,
        /// JSONPath filter, such as `$..[?@.price > 10]`
        condition: String,
    },
    /// Count the documents and elements
    Length {
        /// The file
        file: PathBuf,
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
