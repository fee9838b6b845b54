//! The fluent way to write a schema. Each kind of value has its own builder type, so that a
//! constraint which makes no sense for a kind does not compile.

use indexmap::map::Entry;
use serde_json::Value;

use super::{
    Annotations, ArrayRules, Field, IntegerRules, MapRules, NumberRules, ObjectRules, Pattern,
    Presence, Schema, Shape, StringRules, UnionRules, UnknownFields,
};

/// A schema under construction, with the constraints `R` of its kind.
#[derive(Clone, Debug)]
pub struct SchemaBuilder<R> {
    rules: R,
    nullable: bool,
    presence: Presence,
    aliases: Vec<String>,
    annotations: Annotations,
}

/// Constraints that say nothing: any JSON value.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AnyRules;

/// Constraints of a boolean: none.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BooleanRules;

/// A list of allowed scalars.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EnumRules(Vec<Value>);

/// Schemas of a list of fixed length.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TupleRules(Vec<Schema>);

/// Builder of an object schema.
pub type ObjectSchema = SchemaBuilder<ObjectRules>;

/// Any JSON value.
#[must_use]
pub fn any() -> SchemaBuilder<AnyRules> {
    SchemaBuilder::new(AnyRules)
}

/// `true` or `false`.
#[must_use]
pub fn boolean() -> SchemaBuilder<BooleanRules> {
    SchemaBuilder::new(BooleanRules)
}

/// A string.
///
/// ```
/// use haft_core::RawArgs;
/// use haft_core::args::Strictness;
/// use haft_core::schema::{InputSchema, object, string};
///
/// let schema = InputSchema::new(object().field("city", string().non_empty().required())).unwrap();
/// let refused = schema.accept("t", &RawArgs::text(r#"{"city": ""}"#), Strictness::Strict);
/// assert!(refused.is_err());
/// ```
#[must_use]
pub fn string() -> SchemaBuilder<StringRules> {
    SchemaBuilder::new(StringRules::default())
}

/// A number without a fraction.
///
/// ```
/// use haft_core::schema::{InputSchema, integer, object};
///
/// let schema = InputSchema::new(object().field("days", integer().min(1).max(14))).unwrap();
/// let days = &schema.json_schema()["properties"]["days"];
/// assert_eq!((&days["minimum"], &days["maximum"]), (&1.into(), &14.into()));
/// ```
#[must_use]
pub fn integer() -> SchemaBuilder<IntegerRules> {
    SchemaBuilder::new(IntegerRules::default())
}

/// Any number.
#[must_use]
pub fn number() -> SchemaBuilder<NumberRules> {
    SchemaBuilder::new(NumberRules::default())
}

/// One of these values. Only scalars can be listed.
///
/// ```
/// use haft_core::schema::{InputSchema, object, one_of};
///
/// let units = one_of(["celsius", "fahrenheit"]).default("celsius");
/// let schema = InputSchema::new(object().field("units", units)).unwrap();
/// let units = &schema.json_schema()["properties"]["units"];
/// assert_eq!(units["enum"], serde_json::json!(["celsius", "fahrenheit"]));
/// ```
#[must_use]
pub fn one_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> SchemaBuilder<EnumRules> {
    SchemaBuilder::new(EnumRules(values.into_iter().map(Into::into).collect()))
}

/// A list of `items`.
///
/// ```
/// use haft_core::schema::{InputSchema, array, object, string};
///
/// let tags = array(string()).min_items(1).unique();
/// let schema = InputSchema::new(object().field("tags", tags)).unwrap();
/// let tags = &schema.json_schema()["properties"]["tags"];
/// assert_eq!((&tags["type"], &tags["minItems"]), (&"array".into(), &1.into()));
/// ```
#[must_use]
pub fn array(items: impl Into<Schema>) -> SchemaBuilder<ArrayRules> {
    SchemaBuilder::new(ArrayRules {
        items: Box::new(items.into()),
        min_items: None,
        max_items: None,
        unique: false,
    })
}

/// A list of exactly these values.
#[must_use]
pub fn tuple(places: impl IntoIterator<Item = Schema>) -> SchemaBuilder<TupleRules> {
    SchemaBuilder::new(TupleRules(places.into_iter().collect()))
}

/// An object with named fields; unknown keys are refused unless
/// [`allow_unknown`](ObjectSchema::allow_unknown) is called.
///
/// ```
/// use haft_core::schema::{InputSchema, boolean, object, string};
///
/// let root = object().field("path", string().required()).field("force", boolean());
/// let schema = InputSchema::new(root).unwrap();
/// assert_eq!(schema.json_schema()["required"], serde_json::json!(["path"]));
/// ```
#[must_use]
pub fn object() -> ObjectSchema {
    SchemaBuilder::new(ObjectRules::default())
}

/// An object with free keys.
///
/// ```
/// use haft_core::schema::{InputSchema, integer, map, object};
///
/// let root = object().field("stock", map(integer()).max_entries(10).required());
/// assert!(InputSchema::new(root).is_ok());
/// ```
#[must_use]
pub fn map(values: impl Into<Schema>) -> SchemaBuilder<MapRules> {
    SchemaBuilder::new(MapRules {
        values: Box::new(values.into()),
        min_entries: None,
        max_entries: None,
    })
}

/// An object whose field `tag` names the variant it is.
#[must_use]
pub fn union(tag: impl Into<String>) -> SchemaBuilder<UnionRules> {
    SchemaBuilder::new(UnionRules {
        tag: tag.into(),
        variants: indexmap::IndexMap::new(),
        repeated: Vec::new(),
    })
}

impl<R> SchemaBuilder<R> {
    fn new(rules: R) -> Self {
        Self {
            rules,
            nullable: false,
            presence: Presence::default(),
            aliases: Vec::new(),
            annotations: Annotations::default(),
        }
    }

    /// What the value means. The model reads it.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.annotations.description = Some(text.into());
        self
    }

    /// A further remark for the model.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.annotations.notes.push(text.into());
        self
    }

    /// A value that would be accepted. The model sees it, and refusals quote it.
    #[must_use]
    pub fn example(mut self, value: impl Into<Value>) -> Self {
        self.annotations.examples.push(value.into());
        self
    }

    /// The value that the field gets when it is absent.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.annotations.default = Some(value.into());
        self
    }

    /// Accepts `null` too.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// As a field, it must be there.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.presence = Presence::Required;
        self
    }

    /// As a field, it may be absent. This is how a field starts.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.presence = Presence::Optional;
        self
    }

    /// As a field, another name that coercion maps to it.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }
}

impl SchemaBuilder<StringRules> {
    /// Only these strings. The result is an enumeration.
    #[must_use]
    pub fn valid<V: Into<String>>(
        self,
        values: impl IntoIterator<Item = V>,
    ) -> SchemaBuilder<EnumRules> {
        let values = values.into_iter().map(|value| Value::String(value.into())).collect();
        SchemaBuilder {
            rules: EnumRules(values),
            nullable: self.nullable,
            presence: self.presence,
            aliases: self.aliases,
            annotations: self.annotations,
        }
    }

    /// At least this many code points.
    #[must_use]
    pub fn min_length(mut self, length: usize) -> Self {
        self.rules.min_length = Some(length);
        self
    }

    /// At most this many code points.
    #[must_use]
    pub fn max_length(mut self, length: usize) -> Self {
        self.rules.max_length = Some(length);
        self
    }

    /// At least one code point.
    #[must_use]
    pub fn non_empty(self) -> Self {
        self.min_length(1)
    }

    /// Must match this regular expression somewhere (anchor it with `^` and `$`). It is read as
    /// JSON Schema reads it, in linear time; look-around and back-references are refused when the
    /// tool is built.
    #[must_use]
    pub fn pattern(mut self, regex: impl AsRef<str>) -> Self {
        self.rules.pattern = Some(Pattern::new(regex.as_ref()));
        self
    }
}

impl SchemaBuilder<IntegerRules> {
    /// Smallest value.
    #[must_use]
    pub fn min(mut self, value: impl Into<i128>) -> Self {
        self.rules.min = Some(value.into());
        self
    }

    /// Largest value.
    #[must_use]
    pub fn max(mut self, value: impl Into<i128>) -> Self {
        self.rules.max = Some(value.into());
        self
    }

    /// Must be a multiple of `step`.
    #[must_use]
    pub fn multiple_of(mut self, step: u64) -> Self {
        self.rules.multiple_of = Some(step);
        self
    }
}

impl SchemaBuilder<NumberRules> {
    /// Smallest value.
    #[must_use]
    pub fn min(mut self, value: impl Into<f64>) -> Self {
        self.rules.min = Some(value.into());
        self
    }

    /// Largest value.
    #[must_use]
    pub fn max(mut self, value: impl Into<f64>) -> Self {
        self.rules.max = Some(value.into());
        self
    }

    /// Must be larger than this.
    #[must_use]
    pub fn above(mut self, value: impl Into<f64>) -> Self {
        self.rules.above = Some(value.into());
        self
    }

    /// Must be smaller than this.
    #[must_use]
    pub fn below(mut self, value: impl Into<f64>) -> Self {
        self.rules.below = Some(value.into());
        self
    }

    /// Only whole numbers.
    #[must_use]
    pub fn integer(self) -> SchemaBuilder<IntegerRules> {
        let bound = |value: f64, round: fn(f64) -> f64| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "saturates, and bounds are checked"
            )]
            let bound = round(value) as i128;
            bound
        };
        let rules = IntegerRules {
            min: self.rules.min.map(|value| bound(value, f64::ceil)),
            max: self.rules.max.map(|value| bound(value, f64::floor)),
            multiple_of: None,
        };
        SchemaBuilder {
            rules,
            nullable: self.nullable,
            presence: self.presence,
            aliases: self.aliases,
            annotations: self.annotations,
        }
    }
}

impl SchemaBuilder<ArrayRules> {
    /// At least this many elements.
    #[must_use]
    pub fn min_items(mut self, count: usize) -> Self {
        self.rules.min_items = Some(count);
        self
    }

    /// At most this many elements.
    #[must_use]
    pub fn max_items(mut self, count: usize) -> Self {
        self.rules.max_items = Some(count);
        self
    }

    /// No two elements may be equal.
    #[must_use]
    pub fn unique(mut self) -> Self {
        self.rules.unique = true;
        self
    }
}

impl SchemaBuilder<MapRules> {
    /// At least this many members.
    #[must_use]
    pub fn min_entries(mut self, count: usize) -> Self {
        self.rules.min_entries = Some(count);
        self
    }

    /// At most this many members.
    #[must_use]
    pub fn max_entries(mut self, count: usize) -> Self {
        self.rules.max_entries = Some(count);
        self
    }
}

impl ObjectSchema {
    /// Adds a field. A name that is used twice is a fault when the tool is built.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        match self.rules.fields.entry(name.into()) {
            Entry::Vacant(entry) => {
                entry.insert(field.into());
            }
            Entry::Occupied(entry) => self.rules.repeated.push(entry.key().clone()),
        }
        self
    }

    /// Adds every field of another object, as if they had been written here.
    #[must_use]
    pub fn fields_of(mut self, other: impl Into<Schema>) -> Self {
        if let Shape::Object(rules) = other.into().shape {
            for (name, field) in rules.fields {
                self = self.field(name, field);
            }
        }
        self
    }

    /// Accepts keys that are not fields instead of refusing them.
    #[must_use]
    pub fn allow_unknown(mut self) -> Self {
        self.rules.unknown = UnknownFields::Allow;
        self
    }
}

impl SchemaBuilder<UnionRules> {
    /// Adds a variant: an object with these fields next to the tag.
    #[must_use]
    pub fn variant(mut self, name: impl Into<String>, fields: ObjectSchema) -> Self {
        let name = name.into();
        let mut rules = ObjectRules { unknown: fields.rules.unknown, ..ObjectRules::default() };
        rules.repeated.clone_from(&fields.rules.repeated);
        let tag = Schema::new(Shape::Enum(vec![Value::String(name.clone())]));
        rules.fields.insert(self.rules.tag.clone(), Field::required(tag));
        for (key, field) in fields.rules.fields {
            if rules.fields.contains_key(&key) {
                rules.repeated.push(key);
            } else {
                rules.fields.insert(key, field);
            }
        }
        let mut schema = Schema::new(Shape::Object(rules));
        schema.annotations = fields.annotations;
        match self.rules.variants.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(schema);
            }
            Entry::Occupied(entry) => self.rules.repeated.push(entry.key().clone()),
        }
        self
    }
}

macro_rules! into_shape {
    ($($rules:ident => $shape:expr),* $(,)?) => {$(
        impl From<SchemaBuilder<$rules>> for Schema {
            fn from(build: SchemaBuilder<$rules>) -> Self {
                let shape: fn($rules) -> Shape = $shape;
                Self {
                    shape: shape(build.rules),
                    nullable: build.nullable,
                    annotations: build.annotations,
                }
            }
        }

        impl From<SchemaBuilder<$rules>> for Field {
            fn from(mut build: SchemaBuilder<$rules>) -> Self {
                let presence = build.presence;
                let aliases = std::mem::take(&mut build.aliases);
                Self { schema: build.into(), presence, aliases }
            }
        }
    )*};
}

into_shape! {
    AnyRules => |_| Shape::Any,
    BooleanRules => |_| Shape::Boolean,
    StringRules => Shape::String,
    IntegerRules => Shape::Integer,
    NumberRules => Shape::Number,
    EnumRules => |rules| Shape::Enum(rules.0),
    ArrayRules => Shape::Array,
    TupleRules => |rules| Shape::Tuple(rules.0),
    ObjectRules => Shape::Object,
    MapRules => Shape::Map,
    UnionRules => Shape::Union,
}

/// A plain schema that is used as a field is optional.
impl From<Schema> for Field {
    fn from(schema: Schema) -> Self {
        Self::optional(schema)
    }
}
