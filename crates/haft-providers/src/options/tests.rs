use std::time::Duration;

use haft_core::error::Coded as _;
use haft_core::tokens::Estimators;
use serde_json::{Value, json};

use super::{InvalidOptions, OptionSchema, Options, ResolvedOptions};
use crate::assembly::UnsupportedMedia;
use crate::dialects::chat_completions::ChatCompletions;

fn resolve(layers: &[Value]) -> Result<ResolvedOptions, InvalidOptions> {
    let layers: Vec<Options> = layers.iter().cloned().map(Options::from).collect();
    let layers: Vec<&Options> = layers.iter().collect();
    let dialect = ChatCompletions::new();
    OptionSchema::for_dialect(&dialect).resolve(&dialect, &layers, &Estimators::default())
}

#[track_caller]
fn refused(option: Value) -> Vec<String> {
    let error = resolve(&[json!({ "model": "m" }), option]).unwrap_err();
    assert_eq!(error.code(), "E_INVALID_PROVIDER_OPTIONS");
    error.problems
}

#[test]
fn the_highest_layer_wins_and_maps_are_merged_by_key() {
    let resolved = resolve(&[
        json!({ "model": "m", "temperature": 1, "stop": ["a"], "headers": { "a": "1", "b": "1" },
            "retry": { "maxAttempts": 5, "baseDelayMs": 10 }, "logit_bias": { "1": 1 } }),
        json!({ "temperature": 0.5, "headers": { "b": "2" }, "retry": { "maxAttempts": 2 } }),
        json!({ "stop": "b", "headers": { "c": "3" }, "logit_bias": { "2": 2 } }),
    ])
    .unwrap();
    assert_eq!(
        Value::Object(resolved.wire),
        json!({ "temperature": 0.5, "stop": "b", "logit_bias": { "2": 2 } })
    );
    let headers: Vec<(&str, &str)> = resolved
        .control
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(headers, [("a", "1"), ("b", "2"), ("c", "3")]);
    let retry = &resolved.control.retry;
    assert_eq!((retry.max_attempts, retry.base_delay_ms), (Some(2), Some(10)));
}

#[test]
fn a_stash_that_is_no_object_says_nothing() {
    for odd in [json!(null), json!([1]), json!("x")] {
        assert!(resolve(&[json!({ "model": "m" }), odd]).unwrap().wire.is_empty());
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let error = resolve(&[
        json!({ "temprature": 1, "top_p": 7, "stream": "yes", "retry": { "tries": 1 } }),
    ]);
    let problems = error.unwrap_err().problems;
    assert_eq!(problems.len(), 4, "{problems:#?}");
    assert_eq!(problems[0], "there is no option `temprature`; did you mean `temperature`?");
    let text = problems.join("\n");
    assert!(["/stream", "/retry", "/top_p"].iter().all(|it| text.contains(it)), "{text}");
    assert_eq!(resolve(&[json!({})]).unwrap_err().problems, ["`model` is missing"]);
    assert_eq!(
        refused(json!({ "apiKey": "sk-1" })),
        ["`apiKey` is given to the builder and cannot be an option"]
    );
    assert!(!format!("{:?}", refused(json!({ "apiKey": "sk-1" }))).contains("sk-1"));
    assert_eq!(
        refused(json!({ "top_logprobs": 3 })),
        ["`top_logprobs` needs `logprobs` to be true"]
    );
    assert_eq!(refused(json!({ "zzz": 3 })), ["there is no option `zzz`"]);
    let unusable = Options::new().with("model", "m").with("temperature", f64::NAN);
    assert_eq!(unusable.get("temperature"), Some(&Value::Null));
}

#[test]
fn options_of_the_core_have_defaults() {
    let control = resolve(&[json!({ "model": "m" })]).unwrap().control;
    assert!(
        control.delivery.is_streamed()
            && !control.context_shedding
            && !control.parse_text_calls
            && !control.parse_think_tags
    );
    assert_eq!(control.assembly.unsupported_media, UnsupportedMedia::Throw);
    let idle = Some(Duration::from_secs(300));
    assert_eq!((control.request_timeout, control.stream_idle_timeout), (None, idle));
    assert_eq!(control.token_encoding, None);
}

#[test]
fn options_of_the_core_are_read() {
    let control = resolve(&[json!({
        "model": "m", "stream": false, "requestTimeoutMs": 5, "streamIdleTimeoutMs": 0,
        "contextWindow": 100, "tokenEncoding": "claude", "unsupportedMediaPolicy": "synthetic-description",
        "parseTextCalls": true, "parseThinkTags": true,
    })])
    .unwrap()
    .control;
    assert!(!control.delivery.is_streamed());
    assert_eq!(
        (control.request_timeout, control.stream_idle_timeout),
        (Some(Duration::from_millis(5)), None)
    );
    assert_eq!(control.assembly.unsupported_media, UnsupportedMedia::SyntheticDescription);
    assert!(control.parse_text_calls && control.parse_think_tags);
    assert_eq!(control.token_encoding.as_deref(), Some("claude"));
    let off = resolve(&[
        json!({ "model": "m", "contextWindow": 1, "tokenEncoding": "claude" }),
        json!({ "tokenEncoding": null }),
    ]);
    assert_eq!(off.unwrap().control.token_encoding, None);
}

#[test]
fn options_of_the_core_are_refused() {
    for bad in [
        json!({ "contextWindow": 0 }),
        json!({ "retry": { "maxAttempts": 0 } }),
        json!({ "retry": { "budgetMs": 99 } }),
        json!({ "requestTimeoutMs": -1 }),
        json!({ "unsupportedMediaPolicy": "drop" }),
        json!({ "parseTextCalls": "xml" }),
        json!({ "headers": { "a": 1 } }),
        json!({ "tokenEncoding": "claude" }),
        json!({ "tokenEncoding": "nobody", "contextWindow": 5 }),
        json!({ "model": "" }),
    ] {
        assert_eq!(refused(bad.clone()).len(), 1, "{bad}");
    }
}
