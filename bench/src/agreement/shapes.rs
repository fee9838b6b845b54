//! Common argument shapes as serde and schemars see them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use super::Disagreements;

/// Compares the schema of schemars, checked by the `jsonschema` crate, with serde.
///
/// # Errors
///
/// When a schema cannot be compiled.
pub(super) fn disagreements(documents: &[Value]) -> Result<Disagreements, String> {
    let mut counted = Disagreements::default();
    for shape in SHAPES {
        let schema = jsonschema::validator_for(&(shape.schema)());
        let schema = schema.map_err(|error| format!("{}: {error}", shape.name))?;
        counted.add_shape(documents.iter().map(|it| (schema.is_valid(it), (shape.decodes)(it))));
    }
    Ok(counted)
}

struct Shape {
    name: &'static str,
    schema: fn() -> Value,
    decodes: fn(&Value) -> bool,
}

fn decodes<T: DeserializeOwned>(document: &Value) -> bool {
    serde_json::from_value::<T>(document.clone()).is_ok()
}

/// Declares one struct with the field `v` per shape, and the table of them.
macro_rules! shapes {
    ($($(#[$on_struct:meta])* $name:ident { $(#[$on_field:meta])* $type:ty })*) => {
        $(
            #[derive(Deserialize, JsonSchema)]
            #[expect(dead_code, reason = "only decoded")]
            $(#[$on_struct])*
            struct $name { $(#[$on_field])* v: $type }
        )*
        const SHAPES: &[Shape] = &[$(Shape {
            name: stringify!($name),
            schema: || schemars::schema_for!($name).to_value(),
            decodes: decodes::<$name>,
        }),*];
    };
}

shapes! {
    Bool { bool }
    U8 { u8 }
    U32 { u32 }
    I32 { i32 }
    I64 { i64 }
    U64 { u64 }
    F64 { f64 }
    Text { String }
    Char { char }
    OptionalInteger { Option<u32> }
    OptionalText { Option<String> }
    Integers { Vec<u32> }
    Texts { Vec<String> }
    Pair { (u32, String) }
    Fixed { [u8; 2] }
    Map { BTreeMap<String, u32> }
    Set { BTreeSet<String> }
    Words { Color }
    ManyWords { Vec<Color> }
    Tagged { TaggedFigure }
    Wrapped { WrappedFigure }
    Adjacent { AdjacentFigure }
    Untagged { Either }
    Nested { Point }
    NestedClosed { ClosedPoint }
    OptionalNested { Option<Point> }
    ManyNested { Vec<Point> }
    AnyValue { Value }
    Defaulted { #[serde(default)] u32 }
    Aliased { #[serde(alias = "value")] String }
    #[serde(deny_unknown_fields)]
    Closed { String }
    Ranged { #[schemars(range(min = 1, max = 14))] u8 }
    Bounded { #[schemars(length(min = 1, max = 20))] String }
    Patterned { #[schemars(regex(pattern = "^[a-z]+$"))] String }
    Lenient { #[serde(deserialize_with = "text_or_number")] u32 }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoded")]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only decoded")]
struct ClosedPoint {
    x: i32,
    y: i32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoded")]
enum TaggedFigure {
    Circle { radius: f64 },
    Point,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoded")]
enum WrappedFigure {
    Circle { radius: f64 },
    Point,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value", rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoded")]
enum AdjacentFigure {
    Circle { radius: f64 },
    Point,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Number(u32),
    Text(String),
}

/// A number, or a text that holds one: what a user writes against near misses, and no schema shows.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match Either::deserialize(deserializer)? {
        Either::Number(it) => Ok(it),
        Either::Text(it) => it.parse().map_err(serde::de::Error::custom),
    }
}
