//! The document says what the routes are.

use serde_json::Value;

use super::{OPERATIONS, document};

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
