//! What requests can be told.

use serde_json::{Map, Value, json};

/// Options that go into the request under their own names, as they are.
pub(super) const WIRE: [&str; 16] = [
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "stream_options",
    "temperature",
    "text",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// What asks for reasoning that can be sent back.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Where the system text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Instructions,
    Developer,
    System,
}

pub(super) fn channel(options: &Map<String, Value>) -> Channel {
    match options.get("system_prompt_channel").and_then(Value::as_str) {
        Some("developer-item") => Channel::Developer,
        Some("system-item") => Channel::System,
        _ => Channel::Instructions,
    }
}

/// Whether reasoning is sent back.
pub(super) fn replays(options: &Map<String, Value>) -> bool {
    options.get("reasoning_replay").and_then(Value::as_str) == Some("encrypted")
}

pub(super) fn strict(options: &Map<String, Value>) -> bool {
    options.get("strict").and_then(Value::as_bool).unwrap_or_default()
}

/// What the answer is to include.
pub(super) fn include(options: &Map<String, Value>) -> Vec<&str> {
    let asked = options.get("include").and_then(Value::as_array).into_iter().flatten();
    let mut include: Vec<&str> = asked.filter_map(Value::as_str).collect();
    if replays(options) && !include.contains(&ENCRYPTED) {
        include.push(ENCRYPTED);
    }
    include
}

pub(super) fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let function = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "type": { "const": "function" }, "name": text },
        "required": ["type", "name"],
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "include": { "type": "array", "items": { "enum": [
                "message.output_text.logprobs",
                ENCRYPTED,
            ] } },
            "max_output_tokens": { "type": "integer", "minimum": 16 },
            "max_tool_calls": { "type": "integer", "minimum": 1 },
            "metadata": { "type": "object", "additionalProperties": { "type": "string" } },
            "parallel_tool_calls": { "type": "boolean" },
            "prompt_cache_key": text,
            "prompt_cache_retention": { "enum": ["in_memory", "24h"] },
            "reasoning": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "effort": { "enum":
                        ["none", "minimal", "low", "medium", "high", "xhigh", "max", null] },
                    "summary": { "enum": ["auto", "concise", "detailed", null] },
                },
            },
            "safety_identifier": { "type": "string", "minLength": 1, "maxLength": 64 },
            "service_tier": { "enum":
                ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] },
            "stream_options": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "include_obfuscation": { "type": "boolean" } },
            },
            "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
            "text": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "format": format(&text),
                    "verbosity": { "enum": ["low", "medium", "high", null] },
                },
            },
            "tool_choice": { "anyOf": [
                { "enum": ["none", "auto", "required"] },
                function,
                {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "type": { "const": "allowed_tools" },
                        "mode": { "enum": ["auto", "required"] },
                        "tools": { "type": "array", "minItems": 1, "items": function },
                    },
                    "required": ["type", "mode", "tools"],
                },
            ] },
            "top_logprobs": { "type": "integer", "minimum": 0, "maximum": 20 },
            "top_p": { "type": "number", "minimum": 0, "maximum": 1 },
            "truncation": { "enum": ["auto", "disabled"] },
            "user": text,
            "reasoning_replay": { "enum": ["off", "encrypted"] },
            "strict": { "type": "boolean" },
            "system_prompt_channel": { "enum": ["instructions", "developer-item", "system-item"] },
        },
    })
}

/// What the answer has to look like.
fn format(text: &Value) -> Value {
    let plain = |name: &str| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "type": { "const": name } },
            "required": ["type"],
        })
    };
    json!({ "anyOf": [plain("text"), plain("json_object"), {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "type": { "const": "json_schema" },
            "name": text,
            "description": { "type": "string" },
            "schema": { "type": "object" },
            "strict": { "type": ["boolean", "null"] },
        },
        "required": ["type", "name", "schema"],
    }] })
}
