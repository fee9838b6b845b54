//! What holds of every schema that a provider gets.

use haft::providers::tool_schema::{lower_full, lower_strict};
use haft::schema::{
    InputSchema, ObjectSchema, Schema, ValueSchema, array, boolean, integer, number, object,
    one_of, string, union,
};
use haft::schema::{RawArgs, Strictness};
use haft_conformance::Generator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that are keywords where a schema stands.
const NAMES: [&str; 8] = ["default", "format", "type", "$ref", "enum", "properties", "a/b", "not"];

fn scalar() -> impl Strategy<Value = Schema> {
    prop_oneof![
        Just(string().into()),
        Just(string().min_length(2).max_length(5).into()),
        Just(string().pattern("^[a-z]*$").into()),
        Just(integer().min(-3).max(30).into()),
        Just(integer().multiple_of(5).into()),
        Just(number().above(0.5).into()),
        Just(boolean().into()),
        Just(one_of(["red", "green"]).into()),
        Just(one_of([1, 2]).into()),
    ]
}

fn schema() -> impl Strategy<Value = Schema> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        let listed = (inner.clone(), 0..3usize, any::<bool>()).prop_map(|(items, min, unique)| {
            let list = array(items).min_items(min);
            Schema::from(if unique { list.unique() } else { list })
        });
        let shape = inner.clone().prop_map(|it| {
            let one = object().field("v", required(it));
            Schema::from(union("kind").variant("one", one).variant("two", object()))
        });
        prop_oneof![
            3 => listed,
            3 => fields(inner.clone()).prop_map(Schema::from),
            1 => shape,
            1 => inner.prop_map(Schema::or_null),
        ]
    })
}

fn required(schema: Schema) -> haft::schema::Field {
    haft::schema::Field::required(schema)
}

fn fields(inner: impl Strategy<Value = Schema>) -> impl Strategy<Value = ObjectSchema> {
    prop::collection::btree_map(0..NAMES.len(), (inner, any::<bool>()), 0..4).prop_map(|all| {
        all.into_iter().fold(object(), |object, (name, (schema, is_required))| {
            let field = match is_required {
                true => haft::schema::Field::required(schema),
                false => haft::schema::Field::optional(schema),
            };
            object.field(NAMES[name], field)
        })
    })
}

/// Puts `null` where a property is absent.
fn filled(value: &Value, schema: &Value) -> Value {
    let schema = chosen(value, schema);
    match value {
        Value::Object(members) => {
            let mut out = Map::new();
            for (name, below) in schema["properties"].as_object().into_iter().flatten() {
                let member = members.get(name).map(|it| filled(it, below));
                out.insert(name.clone(), member.unwrap_or(Value::Null));
            }
            Value::Object(out)
        }
        Value::Array(list) => list.iter().map(|it| filled(it, &schema["items"])).collect(),
        other => other.clone(),
    }
}

/// The alternative that a value takes.
fn chosen<'s>(value: &Value, schema: &'s Value) -> &'s Value {
    match schema["anyOf"].as_array() {
        None => schema,
        Some(all) => {
            let tag = |it: &&Value| {
                let kind = &it["properties"]["kind"];
                kind.is_null() && value["kind"].is_null()
                    || kind["enum"].as_array().is_some_and(|it| it.contains(&value["kind"]))
                    || (!kind["const"].is_null() && kind["const"] == value["kind"])
            };
            chosen(value, all.iter().find(tag).unwrap_or(&all[0]))
        }
    }
}

/// The rules of the strict subset, as they are published.
fn check_rules(schema: &Value, at: &str) {
    const KEYWORDS: [&str; 18] = [
        "type",
        "description",
        "title",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "pattern",
        "minItems",
        "maxItems",
    ];
    let members = schema.as_object().unwrap_or_else(|| panic!("{at}: {schema}"));
    for keyword in members.keys() {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{at}: {keyword}");
    }
    assert!(members.contains_key("type") != members.contains_key("anyOf"), "{at}: {schema}");
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        kinds => kinds.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    if kinds.contains(&"object") {
        assert_eq!(schema["additionalProperties"], false, "{at}");
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let mut required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        required.sort_unstable();
        assert_eq!(names, required, "{at}");
    }
    assert!(!kinds.contains(&"array") || schema["items"].is_object(), "{at}");
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        check_rules(below, &format!("{at}/{name}"));
    }
    if let Some(items) = schema.get("items") {
        check_rules(items, &format!("{at}/items"));
    }
    for below in schema["anyOf"].as_array().into_iter().flatten() {
        check_rules(below, &format!("{at}/anyOf"));
    }
}

proptest! {
    /// A strict schema keeps the rules, and accepts every value that ours accepts, with `null` for what is
    /// absent; the tool then takes it as it was.
    #[test]
    fn strict_schemas_accept_what_ours_accept(root in fields(schema()), seed: u64) {
        let Ok(schema) = InputSchema::new(root) else { return Ok(()) };
        let Ok(lowered) = lower_strict(&schema, Strictness::Coerce) else { return Ok(()) };
        let text: Value = serde_json::from_str(&lowered.text).unwrap();
        check_rules(&text, "");
        let judge = ValueSchema::from_json_schema(text.clone()).unwrap();
        let (tree, definitions) = schema.tree().unwrap();
        let mut generator = Generator::new(seed);
        for _ in 0..8 {
            let Some(value) = generator.valid(tree, definitions) else { continue };
            let sent = filled(&value, &text);
            // In strict mode an optional field is always there: `{}` and `{"x": null}` are sent alike, and a list that
            // must not repeat an item cannot have both.
            if has_equal_items(&sent) && !has_equal_items(&value) {
                continue;
            }
            prop_assert!(judge.check(&sent).is_ok(), "{sent} by {text:#}");
            let taken = schema.accept("t", &RawArgs::from(sent.clone()), Strictness::Coerce);
            prop_assert!(taken.is_ok(), "{sent}: {taken:?}");
        }
    }

    /// What a provider sees of a foreign schema accepts all that the schema accepts.
    #[test]
    fn full_schemas_accept_what_foreign_ones_accept(
        root in foreign_root(), values in prop::collection::vec(members(), 1..24),
    ) {
        let Ok(schema) = InputSchema::from_json_schema(root.clone()) else { return Ok(()) };
        let before = ValueSchema::from_json_schema(root.clone()).unwrap();
        let text: Value = serde_json::from_str(&lower_full(&schema).text).unwrap();
        let after = ValueSchema::from_json_schema(text.clone()).unwrap();
        prop_assert!(["anyOf", "oneOf", "allOf", "$ref", "enum", "not"].iter().all(|it| text.get(it).is_none()));
        for value in values {
            if before.check(&value).is_ok() {
                prop_assert!(after.check(&value).is_ok(), "{value} by {root} and not by {text}");
            }
        }
    }
}

/// Whether a list in the value has two equal items.
fn has_equal_items(value: &Value) -> bool {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .any(|(n, item)| items[..n].contains(item) || has_equal_items(item)),
        Value::Object(members) => members.values().any(has_equal_items),
        _ => false,
    }
}

fn foreign_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "integer" })),
        Just(json!({ "const": 1 })),
        Just(json!({ "items": [{ "type": "string" }], "additionalItems": false })),
        Just(json!({ "minimum": 1, "exclusiveMinimum": true })),
        Just(json!({ "$ref": "#/definitions/x", "type": "string" })),
    ]
}

fn foreign_object() -> impl Strategy<Value = Value> {
    let properties = prop::collection::btree_map("[abc]", foreign_scalar(), 0..3);
    let required = prop::collection::btree_set("[abc]", 0..2);
    (properties, required, prop::option::of(any::<bool>())).prop_map(
        |(properties, required, rest)| {
            let mut object = json!({ "properties": properties });
            if !required.is_empty() {
                object["required"] = json!(required);
            }
            if let Some(rest) = rest {
                object["additionalProperties"] = json!(rest);
            }
            object
        },
    )
}

fn foreign_root() -> impl Strategy<Value = Value> {
    let drafts = prop::option::of(prop_oneof![
        Just("http://json-schema.org/draft-04/schema#"),
        Just("http://json-schema.org/draft-07/schema#"),
        Just("https://json-schema.org/draft/2019-09/schema"),
    ]);
    let groups = prop::collection::btree_map(
        prop_oneof![Just("anyOf"), Just("oneOf"), Just("allOf")],
        prop::collection::vec(
            prop_oneof![4 => foreign_object(), 1 => Just(json!({ "$ref": "#/definitions/o" }))],
            1..4,
        ),
        0..3,
    );
    (drafts, foreign_object(), groups, foreign_object(), any::<bool>()).prop_map(
        |(draft, mut root, groups, other, refers)| {
            root["type"] = json!("object");
            root["definitions"] = json!({ "x": { "type": "integer" }, "o": other });
            for (keyword, all) in groups {
                root[keyword] = json!(all);
            }
            if refers {
                root["$ref"] = json!("#/definitions/o");
            }
            if let Some(draft) = draft {
                root["$schema"] = json!(draft);
            }
            root
        },
    )
}

fn members() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!(1)),
        Just(json!(2)),
        Just(json!("s")),
        Just(json!(["s"])),
        Just(json!(["s", 1])),
        Just(json!(null)),
    ];
    prop::collection::btree_map("[abcd]", value, 0..4).prop_map(|it| json!(it))
}
