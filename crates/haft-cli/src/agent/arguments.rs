//! The arguments of a tool in the agent file.

use std::collections::BTreeMap;

use haft::schema::{self, Field, Schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::source::AgentFileError;

/// The arguments of a tool, by name.
pub(super) type Arguments = BTreeMap<String, Argument>;

/// An argument of a tool, an element of a list or a property of an object.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    /// Type of the argument; default: `string`.
    #[serde(rename = "type", default)]
    kind: ArgumentType,
    /// Description that the model reads.
    description: Option<String>,
    /// Whether a call without this argument is rejected, or an object without this property.
    #[serde(default)]
    required: bool,
    /// Value if a call does not set the argument.
    default: Option<Value>,
    /// The allowed strings or numbers.
    values: Option<Vec<AllowedValue>>,
    /// Minimum of a number, or minimum length of a string.
    min: Option<Number>,
    /// Maximum of a number, or maximum length of a string.
    max: Option<Number>,
    /// Number that an integer must be a multiple of.
    multiple_of: Option<u64>,
    /// Regular expression that the string must match.
    pattern: Option<String>,
    /// What the elements of a list are; default: strings, to which the other keys of the list apply.
    items: Option<Box<Self>>,
    /// Minimum number of elements of a list.
    min_items: Option<usize>,
    /// Maximum number of elements of a list.
    max_items: Option<usize>,
    /// The properties of an object, by name; default: any properties.
    properties: Option<BTreeMap<String, Self>>,
    /// Allows values that start with `-`, which a command may interpret as an option.
    #[serde(default)]
    pub(super) allow_dash: bool,
}

/// One of the allowed values.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a string or a number")]
enum AllowedValue {
    /// A string.
    Text(String),
    /// A number.
    Number(Number),
}

impl From<&AllowedValue> for Value {
    fn from(value: &AllowedValue) -> Self {
        match value {
            AllowedValue::Text(text) => text.as_str().into(),
            AllowedValue::Number(number) => number.clone().into(),
        }
    }
}

/// Type of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ArgumentType {
    /// A string.
    #[default]
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of `items`.
    List,
    /// An object with `properties`.
    Object,
}

impl Argument {
    /// Whether every call has a value for it.
    pub(super) const fn is_always_set(&self) -> bool {
        self.required || self.default.is_some()
    }

    /// Whether it is one value: neither a list nor an object.
    pub(super) const fn is_scalar(&self) -> bool {
        !matches!(self.kind, ArgumentType::List | ArgumentType::Object)
    }

    /// Whether its text begins with `-` only if it is a number, whose minus sign starts no option.
    pub(super) fn is_number(&self) -> bool {
        match self.kind {
            ArgumentType::Integer | ArgumentType::Number => true,
            ArgumentType::List => self.items.as_ref().is_some_and(|it| it.is_number()),
            _ => false,
        }
    }

    /// The schema of the argument.
    pub(super) fn field(&self) -> Result<Field, AgentFileError> {
        let schema = self.schema()?;
        Ok(if self.required { Field::required(schema) } else { Field::optional(schema) })
    }

    fn schema(&self) -> Result<Schema, AgentFileError> {
        self.check_keys()?;
        let mut schema: Schema = match self.kind {
            _ if self.values.is_some() && self.kind != ArgumentType::List => self.enumeration()?,
            ArgumentType::String => self.text_schema()?,
            ArgumentType::List => self.list_schema()?,
            ArgumentType::Boolean => schema::boolean().into(),
            ArgumentType::Integer => self.integer_schema()?,
            ArgumentType::Number => self.number_schema(),
            ArgumentType::Object => self.object_schema()?,
        };
        schema.annotations.description.clone_from(&self.description);
        schema.annotations.default.clone_from(&self.default);
        Ok(schema)
    }

    /// Refuses keys that do not fit the type, or each other.
    fn check_keys(&self) -> Result<(), AgentFileError> {
        let mut keys = self.typed_keys().into_iter();
        if let Some((key, types, _)) = keys.find(|(_, types, is_set)| *is_set && !self.fits(types))
        {
            let names: Vec<&str> = types.iter().map(|it| it.plural()).collect();
            let message = format!("`{key}` applies only to {}", names.join(" and "));
            let error = AgentFileError::at([key], message);
            return Err(match self.items.is_some() {
                true => error.hint("set it in `items`"),
                false => error,
            });
        }
        if self.values.is_some()
            && (self.pattern.is_some()
                || self.min.is_some()
                || self.max.is_some()
                || self.multiple_of.is_some())
        {
            let message = "`values` excludes `min`, `max`, `multiple_of` and `pattern`";
            return Err(AgentFileError::at(["values"], message).hint("keep only `values`"));
        }
        Ok(())
    }

    /// Whether a key of these types can be set. The elements of a list without `items` are strings.
    fn fits(&self, types: &[ArgumentType]) -> bool {
        let is_text_list = self.kind == ArgumentType::List && self.items.is_none();
        types.contains(&self.kind) || is_text_list && types.contains(&ArgumentType::String)
    }

    /// The keys that only some types have, these types, and whether the key is set.
    fn typed_keys(&self) -> [(&'static str, &'static [ArgumentType], bool); 9] {
        use ArgumentType::{Integer, List, Number, Object, String};
        [
            ("pattern", &[String], self.pattern.is_some()),
            ("values", &[String, Integer, Number], self.values.is_some()),
            ("min", &[String, Integer, Number], self.min.is_some()),
            ("max", &[String, Integer, Number], self.max.is_some()),
            ("multiple_of", &[Integer], self.multiple_of.is_some()),
            ("items", &[List], self.items.is_some()),
            ("min_items", &[List], self.min_items.is_some()),
            ("max_items", &[List], self.max_items.is_some()),
            ("properties", &[Object], self.properties.is_some()),
        ]
    }

    /// One of the allowed values, all of which have the type of the argument.
    fn enumeration(&self) -> Result<Schema, AgentFileError> {
        let values = self.values.iter().flatten();
        let values: Vec<Value> = values.map(Value::from).collect();
        let wrong = values.iter().find(|value| match self.kind {
            ArgumentType::Integer => !value.is_i64() && !value.is_u64(),
            ArgumentType::Number => !value.is_number(),
            _ => !value.is_string(),
        });
        match wrong {
            Some(value) => {
                let message = format!("`{value}` is not one of the {}", self.kind.plural());
                Err(AgentFileError::at(["values"], message))
            }
            None => Ok(schema::one_of(values).into()),
        }
    }

    fn text_schema(&self) -> Result<Schema, AgentFileError> {
        if self.values.is_some() {
            return Self { values: self.values.clone(), ..Self::default() }.enumeration();
        }
        let mut text = schema::string();
        if let Some(min) = text_length("min", self.min.as_ref())? {
            text = text.min_length(min);
        }
        if let Some(max) = text_length("max", self.max.as_ref())? {
            text = text.max_length(max);
        }
        if let Some(pattern) = &self.pattern {
            text = text.pattern(pattern);
        }
        Ok(text.into())
    }

    fn integer_schema(&self) -> Result<Schema, AgentFileError> {
        let mut integer = schema::integer();
        if let Some(min) = integer_bound("min", self.min.as_ref())? {
            integer = integer.min(min);
        }
        if let Some(max) = integer_bound("max", self.max.as_ref())? {
            integer = integer.max(max);
        }
        if let Some(step) = self.multiple_of {
            integer = integer.multiple_of(step);
        }
        Ok(integer.into())
    }

    fn number_schema(&self) -> Schema {
        let mut number = schema::number();
        if let Some(min) = self.min.as_ref().and_then(Number::as_f64) {
            number = number.min(min);
        }
        if let Some(max) = self.max.as_ref().and_then(Number::as_f64) {
            number = number.max(max);
        }
        number.into()
    }

    fn list_schema(&self) -> Result<Schema, AgentFileError> {
        let items = match &self.items {
            Some(items) => items.element_schema().map_err(|error| error.in_table(["items"]))?,
            None => self.text_schema()?,
        };
        let mut list = schema::array(items);
        if let Some(min) = self.min_items {
            list = list.min_items(min);
        }
        if let Some(max) = self.max_items {
            list = list.max_items(max);
        }
        Ok(list.into())
    }

    /// The schema of an element of a list, which can be neither absent nor an argument of a command.
    fn element_schema(&self) -> Result<Schema, AgentFileError> {
        let keys = [("required", self.required), ("default", self.default.is_some())];
        if let Some((key, _)) = keys.into_iter().find(|(_, is_set)| *is_set) {
            let message = format!("`{key}` does not apply to the elements of a list");
            return Err(AgentFileError::at([key], message));
        }
        self.inner_schema()
    }

    /// The schema of an element or of a property.
    fn inner_schema(&self) -> Result<Schema, AgentFileError> {
        if self.allow_dash {
            let message = "`allow_dash` applies only to whole arguments";
            return Err(AgentFileError::at(["allow_dash"], message));
        }
        self.schema()
    }

    fn object_schema(&self) -> Result<Schema, AgentFileError> {
        let Some(properties) = &self.properties else {
            return Ok(schema::map(schema::any()).into());
        };
        let mut object = schema::object();
        for (name, property) in properties {
            let schema = property.inner_schema();
            let schema = schema.map_err(|error| error.in_table(["properties", name.as_str()]))?;
            object = object.field(
                name,
                match property.required {
                    true => Field::required(schema),
                    false => Field::optional(schema),
                },
            );
        }
        Ok(object.into())
    }
}

impl ArgumentType {
    /// Values of this type, for messages.
    const fn plural(self) -> &'static str {
        match self {
            Self::String => "strings",
            Self::Integer => "integers",
            Self::Number => "numbers",
            Self::Boolean => "booleans",
            Self::List => "lists",
            Self::Object => "objects",
        }
    }
}

/// A bound of an integer. `2.0` is an integer, as it is in JSON Schema.
fn integer_bound(key: &str, bound: Option<&Number>) -> Result<Option<i128>, AgentFileError> {
    bound
        .map(|bound| whole_number(key, bound, "a bound of an integer must be an integer"))
        .transpose()
}

/// A bound of the length of a string.
fn text_length(key: &str, bound: Option<&Number>) -> Result<Option<usize>, AgentFileError> {
    let Some(bound) = bound else { return Ok(None) };
    let length = whole_number(key, bound, "the length of a string must be an integer")?;
    if length < 0 {
        return Err(AgentFileError::at([key], "the length of a string cannot be negative"));
    }
    // A length beyond `usize` is one that no string reaches.
    Ok(Some(usize::try_from(length).unwrap_or(usize::MAX)))
}

/// A number without a fraction.
fn whole_number(key: &str, number: &Number, message: &str) -> Result<i128, AgentFileError> {
    if let Some(whole) = number.as_i128() {
        return Ok(whole);
    }
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and no bound is that large")]
    let whole = number.as_f64().filter(|it| it.fract() == 0.0).map(|it| it as i128);
    whole.ok_or_else(|| AgentFileError::at([key], message))
}
