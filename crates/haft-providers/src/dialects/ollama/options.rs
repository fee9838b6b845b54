//! The options of a request.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Ollama;

/// The JSON Schema of the options.
pub(super) fn schema() -> Value {
    // It is part of the program, and a test reads it.
    serde_json::from_str(include_str!("options.json")).unwrap_or_default()
}

/// Checks for options that mean the same, or that need each other.
pub(super) fn check(options: &Map<String, Value>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for names in [&OUTPUT_LIMITS[..], &["think", "reasoning_effort"]] {
        let mut given = names.iter().filter(|name| options.contains_key(**name));
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            let text = format!("says the same as `{first}`; give one of them");
            problems.push(((*second).to_owned(), text));
        }
    }
    if options.contains_key("top_logprobs")
        && options.get("logprobs").and_then(Value::as_bool) != Some(true)
    {
        problems.push(("top_logprobs".to_owned(), "needs `logprobs` to be true".to_owned()));
    }
    problems
}

/// The limit on generated tokens, if there is one. A negative `num_predict` is none.
pub(super) fn output_limit(options: &Map<String, Value>) -> Option<u64> {
    OUTPUT_LIMITS.iter().find_map(|name| options.get(*name)?.as_u64())
}

/// The names of the limit on generated tokens; the first one is that of the API.
const OUTPUT_LIMITS: [&str; 3] = ["num_predict", "max_tokens", "max_completion_tokens"];

/// Options that stand in the request itself and not in its member `options`.
const TOP_LEVEL: [&str; 7] =
    ["think", "keep_alive", "format", "truncate", "shift", "logprobs", "top_logprobs"];

/// The options as they stand in a request.
pub(super) struct RequestOptions<'a> {
    /// Members of the request.
    pub(super) top_level: Vec<(&'a str, Cow<'a, Value>)>,
    /// Members of `options`.
    pub(super) nested: Map<String, Value>,
}

impl<'a> RequestOptions<'a> {
    pub(super) fn new(options: &'a Map<String, Value>) -> Self {
        let mut top_level = Vec::new();
        let mut nested = Map::new();
        for (name, value) in options {
            match name.as_str() {
                "reasoning_effort" => {
                    let is_off = value.as_str() == Some("none");
                    let think =
                        if is_off { Cow::Owned(Value::Bool(false)) } else { Cow::Borrowed(value) };
                    top_level.push(("think", think));
                }
                name if TOP_LEVEL.contains(&name) => top_level.push((name, Cow::Borrowed(value))),
                name if OUTPUT_LIMITS.contains(&name) => {
                    nested.insert("num_predict".to_owned(), value.clone());
                }
                name => {
                    nested.insert(name.to_owned(), value.clone());
                }
            }
        }
        nested.entry("num_ctx").or_insert_with(|| Ollama::DEFAULT_NUM_CTX.into());
        if !options.contains_key("truncate") {
            top_level.push(("truncate", Cow::Owned(Value::Bool(false))));
        }
        Self { top_level, nested }
    }
}
