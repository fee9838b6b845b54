//! Tools for dates, times and time zones. The zones are built in, and the time is that of the turn's clock.

pub(super) mod convert_time;
pub(super) mod date_add;
pub(super) mod date_calendar_info;
pub(super) mod date_diff;
pub(super) mod get_current_time;
mod moment;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// Creates the tools `get_current_time`, `convert_time`, `date_add`, `date_diff` and `date_calendar_info`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::new(haft_tools::time()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("date_calendar_info")?.executor(&ctx).call(r#"{"time": "2026-01-31"}"#).await;
/// assert!(format!("{:?}", call.outcome?).replace('\\', "").contains(r#"Saturday"#));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
pub fn time() -> Result<Vec<Tool>, InvalidTool> {
    [
        get_current_time::get_current_time(),
        convert_time::convert_time(),
        date_add::date_add(),
        date_diff::date_diff(),
        date_calendar_info::date_calendar_info(),
    ]
    .into_iter()
    .map(ToolBuilder::build)
    .collect()
}
