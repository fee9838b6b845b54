//! The options of a request.

use serde_json::{Map, Value};

/// The JSON Schema of the options.
pub(super) fn schema() -> Value {
    // It is part of the program, and a test reads it.
    serde_json::from_str(include_str!("options.json")).unwrap_or_default()
}

/// What does not go together.
pub(super) fn check(options: &Map<String, Value>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut problem = |key: &str, what: &str| problems.push((key.to_owned(), what.to_owned()));
    if options.contains_key("top_logprobs")
        && options.get("logprobs").and_then(Value::as_bool) != Some(true)
    {
        problem("top_logprobs", "needs `logprobs` to be true");
    }
    if options.contains_key("max_tokens") && options.contains_key("max_completion_tokens") {
        problem("max_tokens", "says the same as `max_completion_tokens`; give one of them");
    }
    let audio = options.get("modalities").and_then(Value::as_array);
    if audio.is_some_and(|it| it.iter().any(|it| it == "audio")) && !options.contains_key("audio") {
        problem("modalities", "asks for `audio`, which needs the option `audio`");
    }
    problems
}
