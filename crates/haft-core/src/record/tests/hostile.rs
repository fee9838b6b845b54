//! Stored texts that are damaged, forged or something else.

use crate::error::codes;
use proptest::prelude::*;
use serde_json::Value;

use super::arbitrary;
use crate::call::ToolCall;
use crate::error::{Coded as _, ErrorCode};
use crate::json::tests::properties::value;
use crate::record::{LoadError, Memory, Message, Record, Retrievable, Thought};
use crate::tool::context::Instruction;

/// Loads a text as a record. A record that comes of it is as good as any other.
fn attempt<T: Record + PartialEq>(text: &str) -> Result<(), LoadError> {
    let record = T::from_json(text)?;
    let stored = record.to_json().unwrap();
    assert_eq!(T::from_json(&stored).unwrap(), record, "{text}");
    Ok(())
}

fn attempt_all(text: &str) -> Vec<Result<(), LoadError>> {
    vec![
        attempt::<Message>(text),
        attempt::<Memory>(text),
        attempt::<Thought>(text),
        attempt::<Retrievable>(text),
        attempt::<Instruction>(text),
        attempt::<ToolCall>(text),
    ]
}

fn stored() -> impl Strategy<Value = String> {
    prop_oneof![
        arbitrary::message().prop_map(|it| it.to_json().unwrap()),
        arbitrary::memory().prop_map(|it| it.to_json().unwrap()),
        arbitrary::thought().prop_map(|it| it.to_json().unwrap()),
        arbitrary::retrievable().prop_map(|it| it.to_json().unwrap()),
        arbitrary::instruction().prop_map(|it| it.to_json().unwrap()),
        arbitrary::call().prop_map(|it| it.to_json().unwrap()),
    ]
}

/// Every place of a value, with what stands there.
fn spots(value: &Value) -> Vec<String> {
    fn visit(value: &Value, at: &str, out: &mut Vec<String>) {
        out.push(at.to_owned());
        match value {
            Value::Array(all) => {
                for (n, it) in all.iter().enumerate() {
                    visit(it, &format!("{at}/{n}"), out);
                }
            }
            Value::Object(all) => {
                for (key, it) in all {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    visit(it, &format!("{at}/{key}"), out);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    visit(value, "", &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_an_answer(text in any::<String>()) {
        for loaded in attempt_all(&text) {
            prop_assert!(matches!(loaded, Err(LoadError::Damaged { .. })), "{loaded:?}");
        }
    }

    #[test]
    fn any_json_is_an_answer(value in value()) {
        for loaded in attempt_all(&value.to_string()) {
            prop_assert!(loaded.is_err());
        }
    }

    #[test]
    fn text_that_was_cut_off_is_damaged(text in stored(), at in any::<prop::sample::Index>()) {
        let start: String = text.chars().take(at.index(text.chars().count())).collect();
        for loaded in attempt_all(&start) {
            prop_assert!(matches!(loaded, Err(LoadError::Damaged { .. })), "{loaded:?}");
        }
    }

    #[test]
    fn a_value_in_place_of_another_is_an_answer(
        text in stored(),
        spot in any::<prop::sample::Index>(),
        other in value(),
    ) {
        let mut stored: Value = serde_json::from_str(&text).unwrap();
        let spot = spot.get(&spots(&stored)).clone();
        *stored.pointer_mut(&spot).unwrap() = other;
        attempt_all(&stored.to_string());
    }

    #[test]
    fn a_field_more_or_less_is_an_answer(
        text in stored(),
        which in any::<prop::sample::Index>(),
    ) {
        let stored: Value = serde_json::from_str(&text).unwrap();
        let mut more = stored.clone();
        more["surprise"] = Value::Null;
        for loaded in attempt_all(&more.to_string()) {
            prop_assert!(matches!(loaded, Err(LoadError::Damaged { .. })), "{loaded:?}");
        }
        let mut less = stored;
        let keys: Vec<String> = less.as_object().unwrap().keys().cloned().collect();
        less.as_object_mut().unwrap().remove(which.get(&keys));
        attempt_all(&less.to_string());
    }
}

#[track_caller]
fn check<T: Record + PartialEq>(json: &str, code: &ErrorCode) {
    let error = attempt::<T>(json).unwrap_err();
    assert_eq!(error.code(), *code, "{error}");
    assert!(!error.retryable());
}

#[test]
fn rules_hold_for_what_is_stored_too() {
    let times =
        r#""createdAt":"1970-01-01T00:00:00.000000Z","updatedAt":"1970-01-01T00:00:00.000000Z""#;
    let user = r#""identity":{"identifier":"u","representation":"u"}"#;
    check::<Message>(
        &format!(r#"{{"id":"m","role":"user",{user},{times}}}"#),
        &codes::INVALID_INITIAL_MESSAGE_VALUE,
    );
    check::<Message>(
        &format!(r#"{{"id":"m","role":"system","content":"x",{user},{times}}}"#),
        &codes::STORE,
    );
    check::<Message>(
        &format!(r#"{{"id":"m","id":"n","role":"user","content":"x",{user},{times}}}"#),
        &codes::STORE,
    );
    check::<Memory>(
        &format!(
            r#"{{"id":"m","content":"x","confidence":1.5,"importance":1,"trust":"first-party",{times}}}"#
        ),
        &codes::INVALID_INITIAL_MEMORY_VALUE,
    );
    check::<Thought>(
        &format!(
            r#"{{"id":"t","content":"","payload":null,{user},"trust":"first-party",{times}}}"#
        ),
        &codes::INVALID_INITIAL_THOUGHT_VALUE,
    );
    check::<Thought>(
        &format!(r#"{{"id":"t","content":"x","payload":1,{user},"trust":"first-party",{times}}}"#),
        &codes::INVALID_INITIAL_THOUGHT_VALUE,
    );
    check::<Retrievable>(
        &format!(r#"{{"id":"r","content":{{"text":"x"}},"inline":false,{times}}}"#),
        &codes::STORE,
    );
    check::<Retrievable>(
        &format!(
            r#"{{"id":"r","content":{{"text":"x"}},"trustTier":"mine","inline":false,{times}}}"#
        ),
        &codes::STORE,
    );
    check::<Instruction>(r#"{"id":"i","text":""}"#, &codes::INVALID_TURN_CONTEXT);
    check::<Instruction>(r#"{"id":"","text":"x"}"#, &codes::STORE);
    // The fields in order, without their names.
    check::<Instruction>(r#"["i", "text"]"#, &codes::STORE);
}
