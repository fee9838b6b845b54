//! The options of a request.

use serde_json::{Map, Value};

use super::DEFAULT_MAX_TOKENS;

/// Options that go into the request unchanged, under their own names.
pub(super) const WIRE_OPTIONS: [&str; 12] = [
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

/// Where breakpoints of the prompt cache are set.
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

/// How many tokens the model may generate, thinking included.
pub(super) fn max_tokens(options: &Map<String, Value>) -> u64 {
    options.get("max_tokens").and_then(Value::as_u64).unwrap_or_else(|| {
        let budget = options.get("thinking").and_then(|it| it.get("budget_tokens"));
        budget.and_then(Value::as_u64).unwrap_or_default().saturating_add(DEFAULT_MAX_TOKENS)
    })
}

/// The type of thinking that the options ask for.
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

/// The JSON Schema of the options.
pub(super) fn schema() -> Value {
    // It is part of the program, and a test reads it.
    serde_json::from_str(include_str!("options.json")).unwrap_or_default()
}
