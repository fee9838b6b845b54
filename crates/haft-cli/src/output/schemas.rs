//! The JSON Schemas of what commands print and write.

use std::path::Path;

use anyhow::{Context as _, Result};
use haft::executors::Recording;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::agents::ServerLine;
use super::{
    ArtifactLine, CallRecord, CheckReport, ConversationExport, ConversationLine, DoctorLine,
    EventLine, GateLine, GrantLine, ListedTurn, MatchLine, MediaLine, ModelLine, PrintedRequest,
    PrintedResponse, PrintedTurn, ProviderLine, SubmittedTurn, TestLine, TokenLine, ToolLine,
};
use crate::agent::agent_file_schema;
use crate::user_error::{FailureCode, UserError};

/// The schema of something that a command prints or writes.
struct Output {
    /// The name of the schema: the words of the command, and of the option that selects the output.
    name: &'static str,
    schema: fn() -> Schema,
}

/// Everything that has a schema, apart from the agent file and the HTTP API.
const OUTPUTS: &[Output] = &[
    output("artifact-grep", of::<MatchLine<'_>>),
    output("artifact-info", of::<ArtifactLine<'_>>),
    output("call", of::<CallRecord<'_>>),
    output("check", of::<CheckReport>),
    output("conversations", of::<ConversationLine<'_>>),
    output("conversations-export", of::<ConversationExport<'_>>),
    output("doctor", of::<DoctorLine<'_>>),
    output("event", of::<EventLine<'_>>),
    output("gates", of::<GateLine<'_>>),
    output("grants", of::<GrantLine<'_>>),
    output("mcp-list", of::<ServerLine<'_>>),
    output("media-list", of::<MediaLine<'_>>),
    output("models", of::<ProviderLine<'_>>),
    output("models-provider", of::<ModelLine<'_>>),
    output("recording", of::<Recording>),
    output("serve-token-list", of::<TokenLine<'_>>),
    output("show", of::<PrintedTurn<'_>>),
    output("show-request", of::<PrintedRequest<'_>>),
    output("show-response", of::<PrintedResponse<'_>>),
    output("submit", of::<SubmittedTurn<'_>>),
    output("test", of::<TestLine<'_>>),
    output("tools", of::<ToolLine<'_>>),
    output("turns", of::<ListedTurn>),
];

/// The name of the schema of the agent file.
const AGENT_FILE: &str = "agent";

/// The name of the description of the HTTP API.
const HTTP_API: &str = "openapi";

const fn output(name: &'static str, schema: fn() -> Schema) -> Output {
    Output { name, schema }
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema with this name as text.
pub(crate) fn schema_text(name: &str) -> Result<String> {
    match name {
        AGENT_FILE => return agent_file_schema(),
        HTTP_API => return to_text(&haft_server::Api::openapi()),
        _ => {}
    }
    let found = OUTPUTS.iter().find(|it| it.name == name);
    let found = found.ok_or_else(|| {
        let names = OUTPUTS.iter().map(|it| it.name).chain([AGENT_FILE, HTTP_API]);
        UserError::new(format!("there is no schema `{name}`"))
            .hint(format!("the schemas: {}", names.collect::<Vec<_>>().join(", ")))
            .code(FailureCode::NotFound)
    })?;
    to_text(&(found.schema)())
}

/// Writes every schema to a file in a directory.
pub(crate) fn write_schemas(dir: &Path) -> Result<()> {
    let failed = |path: &Path| format!("cannot write `{}`", path.display());
    std::fs::create_dir_all(dir).with_context(|| failed(dir))?;
    for name in OUTPUTS.iter().map(|it| it.name).chain([AGENT_FILE, HTTP_API]) {
        let file =
            if name == HTTP_API { format!("{name}.json") } else { format!("{name}.schema.json") };
        let path = dir.join(file);
        std::fs::write(&path, schema_text(name)?).with_context(|| failed(&path))?;
    }
    Ok(())
}

fn to_text(schema: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
