//! The schema of agent files, for editors and other programs.

use anyhow::Result;

use super::AgentFile;

/// JSON Schema of `agent.toml`, made of the types that read it.
pub(crate) fn json_schema() -> Result<String> {
    let mut schema = schemars::schema_for!(AgentFile);
    schema.insert("title".to_owned(), "agent.toml".into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
