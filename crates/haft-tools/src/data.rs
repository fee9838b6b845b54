//! Data: CSV, JSON and YAML, statistics, tables.

pub(super) mod format_table;
pub(super) mod parse_csv;
pub(super) mod parse_json;
pub(super) mod parse_yaml;
pub(super) mod stats_describe;
pub(super) mod stats_histogram;

use haft_core::tool::{InvalidTool, Tool};

/// `parse_csv`, `parse_json`, `parse_yaml`, `stats_describe`, `stats_histogram` and `format_table`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn data() -> Result<Vec<Tool>, InvalidTool> {
    [
        parse_csv::parse_csv(),
        parse_json::parse_json(),
        parse_yaml::parse_yaml(),
        stats_describe::stats_describe(),
        stats_histogram::stats_histogram(),
        format_table::format_table(),
    ]
    .into_iter()
    .collect()
}
