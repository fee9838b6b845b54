//! adk-rust 2.3: `FunctionTool`, which takes and gives `serde_json::Value`.

use std::sync::Arc;

use adk_core::{AdkError, Tool, ToolContext};
use adk_tool::{FunctionTool, SimpleToolContext};
use serde_json::Value;

use super::{Measured, now};
use crate::measure::Variant;

/// Text to `Value`, `FunctionTool::execute`, and in the handler `Value` to `T`.
pub(super) fn function<T: Measured>(text: &'static str) -> Variant {
    let tool = FunctionTool::new(T::TOOL, "Measured tool", |_context, args: Value| async {
        let args: T =
            serde_json::from_value(args).map_err(|error| AdkError::tool(error.to_string()))?;
        Ok(Value::String(args.handle()))
    });
    let context: Arc<dyn ToolContext> = Arc::new(SimpleToolContext::new("haft-bench"));
    let work = move || {
        let args: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        now(tool.execute(Arc::clone(&context), args))?.map_err(|error| error.to_string())
    };
    Variant::new("adk-tool 2.3 FunctionTool", work, show)
}

fn show(result: Result<Value, String>) -> String {
    match result {
        Ok(Value::String(it)) => it,
        other => format!("{other:?}"),
    }
}
