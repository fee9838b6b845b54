//! Orders that are kept, and those that are not true any more.

use std::sync::Arc;

use haft_core::call::{CallId, RecordId};
use haft_core::trust::{EnvelopeKey, MessagePart, PromptRenderer, PromptText};
use serde_json::{Value, json};

use super::{Called, Piece, Recorder, Seam, pieces};
use crate::prompt::{CallArgs, Content, Own, OwnCall, OwnThought};

fn words(text: &str) -> PromptText {
    PromptRenderer::new(EnvelopeKey::from_bytes([7; 32])).message(&MessagePart::new("m", text))
}

fn call(name: &str, args: &str) -> OwnCall {
    let id = RecordId::first(CallId::of_text(name, args));
    OwnCall::new(id, format!("id-{name}"), name, CallArgs::Object(args.to_owned()))
}

fn own(text: &str, calls: Vec<OwnCall>, payload: Value) -> Own {
    let content = if text.is_empty() { Vec::new() } else { vec![Content::Text(words(text))] };
    Own::new(content).thinking(vec![OwnThought::Opaque(Arc::new(payload))]).calling(calls)
}

/// Think, say, say, think, say, call: and what was told on the way.
fn recorded() -> (String, Value) {
    let mut order = Recorder::new("m");
    let mut told = String::new();
    let mut say = |order: &mut Recorder, delta: &str| {
        told.push_str(order.text(delta));
        told.push_str(delta);
    };
    order.opaque(json!("first"));
    order.begin_text(Seam::Close, Value::Null);
    say(&mut order, "one");
    say(&mut order, ", two");
    order.begin_text(Seam::Close, json!({ "id": 2 }));
    say(&mut order, " three");
    order.opaque(json!("second"));
    order.begin_text(Seam::Close, Value::Null);
    say(&mut order, "");
    order.begin_text(Seam::Close, Value::Null);
    say(&mut order, "é");
    order.call("go", r#"{"a": 1.0}"#, json!({ "id": "fc" }));
    (told, order.finish().unwrap())
}

#[test]
fn a_generation_comes_back_as_it_was() {
    let (text, payload) = recorded();
    assert_eq!(text, "one, two three\n\né");
    // Another spelling of the same arguments is the same call.
    let own = own(&text, vec![call("go", r#"{"a":1}"#)], payload);
    let said = |text, by| Piece::Text { text, by };
    let expected = vec![
        Piece::Opaque(json!("first")),
        said("one, two", Value::Null),
        said(" three", json!({ "id": 2 })),
        Piece::Opaque(json!("second")),
        said("é", Value::Null),
        Piece::Call { call: Called(&own.calls[0]), by: json!({ "id": "fc" }) },
    ];
    assert_eq!(pieces(&own, "m"), Ok(Some(expected)));
}

#[test]
fn one_that_has_changed_does_not() {
    let (text, payload) = recorded();
    let check = |text: &str, calls: Vec<OwnCall>, model: &str, why: &str| {
        assert_eq!(pieces(&own(text, calls, payload.clone()), model), Err(why));
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
    let twice = Own {
        thoughts: [twice.thoughts.clone(), twice.thoughts].concat(),
        ..own("", vec![], payload)
    };
    assert_eq!(pieces(&twice, "m"), Err("it has several records of its order"));
    let unreadable = own("", vec![], json!({ "model": 5 }));
    assert_eq!(pieces(&unreadable, "m"), Err("its record cannot be read"));
    assert_eq!(pieces(&Own::new(vec![Content::Text(words("hi"))]), "m"), Ok(None));
}

#[test]
fn a_record_that_would_not_be_true_is_not_made() {
    let mut plain = Recorder::new("m");
    plain.text("only text");
    assert_eq!(plain.finish(), None);
    let mut spoiled = Recorder::new("m");
    spoiled.opaque(json!(1));
    spoiled.spoil();
    assert_eq!(spoiled.finish(), None);
    let mut large = Recorder::new("m");
    large.opaque(json!("x".repeat(super::MAX_OPAQUE)));
    assert_eq!(large.finish(), None);
    // A text that goes on behind something else has no place of its own.
    let mut torn = Recorder::new("m");
    torn.text("a");
    torn.opaque(json!(1));
    torn.text("b");
    assert_eq!(torn.finish(), None);
    let mut refused = Recorder::new("m");
    refused.opaque(json!(1));
    refused.complete(|_| false);
    assert_eq!(refused.finish(), None);
}
