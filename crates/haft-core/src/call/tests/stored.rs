//! Calls as JSON, and back.

use crate::error::codes;
use std::num::NonZeroU32;

use serde_json::{Value, json};

use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::{CallError, CallState, ToolCall, ToolResults};
use crate::clock::Timestamp;
use crate::error::Coded as _;
use crate::json::{Document, MAX_DEPTH, MAX_TEXT, Repair};
use crate::record::tests::{AT, Held, now, readers};
use crate::record::{LoadError, NotStorable, Record as _, RecordFault};
use crate::schema::args::{Args, RawArgs};
use crate::schema::{Change, ChangeKind};
use crate::trust::TrustTier;

fn requested(raw: impl Into<RawArgs>) -> ToolCall {
    ToolCall::requested("search", raw.into(), NonZeroU32::MIN, AT)
}

#[track_caller]
fn survives(call: &ToolCall) -> ToolCall {
    let stored = call.to_json().unwrap();
    let mut loaded = ToolCall::from_json(&stored).unwrap();
    now(loaded.open(&readers())).unwrap();
    assert_eq!(&loaded, call);
    assert_eq!(loaded.call_id(), loaded.raw().call_id(loaded.tool()));
    loaded
}

#[test]
fn the_stored_form() {
    let mut call = ToolCall::requested(
        "search",
        RawArgs::text(r#"{"q": 'x', "n": 18446744073709551616}"#),
        NonZeroU32::new(3).unwrap(),
        AT,
    )
    .at_place(4, 5)
    .with_provider_id("call_abc")
    .with_payload(json!({ "sig": 1.0 }), "vendor/1")
    .unwrap()
    .in_state(CallState::Succeeded, TrustTier::FirstParty, Timestamp::MAX);
    call.accepted = Some(Args::parse(r#"{"q":"x","n":18446744073709551616}"#).unwrap());
    let kind = ChangeKind::Repaired(Repair::SingleQuotes);
    call.changes = vec![Change { pointer: String::new(), kind }];
    let artifact =
        SpooledArtifact::new(ArtifactKind::JSON, Held::reader("two"), TrustTier::UNTRUSTED);
    call.results = Some(ToolResults::Artifacts(vec![artifact]));
    survives(&call);
    let stored: Value = serde_json::from_str(&call.to_json().unwrap()).unwrap();
    let expected = json!({
        "id": format!("{}#3", call.call_id()),
        "tool": "search",
        "raw": r#"{"q": 'x', "n": 18446744073709551616}"#,
        "accepted": r#"{"q":"x","n":18446744073709551616}"#,
        "changes": [{ "pointer": "", "change": "repaired", "detail": "single-quotes" }],
        "state": "succeeded",
        "results": { "artifacts": [{
            "kind": "json", "label": "third-party-public",
            "reader": { "tag": "spool:held", "locator": { "key": "two" } },
        }] },
        "label": "first-party",
        "fromArtifactTool": false, "inline": false, "iteration": 4, "ordinal": 5,
        "providerId": "call_abc",
        "payload": { "sig": 1.0 }, "replayCompatibility": "vendor/1",
        "createdAt": "1970-01-01T00:00:00.000000Z",
        "updatedAt": "9999-12-31T23:59:59.999999Z",
        "completedAt": "9999-12-31T23:59:59.999999Z",
    });
    assert_eq!(stored, expected);
}

#[test]
fn raw_arguments_survive_as_they_came() {
    let texts = [
        "{}",
        " { \"a\" : 1.0,\r\n\t\"a\":1e2 } ",
        r#"{"n": 123456789012345678901234567890, "m": -9007199254740993}"#,
        r#"{"e": 1e300, "z": -0.0}"#,
        r#"["not", "an object"]"#,
        r#""{\"a\": 1}""#,
        "null",
        "```json\n{'a': True,}\n```",
        "{\"cut\": \"off",
        "plain words \u{0}\u{feff}",
        "1e999",
    ];
    for text in texts {
        let call = requested(text);
        let loaded = survives(&call);
        assert_eq!(loaded.raw().to_text(), text);
        let (before, after) = (call.raw().parsed(), loaded.raw().parsed());
        assert_eq!(before.map_err(|it| it.1), after.map_err(|it| it.1));
    }
    assert_eq!(survives(&requested(" \n")).raw().to_text(), "{}");
    let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
    assert!(survives(&requested(deep)).raw().parsed().is_err());
}

#[test]
fn built_arguments_survive() {
    let (lenient, _) = Document::parse_lenient("\u{feff}{'n': 123456789012345678901,}").unwrap();
    let loaded = survives(&requested(Args::new(lenient)));
    assert_eq!(loaded.raw().to_text(), r#"{"n":123456789012345678901}"#);
    survives(&requested(json!({ "b": [1.5, null], "a": "\n" })));
    survives(&requested(RawArgs::typed(&vec![Some(u64::MAX)]).unwrap()));
    // Refused when it came, and kept as words.
    let deep = (0..=MAX_DEPTH).fold(Value::Null, |inner, _| json!([inner]));
    assert!(survives(&requested(RawArgs::value(&deep))).raw().parsed().is_err());
}

#[test]
fn arguments_that_grew_survive() {
    let deep = |levels| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
    survives(&requested(RawArgs::typed(&deep(MAX_DEPTH + 1)).unwrap()));
    let mut call = requested("{}");
    let mut out = crate::json::JsonWriter::new();
    out.object(|out| {
        out.key("deep").value(&deep(300));
    });
    call.accepted = Some(Args::new(out.finish()));
    survives(&call);
    let long = " ".repeat(MAX_TEXT) + "{}";
    assert!(RawArgs::from_text_of(&long, "search", call.call_id()).is_some());
    let call = requested(RawArgs::typed(&deep(4 * MAX_DEPTH + 1)).unwrap());
    let error = call.to_json();
    assert!(matches!(error, Err(NotStorable::Invalid(_))), "{error:?}");
    assert!(call.to_row().is_err());
}

/// Changes the stored form of a call.
fn forged(change: impl FnOnce(&mut Value)) -> Result<ToolCall, LoadError> {
    let call = requested(r#"{"q": 1}"#);
    let mut stored = serde_json::from_str(&call.to_json().unwrap()).unwrap();
    change(&mut stored);
    ToolCall::from_json(&stored.to_string())
}

#[test]
fn an_id_that_is_not_the_calls_own_is_damage() {
    assert!(forged(|_| {}).is_ok());
    // Another spelling of the same call.
    assert!(forged(|it| it["raw"] = json!("{\"q\":1.0}")).is_ok());
    let other = requested(r#"{"q": 2}"#).id();
    let changes: [&dyn Fn(&mut Value); 5] = [
        &|it| it["raw"] = json!("{\"q\":2}"),
        &|it| it["raw"] = json!("{\"q\":1"),
        &|it| it["raw"] = json!({ "q": 1 }),
        &|it| it["tool"] = json!("delete"),
        &|it| it["id"] = json!(other),
    ];
    for change in changes {
        let error = forged(change).unwrap_err();
        assert!(matches!(error, LoadError::Damaged { .. }), "{error}");
        assert_eq!(error.code(), "E_STORE");
        assert!(!error.retryable());
    }
    let error = forged(|it| it["accepted"] = json!("{")).unwrap_err();
    assert!(matches!(error, LoadError::Damaged { .. }), "{error}");
}

/// What is wrong with a call, both before it is stored and when its stored form is loaded.
#[track_caller]
fn check(call: &ToolCall, expected: &[&'static str]) {
    let found = call.check().err().map(|error| {
        assert_eq!(error.code(), "E_INVALID_INITIAL_TOOL_CALL_VALUE");
        error.faults
    });
    let expected: Vec<_> = expected.iter().map(|it| RecordFault::Mismatch(it)).collect();
    assert_eq!(found.unwrap_or_default(), expected);
    assert_eq!(call.to_row().is_ok(), expected.is_empty());
    match call.to_json() {
        Ok(_) => assert!(expected.is_empty()),
        Err(NotStorable::Invalid(error)) => assert_eq!(error.faults, expected),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_parts_of_a_record_go_together() {
    const ENDED: &str = "`completedAt` belongs to calls that have ended, and to all of them";
    const RESULTS: &str = "`results` belong to calls that succeeded, and to all of them";
    const FAILED: &str = "a call that failed has an `error`";
    const ERROR: &str = "`error` belongs to calls that have ended without results";
    use CallState as S;
    let text = || Some(ToolResults::Text(String::new()));
    let error = || Some(CallError { code: codes::STORE, message: "m".into(), retryable: true });
    for (state, plain, with_results, with_error) in [
        (S::Requested, &[][..], &[RESULTS][..], &[ERROR][..]),
        (S::Approved, &[], &[RESULTS], &[ERROR]),
        (S::Running, &[], &[RESULTS], &[ERROR]),
        (S::Succeeded, &[RESULTS], &[], &[RESULTS]),
        (S::Failed, &[FAILED], &[RESULTS, FAILED], &[]),
        (S::Cancelled, &[], &[RESULTS], &[]),
        (S::Unknown, &[], &[RESULTS], &[]),
    ] {
        let call = requested("{}").in_state(state, TrustTier::UNTRUSTED, AT);
        check(&call, plain);
        check(&ToolCall { results: text(), ..call.clone() }, with_results);
        check(&ToolCall { error: error(), ..call.clone() }, with_error);
        let ended = if state.is_final() { None } else { Some(AT) };
        let mut faults = vec![ENDED];
        faults.extend(plain);
        check(&ToolCall { completed_at: ended, ..call }, &faults);
    }
    let done = requested("{}").in_state(S::Succeeded, TrustTier::UNTRUSTED, AT);
    check(&ToolCall { results: text(), error: error(), ..done.clone() }, &[ERROR]);
    let empty = "a list of `results` is empty";
    for results in [ToolResults::Artifacts(Vec::new()), ToolResults::Media(Vec::new())] {
        check(&ToolCall { results: Some(results), ..done.clone() }, &[empty]);
    }
    let artifact =
        SpooledArtifact::new(ArtifactKind::TEXT, Held::reader("one"), TrustTier::UNTRUSTED);
    let results = Some(ToolResults::Artifacts(vec![artifact]));
    let query = ToolCall { results, from_artifact_tool: true, ..done };
    check(&query, &["a query on artifacts answers with text"]);
    let mut list = requested("{}");
    list.accepted = Some(Args::parse("[]").unwrap());
    check(&list, &["`accepted` is not an object"]);
}

#[test]
fn stored_calls_are_checked_too() {
    let error = forged(|it| it["state"] = json!("succeeded")).unwrap_err();
    assert!(matches!(&error, LoadError::Invalid(error) if error.faults.len() == 2), "{error}");
    let error = forged(|it| it["payload"] = json!(1)).unwrap_err();
    assert!(matches!(&error, LoadError::Invalid(it) if it.faults == [RecordFault::Unpaired]));
    assert!(forged(|it| it["payload"] = Value::Null).is_ok());
    assert!(forged(|it| it["replayCompatibility"] = json!("v")).is_ok());
    assert!(
        forged(|it| it["error"] = json!({ "code": "E_NEW", "message": "", "retryable": true }))
            .is_err()
    );
}

#[test]
fn a_payload_needs_a_tag() {
    let call = || requested("{}");
    let kept = call().with_payload(json!(1), "v").unwrap();
    assert_eq!((kept.payload(), kept.replay_compatibility()), (Some(&json!(1)), Some("v")));
    assert!(kept.replays_with(&["v"]) && !kept.replays_with(&[]));
    let tag = call().with_payload(Value::Null, "v").unwrap();
    assert_eq!((tag.payload(), tag.replay_compatibility()), (None, Some("v")));
    let error = call().with_payload(json!(1), "").unwrap_err();
    assert_eq!(error.faults, [RecordFault::Empty { field: "replayCompatibility" }]);
    assert!(call().replays_with(&[]));
}
