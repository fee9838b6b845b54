//! The tool `parse_csv`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use csv::ReaderBuilder;
use serde::{Serialize, Serializer};
use serde_json::Value;

use haft_artifacts::csv::sniff_delimiter;
use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct ParseCsvArgs {
    /// The table
    #[arg(max_len = 500000, example = "name;price\nbread;2.50\n")]
    text: String,
    /// What parts the fields; found out by itself if not given
    delimiter: Option<Delimiter>,
    /// Whether the first row has the names of the columns
    #[arg(default = true)]
    has_header: bool,
    /// Whether fields that are numbers or booleans become so, and empty ones `null`; else all stay text
    #[arg(default = true)]
    typed: bool,
    /// The most rows to return
    #[arg(default = 1000, min = 1, max = 10000)]
    limit: usize,
}

#[derive(ToolArgs)]
pub(crate) enum Delimiter {
    Comma,
    Semicolon,
    Tab,
    Pipe,
}

#[derive(Serialize)]
pub(super) struct ParsedTable {
    columns: Vec<Arc<str>>,
    rows: Vec<ParsedRow>,
    warnings: Vec<String>,
    /// Whether there are more rows than `limit`, or than fit into a result.
    truncated: bool,
}

/// The cells of a row with the names of their columns, in order.
struct ParsedRow(Vec<(Arc<str>, Value)>);

impl Serialize for ParsedRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (&**name, cell)))
    }
}

/// Reads CSV or TSV text into JSON rows.
///
/// Numbers become JSON numbers only if no digit is lost: `007` and `1.50` stay text.
///
/// Returns JSON: `columns`; `rows`, each an object by column; `warnings` about rows of another length and the
/// like; `truncated`, which is true if there are more rows than `limit`.
#[tool(read_only, artifact = Json)]
pub(super) fn parse_csv(args: ParseCsvArgs) -> Json<ParsedTable> {
    let text = args.text.strip_prefix('\u{FEFF}').unwrap_or(&args.text);
    let delimiter = match args.delimiter {
        Some(Delimiter::Comma) => b',',
        Some(Delimiter::Semicolon) => b';',
        Some(Delimiter::Tab) => b'\t',
        Some(Delimiter::Pipe) => b'|',
        None => sniff_delimiter(text),
    };
    let header = usize::from(args.has_header);
    let (mut records, mut truncated) =
        read_records(text, delimiter, args.limit.saturating_add(header));
    let names = if args.has_header && !records.is_empty() { records.remove(0) } else { Vec::new() };
    let width = records.iter().map(Vec::len).max().unwrap_or(0).max(names.len());
    let columns = column_names(&names, width);
    let mut warnings = Vec::new();
    let expected = if args.has_header { names.len() } else { records.first().map_or(0, Vec::len) };
    let odd = |row: &Vec<String>| row.len() != expected;
    let ragged = records.iter().filter(|row| odd(row)).count();
    if let Some(first) = records.iter().position(odd) {
        warnings.push(format!(
            "{ragged} rows have more or fewer than {expected} fields; the first is row {}",
            first + 1
        ));
    }
    if text.bytes().filter(|it| *it == b'"').count() % 2 == 1 {
        warnings.push("the number of quotes is odd: a field may not be closed".to_owned());
    }
    let fitting = count_fitting(&columns, &records);
    if fitting < records.len() {
        records.truncate(fitting);
        truncated = true;
        warnings.push(format!("only {fitting} rows fit into a result; ask for fewer columns"));
    }
    let row = |fields: Vec<String>| {
        let cells =
            fields.into_iter().map(|it| if args.typed { typed_cell(it) } else { it.into() });
        ParsedRow(columns.iter().cloned().zip(cells).collect())
    };
    let rows = records.into_iter().map(row).collect();
    Json(ParsedTable { columns, rows, warnings, truncated })
}

/// How many rows fit into a result. Each has the names of its columns, so that a long name makes a large result of a
/// small table.
fn count_fitting(columns: &[Arc<str>], records: &[Vec<String>]) -> usize {
    let mut left = MAX_RESULT;
    let fits = |row: &&Vec<String>| {
        let cells = columns.iter().zip(*row).map(|(name, cell)| name.len() + cell.len());
        let size = cells.fold(0, usize::saturating_add);
        let rest = left.checked_sub(size);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    records.iter().take_while(fits).count()
}

/// The first records, and whether there are more.
fn read_records(text: &str, delimiter: u8, limit: usize) -> (Vec<Vec<String>>, bool) {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).has_headers(false).flexible(true);
    let mut reader = builder.from_reader(text.as_bytes());
    // Reading UTF-8 text from memory cannot fail.
    let mut records = reader.records().map_while(Result::ok);
    let first = records.by_ref().take(limit);
    let first = first.map(|record| record.iter().map(str::to_owned).collect()).collect();
    (first, records.next().is_some())
}

/// A unique name for each column.
fn column_names(names: &[String], width: usize) -> Vec<Arc<str>> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut used = HashSet::new();
    // The number that the next column of this name gets, so that none is tried twice.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut columns = Vec::with_capacity(width);
    for place in 0..width {
        let given = names.get(place).map(|it| it.trim()).filter(|it| !it.is_empty());
        let mut name = given.map_or_else(|| format!("column_{}", place + 1), str::to_owned);
        if !used.insert(name.clone()) {
            let number = numbers.entry(name.clone()).or_insert(2);
            let numbered = (*number..).map(|number| (number, format!("{name}_{number}")));
            let found = numbered.into_iter().find(|(_, it)| !taken.contains(it));
            let (at, found) = found.unwrap_or_default();
            *number = at.saturating_add(1);
            name = found;
            used.insert(name.clone());
        }
        taken.insert(name.clone());
        columns.push(name.into());
    }
    columns
}

/// A number, a boolean or `null`, if its JSON text is the same as the text of the cell; otherwise a string.
fn typed_cell(text: String) -> Value {
    match text.as_str() {
        "" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match serde_json::from_str::<serde_json::Number>(&text) {
            Ok(number) if number.to_string() == text => Value::Number(number),
            _ => Value::String(text),
        },
    }
}

/// The most bytes of the names and cells of all rows.
const MAX_RESULT: usize = 16 * 1024 * 1024;
