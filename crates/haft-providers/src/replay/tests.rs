//! Orders that are kept, and those that are not true any more.

use std::sync::Arc;

use haft_core::call::{CallId, RecordId};
use haft_core::trust::{EnvelopeKey, PromptRenderer, PromptText};
use serde_json::{Value, json};

use super::{ReplayPart, ReplayRecorder, ReplayedCall, TextSeam, replay_parts};
use crate::prompt::{AssistantCall, AssistantEntry, AssistantThought, CallArgs, ContentPart};

fn words(text: &str) -> PromptText {
    PromptRenderer::new(EnvelopeKey::from_bytes([7; 32])).spoken_text(text)
}

fn call(name: &str, args: &str) -> AssistantCall {
    let id = RecordId::first(CallId::of_text(name, args));
    AssistantCall::new(id, format!("id-{name}"), name, CallArgs::Object(args.into()))
}

fn own(text: &str, calls: Vec<AssistantCall>, payload: Value) -> AssistantEntry {
    let content = if text.is_empty() { Vec::new() } else { vec![ContentPart::Text(words(text))] };
    AssistantEntry::new(content)
        .with_thoughts(vec![AssistantThought::Opaque(Arc::new(payload))])
        .with_calls(calls)
}

/// Think, say, say, think, say, call: and what was told on the way.
fn recorded() -> (String, Value) {
    let mut order = ReplayRecorder::new("m");
    let mut told = String::new();
    let mut say = |order: &mut ReplayRecorder, delta: &str| {
        told.push_str(order.push_text(delta));
        told.push_str(delta);
    };
    order.push_opaque(json!("first"));
    order.begin_text(TextSeam::Close, Value::Null);
    say(&mut order, "one");
    say(&mut order, ", two");
    order.begin_text(TextSeam::Close, json!({ "id": 2 }));
    say(&mut order, " three");
    order.push_opaque(json!("second"));
    order.begin_text(TextSeam::Close, Value::Null);
    say(&mut order, "");
    order.begin_text(TextSeam::Close, Value::Null);
    say(&mut order, "é");
    order.push_call("go", r#"{"a": 1.0}"#, json!({ "id": "fc" }));
    (told, order.finish().unwrap())
}

#[test]
fn a_generation_comes_back_as_it_was() {
    let (text, payload) = recorded();
    assert_eq!(text, "one, two three\n\né");
    // Another spelling of the same arguments is the same call.
    let own = own(&text, vec![call("go", r#"{"a":1}"#)], payload);
    let said = |text, by| ReplayPart::Text { text, by };
    let expected = vec![
        ReplayPart::Opaque(json!("first")),
        said("one, two", Value::Null),
        said(" three", json!({ "id": 2 })),
        ReplayPart::Opaque(json!("second")),
        said("é", Value::Null),
        ReplayPart::Call { call: ReplayedCall(&own.calls[0]), by: json!({ "id": "fc" }) },
    ];
    assert_eq!(replay_parts(&own, "m"), Ok(Some(expected)));
}

#[test]
fn one_that_has_changed_does_not() {
    let (text, payload) = recorded();
    let check = |text: &str, calls: Vec<AssistantCall>, model: &str, why: &str| {
        assert_eq!(replay_parts(&own(text, calls, payload.clone()), model), Err(why));
    };
    let go = || call("go", r#"{"a":1}"#);
    check(&text, vec![go()], "other", "another model is asked now");
    check("one, two three\n\ne!", vec![go()], "m", "its text has changed");
    check("", vec![go()], "m", "its text has changed");
    check(&text, vec![], "m", "its calls have changed");
    check(&text, vec![go(), go()], "m", "its calls have changed");
    check(&text, vec![call("go", r#"{"a":2}"#)], "m", "its calls have changed");
    check(&text, vec![call("stop", r#"{"a":1}"#)], "m", "its calls have changed");
    let twice = own(&text, vec![go()], payload.clone());
    let twice = AssistantEntry {
        thoughts: [twice.thoughts.clone(), twice.thoughts].concat(),
        ..own("", vec![], payload)
    };
    assert_eq!(replay_parts(&twice, "m"), Err("it has several records of its order"));
    let unreadable = own("", vec![], json!({ "model": 5 }));
    assert_eq!(replay_parts(&unreadable, "m"), Err("its record cannot be read"));
    assert_eq!(
        replay_parts(&AssistantEntry::new(vec![ContentPart::Text(words("hi"))]), "m"),
        Ok(None)
    );
}

#[test]
fn a_record_that_would_not_be_true_is_not_made() {
    let mut plain = ReplayRecorder::new("m");
    plain.push_text("only text");
    assert_eq!(plain.finish(), None);
    let mut spoiled = ReplayRecorder::new("m");
    spoiled.push_opaque(json!(1));
    spoiled.discard();
    assert_eq!(spoiled.finish(), None);
    let mut large = ReplayRecorder::new("m");
    large.push_opaque(json!("x".repeat(super::MAX_OPAQUE)));
    assert_eq!(large.finish(), None);
    // A text that goes on behind something else has no place of its own.
    let mut torn = ReplayRecorder::new("m");
    torn.push_text("a");
    torn.push_opaque(json!(1));
    torn.push_text("b");
    assert_eq!(torn.finish(), None);
    let mut refused = ReplayRecorder::new("m");
    refused.push_opaque(json!(1));
    refused.complete_opaque(|_| false);
    assert_eq!(refused.finish(), None);
}

/// A provider can send any number of parts, and anything as their names; only so much is stored.
#[test]
fn a_generation_of_too_many_parts_or_names_is_not_replayed() {
    let name = json!({ "id": "x".repeat(1 << 20) });
    let cases: [(usize, Value, bool); 4] = [
        (16_000, Value::Null, true),
        (17_000, Value::Null, false),
        (3, name.clone(), true),
        (5, name, false),
    ];
    for (parts, by, replayed) in cases {
        let mut texts = ReplayRecorder::new("m");
        let mut calls = ReplayRecorder::new("m");
        let mut told = String::new();
        texts.push_opaque(json!("thought"));
        calls.push_opaque(json!("thought"));
        for _ in 0..parts {
            texts.begin_text(TextSeam::Close, by.clone());
            told.push_str(texts.push_text("a"));
            told.push('a');
            calls.push_call("f", "{}", by.clone());
        }
        assert_eq!(texts.finish().is_some(), replayed, "{parts} texts");
        assert_eq!(calls.finish().is_some(), replayed, "{parts} calls");
        assert_eq!(told, "a".repeat(parts), "what is told does not depend on it");
    }
}
