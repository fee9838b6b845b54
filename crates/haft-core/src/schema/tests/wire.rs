//! The text that the model sees, byte for byte.

use insta::assert_snapshot;
use serde_json::json;

use crate::schema::{
    Definitions, Field, InputSchema, Schema, Shape, any, array, boolean, integer, map, number,
    object, one_of, string, tuple, union,
};

/// The text of one field's schema.
#[track_caller]
fn field(field: impl Into<Field>) -> String {
    let input = InputSchema::new(object().field("it", field)).unwrap();
    let text = input.json_schema_text();
    let head = r#"{"type":"object","properties":{"it":"#;
    let tail = r#"},"additionalProperties":false}"#;
    text.strip_prefix(head).and_then(|it| it.strip_suffix(tail)).unwrap().to_owned()
}

#[test]
fn scalars() {
    assert_snapshot!(field(any()), @"{}");
    assert_snapshot!(field(boolean()), @r#"{"type":"boolean"}"#);
    assert_snapshot!(field(string()), @r#"{"type":"string"}"#);
    assert_snapshot!(field(string().min_length(1).max_length(9).pattern("^a$")), @r#"{"type":"string","minLength":1,"maxLength":9,"pattern":"^a$"}"#);
    assert_snapshot!(field(integer()), @r#"{"type":"integer"}"#);
    assert_snapshot!(field(integer().min(i64::MIN).max(u64::MAX).multiple_of(5)), @r#"{"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615,"multipleOf":5}"#);
    assert_snapshot!(field(number().min(0).max(1.5)), @r#"{"type":"number","minimum":0,"maximum":1.5}"#);
    assert_snapshot!(field(number().above(-1e-7).below(1e21)), @r#"{"type":"number","exclusiveMinimum":-1e-7,"exclusiveMaximum":1e+21}"#);
    assert_snapshot!(field(string().nullable()), @r#"{"type":["string","null"]}"#);
}

#[test]
fn choices() {
    assert_snapshot!(field(one_of(["a", "b"])), @r#"{"type":"string","enum":["a","b"]}"#);
    assert_snapshot!(field(one_of(["a"]).nullable()), @r#"{"type":["string","null"],"enum":["a",null]}"#);
    assert_snapshot!(field(one_of([json!(1), json!("x"), json!(null)])), @r#"{"enum":[1,"x",null]}"#);
    assert_snapshot!(field(string().valid(["x"]).description("d")), @r#"{"type":"string","enum":["x"],"description":"d"}"#);
}

#[test]
fn containers() {
    assert_snapshot!(field(array(string())), @r#"{"type":"array","items":{"type":"string"}}"#);
    assert_snapshot!(field(array(any()).min_items(1).max_items(2).unique().nullable()), @r#"{"type":["array","null"],"items":{},"minItems":1,"maxItems":2,"uniqueItems":true}"#);
    assert_snapshot!(field(tuple([string().into(), boolean().into()])), @r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"boolean"}],"items":false,"minItems":2}"#);
    assert_snapshot!(field(tuple([])), @r#"{"type":"array","items":false,"minItems":0}"#);
    assert_snapshot!(field(map(integer()).min_entries(1).max_entries(2)), @r#"{"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2}"#);
    assert_snapshot!(field(object().field("b", string().required()).field("a", integer())), @r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"],"additionalProperties":false}"#);
    assert_snapshot!(field(object().allow_unknown()), @r#"{"type":"object","properties":{}}"#);
    let shape = union("kind")
        .variant("circle", object().field("r", number().required()))
        .variant("point", object());
    assert_snapshot!(field(shape.clone()), @r#"{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","enum":["circle"]},"r":{"type":"number"}},"required":["kind","r"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","enum":["point"]}},"required":["kind"],"additionalProperties":false}]}"#);
    assert!(field(shape.nullable()).ends_with(r#",{"type":"null"}]}"#));
}

#[test]
fn words_and_values() {
    let described = integer()
        .description("How many")
        .note("At most ten")
        .note("Or so")
        .default(3)
        .example(4)
        .example(5);
    assert_snapshot!(field(described), @r#"{"type":"integer","description":"How many\nAt most ten\nOr so","default":3,"examples":[4,5]}"#);
    // An alias is for coercion; the model sees one name.
    assert_snapshot!(field(boolean().alias("other")), @r#"{"type":"boolean"}"#);
}

#[test]
fn definitions() {
    let reference = |name: &str| Schema::new(Shape::Ref(name.to_owned()));
    let node: Schema = object().field("next", reference("a/b %").or_null()).into();
    let definitions = Definitions::from_iter([("a/b %".to_owned(), node)]);
    let root = object().field("it", Field::required(reference("a/b %")));
    let input = InputSchema::with_definitions(root, definitions).unwrap();
    assert_snapshot!(input.json_schema_text(), @r##"{"type":"object","properties":{"it":{"$ref":"#/$defs/a~1b%20%25"}},"required":["it"],"additionalProperties":false,"$defs":{"a/b %":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/a~1b%20%25"},{"type":"null"}]}},"additionalProperties":false}}}"##);
}

fn weather() -> InputSchema {
    InputSchema::new(
        object()
            .field("zip", string().pattern("^\\d{5}$").example("10115"))
            .field("city", string().required())
            .field("days", integer().min(1).max(14).default(3))
            .description("Where and when"),
    )
    .unwrap()
}

#[test]
fn the_bytes_are_stable() {
    let text = weather().json_schema_text().to_owned();
    for _ in 0..8 {
        let again = weather();
        assert_eq!(again.json_schema_text(), text);
        assert_eq!(again.clone().json_schema_text(), text);
    }
    assert_eq!(weather().json_schema(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
    let foreign = InputSchema::from_json_schema(weather().json_schema()).unwrap();
    let again = InputSchema::from_json_schema(foreign.json_schema()).unwrap();
    assert_eq!(foreign.json_schema_text(), again.json_schema_text());
}

/// The description of a forged query tool, as code that renders its own wire shape reads it.
#[test]
fn the_description_is_a_plain_tree() {
    let input = InputSchema::new(
        object()
            .field("callId", one_of(["tc-1", "tc-2"]).required().description("Which result"))
            .field("n", integer().min(1).default(10).description("How many lines")),
    );
    assert_eq!(
        input.unwrap().describe(),
        json!({ "type": "object", "keys": {
            "n": {
                "type": "number",
                "flags": { "default": 10, "description": "How many lines" },
                "rules": [{ "name": "integer" }, { "name": "min", "args": { "limit": 1 } }] },
            "callId": {
                "type": "string",
                "flags": { "only": true, "presence": "required", "description": "Which result" },
                "allow": ["tc-1", "tc-2"] } } })
    );
}

#[test]
fn every_shape_has_a_description() {
    #[track_caller]
    fn check(field: impl Into<Field>, expect: &serde_json::Value) {
        let input = InputSchema::new(object().field("it", field)).unwrap();
        assert_eq!(input.describe()["keys"]["it"], *expect);
    }
    check(any().note("n"), &json!({ "type": "any", "notes": ["n"] }));
    check(boolean().nullable(), &json!({ "type": "boolean", "flags": { "nullable": true } }));
    check(
        string().min_length(1).max_length(2).pattern("^a").example("a"),
        &json!({ "type": "string", "examples": ["a"], "rules": [
            { "name": "min", "args": { "limit": 1 } }, { "name": "max", "args": { "limit": 2 } },
            { "name": "pattern", "args": { "regex": "/^a/" } }] }),
    );
    check(
        integer().max(u64::MAX).multiple_of(2),
        &json!({ "type": "number", "rules": [{ "name": "integer" },
            { "name": "max", "args": { "limit": u64::MAX } },
            { "name": "multiple", "args": { "base": 2 } }] }),
    );
    check(
        number().above(0).below(1.5),
        &json!({ "type": "number", "rules": [{ "name": "greater", "args": { "limit": 0 } },
            { "name": "less", "args": { "limit": 1.5 } }] }),
    );
    check(
        one_of([json!(1), json!(2)]),
        &json!({ "type": "number", "flags": { "only": true }, "allow": [1, 2] }),
    );
    check(
        one_of([json!(1), json!("a")]),
        &json!({ "type": "any", "flags": { "only": true }, "allow": [1, "a"] }),
    );
    check(
        array(boolean()).unique(),
        &json!({ "type": "array", "rules": [{ "name": "unique" }], "items": [{ "type": "boolean" }] }),
    );
    check(tuple([any().into()]), &json!({ "type": "array", "ordered": [{ "type": "any" }] }));
    check(
        map(any()).min_entries(1),
        &json!({ "type": "object", "rules": [{ "name": "min", "args": { "limit": 1 } }],
            "values": { "type": "any" } }),
    );
    check(
        object().allow_unknown(),
        &json!({ "type": "object", "flags": { "unknown": true }, "keys": {} }),
    );
    check(
        union("k").variant("a", object()),
        &json!({ "type": "alternatives", "tag": "k", "matches": [{ "type": "object", "keys": {
            "k": { "type": "string", "flags": { "only": true, "presence": "required" }, "allow": ["a"] } } }] }),
    );
}
