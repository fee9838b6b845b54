//! Tools whose handlers return recorded results.

use haft_core::Args;
use haft_core::context::CallContext;
use haft_core::tool::{InvalidTool, Tool, ToolEffect, ToolFailure, ToolOutput, ToolRole};

/// The tool with another handler. It requires no approval and has no effect: nothing runs.
pub(super) fn with_recorded_output(
    tool: &Tool,
    output: impl Fn(&Args, &CallContext) -> Result<ToolOutput, ToolFailure> + Send + Sync + 'static,
) -> Result<Tool, InvalidTool> {
    let mut same = Tool::builder(tool.name().as_str())
        .description(tool.description())
        .input_schema(tool.input_schema().clone())
        .on_collision(tool.on_collision())
        .effect(ToolEffect::ReadOnly)
        .concurrency(tool.concurrency().clone())
        .handler(move |args: Args, ctx: &CallContext| output(&args, ctx));
    same = match tool.role() {
        ToolRole::Standard(kind) => same.artifact(kind.clone()),
        _ => same.artifact_query(),
    };
    if let serde_json::Value::Object(meta) = tool.meta().all() {
        for (key, value) in meta {
            same = same.meta(&key, value);
        }
    }
    if tool.is_trusted() {
        same = same.trusted();
    }
    if tool.is_ephemeral() {
        same = same.ephemeral();
    }
    if tool.strictness() == haft_core::args::Strictness::Strict {
        same = same.strict();
    }
    same.build()
}
