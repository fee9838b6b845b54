//! Options.

use haft_core::schema::ValueSchema;
use serde_json::{Map, Value, json};

use super::OpenAiResponses;
use crate::dialect::{DecodeError, Dialect as _, ModelRequest, StreamEvent};
use crate::prompt::Prompt;

#[track_caller]
fn check(option: &Value, accepted: bool) {
    let schema = ValueSchema::from_json_schema(OpenAiResponses::new().options_schema()).unwrap();
    let judged = schema.check(option);
    assert_eq!(judged.is_ok(), accepted, "{option}: {judged:?}");
}

#[test]
fn options_are_those_of_the_api() {
    let format = json!({ "type": "json_schema", "name": "n", "schema": {}, "strict": true });
    for fine in [
        json!({}),
        json!({ "max_output_tokens": 16 }),
        json!({ "reasoning": { "effort": "xhigh", "summary": "auto" } }),
        json!({ "text": { "format": format, "verbosity": "low" } }),
        json!({ "text": { "format": { "type": "text" } } }),
        json!({ "include": ["reasoning.encrypted_content"], "truncation": "auto" }),
        json!({ "tool_choice": "required" }),
        json!({ "tool_choice": { "type": "function", "name": "a.b" } }),
        json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto",
            "tools": [{ "type": "function", "name": "a" }] } }),
        json!({ "parallel_tool_calls": false, "max_tool_calls": 3, "metadata": { "a": "b" } }),
        json!({ "prompt_cache_key": "k", "prompt_cache_retention": "24h", "user": "u" }),
        json!({ "safety_identifier": "s", "service_tier": "flex", "top_logprobs": 20 }),
        json!({ "temperature": 2, "top_p": 1, "stream_options": { "include_obfuscation": false } }),
        json!({ "strict": true, "reasoning_replay": "encrypted", "system_prompt_channel": "system-item" }),
    ] {
        check(&fine, true);
    }
    for wrong in [
        json!({ "max_output_tokens": 15 }),
        json!({ "max_tokens": 100 }),
        json!({ "reasoning": { "effort": "huge" } }),
        json!({ "text": { "format": { "type": "json_schema", "name": "n" } } }),
        json!({ "include": ["everything"] }),
        json!({ "tool_choice": "any" }),
        json!({ "tool_choice": { "type": "function", "function": { "name": "a" } } }),
        json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [] } }),
        json!({ "metadata": { "a": 1 } }),
        json!({ "temperature": 2.1 }),
        json!({ "top_logprobs": 21 }),
        json!({ "safety_identifier": "s".repeat(65) }),
        json!({ "reasoning_replay": "on" }),
        json!({ "strict": "yes" }),
        // What would keep state with the provider.
        json!({ "store": true }),
        json!({ "previous_response_id": "resp_1" }),
        json!({ "conversation": "conv_1" }),
        json!({ "background": true }),
        json!({ "prompt": { "id": "p" } }),
        json!({ "context_management": [] }),
        // What the dialect writes itself.
        json!({ "model": "m" }),
        json!({ "instructions": "i" }),
        json!({ "input": [] }),
        json!({ "tools": [] }),
        json!({ "stream": true }),
    ] {
        check(&wrong, false);
    }
}

#[test]
fn overflow_is_recognised() {
    let body = r#"{"error":{"code":"context_length_exceeded"}}"#;
    assert!(OpenAiResponses::new().is_context_overflow(400, body));
    assert!(!OpenAiResponses::new().is_context_overflow(429, body));
    assert!(
        !OpenAiResponses::new().is_context_overflow(400, r#"{"error":{"code":"invalid_prompt"}}"#)
    );
}

/// Sends events to a new decoder, and returns how many it takes and why it refuses the next one.
fn decode_many(event: impl Fn(u32) -> Value) -> (u32, Option<DecodeError>) {
    let (prompt, options) = (Prompt::default(), Map::new());
    let mut decoder =
        OpenAiResponses::new().response_decoder(&ModelRequest::new("m", &prompt, &options));
    for at in 0..20_000 {
        let event = event(at).to_string();
        if let Err(error) = decoder.decode_event(StreamEvent::new(&event), &mut |_| ()) {
            return (at, Some(error));
        }
    }
    (20_000, None)
}

#[test]
fn the_number_of_items_and_parts_is_bounded() {
    let reason = "it has more than 16384 items or parts of messages";
    let refused = Some(DecodeError::Malformed(reason.to_owned()));
    let item = |at: u32| json!({ "type": "response.output_item.added", "output_index": at, "item": { "type": "reasoning" } });
    assert_eq!(decode_many(item), (16_385, refused.clone()));
    let part = |at: u32| json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": at, "delta": "" });
    assert_eq!(decode_many(part), (16_385, refused));
}
