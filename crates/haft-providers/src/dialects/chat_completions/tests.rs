#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use std::sync::Arc;

use bytes::Bytes;
use haft_core::call::{CallId, RecordId};
use haft_core::usage::Usage;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ChatCompletions, ReasoningField};
use crate::dialect::{DecodeError, Dialect as _, ModelRequest, StreamEvent};
use crate::framing::SseDecoder;
use crate::generation::{
    FinishReason, Generation, GenerationAssembler, GenerationEvent, GenerationOutcome,
    MAX_GENERATED_CALLS,
};
use crate::options::{OptionSchema, Options};
use crate::prompt::{AssistantCall, AssistantEntry, CallArgs, Prompt, PromptEntry};
use haft_core::tokens::Estimators;

type Read = Result<(Generation, GenerationOutcome), DecodeError>;

fn read_by(
    dialect: &ChatCompletions,
    feed: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), DecodeError>) -> Result<(), DecodeError>,
) -> Read {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder = dialect.response_decoder(&ModelRequest::new("m", &prompt, &options));
    let mut assembler = GenerationAssembler::new();
    feed(&mut |data| {
        decoder.decode_event(StreamEvent::new(data), &mut |event| assembler.push(event).unwrap())
    })?;
    Ok(assembler.finish())
}

/// Reads events, each the data of one.
fn read(events: &[Value]) -> Read {
    read_by(&ChatCompletions::new(), |take| {
        events.iter().try_for_each(|event| {
            take(&match event {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        })
    })
}

fn whole(body: &Value) -> Read {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder =
        ChatCompletions::new().response_decoder(&ModelRequest::new("m", &prompt, &options));
    let mut assembler = GenerationAssembler::new();
    decoder
        .decode_whole(body.to_string().as_bytes(), &mut |event| assembler.push(event).unwrap())?;
    Ok(assembler.finish())
}

fn delta(delta: Value) -> Value {
    json!({ "id": "c-1", "model": "m-1", "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn piece(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    delta(json!({ "tool_calls": [{ "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments } }] }))
}

#[track_caller]
fn calls(events: &[Value]) -> Vec<(Option<String>, String, String)> {
    let (generation, outcome) = read(events).unwrap();
    assert_eq!(outcome, GenerationOutcome::ToolCalls);
    assert!(generation.calls.iter().all(|call| call.complete));
    generation.calls.into_iter().map(|it| (it.id, it.name, it.arguments)).collect()
}

fn expected(all: &[(&str, &str, &str)]) -> Vec<(Option<String>, String, String)> {
    let id = |id: &str| Some(id.to_owned()).filter(|id| !id.is_empty());
    all.iter().map(|(i, n, a)| (id(i), (*n).to_owned(), (*a).to_owned())).collect()
}

#[test]
fn text_cost_and_why_it_ended() {
    let (generation, outcome) = read(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "content": "Hel" })),
        delta(json!({ "content": "lo \"you\"\n" })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": null }),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13,
            "prompt_tokens_details": { "cached_tokens": 8 },
            "completion_tokens_details": { "reasoning_tokens": 2 } } }),
        json!("[DONE]"),
    ])
    .unwrap();
    assert_eq!(
        (outcome, generation.text.as_str()),
        (GenerationOutcome::Completed, "Hello \"you\"\n")
    );
    assert_eq!((generation.id.as_deref(), generation.model.as_deref()), (Some("c-1"), Some("m-1")));
    assert_eq!(generation.finish, Some(FinishReason::Stop));
    assert_eq!(generation.usage, Usage::new(10, 3).with_cached(8).with_reasoning(2));
}

#[test]
fn every_reason_to_end() {
    let outcome =
        |reason: &str| read(&[delta(json!({ "content": "x" })), finish(reason)]).unwrap().1;
    assert_eq!(outcome("stop"), GenerationOutcome::Completed);
    assert_eq!(outcome("length"), GenerationOutcome::Truncated);
    assert_eq!(outcome("content_filter"), GenerationOutcome::Filtered);
    assert_eq!(outcome("a word of tomorrow"), GenerationOutcome::Completed);
    let (generation, outcome) = read(&[
        delta(json!({ "refusal": "I " })),
        delta(json!({ "refusal": "will not." })),
        finish("stop"),
    ])
    .unwrap();
    assert_eq!((outcome, generation.text.as_str()), (GenerationOutcome::Refused, "I will not."));
    assert_eq!(read(&[delta(json!({ "content": "x" }))]).unwrap().1, GenerationOutcome::Truncated);
    assert_eq!(read(&[finish("stop"), json!("[DONE]")]).unwrap().1, GenerationOutcome::Empty);
}

#[test]
fn calls_of_all_who_speak_the_dialect() {
    let n = Value::Null;
    // As OpenAI does it: interleaved pieces, told apart by index.
    let all = calls(&[
        piece(json!(0), json!("a"), json!("f"), json!("")),
        piece(json!(1), json!("b"), json!("g"), json!("")),
        piece(json!(0), n.clone(), n.clone(), json!("{\"x\"")),
        piece(json!(1), n.clone(), n.clone(), json!("{}")),
        piece(json!(0), n.clone(), n.clone(), json!(":1}")),
        finish("tool_calls"),
    ]);
    assert_eq!(all, expected(&[("a", "f", "{\"x\":1}"), ("b", "g", "{}")]));
    // All with the same index, told apart by id.
    let all = calls(&[
        piece(json!(0), json!("a"), json!("f"), json!("{}")),
        piece(json!(0), json!("b"), json!("f"), json!("{\"y\":2}")),
        finish("tool_calls"),
    ]);
    assert_eq!(all, expected(&[("a", "f", "{}"), ("b", "f", "{\"y\":2}")]));
    // Without an index; arguments as an object.
    let all = calls(&[
        piece(n.clone(), json!("a"), json!("f"), json!({ "x": 1 })),
        piece(n.clone(), json!("b"), json!("g"), json!("{")),
        piece(n.clone(), n.clone(), n.clone(), json!("}")),
        finish("stop"),
    ]);
    assert_eq!(all, expected(&[("a", "f", "{\"x\":1}"), ("b", "g", "{}")]));
    // The id and the name again in every piece.
    let all = calls(&[
        piece(json!(0), json!("a"), json!("f"), json!("{")),
        piece(json!(0), json!("a"), json!("f"), json!("}")),
        finish("tool_calls"),
    ]);
    assert_eq!(all, expected(&[("a", "f", "{}")]));
    // The name in pieces, no id at all, null for arguments.
    let all = calls(&[
        piece(json!(0), json!(""), json!("get_"), n.clone()),
        piece(json!(0), n.clone(), json!("weather"), n.clone()),
        piece(json!(0), n, json!(""), json!("{}")),
        finish("tool_calls"),
    ]);
    assert_eq!(all, expected(&[("", "get_weather", "{}")]));
}

#[test]
fn a_stream_that_breaks_off_makes_no_calls() {
    let name = piece(json!(0), json!("a"), json!("delete_everything"), json!(""));
    let (generation, outcome) = read(&[name]).unwrap();
    assert_eq!(outcome, GenerationOutcome::Truncated);
    assert!(!generation.calls[0].complete);
}

#[test]
fn reasoning_fields_and_their_order() {
    let both = delta(json!({ "reasoning": "a", "reasoning_content": "b" }));
    let channels = |dialect: &ChatCompletions| -> Vec<String> {
        let read = read_by(dialect, |take| take(&both.to_string())).unwrap();
        read.0.reasoning.into_iter().map(|it| it.channel).collect()
    };
    assert_eq!(channels(&ChatCompletions::new()), ["reasoning", "reasoning_content"]);
    let other = ChatCompletions::new()
        .reasoning_fields([ReasoningField::ReasoningContent, ReasoningField::Reasoning]);
    assert_eq!(channels(&other), ["reasoning_content", "reasoning"]);
    let one = ChatCompletions::new().reasoning_fields([ReasoningField::Reasoning]);
    assert_eq!(channels(&one), ["reasoning"]);
    let odd = delta(
        json!({ "reasoning": { "not": "text" }, "content": [{ "type": "text", "text": "hi" }] }),
    );
    let (generation, _) = read(&[odd, finish("stop")]).unwrap();
    assert!(generation.reasoning.is_empty());
    assert_eq!(generation.text, "hi");
}

#[test]
fn errors_in_the_stream_are_errors() {
    let error = |event: Value| read(&[delta(json!({ "content": "x" })), event]).unwrap_err();
    let DecodeError::Provider { kind, message, retryable } = error(
        json!({ "error": { "message": "slow down", "type": "rate_limit_error", "code": null } }),
    ) else {
        panic!()
    };
    assert_eq!(
        (kind.as_deref(), message.as_str(), retryable),
        (Some("rate_limit_error"), "slow down", true)
    );
    let DecodeError::Provider { kind, retryable, .. } =
        error(json!({ "error": { "message": "no", "code": 400 } }))
    else {
        panic!()
    };
    assert_eq!((kind.as_deref(), retryable), (Some("400"), false));
    assert!(matches!(error(json!({ "error": "oops" })), DecodeError::Provider { .. }));
    assert!(matches!(error(json!("{\"choices\": [")), DecodeError::Malformed(_)));
    assert!(matches!(
        whole(&json!({ "error": { "message": "no" } })),
        Err(DecodeError::Provider { .. })
    ));
}

#[test]
fn an_answer_that_comes_whole() {
    let (generation, outcome) = whole(&json!({
        "id": "c-1", "model": "m-1",
        "choices": [
            { "index": 1, "message": { "content": "another" }, "finish_reason": "stop" },
            { "index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": null, "refusal": null, "reasoning_content": "hm",
                "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                    { "id": "a", "type": "function", "function": { "name": "g", "arguments": "{}" } }] } },
        ],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
    }))
    .unwrap();
    assert_eq!((outcome, generation.text.as_str()), (GenerationOutcome::ToolCalls, ""));
    assert_eq!(generation.reasoning[0].text, "hm");
    assert_eq!(generation.usage, Usage::new(1, 2));
    let none = whole(&json!({ "choices": [], "usage": { "prompt_tokens": 5 } })).unwrap();
    assert_eq!((none.1, none.0.usage), (GenerationOutcome::Empty, Usage::new(5, 0)));
}

#[test]
fn the_first_choice_of_number_zero_counts() {
    let text = |choices: Value| read(&[json!({ "choices": choices }), finish("stop")]);
    let says = |index: Value, text: &str| json!({ "index": index, "delta": { "content": text } });
    let zero = |text| says(json!(0), text);
    let other = says(json!(1), "other");
    for (choices, expect) in [
        (json!([zero("a")]), "a"),
        (json!([other, zero("a"), zero("b"), other]), "a"),
        (json!([says(Value::Null, "a"), zero("b")]), "a"),
        (json!([other]), ""),
        (json!([{ "index": 0, "delta": null }]), ""),
        (Value::Null, ""),
    ] {
        assert_eq!(text(choices.clone()).unwrap().0.text, expect, "{choices}");
    }
    for malformed in [json!("null"), json!("3"), json!([]), json!({ "choices": 3 })] {
        let error = read(std::slice::from_ref(&malformed)).unwrap_err();
        assert!(matches!(error, DecodeError::Malformed(_)), "{malformed}");
    }
}

proptest! {
    /// Wherever the bytes are cut, the answer is the same.
    #[test]
    fn chunks_do_not_matter(cuts in prop::collection::vec(0_usize..900, 0..20)) {
        let events = [
            delta(json!({ "reasoning": "Größe 🦀" })),
            delta(json!({ "content": "Grüße, 🦀\n" })),
            piece(json!(0), json!("a"), json!("f"), json!("{\"city\": \"Zür")),
            piece(json!(0), Value::Null, Value::Null, json!("ich\"}")),
            finish("tool_calls"),
            json!("[DONE]"),
        ];
        let mut bytes = String::from(": hello\r\n\r\n");
        for (n, event) in events.iter().enumerate() {
            let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
            bytes.push_str(&format!("data: {data}{}", if n % 2 == 0 { "\n\n" } else { "\r\n\r\n" }));
        }
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
        cuts.sort_unstable();
        let cut = read_by(&ChatCompletions::new(), |take| {
            let mut frames = SseDecoder::new(1 << 20);
            let mut from = 0;
            for to in cuts.into_iter().chain([bytes.len()]) {
                frames.feed(Bytes::copy_from_slice(&bytes.as_bytes()[from..to]));
                from = to;
                while let Some(event) = frames.next_event().unwrap() {
                    take(&event.text())?;
                }
            }
            Ok(())
        });
        prop_assert_eq!(cut.unwrap(), read(&events).unwrap());
    }
}

#[track_caller]
fn check(option: &str, value: Value, accepted: bool) {
    let dialect = ChatCompletions::new();
    let options = Options::new().with("model", "m").with("logprobs", true).with(option, &value);
    let resolved =
        OptionSchema::for_dialect(&dialect).resolve(&dialect, &[&options], &Estimators::default());
    assert_eq!(resolved.is_ok(), accepted, "{option}: {value}: {resolved:?}");
}

#[test]
fn every_option_is_accepted_and_refused_as_it_should() {
    let function = json!({ "type": "function", "function": { "name": "f" } });
    let accepted = [
        ("audio", json!({ "voice": "alloy", "format": "wav" })),
        ("frequency_penalty", json!(-2)),
        ("logit_bias", json!({ "5": -100 })),
        ("logprobs", json!(true)),
        ("max_completion_tokens", json!(1)),
        ("max_tokens", json!(1)),
        ("metadata", json!({ "a": "b" })),
        ("modalities", json!(["text"])),
        ("n", json!(1)),
        ("parallel_tool_calls", json!(false)),
        ("prediction", json!({ "type": "content", "content": [{ "type": "text", "text": "x" }] })),
        ("presence_penalty", json!(2)),
        ("prompt_cache_key", json!("k")),
        ("prompt_cache_retention", json!("24h")),
        ("reasoning_effort", json!("minimal")),
        (
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": { "any": 1 } } }),
        ),
        ("safety_identifier", json!("s")),
        ("seed", json!(-1)),
        ("service_tier", json!("flex")),
        ("stop", json!(["a", "b"])),
        ("store", json!(true)),
        ("stream_options", json!({ "include_usage": false })),
        ("temperature", json!(0)),
        ("tool_choice", function.clone()),
        (
            "tool_choice",
            json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [function] } }),
        ),
        ("top_logprobs", json!(20)),
        ("top_p", json!(1)),
        ("user", json!("u")),
        ("verbosity", json!("low")),
        ("web_search_options", json!({ "search_context_size": "low" })),
    ];
    for (option, value) in accepted {
        check(option, value, true);
    }
    let refused = [
        ("audio", json!({ "voice": "alloy" })),
        ("frequency_penalty", json!(2.1)),
        ("logit_bias", json!({ "5": "x" })),
        ("logprobs", json!("true")),
        ("max_completion_tokens", json!(0)),
        ("max_tokens", json!(1.5)),
        ("metadata", json!({ "a": 1 })),
        ("modalities", json!(["video"])),
        ("modalities", json!(["audio"])),
        ("n", json!(0)),
        ("parallel_tool_calls", json!(1)),
        ("prediction", json!({ "type": "other", "content": "x" })),
        ("presence_penalty", json!("1")),
        ("prompt_cache_retention", json!("1h")),
        ("reasoning_effort", json!("extreme")),
        ("response_format", json!({ "type": "xml" })),
        ("seed", json!(1.5)),
        ("service_tier", json!("gold")),
        ("stop", json!(1)),
        ("stream_options", json!({ "usage": true })),
        ("temperature", json!(2.01)),
        ("tool_choice", json!("f")),
        ("top_logprobs", json!(21)),
        ("top_p", json!(-0.1)),
        ("user", json!(1)),
        ("verbosity", json!("loud")),
        ("web_search_options", json!({ "size": "low" })),
        ("tools", json!([])),
        ("messages", json!([])),
        ("trustedTools", json!([])),
        ("bucketBudgets", json!({})),
    ];
    for (option, value) in refused {
        check(option, value, false);
    }
}

#[test]
fn extra_content_of_a_call_is_kept_for_the_way_back() {
    let extra = json!({ "google": { "thought_signature": "c2lnbmVk" } });
    let call = json!({ "index": 0, "id": "a", "type": "function", "extra_content": extra,
        "function": { "name": "weather", "arguments": "{\"city\":\"Paris\"}" } });
    let streamed = read(&[delta(json!({ "tool_calls": [call] })), finish("tool_calls")]);
    let whole = whole(&json!({ "choices": [{ "message": { "tool_calls": [call] },
        "finish_reason": "tool_calls" }] }));
    for read in [streamed, whole] {
        let (generation, _) = read.unwrap();
        let [call] = generation.calls.as_slice() else { panic!("{generation:?}") };
        let (payload, tag) = call.opaque.clone().unwrap();
        assert_eq!((&payload, ChatCompletions::new().replay_tags()), (&extra, &[&*tag][..]));
        // It stands in the next request where it stood in the response.
        let args = CallArgs::Object(call.arguments.as_str().into());
        let id = RecordId::first(CallId::of_text("weather", &call.arguments));
        let mut sent = AssistantCall::new(id, "a", "weather", args);
        sent.opaque = Some(Arc::new(payload));
        let mut prompt = Prompt::default();
        let entry = AssistantEntry::default().with_calls(vec![sent]);
        prompt.timeline.push(PromptEntry::Assistant(entry));
        let options = Map::new();
        let request = ModelRequest::new("m", &prompt, &options);
        let body = ChatCompletions::new().encode_request(&request).unwrap().body;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["messages"][0]["tool_calls"][0]["extra_content"], extra, "{body}");
    }
}

#[test]
fn a_stream_that_ends_before_it_begins_is_not_that_of_a_model() {
    let error = read(&[json!("[DONE]")]).unwrap_err();
    assert_eq!(error, DecodeError::Malformed("it ends before it begins".to_owned()));
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 1 } });
    assert_eq!(read(&[usage, json!("[DONE]")]).unwrap().1, GenerationOutcome::Empty);
}

/// Looking for the call of each piece among all calls takes hours for these.
#[test]
fn a_flood_of_calls_is_refused_for_the_first_that_is_too_many() {
    let calls: Vec<Value> = (0..300_000).map(|it| json!({ "index": it, "id": "c" })).collect();
    let event = delta(json!({ "tool_calls": calls })).to_string();
    let prompt = Prompt::default();
    let options = Map::new();
    let request = ModelRequest::new("m", &prompt, &options);
    let mut decoder = ChatCompletions::new().response_decoder(&request);
    let mut assembler = GenerationAssembler::new();
    let mut slots = std::collections::BTreeSet::new();
    let mut is_refused = false;
    decoder
        .decode_event(StreamEvent::new(&event), &mut |event| {
            if let GenerationEvent::CallDelta { slot, .. } = &event {
                slots.insert(*slot);
            }
            is_refused |= assembler.push(event).is_err();
        })
        .unwrap();
    assert!(is_refused);
    assert_eq!(slots.len(), MAX_GENERATED_CALLS + 1);
}

#[test]
fn a_name_that_never_ends_is_refused() {
    let pieces =
        (0..5_000).map(|it| piece(json!(0), json!("c"), json!(format!("{it}")), json!("")));
    let error = read(&pieces.collect::<Vec<_>>()).unwrap_err();
    let expected = "the name of a call has more than 4096 bytes";
    assert_eq!(error, DecodeError::Malformed(expected.to_owned()));
}
