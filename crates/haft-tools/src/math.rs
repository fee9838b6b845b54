//! Tools for numbers: expressions and units of measure, exact where possible.

pub(super) mod calculate;
pub(super) mod convert_unit;
mod expression;
mod rational;
mod units;

#[cfg(test)]
mod tests;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// Creates the tools `calculate` and `convert_unit`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::new(haft_tools::math()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("calculate")?.executor(&ctx).call(r#"{"expression": "0.1 + 0.2"}"#).await;
/// assert!(format!("{:?}", call.outcome?).replace('\\', "").contains(r#"0.3"#));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
pub fn math() -> Result<Vec<Tool>, InvalidTool> {
    [calculate::calculate(), convert_unit::convert_unit()]
        .into_iter()
        .map(ToolBuilder::build)
        .collect()
}
