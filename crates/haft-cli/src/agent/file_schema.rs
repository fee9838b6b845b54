//! The JSON Schema of agent files, generated from the types that parse them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use anyhow::Result;
use serde_json::Value;

use super::AgentFile;

/// The names of all keys whose value is a list.
pub(super) fn list_keys() -> &'static BTreeSet<String> {
    static KEYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let mut keys = BTreeSet::new();
        collect_list_keys(schemars::schema_for!(AgentFile).as_value(), &mut keys);
        keys
    });
    &KEYS
}

fn collect_list_keys(schema: &Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let is_list = |it: &Value| match it.get("type") {
            Some(Value::Array(types)) => types.iter().any(|it| it == "array"),
            one => one.is_some_and(|it| it == "array"),
        };
        keys.extend(properties.iter().filter(|(_, it)| is_list(it)).map(|(name, _)| name.clone()));
    }
    match schema {
        Value::Object(members) => members.values().for_each(|it| collect_list_keys(it, keys)),
        Value::Array(items) => items.iter().for_each(|it| collect_list_keys(it, keys)),
        _ => {}
    }
}

/// The JSON Schema of `agent.toml` as text.
pub(crate) fn agent_file_schema() -> Result<String> {
    let mut schema = schemars::schema_for!(AgentFile);
    schema.insert("title".to_owned(), "agent.toml".into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
