//! OpenAI Responses as it goes over the wire.

use std::collections::HashSet;

use haft::events::Usage;
use haft::providers::dialect::DecodeError;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::generation::{FinishReason, Generation, GenerationOutcome};
use haft::providers::prompt::{
    AssistantEntry, ContentPart, Prompt, PromptEntry, PromptSection, SystemPart, UserEntry,
};
use haft::providers::tool_schema::lower_strict;
use haft::schema::Strictness;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::answers::{cut, replayed, request, streamed, whole, wire_schema, words};
use super::transcripts::{self, Turn};

const DIALECT: OpenAiResponses = OpenAiResponses::new();

/// What holds of every request.
#[track_caller]
fn check(body: &Value) {
    if let Some(schema) = wire_schema("openai.responses.request.streaming") {
        schema.check(body).unwrap_or_else(|problems| panic!("{problems}\n{body:#}"));
    }
    assert_eq!(body["store"], false);
    let input = body["input"].as_array().unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut ids = HashSet::new();
    let mut item_ids = HashSet::new();
    for (n, item) in input.iter().enumerate() {
        if let Some(id) = item["id"].as_str() {
            assert!(item_ids.insert(id), "{id} twice");
        }
        match item["type"].as_str().unwrap() {
            "function_call" => {
                let id = item["call_id"].as_str().unwrap();
                assert!(ids.insert(id), "{id} twice");
                assert!(
                    serde_json::from_str::<Map<String, Value>>(item["arguments"].as_str().unwrap())
                        .is_ok()
                );
                open.push(id);
            }
            "function_call_output" => {
                assert_eq!(item["call_id"].as_str(), open.first().copied());
                open.remove(0);
            }
            "message" => assert!(open.is_empty(), "{open:?} have no result"),
            "reasoning" => assert!(n + 1 < input.len(), "nothing follows"),
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
    assert_ne!(input.last().unwrap()["role"], "assistant");
}

#[tokio::test]
async fn every_transcript_is_a_request() {
    for (name, turn) in transcripts::all().await {
        let (mut body, _) = turn.encoded(&DIALECT, &Map::new()).await;
        check(&body);
        // What a tool is called with stands in a test of its own.
        body.as_object_mut().unwrap().remove("tools");
        insta::with_settings!({ snapshot_suffix => name, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("responses", format!("{body:#}"));
        });
    }
}

#[tokio::test]
async fn tools_are_flat_and_the_same_every_time() {
    let mut turn = Turn::new();
    turn.user("m-1", "Hi").await;
    let (first, encoded) = turn.encoded(&DIALECT, &Map::new()).await;
    let text = String::from_utf8(encoded.body.to_vec()).unwrap();
    let weather = transcripts::weather();
    assert!(text.contains(weather.input_schema().json_schema_text()), "as it is written");
    assert_eq!(first["tools"][0]["strict"], false);
    turn.call("get_weather", r#"{"city": "Paris"}"#, "call_a").await;
    let (second, _) = turn.encoded(&DIALECT, &Map::new()).await;
    assert_eq!(first["tools"], second["tools"]);
    // In strict mode each tool is strict that can be.
    let options = json!({ "strict": true });
    let (body, encoded) = turn.encoded(&DIALECT, options.as_object().unwrap()).await;
    check(&body);
    let text = String::from_utf8(encoded.body.to_vec()).unwrap();
    assert!(text.contains(&lower_strict(weather.input_schema(), Strictness::Coerce).unwrap().text));
    assert_eq!(
        (&body["tools"][0]["strict"], &body["tools"][1]["strict"]),
        (&json!(true), &json!(false))
    );
    let notes: Vec<&str> = encoded.notes.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            "`web.fetch` is offered without strict mode: the schema has no strict form: it accepts values of any kind (at /properties/n)"
        ]
    );
}

#[tokio::test]
async fn options_go_out_under_their_names_and_nothing_else_does() {
    let turn = transcripts::calls().await;
    let options = json!({
        "max_output_tokens": 16, "reasoning": { "effort": "low" }, "text": { "verbosity": "low" },
        "tool_choice": { "type": "function", "name": "web.fetch" }, "include": ["message.output_text.logprobs"],
        "reasoning_replay": "encrypted", "strict": false, "system_prompt_channel": "instructions",
    });
    let (body, _) = turn.encoded(&DIALECT, options.as_object().unwrap()).await;
    check(&body);
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "include",
            "input",
            "instructions",
            "max_output_tokens",
            "model",
            "reasoning",
            "store",
            "stream",
            "text",
            "tool_choice",
            "tools",
        ]
    );
    assert_eq!(
        body["include"],
        json!(["message.output_text.logprobs", "reasoning.encrypted_content"])
    );
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "function", "name": body["tools"][1]["name"] })
    );
    let listed = |names: &[&str]| {
        let tools: Vec<Value> =
            names.iter().map(|it| json!({ "type": "function", "name": it })).collect();
        json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": tools } })
    };
    let some = listed(&["gone", "get_weather"]);
    let (body, encoded) = turn.encoded(&DIALECT, some.as_object().unwrap()).await;
    assert_eq!(
        body["tool_choice"]["tools"],
        json!([{ "type": "function", "name": "get_weather" }])
    );
    assert_eq!(encoded.notes[0].topic.as_str(), "tool-choice-left-out");
    let (body, _) = turn.encoded(&DIALECT, listed(&["gone"]).as_object().unwrap()).await;
    assert_eq!(body.get("tool_choice"), None);
}

#[test]
fn the_system_text_has_a_channel() {
    let mut prompt = Prompt::default();
    let part = |text| SystemPart::new(PromptSection::SystemPrompt, words(text));
    prompt.system = vec![part("one"), part("two")];
    prompt.trailing = vec![part("three")];
    prompt.timeline = vec![PromptEntry::User(UserEntry::new(vec![ContentPart::Text(words("hi"))]))];
    let check = |channel: &str, instructions: Value, first: &str, last: &str| {
        let (body, _) =
            request(&DIALECT, &prompt, "m", &json!({ "system_prompt_channel": channel }));
        check(&body);
        let input = body["input"].as_array().unwrap();
        assert_eq!(body.get("instructions").unwrap_or(&Value::Null), &instructions);
        assert_eq!(
            (&input[0]["role"], &input.last().unwrap()["role"]),
            (&json!(first), &json!(last))
        );
        assert_eq!(
            input.last().unwrap()["content"],
            json!([{ "type": "input_text", "text": "three" }])
        );
    };
    check("instructions", json!("one\n\ntwo"), "user", "developer");
    check("developer-item", Value::Null, "developer", "developer");
    check("system-item", Value::Null, "system", "system");
}

#[test]
fn the_model_does_not_speak_last() {
    let check = |timeline: Vec<PromptEntry>, last: Value, noted: &[&str]| {
        let mut prompt = Prompt::default();
        prompt.timeline = timeline;
        let (body, notes) = request(&DIALECT, &prompt, "m", &json!({}));
        check(&body);
        assert_eq!(
            (body["input"].as_array().unwrap().last().unwrap(), notes.as_slice()),
            (&last, noted)
        );
    };
    let user = |text: &str| json!({ "type": "message", "role": "user", "content": text });
    check(vec![], user("Begin."), &["message-added"]);
    let own = PromptEntry::Assistant(AssistantEntry::new(vec![ContentPart::Text(words("b"))]));
    check(vec![own], user("Continue."), &["message-added"]);
}

/// The items of an answer in which the model reasons between speaking and calling.
fn items() -> Vec<Value> {
    let reasoning = |id: &str, text: &str| {
        json!({ "type": "reasoning", "id": id,
        "summary": [{ "type": "summary_text", "text": text }, { "type": "summary_text", "text": "So." }],
        "encrypted_content": format!("enc-{id}") })
    };
    let message = |id: &str, text: &str, phase: &str| {
        json!({ "type": "message", "id": id, "role": "assistant",
        "status": "completed", "phase": phase,
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }] })
    };
    let call = |id: &str, call_id: &str, arguments: &str| {
        json!({ "type": "function_call", "id": id,
        "call_id": call_id, "name": "get_weather", "arguments": arguments, "status": "completed" })
    };
    vec![
        reasoning("rs_1", "Let me see."),
        message("msg_1", "I will look: é🌎.", "commentary"),
        message("msg_2", "Now.", "commentary"),
        call("fc_1", "call_1", r#"{"city": "Paris"}"#),
        reasoning("rs_2", "Once more."),
        call("fc_2", "call_2", "{}"),
    ]
}

/// The same items as they are sent back.
fn sent_back() -> Vec<Value> {
    let mut items = items();
    for item in &mut items {
        if item["type"] == "function_call" {
            item.as_object_mut().unwrap().remove("status");
        }
    }
    items
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "test-model-2026",
        "error": null, "incomplete_details": null, "instructions": null, "tools": [], "output": output,
        "parallel_tool_calls": true, "metadata": {}, "tool_choice": "auto", "temperature": 1, "top_p": 1,
        "usage": { "input_tokens": 30, "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 0 },
            "output_tokens": 12, "output_tokens_details": { "reasoning_tokens": 7 }, "total_tokens": 42 } })
}

/// A stream of these items, with all the events that the API sends for them.
fn stream_of(items: &[Value], last: Value) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "response.created", "response": response("in_progress", &[]) }),
        json!({ "type": "response.in_progress", "response": response("in_progress", &[]) }),
    ];
    for (index, item) in items.iter().enumerate() {
        let id = item["id"].clone();
        let mut added = item.clone();
        let at = |kind: &str, more: Value| {
            let mut event = json!({ "type": kind, "item_id": id, "output_index": index });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let mut pieces = Vec::new();
        match item["type"].as_str().unwrap() {
            "reasoning" => {
                added["summary"] = json!([]);
                added.as_object_mut().unwrap().remove("encrypted_content");
                for (n, part) in item["summary"].as_array().unwrap().iter().enumerate() {
                    let text = &part["text"];
                    let empty = json!({ "type": "summary_text", "text": "" });
                    pieces.push(at(
                        "response.reasoning_summary_part.added",
                        json!({ "summary_index": n, "part": empty }),
                    ));
                    pieces.push(at(
                        "response.reasoning_summary_text.delta",
                        json!({ "summary_index": n, "delta": text }),
                    ));
                    pieces.push(at(
                        "response.reasoning_summary_text.done",
                        json!({ "summary_index": n, "text": text }),
                    ));
                    pieces.push(at(
                        "response.reasoning_summary_part.done",
                        json!({ "summary_index": n, "part": part }),
                    ));
                }
            }
            "message" => {
                added["content"] = json!([]);
                added["status"] = json!("in_progress");
                for (n, part) in item["content"].as_array().unwrap().iter().enumerate() {
                    pieces.push(at(
                        "response.content_part.added",
                        json!({ "content_index": n, "part": part }),
                    ));
                    if part["type"] == "refusal" {
                        let text = &part["refusal"];
                        pieces.push(at(
                            "response.refusal.delta",
                            json!({ "content_index": n, "delta": text }),
                        ));
                        pieces.push(at(
                            "response.refusal.done",
                            json!({ "content_index": n, "refusal": text }),
                        ));
                    } else {
                        let text = &part["text"];
                        pieces.push(at(
                            "response.output_text.delta",
                            json!({ "content_index": n, "delta": text, "logprobs": [] }),
                        ));
                        pieces.push(at(
                            "response.output_text.done",
                            json!({ "content_index": n, "text": text, "logprobs": [] }),
                        ));
                    }
                    pieces.push(at(
                        "response.content_part.done",
                        json!({ "content_index": n, "part": part }),
                    ));
                }
            }
            "function_call" => {
                added["arguments"] = json!("");
                let whole = &item["arguments"];
                if whole != "{}" {
                    pieces.push(at(
                        "response.function_call_arguments.delta",
                        json!({ "delta": whole }),
                    ));
                }
                pieces.push(at(
                    "response.function_call_arguments.done",
                    json!({ "arguments": whole, "name": item["name"] }),
                ));
            }
            _ => {}
        }
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": added }),
        );
        events.extend(pieces);
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    }
    events.push(last);
    for (n, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(n);
    }
    events
}

fn completed(items: &[Value]) -> Vec<Value> {
    stream_of(
        items,
        json!({ "type": "response.completed", "response": response("completed", items) }),
    )
}

#[test]
fn the_streams_of_these_tests_are_those_of_the_api() {
    let Some(schema) = wire_schema("openai.responses.event") else { return };
    for event in completed(&items()) {
        schema.check(&event).unwrap_or_else(|problems| panic!("{problems}\n{event:#}"));
    }
}

#[test]
fn a_stream_becomes_a_generation() {
    let (generation, outcome) = streamed(&DIALECT, &completed(&items())).unwrap();
    assert_eq!(outcome, GenerationOutcome::ToolCalls);
    assert_eq!(generation.text, "I will look: é🌎.\n\nNow.");
    assert_eq!(generation.usage, Usage::new(30, 12).with_cached(20).with_reasoning(7));
    assert_eq!(
        (generation.id.as_deref(), generation.model.as_deref()),
        (Some("resp_1"), Some("test-model-2026"))
    );
    let calls: Vec<(Option<&str>, &str, &str, bool)> = generation
        .calls
        .iter()
        .map(|it| (it.id.as_deref(), it.name.as_str(), it.arguments.as_str(), it.complete))
        .collect();
    assert_eq!(
        calls,
        [
            (Some("call_1"), "get_weather", r#"{"city": "Paris"}"#, true),
            (Some("call_2"), "get_weather", "{}", true),
        ]
    );
    let [reasoning] = generation.reasoning.as_slice() else { panic!("{:?}", generation.reasoning) };
    assert_eq!(reasoning.text, "Let me see.\n\nSo.\n\nOnce more.\n\nSo.");
    assert_eq!(&*reasoning.opaque.as_ref().unwrap().1, "openai-responses-reasoning-v1");
}

#[test]
fn an_answer_that_comes_whole_or_late_is_the_same() {
    let expected = streamed(&DIALECT, &completed(&items())).unwrap();
    assert_eq!(whole(&DIALECT, &response("completed", &items())).unwrap(), expected);
    // Only items that are done, and only the end.
    for kept in [&["response.output_item.done", "response.completed"][..], &["response.completed"]]
    {
        let events: Vec<Value> = completed(&items())
            .into_iter()
            .filter(|it| kept.contains(&it["type"].as_str().unwrap()))
            .collect();
        assert_eq!(streamed(&DIALECT, &events).unwrap(), expected, "{kept:?}");
    }
    // The end has no items, and gateways add a word of their own.
    let mut events = completed(&items());
    events.last_mut().unwrap()["response"]["output"] = json!([]);
    assert_eq!(streamed(&DIALECT, &events).unwrap(), expected);
    // What is encrypted comes only at the end.
    let mut events = completed(&items());
    for event in events.iter_mut().filter(|it| it["type"] == "response.output_item.done") {
        event["item"].as_object_mut().unwrap().remove("encrypted_content");
    }
    assert_eq!(streamed(&DIALECT, &events).unwrap(), expected);
}

#[test]
fn reasoning_goes_back_in_its_order_or_not_at_all() {
    let (generation, _) = streamed(&DIALECT, &completed(&items())).unwrap();
    let sent = |generation: &Generation, model: &str, replay: &str| {
        let (body, notes) =
            request(&DIALECT, &replayed(generation), model, &json!({ "reasoning_replay": replay }));
        check(&body);
        let input = body["input"].as_array().unwrap();
        (input[1..input.len() - generation.calls.len()].to_vec(), notes)
    };
    assert_eq!(sent(&generation, "test-model", "encrypted"), (sent_back(), vec![]));
    let plain = vec![
        json!({ "type": "message", "role": "assistant", "content": generation.text }),
        json!({ "type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": r#"{"city": "Paris"}"# }),
        json!({ "type": "function_call", "call_id": "call_2", "name": "get_weather", "arguments": "{}" }),
    ];
    assert_eq!(sent(&generation, "test-model", "off"), (plain.clone(), vec![]));
    assert_eq!(sent(&generation, "other-model", "encrypted"), (plain, vec!["reasoning-left-out"]));
    let mut edited = generation.clone();
    edited.text.push('!');
    assert_eq!(sent(&edited, "test-model", "encrypted").1, ["reasoning-left-out"]);
    let mut edited = generation;
    edited.calls[1].arguments = r#"{"city":"Rome"}"#.to_owned();
    assert_eq!(sent(&edited, "test-model", "encrypted").1, ["reasoning-left-out"]);
}

#[test]
fn reasoning_that_nobody_could_use_is_not_kept() {
    let opaque = |items: &[Value]| {
        let (generation, _) = streamed(&DIALECT, &completed(items)).unwrap();
        generation.reasoning.first().is_some_and(|it| it.opaque.is_some())
    };
    assert!(opaque(&items()));
    let mut bare = items();
    bare[4].as_object_mut().unwrap().remove("encrypted_content");
    assert!(!opaque(&bare), "the provider keeps nothing under its id");
    let mut unknown = items();
    unknown.push(json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" }));
    assert!(!opaque(&unknown));
    // Reasoning at the end has no item that it belongs to.
    let (generation, _) = streamed(&DIALECT, &completed(&items()[..1])).unwrap();
    let mut prompt = replayed(&generation);
    prompt.timeline.pop();
    let (body, notes) =
        request(&DIALECT, &prompt, "test-model", &json!({ "reasoning_replay": "encrypted" }));
    check(&body);
    assert_eq!(notes, ["reasoning-left-out"]);
}

#[test]
fn ends_are_understood() {
    let text = |text: &str| {
        json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }] })
    };
    let check =
        |items: &[Value], last: Value, finish: Option<FinishReason>, outcome: GenerationOutcome| {
            let (generation, came) = streamed(&DIALECT, &stream_of(items, last.clone())).unwrap();
            assert_eq!((generation.finish, came), (finish, outcome), "{last}");
        };
    let done = |items: &[Value]| json!({ "type": "response.completed", "response": response("completed", items) });
    let cut_off = |reason: &str| {
        let mut last =
            json!({ "type": "response.incomplete", "response": response("incomplete", &[]) });
        last["response"]["incomplete_details"] = json!({ "reason": reason });
        last
    };
    check(&[text("hi")], done(&[]), Some(FinishReason::Stop), GenerationOutcome::Completed);
    check(&[], done(&[]), Some(FinishReason::Stop), GenerationOutcome::Empty);
    check(
        &[text("hi")],
        cut_off("max_output_tokens"),
        Some(FinishReason::Length),
        GenerationOutcome::Truncated,
    );
    check(
        &[text("hi")],
        cut_off("content_filter"),
        Some(FinishReason::Filtered),
        GenerationOutcome::Filtered,
    );
    let refusal = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "refusal", "refusal": "I will not." }] });
    check(
        std::slice::from_ref(&refusal),
        done(&[]),
        Some(FinishReason::Refused),
        GenerationOutcome::Refused,
    );
    let (generation, _) = streamed(&DIALECT, &completed(std::slice::from_ref(&refusal))).unwrap();
    assert_eq!(generation.text, "I will not.");
    assert_eq!(whole(&DIALECT, &response("completed", &[refusal])).unwrap().0.text, "I will not.");
    let mut full = json!({ "type": "response.failed", "response": response("failed", &[]) });
    full["response"]["error"] = json!({ "code": "context_length_exceeded", "message": "too long" });
    check(&[], full, Some(FinishReason::ContextOverflow), GenerationOutcome::ContextOverflow);
}

#[test]
fn a_stream_that_breaks_off_is_no_answer() {
    let events = completed(&items());
    for n in 0..events.len() - 1 {
        let (generation, outcome) = streamed(&DIALECT, &events[..n]).unwrap();
        assert_eq!(outcome, GenerationOutcome::Truncated, "after {n}");
        assert!(generation.reasoning.iter().all(|it| it.opaque.is_none()));
    }
    // A call that the end says is incomplete is not complete.
    let mut call = items()[3].clone();
    call["status"] = json!("incomplete");
    call["arguments"] = json!(r#"{"ci"#);
    let mut last =
        json!({ "type": "response.incomplete", "response": response("incomplete", &[]) });
    last["response"]["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let (generation, outcome) = streamed(&DIALECT, &stream_of(&[call], last)).unwrap();
    assert_eq!((generation.calls[0].complete, outcome), (false, GenerationOutcome::Truncated));
}

#[test]
fn errors_are_told_as_such() {
    let failed = |error: Value| {
        let mut last = json!({ "type": "response.failed", "response": response("failed", &[]) });
        last["response"]["error"] = error;
        last
    };
    let check = |last: Value, kind: Option<&str>, retryable: bool| match streamed(
        &DIALECT,
        &stream_of(&[], last),
    ) {
        Err(DecodeError::Provider { kind: told, message, retryable: again, .. }) => {
            assert_eq!((told.as_deref(), message.as_str(), again), (kind, "no", retryable));
        }
        other => panic!("{other:?}"),
    };
    check(failed(json!({ "code": "server_error", "message": "no" })), Some("server_error"), true);
    check(
        failed(json!({ "code": "invalid_prompt", "message": "no" })),
        Some("invalid_prompt"),
        false,
    );
    check(
        json!({ "type": "error", "code": "rate_limit_exceeded", "message": "no", "param": null }),
        Some("rate_limit_exceeded"),
        true,
    );
    check(
        json!({ "type": "error", "error": { "type": "server_error", "message": "no" } }),
        Some("server_error"),
        true,
    );
    check(json!({ "type": "error", "code": null, "message": "no" }), None, false);
    let body = json!({ "error": { "code": "server_error", "message": "no" } });
    assert!(matches!(whole(&DIALECT, &body), Err(DecodeError::Provider { retryable: true, .. })));
    assert!(matches!(whole(&DIALECT, &json!({})), Err(DecodeError::Malformed(_))));
    let stray = json!({ "type": "response.function_call_arguments.delta", "output_index": 4, "delta": "{" });
    assert_eq!(
        streamed(&DIALECT, &[stray]),
        Err(DecodeError::Malformed("arguments belong to no call".to_owned()))
    );
    assert!(streamed(&DIALECT, &[json!({ "type": "response.new.thing" })]).is_ok());
}

proptest! {
    #[test]
    fn the_pieces_of_a_stream_do_not_matter(cuts in prop::collection::vec(0..64usize, 1..24)) {
        let events = completed(&items());
        prop_assert_eq!(streamed(&DIALECT, &cut(&events, &["/delta"], &cuts)), streamed(&DIALECT, &events));
    }
}
