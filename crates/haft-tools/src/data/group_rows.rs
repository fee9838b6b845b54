//! The tool `group_rows`.

use std::collections::{BTreeMap, HashMap};

use haft_core::tool::{Json, ToolFailure};
use haft_macros::{ToolArgs, tool};
use serde::Serialize;
use serde_json::{Map, Value};

use super::stats_describe::sum;

#[derive(ToolArgs)]
pub(crate) struct GroupRowsArgs {
    /// The rows, each an object, as `parse_csv` returns them
    #[arg(min_len = 1, max_len = 10000)]
    rows: Vec<BTreeMap<String, Value>>,
    /// The columns whose equal values make a group
    #[arg(min_len = 1, max_len = 8, unique, example = vec!["region".to_owned()])]
    by: Vec<String>,
    /// The columns to sum up; only the rows are counted if not given
    #[arg(max_len = 16, unique, example = Some(vec!["price".to_owned()]))]
    columns: Option<Vec<String>>,
}

#[derive(Serialize)]
pub(super) struct GroupedRows {
    groups: Vec<Group>,
    /// How many values of the summed columns are neither numbers nor empty.
    not_numbers: usize,
}

#[derive(Serialize)]
struct Group {
    /// The values of the columns in `by`.
    group: Map<String, Value>,
    rows: usize,
    columns: BTreeMap<String, ColumnSums>,
}

#[derive(Serialize)]
struct ColumnSums {
    count: usize,
    sum: f64,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

/// Groups rows by columns, and counts and sums up each group. Use it instead of computing in your head.
///
/// Returns JSON: `groups`, each with `group` (the values of the columns in `by`), `rows`, and `columns` with the
/// `count`, `sum`, `mean`, `min` and `max` of each column; `not_numbers`, how many values could not be summed up. The group with
/// the greatest sum of the first column comes first; without columns, the one with the most rows.
#[tool(read_only, artifact = Json)]
pub(super) fn group_rows(args: GroupRowsArgs) -> Result<Json<GroupedRows>, ToolFailure> {
    let columns = args.columns.unwrap_or_default();
    if let Some(name) = args.by.iter().chain(&columns).find(|name| is_missing(&args.rows, name)) {
        let known: Vec<&str> = args
            .rows
            .first()
            .map(|row| row.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let name = crate::preview(name);
        let known = crate::preview(&known.join(", "));
        return Err(ToolFailure::new(format!(
            "no row has the column `{name}`; the first row has {known}"
        )));
    }
    let (mut index, mut grouped) = (HashMap::new(), Vec::<Vec<&BTreeMap<String, Value>>>::new());
    for row in &args.rows {
        let key: Vec<String> =
            args.by.iter().map(|name| row.get(name).unwrap_or(&Value::Null).to_string()).collect();
        let at = *index.entry(key).or_insert_with(|| {
            grouped.push(Vec::new());
            grouped.len() - 1
        });
        if let Some(rows) = grouped.get_mut(at) {
            rows.push(row);
        }
    }
    let mut not_numbers = 0;
    let mut groups = Vec::with_capacity(grouped.len());
    for rows in &grouped {
        groups.push(sum_group(rows, &args.by, &columns, &mut not_numbers)?);
    }
    match columns.first() {
        Some(first) => groups.sort_by(|a, b| b.sum_of(first).total_cmp(&a.sum_of(first))),
        None => groups.sort_by_key(|group| std::cmp::Reverse(group.rows)),
    }
    Ok(Json(GroupedRows { groups, not_numbers }))
}

fn is_missing(rows: &[BTreeMap<String, Value>], name: &str) -> bool {
    !rows.iter().any(|row| row.contains_key(name))
}

fn sum_group(
    rows: &[&BTreeMap<String, Value>],
    by: &[String],
    columns: &[String],
    not_numbers: &mut usize,
) -> Result<Group, ToolFailure> {
    let value = |name: &String| rows.first().and_then(|row| row.get(name)).cloned();
    let group = by.iter().map(|name| (name.clone(), value(name).unwrap_or_default())).collect();
    let mut sums = BTreeMap::new();
    for name in columns {
        let values = rows.iter().filter_map(|row| row.get(name)).filter(|it| !is_empty(it));
        let mut numbers = Vec::new();
        let mut others = 0;
        for value in values {
            match read_number(value) {
                Some(number) => numbers.push(number),
                None => others += 1,
            }
        }
        *not_numbers += others;
        sums.insert(name.clone(), sum_column(&numbers)?);
    }
    Ok(Group { group, rows: rows.len(), columns: sums })
}

#[expect(clippy::cast_precision_loss, reason = "there are few numbers")]
fn sum_column(numbers: &[f64]) -> Result<ColumnSums, ToolFailure> {
    let total = sum(numbers.iter().copied());
    if !total.is_finite() {
        return Err(ToolFailure::new("the numbers are too large to be summed up; scale them down"));
    }
    let count = numbers.len();
    let is_empty = numbers.is_empty();
    Ok(ColumnSums {
        count,
        sum: total,
        mean: (!is_empty).then(|| total / count as f64),
        min: numbers.iter().copied().reduce(f64::min),
        max: numbers.iter().copied().reduce(f64::max),
    })
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|it| it.trim().is_empty())
}

/// A number, or a text that is one: `parse_csv` keeps `2.50` as text, so that no digit is lost.
fn read_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|it| it.is_finite())
}

impl Group {
    fn sum_of(&self, column: &str) -> f64 {
        self.columns.get(column).map_or(f64::NEG_INFINITY, |it| it.sum)
    }
}
