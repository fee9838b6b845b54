//! Schemas from elsewhere: judged as their dialect says, refused with a reason, never a crash.

use serde_json::{Value, json};

use super::verdict;
use crate::schema::args::{RawArgs, Strictness};
use crate::schema::{ForeignSchemaError, InputSchema};

#[track_caller]
fn foreign(schema: Value) -> InputSchema {
    InputSchema::from_json_schema(schema).unwrap()
}

#[track_caller]
fn refused(schema: Value, expect: &str) {
    let error = InputSchema::from_json_schema(schema).map(drop).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

fn accepts(input: &InputSchema, value: &Value) -> bool {
    input.accept("t", &RawArgs::value(value), Strictness::Strict).is_ok()
}

/// The groups of the official test suite that is stored outside the project.
fn suite() -> Option<Vec<Value>> {
    let path = haft_testkit::suite("json-schema-2020-12.json")?;
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().as_array().cloned()
}

fn tests(group: &Value) -> impl Iterator<Item = (&Value, bool)> {
    let tests = group["tests"].as_array().into_iter().flatten();
    tests.map(|test| (&test["data"], test["valid"] == true))
}

/// Every schema of the suite, made an object schema where it says nothing, judges objects as the
/// suite expects.
#[test]
fn the_suite_with_an_object_root() {
    let Some(groups) = suite() else { return };
    let mut judged = 0;
    let mut declined = Vec::new();
    for group in &groups {
        let mut schema = group["schema"].clone();
        let text = schema.to_string();
        // Schemas that apply themselves to what is inside would say more with a type.
        let applies_itself = ["\"#\"", "dynamicRef", "\"$ref\":\"http", "\"$ref\":\"urn"];
        if let Value::Object(members) = &mut schema
            && !applies_itself.iter().any(|it| text.contains(it))
        {
            members.entry("type").or_insert_with(|| json!("object"));
        }
        let input = match InputSchema::from_json_schema(schema.clone()) {
            Ok(input) => input,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                declined.push((group["description"].clone(), error));
                continue;
            }
        };
        for (data, valid) in tests(group).filter(|(data, _)| data.is_object()) {
            judged += 1;
            assert_eq!(accepts(&input, data), valid, "{schema} with {data}");
        }
    }
    assert!(judged > 250, "only {judged} cases were judged");
    for (description, error) in declined {
        let known = matches!(
            error,
            ForeignSchemaError::NotAnObject { .. }
                | ForeignSchemaError::External { .. }
                | ForeignSchemaError::Invalid { .. }
        );
        assert!(known, "{description}: {error}");
    }
}

/// Schemas without references can stand for a field, and then judge values of every kind.
#[test]
fn the_suite_as_a_field() {
    let Some(groups) = suite() else { return };
    let mut judged = 0;
    for group in &groups {
        let schema = &group["schema"];
        let text = schema.to_string();
        if ["$ref", "$id", "$anchor", "$dynamic", "vocabulary"].iter().any(|it| text.contains(it)) {
            continue;
        }
        let wrapped =
            json!({ "type": "object", "properties": { "it": schema }, "required": ["it"] });
        let Ok(input) = InputSchema::from_json_schema(wrapped) else {
            panic!("{schema} was refused");
        };
        for (data, valid) in tests(group) {
            judged += 1;
            let value = json!({ "it": data });
            assert_eq!(accepts(&input, &value), valid, "{schema} with {data}");
        }
    }
    assert!(judged > 600, "only {judged} cases were judged");
}

#[test]
fn the_root_must_be_an_object() {
    let rule =
        "the input schema of a tool must be an object: its root needs `\"type\": \"object\"`";
    refused(json!(true), &format!("{rule}, got true"));
    refused(json!({}), &format!("{rule}, got no type"));
    refused(json!({ "type": "array" }), &format!("{rule}, got `\"type\": \"array\"`"));
    refused(
        json!({ "type": ["object", "null"] }),
        &format!("{rule}, got `\"type\": [\"object\",\"null\"]`"),
    );
    refused(json!({ "anyOf": [{ "type": "object" }] }), &format!("{rule}, got no type"));
}

#[test]
fn circles_end() {
    let circle = |reference: &str| {
        format!("the reference `{reference}` leads in a circle and would never end")
    };
    refused(json!({ "type": "object", "$ref": "#" }), &circle("#"));
    refused(json!({ "type": "object", "allOf": [{ "$ref": "#" }] }), &circle("#"));
    refused(json!({ "type": "object", "anyOf": [{ "not": { "$ref": "#" } }] }), &circle("#"));
    refused(json!({ "type": "object", "$dynamicRef": "#" }), &circle("#"));
    refused(
        json!({ "type": "object", "$ref": "#/$defs/a", "$defs": {
            "a": { "$ref": "#/$defs/b" }, "b": { "oneOf": [{ "$ref": "#/$defs/a" }] } } }),
        &circle("#/$defs/a"),
    );
    refused(
        json!({ "type": "object", "properties": {
            "a": { "$ref": "#/properties/b" }, "b": { "$ref": "#/properties/a" } } }),
        &circle("#/properties/b"),
    );
}

/// Circles that only the validator can see: by anchor, by `$id`, by dynamic scope. They are refused or
/// they end.
#[test]
fn hidden_circles_end() {
    let schemas = [
        json!({ "$anchor": "a", "$ref": "#a" }),
        json!({ "$dynamicAnchor": "a", "allOf": [{ "$dynamicRef": "#a" }] }),
        json!({ "$id": "https://example.invalid/y", "$ref": "y" }),
        json!({ "$id": "https://example.invalid/y", "$ref": "https://example.invalid/y" }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$anchor": "q", "anyOf": [{ "$ref": "#q" }] } } }),
        json!({ "dependentSchemas": { "a": { "$ref": "#" } } }),
        json!({ "$ref": "#/$defs/b", "$dynamicRef": "#", "$defs": { "b": {} } }),
        json!({ "if": { "$anchor": "i", "then": { "$ref": "#i" }, "$ref": "#i" } }),
        json!({ "unevaluatedProperties": { "$ref": "#" } }),
        json!({ "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$recursiveAnchor": true, "allOf": [{ "$recursiveRef": "#" }] }),
    ];
    for mut schema in schemas {
        schema["type"] = json!("object");
        schema["required"] = json!(["a"]);
        let Ok(input) = InputSchema::from_json_schema(schema) else { continue };
        for value in [json!({ "a": {} }), json!({ "a": 1 }), json!({}), json!({ "a": { "a": [] } })]
        {
            for strictness in [Strictness::Strict, Strictness::Coerce] {
                let _ = input.accept("t", &RawArgs::value(&value), strictness);
            }
        }
    }
}

#[test]
fn nothing_is_fetched() {
    for reference in ["https://example.invalid/other.json", "other.json", "file:///etc/passwd"] {
        refused(
            json!({ "type": "object", "properties": { "a": { "$ref": reference } } }),
            &format!(
                "the reference `{reference}` points outside the schema, and nothing is fetched"
            ),
        );
    }
    // Data is no schema.
    foreign(json!({ "type": "object", "default": { "$ref": "https://example.invalid" } }));
}

#[test]
fn a_part_of_the_schema_is_found_by_its_id() {
    let schema = |reference: &str| {
        json!({
            "$id": "https://example.invalid/root", "type": "object",
            "properties": { "limit": { "$ref": reference } },
            "$defs": { "limit": { "$id": "https://example.invalid/limit", "type": "integer" } },
        })
    };
    for reference in ["https://example.invalid/limit", "limit", "/limit", "limit#"] {
        let input = foreign(schema(reference));
        assert!(accepts(&input, &json!({ "limit": 3 })), "{reference}");
        assert!(!accepts(&input, &json!({ "limit": "all" })), "{reference}");
    }
    for reference in ["https://example.invalid/other", "https://example.invalid/", "/#limit"] {
        refused(
            schema(reference),
            &format!(
                "the reference `{reference}` points outside the schema, and nothing is fetched"
            ),
        );
    }
}

#[test]
fn recursion_through_properties_works() {
    let input = foreign(json!({ "type": "object", "required": ["v"], "properties": {
        "v": { "type": "integer" }, "next": { "$ref": "#" },
        "children": { "type": "array", "items": { "$ref": "#" } } } }));
    assert!(accepts(&input, &json!({ "v": 1, "next": { "v": 2, "children": [{ "v": 3 }] } })));
    assert!(!accepts(&input, &json!({ "v": 1, "next": { "v": 2, "children": [{ "v": "x" }] } })));
}

#[test]
fn a_wide_schema_works() {
    let field = |at: u32| (format!("f{at}"), json!({ "type": "integer", "minimum": at }));
    let properties: Value = Value::Object((0..200).map(field).collect());
    let input = foreign(json!({ "type": "object", "properties": properties }));
    assert!(accepts(&input, &json!({ "f199": 199 })));
    assert!(!accepts(&input, &json!({ "f199": 198 })));
}

#[test]
fn hostile_schemas_are_refused() {
    let deep = || {
        let mut deep = json!({});
        for _ in 0..10_000 {
            deep = Value::Object([("not".to_owned(), deep)].into_iter().collect());
        }
        deep["type"] = json!("object");
        InputSchema::from_json_schema(deep).map(drop)
    };
    // Dropping such a value takes more stack than a test has.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(deep).unwrap();
    let error = thread.join().unwrap().unwrap_err();
    assert!(matches!(error, ForeignSchemaError::TooLarge { .. }), "{error}");

    let huge = json!({ "type": "object", "description": "x".repeat(2 * 1024 * 1024) });
    refused(huge, "the schema is too large: 2097186 bytes");

    let bad = json!({ "type": "object", "properties": { "a": { "pattern": "(" } } });
    let error = InputSchema::from_json_schema(bad).unwrap_err();
    assert!(error.to_string().starts_with("not a usable JSON Schema: "), "{error}");

    let error = InputSchema::from_json_schema(json!({ "type": "object", "properties": 3 }));
    assert!(matches!(error, Err(ForeignSchemaError::Invalid { .. })));
}

/// A pattern that backtracks without end costs a bounded effort and is refused.
#[test]
fn a_slow_pattern_ends() {
    let input = foreign(json!({ "type": "object", "properties": {
        "a": { "type": "string", "pattern": "^(?=(a+)+$)(a+)+b$" } } }));
    assert!(!accepts(&input, &json!({ "a": "a".repeat(60) })));
}

fn search() -> InputSchema {
    foreign(json!({ "type": "object", "additionalProperties": false, "required": ["path"],
        "properties": {
            "path": { "type": "string" },
            "limit": { "type": "integer", "minimum": 1 },
            "recursive": { "type": "boolean" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "filter": { "type": "object", "properties": { "size": { "type": "number" } } },
            "mode": { "enum": ["fast", "slow"] } } }))
}

#[test]
fn near_misses_are_mended() {
    let cases = [
        (r#"{"path":"a","limit":"3"}"#, r#"{"limit":3,"path":"a"} [/limit number]"#),
        (
            r#"{"path":"a","recursive":"True"}"#,
            r#"{"path":"a","recursive":true} [/recursive boolean]"#,
        ),
        (
            r#"{"path":"a","recursive":" FALSE "}"#,
            r#"{"path":"a","recursive":false} [/recursive boolean]"#,
        ),
        (r#"{"path":"a","recursive":""}"#, r#"{"path":"a"} [/recursive dropped]"#),
        (r#"{"path":"a","limit":""}"#, r#"{"path":"a"} [/limit dropped]"#),
        (r#"{"path":"a","filter":""}"#, r#"{"path":"a"} [/filter dropped]"#),
        (r#"{"path":"a","tags":"x"}"#, r#"{"path":"a","tags":["x"]} [/tags wrapped]"#),
        (r#"{"path":"a","tags":"[\"x\"]"}"#, r#"{"path":"a","tags":["x"]} [/tags json]"#),
        (r#"{"path":"a","tags":""}"#, r#"{"path":"a"} [/tags dropped]"#),
        (r#"{"path":"a","limit":null}"#, r#"{"path":"a"} [/limit dropped]"#),
        (r#"{"path":"a","mode":"FAST"}"#, r#"{"mode":"fast","path":"a"} [/mode case]"#),
        (r#"{"path":"a","mode":""}"#, r#"{"path":"a"} [/mode dropped]"#),
        (
            r#"{"path":"a","filter":"{\"size\":\"2\"}"}"#,
            r#"{"filter":{"size":2},"path":"a"} [/filter json, /filter/size number]"#,
        ),
        (r#""{\"path\":\"a\"}""#, r#"{"path":"a"} [ json]"#),
        (r#"{"arguments":{"path":"a"}}"#, r#"{"path":"a"} [ unwrapped arguments]"#),
        (
            r#"{"arguments":"{\"path\":\"a\",\"limit\":\"4\"}"}"#,
            r#"{"limit":4,"path":"a"} [ unwrapped arguments, /arguments json, /arguments/limit number]"#,
        ),
        (
            "```json\n{\"path\": \"a\",}\n```",
            r#"{"path":"a"} [ repaired code-fence,  repaired trailing-comma]"#,
        ),
    ];
    for (text, expect) in cases {
        assert_eq!(verdict(&search(), text, Strictness::Coerce), expect, "{text}");
    }
}

#[test]
fn the_rest_is_refused() {
    let cases = [
        r#"{"path":"a","limit":"3x"}"#,
        r#"{"path":"a","limit":"0"}"#,
        r#"{"path":"a","limit":3.5}"#,
        r#"{"path":"a","recursive":"yes"}"#,
        r#"{"path":"a","recursive":1}"#,
        r#"{"path":"a","tags":"[x"}"#,
        r#"{"path":"a","filter":"size"}"#,
        r#"{"path":"a","filter":"[]"}"#,
        r#"{"path":"a","tags":[null]}"#,
        r#"{"path":"a","mode":"fastest"}"#,
        r#"{"path":null}"#,
        r#"{"path":""#,
        r#"{"path":"a","path":"b"}"#,
        r#"{"path":"a","paths":"b"}"#,
        r#"{"arguments":{"path":"a"},"limit":1}"#,
        r#"{"path":"a","limit":"3","mode":18446744073709551617}"#,
        r#"["a"]"#,
        "null",
        "{}",
    ];
    for text in cases {
        let input = search();
        let problems = verdict(&input, text, Strictness::Coerce);
        assert!(problems.starts_with("- "), "{text} gave {problems}");
        assert_eq!(problems, verdict(&input, text, Strictness::Coerce));
    }
}

/// The validator is built by recursion: a stack that is used up ends the process.
#[test]
fn references_that_lead_too_deep_are_refused() {
    let name = |it: usize| format!("d{it:06}");
    let schema = |link: &dyn Fn(String) -> Value, is_reversed: bool| {
        let at = |it: usize| name(if is_reversed { 15_000 - it } else { it });
        let mut all: serde_json::Map<String, Value> =
            (0..15_000).map(|it| (at(it), link(format!("#/$defs/{}", at(it + 1))))).collect();
        all.insert(at(15_000), json!({"type": "string"}));
        let first = format!("#/$defs/{}", at(0));
        json!({"type": "object", "properties": {"a": {"$ref": first}}, "$defs": all})
    };
    let chain = "the schema is too large: more than 32 references follow one another";
    let levels = "the schema is too large: its references lead more than 512 levels deep";
    for is_reversed in [false, true] {
        refused(schema(&|next| json!({"$ref": next}), is_reversed), chain);
        refused(schema(&|next| json!({"allOf": [{"$ref": next}]}), is_reversed), chain);
        refused(schema(&|next| json!({"properties": {"a": {"$ref": next}}}), is_reversed), levels);
        refused(schema(&|next| json!({"items": {"$ref": next}}), is_reversed), levels);
    }
}

/// Each level doubles how often a value is looked at: applying these takes years.
#[test]
fn a_value_that_would_be_looked_at_too_often_is_refused() {
    let doubling = |key: &str, by_anchor: bool| {
        let reference = |it: usize| match by_anchor {
            true => json!({"$ref": format!("#n{it}")}),
            false => json!({"$ref": format!("#/$defs/n{it}")}),
        };
        let mut all = serde_json::Map::new();
        all.insert("n0".to_owned(), json!({"$anchor": "n0", "type": "string"}));
        for it in 1..30 {
            let both = json!([reference(it - 1), reference(it - 1)]);
            all.insert(format!("n{it}"), json!({"$anchor": format!("n{it}"), key: both}));
        }
        // Anchors are found wherever they are, also inside a list.
        let list: Vec<Value> = all.values().cloned().collect();
        let all = if by_anchor { json!({"list": {"prefixItems": list}}) } else { json!(all) };
        foreign(json!({"type": "object", "properties": {"a": reference(29)}, "$defs": all}))
    };
    for key in ["allOf", "anyOf", "oneOf"] {
        for by_anchor in [false, true] {
            let input = doubling(key, by_anchor);
            let text = r#"{"a": 5}"#;
            let problems = input.accept("t", &RawArgs::from(text), Strictness::default());
            let problems = problems.unwrap_err().to_string();
            assert!(problems.contains("in bounded time"), "{key}: {problems}");
            assert!(accepts(&input, &json!({"b": 1})), "what is not looked at costs nothing");
        }
    }
    // A list of itself, by two ways: the work doubles with each level of the value.
    let way = json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["x"]});
    let input = foreign(json!({
        "type": "object", "properties": {"x": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"anyOf": [way, way, {"type": "null"}]}},
    }));
    let nested = |levels: usize| (0..levels).fold(json!(null), |it, _| json!({"x": it}));
    assert!(accepts(&input, &nested(8)));
    assert!(!accepts(&input, &nested(60)));
}
