//! The shapes that serde and schemars are tried with, as Haft sees them.
//!
//! Two have no twin, because the derive refuses them: an enum tagged by its only key, and an enum
//! without any tag.

use std::collections::{BTreeMap, BTreeSet};

use haft::ToolArgs;
use haft::schema::{ChangeKind, FromArgs, InputSchema, RawArgs, Strictness};
use serde_json::Value;

use super::{proof::Prove, schema};
use crate::{
    agreement::Disagreements,
    dispatch::{Forecast, Order},
};

/// Compares the schema shown, checked by the `jsonschema` crate, with what reaches the handler.
///
/// A document that coercion mended counts twice: as it came, where the schema must refuse it, and
/// as it was mended, where the schema must accept it.
///
/// # Errors
///
/// When a schema cannot be built or compiled.
pub(crate) fn disagreements(documents: &[Value]) -> Result<Disagreements, String> {
    let mut counted = Disagreements::default();
    for shape in SHAPES {
        let input = (shape.schema)()?;
        let shown = jsonschema::validator_for(&input.json_schema());
        let shown = shown.map_err(|error| format!("{}: {error}", shape.name))?;
        counted.add_shape(documents.iter().flat_map(|document| {
            let (unchanged, mended) = judge(&input, document, shape.decodes);
            let mended = mended.map(|(it, decodes)| (shown.is_valid(&it), decodes));
            [Some((shown.is_valid(document), unchanged)), mended].into_iter().flatten()
        }));
    }
    Ok(counted)
}

/// Whether the document reaches the handler as it came, or else what it was mended to and whether
/// that does. A default that was filled in is no mending.
fn judge(
    input: &InputSchema,
    document: &Value,
    decodes: fn(&haft::Args) -> bool,
) -> (bool, Option<(Value, bool)>) {
    let accepted = input.accept("shape", &RawArgs::value(document), Strictness::Coerce);
    let Ok(accepted) = accepted else { return (false, None) };
    let value = accepted.args.to_value();
    let decodes = decodes(&accepted.args);
    if accepted.changes.iter().all(|it| it.kind == ChangeKind::Default) {
        return (decodes, None);
    }
    (false, Some((value, decodes)))
}

pub(super) struct Shape {
    pub(super) name: &'static str,
    schema: fn() -> Result<InputSchema, String>,
    decodes: fn(&haft::Args) -> bool,
    pub(super) prove: Prove,
}

impl Shape {
    pub(super) const fn of<T: ToolArgs + Send + 'static>(name: &'static str) -> Self {
        let decodes = |args: &haft::Args| T::from_args(args).is_ok();
        Self { name, schema: schema::<T>, decodes, prove: super::proof::prove::<T> }
    }
}

/// The two calls of the dispatch benchmark: larger, and with limits.
pub(super) const CALLS: [Shape; 2] =
    [Shape::of::<Forecast>("Forecast"), Shape::of::<Order>("Order")];

/// Declares one struct with the field `v` per shape, and the table of them.
macro_rules! shapes {
    ($($name:ident { $(#[$on_field:meta])* $type:ty })*) => {
        $(
            #[derive(ToolArgs)]
            struct $name { $(#[$on_field])* v: $type }
        )*
        pub(super) const SHAPES: &[Shape] = &[$(Shape::of::<$name>(stringify!($name))),*];
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
    Adjacent { AdjacentFigure }
    Nested { Point }
    OptionalNested { Option<Point> }
    ManyNested { Vec<Point> }
    AnyValue { Value }
    Defaulted { #[arg(default)] u32 }
    DefaultedWord { #[arg(default = "green")] Color }
    Aliased { #[arg(alias = "value")] String }
    Ranged { #[arg(min = 1, max = 14)] u8 }
    Stepped { #[arg(multiple_of = 5)] i32 }
    Bounded { #[arg(min_len = 1, max_len = 20)] String }
    Patterned { #[arg(pattern = "^[a-z]+$")] String }
    Unique { #[arg(unique, max_len = 4)] Vec<u8> }
    Recursive { Tree }
}

#[derive(ToolArgs)]
enum Color {
    Red,
    Green,
}

#[derive(ToolArgs)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(ToolArgs)]
#[arg(tag = "kind")]
enum TaggedFigure {
    Circle { radius: f64 },
    Point,
}

#[derive(ToolArgs)]
#[arg(tag = "kind", content = "value")]
enum AdjacentFigure {
    Circle { radius: f64 },
    Point,
}

#[derive(ToolArgs)]
struct Tree {
    label: String,
    children: Vec<Self>,
}
