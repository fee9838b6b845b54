//! Options and documents.

use haft_core::schema::ValueSchema;
use serde_json::{Map, Value, json};

use super::AnthropicMessages;
use crate::dialect::{DecodeError, Dialect as _, ModelRequest, StreamEvent};
use crate::prompt::Prompt;

#[track_caller]
fn check(option: &Value, accepted: bool) {
    let schema = ValueSchema::from_json_schema(AnthropicMessages::new().options_schema()).unwrap();
    let judged = schema.check(option);
    assert_eq!(judged.is_ok(), accepted, "{option}: {judged:?}");
}

#[test]
fn options_are_those_of_the_api() {
    for fine in [
        json!({}),
        json!({ "max_tokens": 1 }),
        json!({ "temperature": 0 }),
        json!({ "temperature": 1, "top_p": 0.5, "top_k": 0 }),
        json!({ "stop_sequences": ["a"] }),
        json!({ "thinking": { "type": "enabled", "budget_tokens": 1024, "display": "omitted" } }),
        json!({ "thinking": { "type": "disabled" } }),
        json!({ "thinking": { "type": "adaptive", "display": "summarized" } }),
        json!({ "output_config": { "effort": "xhigh", "format": { "type": "json_schema", "schema": {} } } }),
        json!({ "tool_choice": { "type": "auto", "disable_parallel_tool_use": true } }),
        json!({ "tool_choice": { "type": "tool", "name": "a.b" } }),
        json!({ "tool_choice": { "type": "none" } }),
        json!({ "metadata": { "user_id": "u" }, "service_tier": "standard_only" }),
        json!({ "container": "c", "inference_geo": "eu", "user_profile_id": "p", "speed": "fast" }),
        json!({ "container": { "skills": [{ "skill_id": "s", "type": "custom" }] } }),
        json!({ "cache_breakpoints": "system-only", "cache_ttl": "1h" }),
    ] {
        check(&fine, true);
    }
    for wrong in [
        json!({ "max_tokens": 0 }),
        json!({ "max_tokens": "100" }),
        json!({ "maxTokens": 100 }),
        json!({ "temperature": 1.1 }),
        json!({ "top_k": -1 }),
        json!({ "stop_sequences": "a" }),
        json!({ "stop_sequences": [""] }),
        json!({ "thinking": { "type": "enabled" } }),
        json!({ "thinking": { "type": "enabled", "budget_tokens": 1023 } }),
        json!({ "thinking": { "type": "disabled", "budget_tokens": 2000 } }),
        json!({ "output_config": { "effort": "huge" } }),
        json!({ "tool_choice": "auto" }),
        json!({ "tool_choice": { "type": "tool" } }),
        json!({ "tool_choice": { "type": "none", "name": "x" } }),
        json!({ "metadata": { "user": "u" } }),
        json!({ "cache_breakpoints": "on" }),
        json!({ "cache_ttl": "2h" }),
        // What the dialect writes itself.
        json!({ "model": "m" }),
        json!({ "messages": [] }),
        json!({ "system": "s" }),
        json!({ "tools": [] }),
        json!({ "stream": true }),
    ] {
        check(&wrong, false);
    }
}

#[test]
fn options_that_exclude_each_other_are_told() {
    let problems = |options: Value| {
        let problems = AnthropicMessages::new().check_options(options.as_object().unwrap());
        problems.into_iter().map(|(option, _)| option).collect::<Vec<_>>()
    };
    let enabled = json!({ "type": "enabled", "budget_tokens": 2048 });
    let forced = json!({ "type": "any" });
    assert_eq!(problems(json!({ "thinking": enabled, "tool_choice": forced })), ["tool_choice"]);
    assert!(
        problems(json!({ "thinking": { "type": "adaptive" }, "tool_choice": forced })).is_empty()
    );
    assert!(problems(json!({ "thinking": enabled, "tool_choice": { "type": "auto" } })).is_empty());
}

#[test]
fn the_output_is_bounded_without_an_option() {
    let limit =
        |options: Value| AnthropicMessages::new().output_limit(options.as_object().unwrap());
    assert_eq!(limit(json!({})), Some(8192));
    assert_eq!(limit(json!({ "max_tokens": 10 })), Some(10));
    let thinking = json!({ "type": "enabled", "budget_tokens": 4000 });
    assert_eq!(limit(json!({ "thinking": thinking })), Some(12192));
}

#[test]
fn overflow_is_recognised() {
    let check = |status, body, expected| {
        assert_eq!(
            AnthropicMessages::new().is_context_overflow(status, body),
            expected,
            "{status} {body}"
        );
    };
    check(
        400,
        r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        true,
    );
    check(413, "", true);
    check(400, r#"{"error":{"message":"max_tokens: too large"}}"#, false);
    check(500, "prompt is too long", false);
}

/// Sends events to a new decoder, and returns how many it takes and why it refuses the next one.
fn decode_many(event: impl Fn(u32) -> Value) -> (u32, Option<DecodeError>) {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder =
        AnthropicMessages::new().response_decoder(&ModelRequest::new("m", &prompt, &options));
    for at in 0..20_000 {
        let event = event(at).to_string();
        if let Err(error) = decoder.decode_event(StreamEvent::new(&event), &mut |_| ()) {
            return (at, Some(error));
        }
    }
    (20_000, None)
}

/// Nothing of these is reported before the block ends, so that no other limit counts it.
#[test]
fn what_open_blocks_hold_is_bounded() {
    let piece = "x".repeat(1 << 20);
    let start = |index: u32, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let refused = |reason: &str| Some(DecodeError::Malformed(reason.to_owned()));
    let bytes = "its blocks have more than 8388608 opaque bytes";
    let redacted = json!({ "type": "redacted_thinking", "data": &piece });
    assert_eq!(decode_many(|at| start(at, redacted.clone())), (8, refused(bytes)));
    let thinking = json!({ "type": "thinking", "signature": &piece });
    assert_eq!(decode_many(|at| start(at, thinking.clone())), (8, refused(bytes)));
    let call = json!({ "type": "tool_use", "id": "t", "name": &piece, "input": {} });
    assert_eq!(decode_many(|at| start(at, call.clone())), (8, refused(bytes)));
    let call = json!({ "type": "tool_use", "id": "t", "name": "f", "input": { "a": &piece } });
    assert_eq!(decode_many(|at| start(at, call.clone())), (7, refused(bytes)));
    let open = "more than 1024 blocks are open at a time";
    let text = json!({ "type": "text", "text": "" });
    assert_eq!(decode_many(|at| start(at, text.clone())), (1024, refused(open)));
    assert_eq!(decode_many(|_| start(0, text.clone())), (20_000, None));
}

/// The error of a request has a status, a type and a message. Only the three together say that thoughts were refused.
#[test]
fn refused_thoughts_are_recognised() {
    #[track_caller]
    fn check(status: u16, kind: &str, message: &str, expect: bool) {
        let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
        let found = AnthropicMessages::new().is_replay_rejected(status, &body.to_string());
        assert_eq!(found, expect, "{status} {body}");
    }
    let invalid = "invalid_request_error";
    let signature = "Invalid `signature` in `thinking` block";
    let changed = "`thinking` blocks cannot be modified";
    check(400, invalid, signature, true);
    check(400, invalid, changed, true);
    check(500, invalid, signature, false);
    check(400, "api_error", signature, false);
    check(400, invalid, "Invalid `signature` of the webhook", false);
    check(400, invalid, "`thinking` needs a budget", false);
    assert!(!AnthropicMessages::new().is_replay_rejected(400, "Invalid `signature` in `thinking`"));
}
