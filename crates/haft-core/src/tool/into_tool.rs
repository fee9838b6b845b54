//! What can be given where tools are taken.

use super::{InvalidTool, Tool, ToolBuilder};

/// A [`Tool`], or a [`ToolBuilder`] that its receiver builds: registries, runners and servers take both, and report the
/// faults of a definition together with their own.
///
/// ```
/// use haft_core::{Tool, ToolRegistry};
///
/// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon");
/// let roll = Tool::builder("roll").handler(|| "4");
/// let faults = ToolRegistry::new([now, roll]).unwrap_err().to_string();
/// assert!(faults.contains("`roll`") && faults.contains("description"), "{faults}");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "a tool is what `Tool::builder(…)` or the call of a function with `#[tool]` returns: `.tool(get_weather())`, with parentheses and without `?`",
    note = "a list of tools goes to `.tools(…)`, and its elements have one type: end those that differ with `.build()?`"
)]
pub trait IntoTool {
    /// Makes the tool.
    ///
    /// # Errors
    ///
    /// The definition has faults.
    fn into_tool(self) -> Result<Tool, InvalidTool>;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Result<Tool, InvalidTool> {
        Ok(self)
    }
}

impl IntoTool for &Tool {
    fn into_tool(self) -> Result<Tool, InvalidTool> {
        Ok(self.clone())
    }
}

impl IntoTool for ToolBuilder {
    fn into_tool(self) -> Result<Tool, InvalidTool> {
        self.build()
    }
}
