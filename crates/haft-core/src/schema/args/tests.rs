//! Types that can be arguments: their schema, decoding, encoding and the way errors are placed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::{ArgDefinitions, ArgValue, Args, DecodeError, FromArgs, RawArgs, Strictness, ToolArgs};
use crate::json::{Document, JsonWriter, UnrepresentableValue, ValueRef};
use crate::schema::{Field, InputSchema, Schema, Shape, object};

#[track_caller]
fn decode<T: ArgValue>(text: &str) -> Result<T, DecodeError> {
    T::decode(Document::parse(text).unwrap().root())
}

#[track_caller]
fn encode(value: &impl ArgValue) -> Result<String, UnrepresentableValue> {
    let mut out = JsonWriter::new();
    value.encode(&mut out).map(|()| out.finish().root().to_string())
}

#[track_caller]
fn round_trip<T: ArgValue>(text: &str, expect: &str) {
    let value: T = decode(text).unwrap();
    assert_eq!(encode(&value).unwrap(), expect);
}

#[test]
fn values_survive() {
    round_trip::<u64>("18446744073709551615", "18446744073709551615");
    round_trip::<i64>("-9223372036854775808", "-9223372036854775808");
    round_trip::<u8>("3.0", "3");
    round_trip::<f32>("0.1", "0.1");
    round_trip::<f32>("3.4028234663852886e38", "3.4028235e+38");
    round_trip::<f64>("1e21", "1e+21");
    round_trip::<f64>("-0.0", "0");
    round_trip::<char>(r#""😀""#, r#""😀""#);
    round_trip::<Vec<Option<bool>>>("[true,null]", "[true,null]");
    round_trip::<(u8, String)>(r#"[1,"a"]"#, r#"[1,"a"]"#);
    round_trip::<[u8; 2]>("[1,2]", "[1,2]");
    round_trip::<BTreeSet<u8>>("[3,1,2]", "[1,2,3]");
    round_trip::<BTreeMap<String, u8>>(r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#);
    round_trip::<Box<Value>>(r#"{"a":[1,null]}"#, r#"{"a":[1,null]}"#);
}

#[test]
fn errors_name_the_place() {
    #[track_caller]
    fn check<T: ArgValue + std::fmt::Debug>(text: &str, expect: &str) {
        assert_eq!(decode::<T>(text).unwrap_err().to_string(), expect);
    }
    check::<u8>("256", "the value: expected an integer that fits u8");
    check::<i64>("-9223372036854775809", "the value: expected an integer that fits i64");
    check::<char>(r#""ab""#, "the value: expected a string of one character");
    check::<Vec<bool>>("[true,1]", "/1: expected true or false");
    check::<HashMap<String, Vec<u8>>>(
        r#"{"a/b~":[0,"x"]}"#,
        "/a~1b~0/1: expected an integer that fits u8",
    );
    check::<(u8, u8)>("[1]", "the value: expected a list of exactly 2 elements");
    check::<(u8, String)>("[1,2]", "/1: expected a string");
    check::<[u8; 2]>("[1,2,3]", "the value: expected a list of exactly 2 elements");
    let missing = u8::decode_field("n", None).unwrap_err();
    assert_eq!(missing.to_string(), "/n: expected a value, got nothing");
}

#[test]
fn what_json_cannot_write_is_an_error() {
    assert_eq!(encode(&f64::NAN).unwrap_err().what, "NaN");
    assert_eq!(encode(&vec![f32::INFINITY]).unwrap_err().what, "an infinite number");
    assert!(RawArgs::typed(&f64::NAN).is_err());
}

#[test]
fn options_are_absent_fields_and_null_elements() {
    let field = Option::<u8>::field(&mut ArgDefinitions::default());
    assert!(!field.is_required() && !field.schema.nullable);
    assert!(Option::<u8>::schema(&mut ArgDefinitions::default()).nullable);
    assert!(u8::field(&mut ArgDefinitions::default()).is_required());

    let mut out = JsonWriter::new();
    out.try_object(|out| {
        None::<u8>.encode_field("a", out)?;
        Some(1_u8).encode_field("b", out)?;
        Some(None::<u8>).encode_field("c", out)
    })
    .unwrap();
    assert_eq!(out.finish().root().to_string(), r#"{"b":1,"c":null}"#);
}

struct Chain {
    next: Option<Box<Self>>,
    twin: Option<Box<inner::Chain>>,
}

/// Another type of the same name.
mod inner {
    pub(super) struct Chain(pub(super) Vec<Self>);
}

impl ArgValue for Chain {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        definitions.named::<Self>("Chain", |definitions| {
            object()
                .field("next", Option::<Box<Self>>::field(definitions))
                .field("twin", Option::<Box<inner::Chain>>::field(definitions))
                .into()
        })
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            next: Option::decode_field("next", value.get("next"))?,
            twin: Option::decode_field("twin", value.get("twin"))?,
        })
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| {
            self.next.encode_field("next", out)?;
            self.twin.encode_field("twin", out)
        })
        .map(drop)
    }
}

impl ToolArgs for Chain {}

impl ArgValue for inner::Chain {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        definitions.named::<Self>("Chain", |definitions| {
            object().field("list", Vec::<Self>::field(definitions)).into()
        })
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Vec::decode_field("list", value.get("list")).map(Self)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| self.0.encode_field("list", out)).map(drop)
    }
}

#[test]
fn recursive_types_of_one_name_are_told_apart() {
    let input = InputSchema::of::<Chain>().unwrap();
    let (root, definitions) = input.tree().unwrap();
    assert!(matches!(root.shape, Shape::Object(_)));
    assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Chain2", "Chain"]);
}

#[test]
fn constraints_only_tighten() {
    let text = |schema: Schema| {
        let input = InputSchema::new(object().field("it", Field::optional(schema))).unwrap();
        input.json_schema()["properties"]["it"].clone()
    };
    let bare = |schema: fn(&mut ArgDefinitions) -> Schema| schema(&mut ArgDefinitions::default());
    assert_eq!(
        text(bare(u8::schema).with_min(-5).with_max(9)),
        json!({ "type": "integer", "minimum": 0, "maximum": 9 })
    );
    assert_eq!(
        text(bare(u8::schema).with_min(0.5).with_max(9.9).with_multiple_of(3)),
        json!({ "type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 3 })
    );
    assert_eq!(
        text(bare(f64::schema).with_min(1).with_max(2.5).with_min(0)),
        json!({ "type": "number", "minimum": 1, "maximum": 2.5 })
    );
    assert_eq!(
        text(bare(char::schema).with_min_length(0).with_max_length(5)),
        json!({ "type": "string", "minLength": 1, "maxLength": 1 })
    );
    assert_eq!(
        text(bare(Vec::<bool>::schema).with_unique().with_min_length(1).with_pattern("x")),
        json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 1, "uniqueItems": true })
    );
}

#[test]
fn raw_arguments_keep_what_came() {
    assert_eq!(RawArgs::text("  ").to_value(), json!({}));
    assert_eq!(RawArgs::text("{\"a\":").to_value(), json!("{\"a\":"));
    assert!(RawArgs::text("{\"a\":").parsed().is_err());
    assert_eq!(RawArgs::typed(&vec![1_u8]).unwrap().to_value(), json!([1]));
    assert_eq!(RawArgs::from(json!({ "a": 1 })).to_value(), json!({ "a": 1 }));
    let stored = serde_json::to_string(&RawArgs::text(r#"{"b":1,"a":2.0}"#)).unwrap();
    assert_eq!(stored, r#"{"b":1,"a":2}"#);
    let back: RawArgs = serde_json::from_str(&stored).unwrap();
    assert_eq!(back.to_value(), json!({ "a": 2, "b": 1 }));
}

#[test]
fn a_handler_can_take_what_came() {
    let input = InputSchema::new(object().allow_unknown()).unwrap();
    let raw = RawArgs::text(r#"{"n":18446744073709551617}"#);
    let args = input.accept("t", &raw, Strictness::Strict).unwrap().args;
    assert_eq!(Args::from_args(&args).unwrap().to_string(), r#"{"n":18446744073709551617}"#);
    assert!(Value::from_args(&args).unwrap()["n"].is_f64());
    assert!(Args::input_schema().is_none() && Value::input_schema().is_none());
    assert!(Chain::input_schema().is_some_and(|schema| schema.is_ok()));
}
