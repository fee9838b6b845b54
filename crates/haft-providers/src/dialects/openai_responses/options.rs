//! The options of a request.

use serde_json::{Map, Value};

/// Options that go into the request unchanged, under their own names.
pub(super) const WIRE_OPTIONS: [&str; 16] = [
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

/// The value of `include` that asks for reasoning that can be sent back.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Where the system text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SystemChannel {
    Instructions,
    Developer,
    System,
}

pub(super) fn channel(options: &Map<String, Value>) -> SystemChannel {
    match options.get("system_prompt_channel").and_then(Value::as_str) {
        Some("developer-item") => SystemChannel::Developer,
        Some("system-item") => SystemChannel::System,
        _ => SystemChannel::Instructions,
    }
}

/// Whether reasoning is sent back.
pub(super) fn replays(options: &Map<String, Value>) -> bool {
    options.get("reasoning_replay").and_then(Value::as_str) == Some("encrypted")
}

pub(super) fn strict(options: &Map<String, Value>) -> bool {
    options.get("strict").and_then(Value::as_bool).unwrap_or_default()
}

/// What the response is asked to include.
pub(super) fn include(options: &Map<String, Value>) -> Vec<&str> {
    let asked = options.get("include").and_then(Value::as_array).into_iter().flatten();
    let mut include: Vec<&str> = asked.filter_map(Value::as_str).collect();
    if replays(options) && !include.contains(&ENCRYPTED) {
        include.push(ENCRYPTED);
    }
    include
}

/// The JSON Schema of the options.
pub(super) fn schema() -> Value {
    // It is part of the program, and a test reads it.
    serde_json::from_str(include_str!("options.json")).unwrap_or_default()
}
