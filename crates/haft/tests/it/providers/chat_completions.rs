//! Chat Completions as it goes over the wire.

use haft::providers::Dialect as _;
use haft::providers::dialect::{Delivery, ModelRequest};
use haft::providers::dialects::chat_completions::ChatCompletions;
use serde_json::{Map, Value, json};

use super::answers::wire_schema;
use super::transcripts::{self, Turn};

/// The request, and that it is one by the provider's own schema.
async fn golden(turn: &Turn) -> Value {
    let (body, _) = turn.encoded(&ChatCompletions::new(), &Map::new()).await;
    if let Some(schema) = wire_schema("openai.chat.request.streaming") {
        schema.check(&body).unwrap_or_else(|problems| panic!("{problems}\n{body:#}"));
    }
    body
}

#[tokio::test]
async fn every_transcript_is_a_request() {
    for (name, turn) in transcripts::all().await {
        let mut body = golden(&turn).await;
        // What a tool is called with stands in a snapshot of its own.
        body.as_object_mut().unwrap().remove("tools");
        insta::with_settings!({ snapshot_suffix => name, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("chat_completions", format!("{body:#}"));
        });
    }
}

#[tokio::test]
async fn tools_are_the_same_bytes_in_every_request() {
    let mut turn = Turn::new();
    turn.user("m-1", "Hi").await;
    let (first, _) = turn.encoded(&ChatCompletions::new(), &Map::new()).await;
    turn.call("get_weather", r#"{"city": "Paris"}"#, "call_a").await;
    let (second, encoded) = turn.encoded(&ChatCompletions::new(), &Map::new()).await;
    assert_eq!(first["tools"].to_string(), second["tools"].to_string());
    let text = String::from_utf8(encoded.body.to_vec()).unwrap();
    let schema = transcripts::weather().input_schema().json_schema_text().to_owned();
    assert!(text.contains(&schema), "the schema stands there as it is written");
    assert_eq!(first["tools"][1]["function"]["name"], "web_fetch_0b1cadf4");
}

#[tokio::test]
async fn strict_mode_is_said_of_each_tool_that_can_have_it() {
    let turn = transcripts::calls().await;
    let options = json!({ "strict": true });
    let (body, encoded) = turn.encoded(&ChatCompletions::new(), options.as_object().unwrap()).await;
    assert_eq!(body.get("strict"), None);
    let strict: Vec<&Value> =
        body["tools"].as_array().unwrap().iter().map(|it| &it["function"]["strict"]).collect();
    assert_eq!(strict, [&json!(true), &Value::Null]);
    assert!(encoded.notes.iter().any(|note| note.topic.as_str() == "tool-not-strict"));
}

#[tokio::test]
async fn options_go_out_as_they_are_and_nothing_else_does() {
    let turn = transcripts::calls().await;
    let options = json!({ "temperature": 0.5, "stop": ["a"], "parallel_tool_calls": false,
        "tool_choice": { "type": "function", "function": { "name": "web.fetch" } } });
    let options = options.as_object().unwrap();
    let (body, _) = turn.encoded(&ChatCompletions::new(), options).await;
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "messages",
            "model",
            "parallel_tool_calls",
            "stop",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools"
        ]
    );
    assert_eq!(body["tool_choice"]["function"]["name"], body["tools"][1]["function"]["name"]);
    assert_eq!(body["stream_options"], json!({ "include_usage": true }));

    let assembled = transcripts::hello().await.assembled(&ChatCompletions::new()).await;
    let request = ModelRequest::new("m", &assembled.prompt, options).delivery(Delivery::Whole);
    let encoded = ChatCompletions::new().encode_request(&request).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["messages", "model", "stop", "stream", "temperature"]);
    let topics: Vec<&str> = encoded.notes.iter().map(|note| note.topic.as_str()).collect();
    assert_eq!(topics, ["option-without-tools"; 2]);
}
