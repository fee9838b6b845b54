//! Anthropic Messages as it goes over the wire.

use std::collections::HashSet;

use haft::events::Usage;
use haft::providers::dialect::DecodeError;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::generation::{FinishReason, Generation, GenerationOutcome};
use haft::providers::prompt::{
    AssistantEntry, ContentPart, Prompt, PromptEntry, PromptSection, SystemPart, UserEntry,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::answers::{cut, replayed, request, streamed, whole, wire_schema, words};
use super::transcripts::{self, Turn};

const DIALECT: AnthropicMessages = AnthropicMessages::new();

/// What holds of every request.
#[track_caller]
fn check(body: &Value) {
    if let Some(schema) = wire_schema("anthropic.messages.request.streaming") {
        schema.check(body).unwrap_or_else(|problems| panic!("{problems}\n{body:#}"));
    }
    let messages = body["messages"].as_array().unwrap();
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        assert_eq!(message["role"], ["user", "assistant"][n % 2], "{messages:#?}");
        let blocks = message["content"].as_array().unwrap();
        assert!(!blocks.is_empty());
        let results: Vec<&str> = blocks.iter().map_while(|it| it["tool_use_id"].as_str()).collect();
        assert_eq!(results, open, "every call has its result, in order, before anything else");
        let all = blocks.iter().filter(|it| it["type"] == "tool_result").count();
        assert_eq!(all, results.len());
        open = blocks
            .iter()
            .filter(|it| it["type"] == "tool_use")
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        assert!(open.iter().all(|it| ids.insert(*it)), "an id twice: {open:?}");
        for text in blocks.iter().filter_map(|it| it["text"].as_str()) {
            assert!(!text.trim().is_empty());
        }
    }
    assert!(messages.len() % 2 == 1, "the user speaks first and last");
    assert!(body.to_string().matches("cache_control").count() <= 4);
}

#[tokio::test]
async fn every_transcript_is_a_request() {
    for (name, turn) in transcripts::all().await {
        let (mut body, _) = turn.encoded(&DIALECT, &Map::new()).await;
        check(&body);
        // What a tool is called with stands in a test of its own.
        body.as_object_mut().unwrap().remove("tools");
        insta::with_settings!({ snapshot_suffix => name, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("messages", format!("{body:#}"));
        });
    }
}

#[tokio::test]
async fn what_comes_before_stays_the_same() {
    let mut turn = Turn::new();
    turn.user("m-1", "Hi").await;
    let (mut first, _) = turn.encoded(&DIALECT, &Map::new()).await;
    turn.call("get_weather", r#"{"city": "Paris"}"#, "call_a").await;
    let (mut second, encoded) = turn.encoded(&DIALECT, &Map::new()).await;
    assert_eq!(first["tools"], second["tools"]);
    let text = String::from_utf8(encoded.body.to_vec()).unwrap();
    let schema = transcripts::weather().input_schema().json_schema_text().to_owned();
    assert!(text.contains(&schema), "the schema stands there as it is written");
    assert!(text.contains(r#""input":{"city": "Paris"}"#), "and so do arguments");
    unmark(&mut first);
    unmark(&mut second);
    assert_eq!(first["system"], second["system"]);
    assert_eq!(first["messages"][0], second["messages"][0]);
}

/// Takes the breakpoints of the cache away.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(unmark);
        }
        Value::Array(list) => list.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn heard(text: &str) -> PromptEntry {
    PromptEntry::User(UserEntry::new(vec![ContentPart::Text(words(text))]))
}

fn own(text: &str) -> PromptEntry {
    PromptEntry::Assistant(AssistantEntry::new(vec![ContentPart::Text(words(text))]))
}

fn prompt(timeline: Vec<PromptEntry>) -> Prompt {
    let mut prompt = Prompt::default();
    prompt.timeline = timeline;
    prompt
}

/// Roles and texts of the messages, and what was noted.
#[track_caller]
fn check_messages(prompt: &Prompt, expected: &[(&str, &[&str])], notes: &[&str]) {
    let (body, noted) = request(&DIALECT, prompt, "m", &json!({}));
    check(&body);
    let said: Vec<(&str, Vec<&str>)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let blocks = it["content"].as_array().unwrap().iter();
            (it["role"].as_str().unwrap(), blocks.filter_map(|it| it["text"].as_str()).collect())
        })
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        expected.iter().map(|(role, it)| (*role, it.to_vec())).collect();
    assert_eq!(said, expected);
    assert_eq!(noted, notes);
}

#[test]
fn roles_take_turns_and_the_user_speaks_first_and_last() {
    check_messages(&prompt(vec![heard("a")]), &[("user", &["a"])], &[]);
    check_messages(
        &prompt(vec![heard("a"), heard("b"), own("c"), own("d"), heard("e")]),
        &[("user", &["a", "b"]), ("assistant", &["c", "d"]), ("user", &["e"])],
        &["messages-merged"],
    );
    check_messages(
        &prompt(vec![own("a"), heard("b")]),
        &[("user", &["Begin."]), ("assistant", &["a"]), ("user", &["b"])],
        &["message-added"],
    );
    check_messages(
        &prompt(vec![heard("a"), own("b")]),
        &[("user", &["a"]), ("assistant", &["b"]), ("user", &["Continue."])],
        &["message-added"],
    );
    check_messages(&prompt(vec![]), &[("user", &["Begin."])], &["message-added"]);
    check_messages(
        &prompt(vec![heard("a"), own(" \n"), heard("b")]),
        &[("user", &["a", "b"])],
        &["blank-text-left-out", "messages-merged"],
    );
}

#[test]
fn what_stands_behind_the_timeline_is_said_by_the_user() {
    let mut it = prompt(vec![heard("a")]);
    it.trailing = vec![SystemPart::new(PromptSection::Memories, words("tea"))];
    check_messages(&it, &[("user", &["a", "tea"])], &["trailing-system-moved"]);
    it.timeline.push(own("b"));
    check_messages(
        &it,
        &[("user", &["a"]), ("assistant", &["b"]), ("user", &["tea"])],
        &["trailing-system-moved"],
    );
}

#[test]
fn results_come_before_what_was_said_meanwhile() {
    let (generation, _) = streamed(&DIALECT, &interleaved()).unwrap();
    let mut it = replayed(&generation);
    let results = it.timeline.pop().unwrap();
    it.timeline.extend([heard("hurry"), results, heard("now")]);
    let (body, notes) = request(&DIALECT, &it, "test-model", &json!({}));
    check(&body);
    let kinds: Vec<&str> = body["messages"][2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text", "text"]);
    assert_eq!(notes, ["results-moved", "messages-merged"]);
}

/// The texts of the blocks and tools behind which a prefix ends.
fn breakpoints(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let system = body["system"].as_array().into_iter().flatten();
    let blocks = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["content"].as_array().unwrap());
    let marked = tools.chain(system).chain(blocks).filter(|it| it.get("cache_control").is_some());
    marked.map(|it| it["text"].as_str().or(it["name"].as_str()).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn breakpoints_stand_where_a_prefix_will_come_again() {
    let check = |prompt: &Prompt, options: Value, expected: &[&str]| {
        let (body, _) = request(&DIALECT, prompt, "m", &options);
        check(&body);
        assert_eq!(breakpoints(&body), expected, "{options}");
    };
    let part = |bucket, text| SystemPart::new(bucket, words(text));
    let mut it = prompt(vec![heard("a"), own("b"), heard("c"), own("d"), heard("e"), heard("f")]);
    it.system = vec![
        part(PromptSection::SystemPrompt, "s"),
        part(PromptSection::StandingInstructions, "i"),
        part(PromptSection::Memories, "m"),
        part(PromptSection::Retrievables, "r"),
    ];
    it.trailing = vec![part(PromptSection::Memories, "t")];
    check(&it, json!({}), &["i", "r", "c", "f"]);
    check(&it, json!({ "cache_breakpoints": "system-only" }), &["i", "r"]);
    check(&it, json!({ "cache_breakpoints": "off" }), &[]);
    it.system.truncate(2);
    check(&it, json!({}), &["i", "c", "f"]);
    it.system.clear();
    check(&it, json!({}), &["c", "f"]);
    let mut turn = Turn::new().assembled(&DIALECT).await.prompt;
    turn.system.clear();
    turn.timeline.push(heard("a"));
    let last = turn.tools.last().unwrap().wire_name.to_string();
    check(&turn, json!({}), &[&last, "a"]);
    let (body, _) = request(&DIALECT, &it, "m", &json!({ "cache_ttl": "1h" }));
    assert_eq!(body["messages"][0]["content"][0].get("cache_control"), None);
    assert_eq!(
        body["messages"][2]["content"][0]["cache_control"],
        json!({ "type": "ephemeral", "ttl": "1h" })
    );
}

#[tokio::test]
async fn options_go_out_under_their_names_and_nothing_else_does() {
    let turn = transcripts::calls().await;
    let options = json!({
        "max_tokens": 5, "temperature": 0.5, "stop_sequences": ["x"], "metadata": { "user_id": "u" },
        "tool_choice": { "type": "tool", "name": "web.fetch" }, "cache_breakpoints": "off", "cache_ttl": "5m",
        "thinking": { "type": "adaptive" }, "output_config": { "effort": "low" },
    });
    let (body, encoded) = turn.encoded(&DIALECT, options.as_object().unwrap()).await;
    // The official client has dropped the options of sampling, which older models take.
    let mut judged = body.clone();
    judged.as_object_mut().unwrap().remove("temperature");
    check(&judged);
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "max_tokens",
            "messages",
            "metadata",
            "model",
            "output_config",
            "stop_sequences",
            "stream",
            "system",
            "temperature",
            "thinking",
            "tool_choice",
            "tools",
        ]
    );
    assert_eq!(body["tool_choice"], json!({ "type": "tool", "name": body["tools"][1]["name"] }));
    assert_eq!(body["max_tokens"], 5);
    let topics: Vec<&str> = encoded.notes.iter().map(|it| it.topic.as_str()).collect();
    assert_eq!(topics, Vec::<&str>::new());
    let gone = json!({ "tool_choice": { "type": "tool", "name": "gone" } });
    let (body, encoded) = turn.encoded(&DIALECT, gone.as_object().unwrap()).await;
    assert_eq!(body.get("tool_choice"), None);
    assert_eq!(encoded.notes[0].topic.as_str(), "tool-choice-left-out");
}

fn start(index: u64, block: impl Into<Value>) -> Value {
    let block = block.into();
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: impl Into<Value>) -> Value {
    let delta = delta.into();
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn begin() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-20260101", "content": [],
        "stop_reason": null, "usage": { "input_tokens": 10, "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 3, "output_tokens": 1 } } })
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 42 } }),
        json!({ "type": "message_stop" }),
    ]
}

/// The blocks of an answer in which the model thinks between speaking and calling.
fn blocks() -> Vec<Value> {
    vec![
        json!({ "type": "thinking", "thinking": "Let me see.", "signature": "SIG1" }),
        json!({ "type": "text", "text": "I will look: é🌎." }),
        json!({ "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": { "city": "Paris" } }),
        json!({ "type": "thinking", "thinking": "Once more.", "signature": "SIG2" }),
        json!({ "type": "redacted_thinking", "data": "xyz" }),
        json!({ "type": "text", "text": "And there." }),
        json!({ "type": "text", "text": " Now." }),
        json!({ "type": "tool_use", "id": "toolu_2", "name": "list", "input": {} }),
    ]
}

/// The same answer as a stream.
fn interleaved() -> Vec<Value> {
    let mut events = vec![begin(), json!({ "type": "ping" })];
    for (index, block) in (0..).zip(blocks()) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str().unwrap() {
            "text" => {
                events.push(start(index, json!({ "type": "text", "text": "" })));
                events.push(delta(index, json!({ "type": "text_delta", "text": text("text") })));
            }
            "thinking" => {
                events.push(start(
                    index,
                    json!({ "type": "thinking", "thinking": "", "signature": "" }),
                ));
                events.push(delta(
                    index,
                    json!({ "type": "thinking_delta", "thinking": text("thinking") }),
                ));
                events.push(delta(
                    index,
                    json!({ "type": "signature_delta", "signature": text("signature") }),
                ));
            }
            "tool_use" => {
                let mut begun = block.clone();
                begun["input"] = json!({});
                events.push(start(index, begun));
                let input = block["input"].to_string();
                if input != "{}" {
                    events.push(delta(
                        index,
                        json!({ "type": "input_json_delta", "partial_json": "" }),
                    ));
                    events.push(delta(
                        index,
                        json!({ "type": "input_json_delta", "partial_json": input }),
                    ));
                }
            }
            _ => events.push(start(index, block.clone())),
        }
        events.push(json!({ "type": "something_new", "index": index }));
        events.push(delta(index, json!({ "type": "citations_delta", "citation": {} })));
        events.push(stop(index));
    }
    events.extend(end("tool_use"));
    events
}

#[test]
fn a_stream_becomes_a_generation() {
    let (generation, outcome) = streamed(&DIALECT, &interleaved()).unwrap();
    assert_eq!(outcome, GenerationOutcome::ToolCalls);
    assert_eq!(generation.text, "I will look: é🌎.\n\nAnd there. Now.");
    assert_eq!(generation.usage, Usage::new(18, 42).with_cached(5).with_cache_creation(3));
    assert_eq!(
        (generation.id.as_deref(), generation.model.as_deref()),
        (Some("msg_1"), Some("test-model-20260101"))
    );
    assert_eq!(
        (generation.finish, generation.finish_reason.as_deref()),
        (Some(FinishReason::ToolCalls), Some("tool_use"))
    );
    let calls: Vec<(Option<&str>, &str, &str, bool)> = generation
        .calls
        .iter()
        .map(|it| (it.id.as_deref(), it.name.as_str(), it.arguments.as_str(), it.complete))
        .collect();
    assert_eq!(
        calls,
        [
            (Some("toolu_1"), "get_weather", r#"{"city":"Paris"}"#, true),
            (Some("toolu_2"), "list", "{}", true),
        ]
    );
    let [reasoning] = generation.reasoning.as_slice() else { panic!("{:?}", generation.reasoning) };
    assert_eq!(
        (reasoning.channel.as_str(), reasoning.text.as_str()),
        ("thinking", "Let me see.\n\nOnce more.")
    );
    assert_eq!(&*reasoning.opaque.as_ref().unwrap().1, "anthropic-messages-thinking-v1");
}

#[test]
fn an_answer_that_comes_whole_is_the_same() {
    let body = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-20260101",
        "content": blocks(), "stop_reason": "tool_use", "usage": { "input_tokens": 10,
        "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 42 } });
    assert_eq!(whole(&DIALECT, &body).unwrap(), streamed(&DIALECT, &interleaved()).unwrap());
    // No digit of a long number is lost.
    let body = r#"{"content":[{"type":"tool_use","id":"a","name":"n","input":{"n":123456789012345678901234567890}}]}"#;
    let (prompt, options) = (Prompt::default(), Map::new());
    let mut decoder = haft::providers::Dialect::response_decoder(
        &DIALECT,
        &haft::providers::dialect::ModelRequest::new("m", &prompt, &options),
    );
    let mut assembler = haft::providers::generation::GenerationAssembler::new();
    decoder.decode_whole(body.as_bytes(), &mut |it| assembler.push(it).unwrap()).unwrap();
    assert_eq!(assembler.finish().0.calls[0].arguments, r#"{"n":123456789012345678901234567890}"#);
}

/// The blocks of the model's own message.
fn own_blocks(generation: &Generation, model: &str) -> (Value, Vec<&'static str>) {
    let (body, notes) = request(&DIALECT, &replayed(generation), model, &json!({}));
    check(&body);
    (body["messages"][1]["content"].clone(), notes)
}

#[test]
fn thinking_goes_back_in_its_order_or_not_at_all() {
    let (generation, _) = streamed(&DIALECT, &interleaved()).unwrap();
    assert_eq!(own_blocks(&generation, "test-model"), (json!(blocks()), vec![]));
    let plain = json!([
        { "type": "text", "text": generation.text },
        { "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": { "city": "Paris" } },
        { "type": "tool_use", "id": "toolu_2", "name": "list", "input": {} },
    ]);
    let left_out = vec!["thinking-left-out"];
    assert_eq!(own_blocks(&generation, "other-model"), (plain, left_out.clone()));
    let mut edited = generation.clone();
    edited.text.push('!');
    assert_eq!(own_blocks(&edited, "test-model").1, left_out);
    let mut edited = generation.clone();
    edited.calls[0].arguments = r#"{"city":"Rome"}"#.to_owned();
    assert_eq!(own_blocks(&edited, "test-model").1, left_out);
    let mut fewer = generation;
    fewer.calls.pop();
    assert_eq!(own_blocks(&fewer, "test-model").1, left_out);
}

#[test]
fn a_model_that_lost_its_thinking_goes_on_without() {
    let (generation, _) = streamed(&DIALECT, &interleaved()).unwrap();
    let thinking = json!({ "thinking": { "type": "enabled", "budget_tokens": 2000 } });
    let mut prompt = replayed(&generation);
    let (body, notes) = request(&DIALECT, &prompt, "test-model", &thinking);
    assert_eq!(
        (&body["thinking"]["type"], &body["max_tokens"]),
        (&json!("enabled"), &json!(10192))
    );
    assert!(notes.is_empty());
    let (body, notes) = request(&DIALECT, &prompt, "other-model", &thinking);
    assert_eq!(body["thinking"], json!({ "type": "disabled" }));
    assert_eq!(notes, ["thinking-left-out", "thinking-off"]);
    // After the user has spoken it may think again.
    prompt.timeline.extend([own("Done."), heard("More.")]);
    let (body, _) = request(&DIALECT, &prompt, "other-model", &thinking);
    assert_eq!(body["thinking"]["type"], "enabled");
}

#[test]
fn thinking_that_would_not_be_whole_is_not_kept() {
    let opaque = |events: &[Value]| {
        let (generation, _) = streamed(&DIALECT, events).unwrap();
        generation.reasoning.first().is_some_and(|it| it.opaque.is_some())
    };
    let thought = |signature: &str| {
        vec![
            begin(),
            start(0, json!({ "type": "thinking", "thinking": "hm", "signature": signature })),
            stop(0),
        ]
    };
    let with = |mut events: Vec<Value>, more: &[Value]| {
        events.extend_from_slice(more);
        events.extend(end("end_turn"));
        events
    };
    assert!(opaque(&with(thought("S"), &[])));
    assert!(!opaque(&with(thought(""), &[])), "nobody signed it");
    assert!(!opaque(&thought("S")), "it broke off");
    let unknown = [start(1, json!({ "type": "server_tool_use", "id": "s" })), stop(1)];
    assert!(!opaque(&with(thought("S"), &unknown)), "there is a block that we do not know");
    let both = [
        start(1, json!({ "type": "text", "text": "a" })),
        start(2, json!({ "type": "text", "text": "b" })),
    ];
    assert!(!opaque(&with(thought("S"), &both)), "two blocks at the same time");
}

#[test]
fn reasons_to_end_are_understood() {
    let check = |reason: &str, finish: Option<FinishReason>, outcome: GenerationOutcome| {
        let text = start(0, json!({ "type": "text", "text": "hi" }));
        let events = [vec![begin(), text, stop(0)], end(reason).to_vec()].concat();
        let (generation, came) = streamed(&DIALECT, &events).unwrap();
        assert_eq!((generation.finish, came), (finish, outcome), "{reason}");
    };
    check("end_turn", Some(FinishReason::Stop), GenerationOutcome::Completed);
    check("stop_sequence", Some(FinishReason::Stop), GenerationOutcome::Completed);
    check("max_tokens", Some(FinishReason::Length), GenerationOutcome::Truncated);
    check("refusal", Some(FinishReason::Refused), GenerationOutcome::Refused);
    check(
        "model_context_window_exceeded",
        Some(FinishReason::ContextOverflow),
        GenerationOutcome::ContextOverflow,
    );
    check("tomorrow's reason", None, GenerationOutcome::Completed);
    let events = [vec![begin()], end("pause_turn").to_vec()].concat();
    assert_eq!(streamed(&DIALECT, &events).unwrap().0.finish, Some(FinishReason::Paused));
    let events = [vec![begin()], end("end_turn").to_vec()].concat();
    assert_eq!(streamed(&DIALECT, &events).unwrap().1, GenerationOutcome::Empty);
}

#[test]
fn a_stream_that_breaks_off_is_no_answer() {
    let events = interleaved();
    let done = events.iter().position(|it| it["type"] == "message_delta").unwrap();
    for n in 0..done {
        let (generation, outcome) = streamed(&DIALECT, &events[..n]).unwrap();
        assert_eq!(outcome, GenerationOutcome::Truncated, "after {n}");
        assert!(generation.reasoning.iter().all(|it| it.opaque.is_none()));
    }
}

#[test]
fn errors_are_told_as_such() {
    let check = |events: &[Value], expected: DecodeError| {
        assert_eq!(streamed(&DIALECT, events).unwrap_err().to_string(), expected.to_string());
        assert_eq!(streamed(&DIALECT, events), Err(expected));
    };
    let error = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "no" } });
    let reported = |kind: &str, retryable| {
        let body = error(kind);
        match (streamed(&DIALECT, &[begin(), body.clone()]), whole(&DIALECT, &body)) {
            (
                Err(DecodeError::Provider { kind: Some(told), message, retryable: again, .. }),
                Err(also),
            ) => {
                assert_eq!((told.as_str(), message.as_str(), again), (kind, "no", retryable));
                assert!(also.to_string().contains("no"));
            }
            other => panic!("{other:?}"),
        }
    };
    reported("overloaded_error", true);
    reported("api_error", true);
    reported("invalid_request_error", false);
    let malformed = |what: &str| DecodeError::Malformed(what.to_owned());
    check(&[json!({ "type": "content_block_stop" })], malformed("a block has no index"));
    check(&[json!({ "type": "message_start" })], malformed("`message` is missing"));
    let stray = delta(3, json!({ "type": "input_json_delta", "partial_json": "{" }));
    check(&[begin(), stray], malformed("arguments belong to no call"));
    assert!(matches!(whole(&DIALECT, &json!({})), Err(DecodeError::Malformed(_))));
}

#[test]
fn servers_that_keep_the_protocol_loosely_are_understood() {
    // The whole input at the beginning of a call, and a text without a beginning.
    let events = [
        vec![
            begin(),
            start(0, json!({ "type": "tool_use", "id": "a", "name": "n", "input": { "x": 1 } })),
            stop(0),
            delta(1, json!({ "type": "text_delta", "text": "hi" })),
        ],
        end("tool_use").to_vec(),
        vec![json!({ "type": "content_block_start" })],
    ];
    let (generation, _) = streamed(&DIALECT, &events.concat()).unwrap();
    assert_eq!(
        (generation.calls[0].arguments.as_str(), generation.text.as_str()),
        (r#"{"x":1}"#, "hi")
    );
}

proptest! {
    #[test]
    fn the_pieces_of_a_stream_do_not_matter(cuts in prop::collection::vec(0..64usize, 1..24)) {
        let keys = ["/delta/text", "/delta/thinking", "/delta/partial_json"];
        let events = interleaved();
        prop_assert_eq!(streamed(&DIALECT, &cut(&events, &keys, &cuts)), streamed(&DIALECT, &events));
    }
}
