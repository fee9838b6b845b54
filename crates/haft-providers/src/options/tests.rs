use std::time::Duration;

use haft_core::error::Coded as _;
use haft_core::tokens::Estimators;
use serde_json::{Value, json};

use super::{InvalidOptions, OptionSchema, Options, ResolvedOptions};
use crate::assembly::{ThoughtSurfacing, UnsupportedMedia};
use crate::dialects::chat_completions::ChatCompletions;
use crate::prompt::PromptSection;
use crate::text_calls::TextCallFormat;

fn resolve(layers: &[Value]) -> Result<ResolvedOptions, InvalidOptions> {
    let layers: Vec<Options> = layers.iter().cloned().map(Options::from).collect();
    let layers: Vec<&Options> = layers.iter().collect();
    let dialect = ChatCompletions::new();
    OptionSchema::for_dialect(&dialect).resolve(&dialect, &layers, &Estimators::default())
}

#[track_caller]
fn refused(option: Value) -> Vec<String> {
    let error = resolve(&[json!({ "model": "m" }), option]).unwrap_err();
    assert_eq!(error.code(), "E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS");
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
            && control.auto_ack
            && !control.strict_tool_choice
            && !control.context_shedding
    );
    assert_eq!(control.assembly.section_order.len(), 4);
    assert_eq!(&*control.assembly.self_identity, "assistant");
    assert_eq!(control.assembly.thoughts, ThoughtSurfacing::AllSelf);
    assert_eq!(control.assembly.unsupported_media, UnsupportedMedia::Throw);
    let idle = Some(Duration::from_secs(300));
    assert_eq!((control.request_timeout, control.stream_idle_timeout), (None, idle));
    assert_eq!((control.text_calls, control.token_encoding), (None, None));
}

#[test]
fn options_of_the_core_are_read() {
    let control = resolve(&[json!({
        "model": "m", "stream": false, "autoAck": false, "requestTimeoutMs": 5, "streamIdleTimeoutMs": 0,
        "bucketOrder": ["timeline", "memories"], "contextWindow": 100, "tokenEncoding": "claude",
        "selfIdentity": "planner", "thoughtSurfacing": "latest-self", "replayCompatibility": ["v/1"],
        "unsupportedMediaPolicy": { "mode": "fallback-stash", "stashKeys": ["text:x"] },
        "localToolCallParser": "gpt_oss", "reasoningParser": "none",
    })])
    .unwrap()
    .control;
    assert!(!control.delivery.is_streamed() && !control.auto_ack);
    assert_eq!(
        (control.request_timeout, control.stream_idle_timeout),
        (Some(Duration::from_millis(5)), None)
    );
    assert_eq!(control.assembly.section_order, [PromptSection::Timeline, PromptSection::Memories]);
    assert_eq!(
        control.assembly.unsupported_media,
        UnsupportedMedia::FallbackStash(vec!["text:x".to_owned()])
    );
    assert_eq!((control.text_calls, control.reasoning), (Some(TextCallFormat::GptOss), None));
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
        json!({ "bucketOrder": ["timeline", "timeline"] }),
        json!({ "bucketOrder": ["systemPrompt"] }),
        json!({ "contextWindow": 0 }),
        json!({ "selfIdentity": "" }),
        json!({ "thoughtSurfacing": "none" }),
        json!({ "retry": { "maxAttempts": 0 } }),
        json!({ "retry": { "retriableStatuses": [99] } }),
        json!({ "requestTimeoutMs": -1 }),
        json!({ "replayCompatibility": [""] }),
        json!({ "autoAck": "no" }),
        json!({ "unsupportedMediaPolicy": "drop" }),
        json!({ "localToolCallParser": "xml" }),
        json!({ "headers": { "a": 1 } }),
        json!({ "tokenEncoding": "claude" }),
        json!({ "tokenEncoding": "nobody", "contextWindow": 5 }),
        json!({ "model": "" }),
    ] {
        assert_eq!(refused(bad.clone()).len(), 1, "{bad}");
    }
}
