//! What requests can be told.

use serde_json::{Map, Value, json};

use super::DEFAULT_MAX_TOKENS;

/// Options that go into the request under their own names, as they are.
pub(super) const WIRE: [&str; 12] = [
    "container",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "temperature",
    "thinking",
    "top_k",
    "top_p",
    "user_profile_id",
];

/// Where breakpoints of the prompt cache stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breakpoints {
    Auto,
    SystemOnly,
    Off,
}

pub(super) fn breakpoints(options: &Map<String, Value>) -> Breakpoints {
    match options.get("cache_breakpoints").and_then(Value::as_str) {
        Some("off") => Breakpoints::Off,
        Some("system-only") => Breakpoints::SystemOnly,
        _ => Breakpoints::Auto,
    }
}

/// How many tokens the model may write, those it thinks with included.
pub(super) fn max_tokens(options: &Map<String, Value>) -> u64 {
    options.get("max_tokens").and_then(Value::as_u64).unwrap_or_else(|| {
        let budget = options.get("thinking").and_then(|it| it.get("budget_tokens"));
        budget.and_then(Value::as_u64).unwrap_or_default().saturating_add(DEFAULT_MAX_TOKENS)
    })
}

/// The kind of thinking that was asked for.
pub(super) fn thinking(options: &Map<String, Value>) -> Option<&str> {
    options.get("thinking")?.get("type")?.as_str()
}

pub(super) fn check(options: &Map<String, Value>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let forced = options.get("tool_choice").and_then(|it| it.get("type")).and_then(Value::as_str);
    if thinking(options) == Some("enabled") && matches!(forced, Some("any" | "tool")) {
        let why = "a forced choice does not go together with `thinking` of the type `enabled`";
        problems.push(("tool_choice".to_owned(), why.to_owned()));
    }
    problems
}

pub(super) fn schema() -> Value {
    let display = json!({ "enum": ["summarized", "omitted", null] });
    let text = json!({ "type": "string", "minLength": 1 });
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let flag = json!({ "type": "boolean" });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "max_tokens": { "type": "integer", "minimum": 1 },
            "temperature": share,
            "top_p": share,
            "top_k": { "type": "integer", "minimum": 0 },
            "stop_sequences": { "type": "array", "items": text },
            "thinking": { "anyOf": [
                kind("enabled", &json!({
                    "budget_tokens": { "type": "integer", "minimum": 1024 },
                    "display": display,
                }), &["budget_tokens"]),
                kind("disabled", &json!({}), &[]),
                kind("adaptive", &json!({ "display": display }), &[]),
                kind("between_tools", &json!({}), &[]),
            ] },
            "output_config": closed(&json!({
                "effort": { "enum": ["low", "medium", "high", "xhigh", "max", null] },
                "format": { "anyOf": [
                    kind("json_schema", &json!({ "schema": { "type": "object" } }), &["schema"]),
                    { "type": "null" },
                ] },
            }), &[]),
            "tool_choice": { "anyOf": [
                kind("auto", &json!({ "disable_parallel_tool_use": flag }), &[]),
                kind("any", &json!({ "disable_parallel_tool_use": flag }), &[]),
                kind("tool", &json!({ "name": text, "disable_parallel_tool_use": flag }), &["name"]),
                kind("none", &json!({}), &[]),
            ] },
            "metadata": closed(&json!({ "user_id": { "type": ["string", "null"] } }), &[]),
            "service_tier": { "enum": ["auto", "standard_only"] },
            "speed": { "enum": ["standard", "fast", null] },
            "container": { "anyOf": [text, { "type": "null" }, closed(&json!({
                "id": { "type": ["string", "null"] },
                "skills": { "type": ["array", "null"], "items": closed(&json!({
                    "skill_id": text,
                    "type": { "enum": ["anthropic", "custom"] },
                    "version": text,
                }), &["skill_id", "type"]) },
            }), &[])] },
            "inference_geo": { "type": ["string", "null"] },
            "user_profile_id": text,
            "cache_breakpoints": { "enum": ["auto", "system-only", "off"] },
            "cache_ttl": { "enum": ["5m", "1h"] },
        },
    })
}

/// An object with these properties and no others.
fn closed(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}

/// A closed object with this `type`.
fn kind(name: &str, properties: &Value, required: &[&str]) -> Value {
    let mut properties = properties.clone();
    if let Some(members) = properties.as_object_mut() {
        members.insert("type".to_owned(), json!({ "const": name }));
    }
    let required: Vec<&str> = required.iter().copied().chain(["type"]).collect();
    closed(&properties, &required)
}
