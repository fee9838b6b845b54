//! Tools for dates, times and time zones. The zones are built in, and the time is that of the turn's clock.

pub(super) mod convert_time;
pub(super) mod current_time;
mod moment;
pub(super) mod time_add;
pub(super) mod time_diff;
pub(super) mod time_info;

use haft_core::tool::{InvalidTool, Tool};

/// Creates the tools `current_time`, `convert_time`, `time_add`, `time_diff` and `time_info`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::with_tools(haft_tools::time()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("time_info")?.executor(&ctx).call(r#"{"time": "2026-01-31"}"#).await;
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
        current_time::current_time(),
        convert_time::convert_time(),
        time_add::time_add(),
        time_diff::time_diff(),
        time_info::time_info(),
    ]
    .into_iter()
    .collect()
}
