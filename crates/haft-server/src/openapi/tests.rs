//! The document says what the routes are.

use haft::stores::{GateId, TurnId};
use serde_json::{Value, json};

use super::{OPERATIONS, document};
use crate::wire::{ID_PATTERN, MAX_ID_CHARS};

/// Every reference of a document.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|it| references(it, found));
        }
        Value::Array(list) => list.iter().for_each(|it| references(it, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_to_a_schema() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn operations_have_ids_of_their_own_and_parameters_for_their_paths() {
    let document = document();
    let mut ids = std::collections::BTreeSet::new();
    for operation in &OPERATIONS {
        let path = operation.path.replace('~', "~0").replace('/', "~1");
        let described = document.pointer(&format!("/paths/{path}/{}", operation.method)).unwrap();
        assert!(ids.insert(described["operationId"].as_str().unwrap().to_owned()), "{described}");
        for name in
            operation.path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'))
        {
            let parameters = described["parameters"].as_array().unwrap();
            assert!(
                parameters.iter().any(|it| it["name"] == name && it["in"] == "path"),
                "{described}"
            );
        }
    }
}

/// A parameter of `GET /turns`.
fn turns_parameter(name: &str) -> Value {
    let document = document();
    let parameters = document.pointer("/paths/~1turns/get/parameters").unwrap();
    let found = parameters.as_array().unwrap().iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("{parameters}"))["schema"].clone()
}

#[test]
fn parameters_say_which_values_are_valid() {
    assert_eq!(turns_parameter("since")["format"], "date-time");
    assert_eq!(turns_parameter("since")["nullable"], json!(true), "as OpenAPI 3.0 writes it");
    assert_eq!(turns_parameter("minTokens")["maximum"], json!(u64::MAX));
    assert_eq!(turns_parameter("before")["pattern"], ID_PATTERN);
}

/// The rules for ids are those of the types that parse them.
#[test]
fn ids_are_described_as_they_are_parsed() {
    assert_eq!(ID_PATTERN, r"^[^\u0000-\u001f\u007f-\u009f]*$");
    for ch in ('\0'..='\u{ff}').chain(['€', '\u{200b}', '\u{1f600}']) {
        let is_excluded = matches!(ch, '\0'..='\x1f' | '\x7f'..='\u{9f}');
        assert_eq!(ch.to_string().parse::<TurnId>().is_err(), is_excluded, "{ch:?}");
        assert_eq!(ch.to_string().parse::<GateId>().is_err(), is_excluded, "{ch:?}");
    }
    assert!("ä".repeat(MAX_ID_CHARS).parse::<TurnId>().is_ok());
    assert!("ä".repeat(MAX_ID_CHARS + 1).parse::<TurnId>().is_err());
}
