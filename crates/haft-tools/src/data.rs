//! Tools for data: CSV, JSON and YAML, statistics, groups, tables.

pub(super) mod format_table;
pub(super) mod group_rows;
pub(super) mod parse_csv;
pub(super) mod parse_json;
pub(super) mod parse_yaml;
pub(super) mod stats_describe;
pub(super) mod stats_histogram;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// Creates the tools `parse_csv`, `parse_json`, `parse_yaml`, `stats_describe`, `stats_histogram`, `group_rows` and
/// `format_table`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::new(haft_tools::data()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("parse_csv")?.executor(&ctx).call(r#"{"text": "a,b\n1,2\n"}"#).await;
/// assert!(format!("{:?}", call.outcome?).replace('\\', "").contains(r#""a":1"#));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
pub fn data() -> Result<Vec<Tool>, InvalidTool> {
    [
        parse_csv::parse_csv(),
        parse_json::parse_json(),
        parse_yaml::parse_yaml(),
        stats_describe::stats_describe(),
        stats_histogram::stats_histogram(),
        group_rows::group_rows(),
        format_table::format_table(),
    ]
    .into_iter()
    .map(ToolBuilder::build)
    .collect()
}
