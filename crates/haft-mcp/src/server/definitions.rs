//! The definitions of tools as clients see them.

use std::sync::Arc;
use std::time::Duration;

use haft_core::Tool;
use haft_core::tool::ToolEffect;
use rmcp::model::{JsonObject, Tool as ToolDefinition, ToolAnnotations};
use serde_json::Value;

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

/// A tool with the schema that a model gets, and not with the plain tree of [`InputSchema::describe`], in which clients
/// find no arguments.
///
/// [`InputSchema::describe`]: haft_core::schema::InputSchema::describe
fn definition(tool: &Tool, description: String, annotations: ToolAnnotations) -> ToolDefinition {
    let schema = match tool.input_schema().json_schema() {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    ToolDefinition::new(tool.name().to_string(), description, Arc::new(schema))
        .annotate(annotations)
}

/// What a client may expect of a call. A client does not ask its user about a tool that is announced as read-only, and
/// repeats a call of one that is announced as idempotent. Our idempotent tools are so only for one key, and each call of
/// a client has a key of its own. Whether an effect destroys something is not known, so that nothing is said about it:
/// clients then expect that it does.
fn annotations(effect: ToolEffect) -> ToolAnnotations {
    match effect {
        ToolEffect::ReadOnly => ToolAnnotations::new().read_only(true).destructive(false),
        _ => ToolAnnotations::new().read_only(false).idempotent(false),
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::describe_lifetime;

    #[test]
    fn a_lifetime_is_told_in_the_largest_unit_that_divides_it() {
        #[track_caller]
        fn check(seconds: u64, text: &str) {
            assert_eq!(describe_lifetime(Duration::from_secs(seconds)), text);
        }
        check(0, "1 second");
        check(1, "1 second");
        check(59, "59 seconds");
        check(60, "1 minute");
        check(61, "61 seconds");
        check(3_540, "59 minutes");
        check(3_600, "1 hour");
        check(5_400, "90 minutes");
        check(82_800, "23 hours");
        check(86_400, "1 day");
        check(90_000, "25 hours");
        check(1_209_600, "14 days");
    }
}
