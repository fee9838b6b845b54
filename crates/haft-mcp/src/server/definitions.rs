//! The definitions of tools as clients see them.

use std::sync::Arc;
use std::time::Duration;

use haft_core::Tool;
use haft_core::tool::ToolEffect;
use rmcp::model::{JsonObject, Tool as ToolDefinition, ToolAnnotations};
use serde_json::{Map, Value};

/// What definitions say of the server.
pub(crate) struct DefinitionOptions {
    /// How long a handle is valid.
    pub(crate) lifetime: Duration,
}

/// The list of tools, which never changes: the tools of the server, then the query tools.
pub(super) fn list(
    tools: &[Tool],
    queries: &[Tool],
    options: &DefinitionOptions,
) -> Vec<ToolDefinition> {
    let queries = queries.iter().map(|tool| define_query(tool, options));
    tools.iter().map(define_tool).chain(queries).collect()
}

fn define_tool(tool: &Tool) -> ToolDefinition {
    definition(tool, tool.description().to_owned(), annotations(tool.effect()))
}

/// A query tool. Its description says what its argument is and how long a handle is valid.
pub(crate) fn define_query(tool: &Tool, options: &DefinitionOptions) -> ToolDefinition {
    let lifetime = describe_lifetime(options.lifetime);
    let description = format!(
        "{} For results that were too large for one answer; `callId` is the id that came with the answer, valid for \
         {lifetime}.",
        tool.description().trim_end()
    );
    definition(tool, description, annotations(ToolEffect::ReadOnly).open_world(false))
}

fn definition(tool: &Tool, description: String, annotations: ToolAnnotations) -> ToolDefinition {
    let schema = object_schema(tool.input_schema().describe());
    ToolDefinition::new(tool.name().to_string(), description, schema).annotate(annotations)
}

fn annotations(effect: ToolEffect) -> ToolAnnotations {
    match effect {
        ToolEffect::ReadOnly => ToolAnnotations::new().read_only(true),
        ToolEffect::Idempotent => ToolAnnotations::new().read_only(false).idempotent(true),
        _ => ToolAnnotations::new().read_only(false).idempotent(false),
    }
}

/// A schema as the protocol wants it: an object that says so.
fn object_schema(schema: Value) -> Arc<JsonObject> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    Arc::new(schema)
}

/// A lifetime in the largest unit that divides it.
pub(crate) fn describe_lifetime(lifetime: Duration) -> String {
    let seconds = lifetime.as_secs().max(1);
    let (count, unit) = match seconds {
        _ if seconds.is_multiple_of(86_400) => (seconds / 86_400, "day"),
        _ if seconds.is_multiple_of(3_600) => (seconds / 3_600, "hour"),
        _ if seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}
