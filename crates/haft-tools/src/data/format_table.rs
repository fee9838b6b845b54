//! The tool `format_table`.

use std::collections::BTreeMap;

use haft_core::tool::ToolFailure;
use serde_json::Value;

use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct FormatTableArgs {
    /// The rows, each an object
    #[arg(min_len = 1, max_len = 2000)]
    rows: Vec<BTreeMap<String, Value>>,
    /// The columns in the order in which they are shown; all, by the alphabet, if not given
    #[arg(max_len = 100, unique, example = Some(vec!["name".to_owned(), "price".to_owned()]))]
    columns: Option<Vec<String>>,
    #[arg(default = "markdown")]
    format: Format,
}

#[derive(Clone, Copy, ToolArgs)]
pub(crate) enum Format {
    /// A table of Markdown
    Markdown,
    Csv,
    /// Parted by tabs
    Tsv,
    /// Columns of the same width, for a terminal
    Plain,
}

/// Writes rows as a table: Markdown, CSV, TSV or plain text, with everything escaped as the format needs it.
///
/// Lists and objects in cells are written as JSON, `null` and what is missing as nothing. Returns the table.
#[tool(read_only)]
pub(super) fn format_table(args: FormatTableArgs) -> Result<String, ToolFailure> {
    let columns = match args.columns.filter(|it| !it.is_empty()) {
        Some(columns) => columns,
        None => all_columns(&args.rows),
    };
    if columns.is_empty() || columns.len() > COLUMNS {
        return Err(ToolFailure::new(format!(
            "the rows have {} columns; name from 1 to {COLUMNS} of them in `columns`",
            columns.len()
        )));
    }
    if let Some(missing) =
        columns.iter().find(|it| !args.rows.iter().any(|row| row.contains_key(*it)))
    {
        return Err(ToolFailure::new(format!(
            "no row has the column `{}`; there are {}",
            crate::preview(missing),
            crate::preview(&all_columns(&args.rows).join(", "))
        )));
    }
    let mut lines = vec![columns.clone()];
    lines.extend(args.rows.iter().map(|row| columns.iter().map(|it| cell(row.get(it))).collect()));
    Ok(match args.format {
        Format::Markdown => markdown(&lines),
        Format::Csv => delimited(&lines, ','),
        Format::Tsv => delimited(&lines, '\t'),
        Format::Plain => plain(&lines),
    })
}

fn all_columns(rows: &[BTreeMap<String, Value>]) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
    names.into_iter().cloned().collect()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn markdown(lines: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        for text in line {
            let text = text.replace('\\', "\\\\").replace('|', "\\|");
            out.push_str("| ");
            out.push_str(&text.split(['\n', '\r']).collect::<Vec<_>>().join("<br>"));
            out.push(' ');
        }
        out.push_str("|\n");
        if at == 0 {
            out.push_str(&"| --- ".repeat(line.len()));
            out.push_str("|\n");
        }
    }
    out
}

fn delimited(lines: &[Vec<String>], delimiter: char) -> String {
    let quoted = |text: &String| {
        if text.contains([delimiter, '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.clone()
        }
    };
    let separator = delimiter.to_string();
    let row =
        |line: &Vec<String>| line.iter().map(quoted).collect::<Vec<_>>().join(&separator) + "\n";
    lines.iter().map(row).collect()
}

fn plain(lines: &[Vec<String>]) -> String {
    let one_line = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<Vec<String>> =
        lines.iter().map(|it| it.iter().map(one_line).collect()).collect();
    let count = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|it| it.chars().count()).max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let row = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(row).collect()
}

const COLUMNS: usize = 100;
/// No column is padded to more characters.
const WIDEST: usize = 60;
