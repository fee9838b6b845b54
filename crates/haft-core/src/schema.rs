//! One schema, four products.
//!
//! A [`Schema`] is a small typed tree. From it come the JSON Schema text that the model sees, the
//! validator, the coercion and the description; nothing else states what a tool accepts, so the four
//! cannot drift apart. Types that derive `ToolArgs` produce such a tree and are decoded from values
//! that it accepted.
//!
//! Write one with the functions of this module ([`object`], [`string`], [`integer`] …):
//!
//! ```
//! use haft_core::schema::{object, one_of, string};
//!
//! let schema = object()
//!     .field("city", string().description("The city name").required())
//!     .field("units", one_of(["celsius", "fahrenheit"]).default("celsius"));
//! # let _ = schema;
//! ```

pub mod args;
mod build;
mod capped_list;
mod check;
mod coerce;
mod describe;
mod expect;
mod fault;
mod foreign;
mod input;
mod pattern;
mod problem;
mod rules;
mod wire;

#[cfg(test)]
mod tests;

use indexmap::IndexMap;
use serde_json::Value;

pub use build::{
    AnyRules, BooleanRules, EnumRules, ObjectSchema, SchemaBuilder, TupleRules, any, array,
    boolean, integer, map, number, object, one_of, string, tuple, union,
};
pub(crate) use check::near_names;
pub use check::nearest;
pub use fault::{FaultLocation, SchemaFault};
pub use foreign::{ForeignSchemaError, ValueSchema};
pub use input::{AcceptedArgs, InputSchema};
pub use pattern::Pattern;
pub use problem::{Change, ChangeKind, Problem, Problems, Rule};

pub(crate) use problem::excerpt;

/// Schemas that are referred to by name, because they contain themselves.
pub type Definitions = IndexMap<String, Schema>;

/// What one value may be: a shape with its constraints, whether `null` is allowed, and the words
/// that explain it to the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schema {
    /// Type and constraints.
    pub shape: Shape,
    /// Whether `null` is accepted in addition to the shape.
    pub nullable: bool,
    /// Description, notes, examples and default.
    pub annotations: Annotations,
}

/// Words and values that go with a schema. None of them restricts what is accepted.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Annotations {
    /// What the value means.
    pub description: Option<String>,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
    /// Values that would be accepted.
    pub examples: Vec<Value>,
    /// The value that an absent optional field gets.
    pub default: Option<Value>,
}

/// The kinds of value that a schema can ask for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// Any JSON value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A string.
    String(StringRules),
    /// A number without a fraction; `3.0` is one.
    Integer(IntegerRules),
    /// Any number.
    Number(NumberRules),
    /// One of a fixed list of scalars.
    Enum(Vec<Value>),
    /// A list of values of one kind.
    Array(ArrayRules),
    /// A list of fixed length, each place with its own schema.
    Tuple(Vec<Schema>),
    /// An object with named fields.
    Object(ObjectRules),
    /// An object with free keys and values of one kind.
    Map(MapRules),
    /// An object whose tag field says which variant it is.
    Union(UnionRules),
    /// A schema defined elsewhere, by name.
    Ref(String),
}

/// Constraints of a string. Lengths count Unicode code points, as in JSON Schema.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StringRules {
    /// Fewest code points.
    pub min_length: Option<usize>,
    /// Most code points.
    pub max_length: Option<usize>,
    /// A regular expression that must match somewhere in the string.
    pub pattern: Option<Pattern>,
}

/// Constraints of an integer. Bounds are inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntegerRules {
    /// Smallest value; within the range of `i64` and `u64`.
    pub min: Option<i128>,
    /// Largest value; within the range of `i64` and `u64`.
    pub max: Option<i128>,
    /// The value must be a multiple of this.
    pub multiple_of: Option<u64>,
}

/// Constraints of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NumberRules {
    /// Smallest value, inclusive.
    pub min: Option<f64>,
    /// Largest value, inclusive.
    pub max: Option<f64>,
    /// The value must be larger than this.
    pub above: Option<f64>,
    /// The value must be smaller than this.
    pub below: Option<f64>,
}

/// Constraints of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArrayRules {
    /// What each element must be.
    pub items: Box<Schema>,
    /// Fewest elements.
    pub min_items: Option<usize>,
    /// Most elements.
    pub max_items: Option<usize>,
    /// Whether no two elements may be equal.
    pub unique: bool,
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ObjectRules {
    /// Fields by name, in the order the model sees them.
    pub fields: IndexMap<String, Field>,
    /// What happens to keys that are not fields.
    pub unknown: UnknownFields,
    /// Names that were declared twice; a fault at construction.
    pub(crate) repeated: Vec<String>,
}

/// One field of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// What the field's value must be.
    pub schema: Schema,
    /// Whether it may be absent.
    pub presence: Presence,
    /// Other names that coercion maps to this field. The model does not see them.
    pub aliases: Vec<String>,
}

/// Whether a field must be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a field is required or it is not")]
pub enum Presence {
    /// The field may be absent.
    #[default]
    Optional,
    /// The field must be there.
    Required,
}

/// What happens to keys that are not fields of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownFields {
    /// They are refused. The default.
    #[default]
    Refuse,
    /// They remain unchanged.
    Allow,
}

/// Constraints of an object with free keys.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MapRules {
    /// What each value must be.
    pub values: Box<Schema>,
    /// Fewest members.
    pub min_entries: Option<usize>,
    /// Most members.
    pub max_entries: Option<usize>,
}

/// The variants of a tagged union.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnionRules {
    /// The field that names the variant.
    pub tag: String,
    /// Variants by tag value: the whole object, the tag field included.
    pub variants: IndexMap<String, Schema>,
    /// Tag values that were declared twice; a fault at construction.
    pub(crate) repeated: Vec<String>,
}

impl Schema {
    /// A schema of this shape without any annotation.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, nullable: false, annotations: Annotations::default() }
    }

    /// The same schema, accepting `null` too.
    #[must_use]
    pub fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The schema that a reference stands for, or this one. A chain of references ends: a
    /// definition is never itself a bare reference, which construction checks.
    #[must_use]
    pub fn resolve<'s>(&'s self, definitions: &'s Definitions) -> &'s Self {
        match &self.shape {
            Shape::Ref(name) => definitions.get(name).unwrap_or(self),
            _ => self,
        }
    }
}

impl Field {
    /// A field that must be there.
    #[must_use]
    pub fn required(schema: impl Into<Schema>) -> Self {
        Self { schema: schema.into(), presence: Presence::Required, aliases: Vec::new() }
    }

    /// A field that may be absent.
    #[must_use]
    pub fn optional(schema: impl Into<Schema>) -> Self {
        Self { schema: schema.into(), presence: Presence::Optional, aliases: Vec::new() }
    }

    /// Another name that coercion maps to this field.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// True when the field must be there.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.presence == Presence::Required
    }
}

impl IntegerRules {
    /// All integers from `min` to `max`, both included.
    #[must_use]
    pub fn range(min: impl Into<i128>, max: impl Into<i128>) -> Self {
        Self { min: Some(min.into()), max: Some(max.into()), multiple_of: None }
    }
}
