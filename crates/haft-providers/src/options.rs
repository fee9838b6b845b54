//! Options of a provider: control options, and options that go into the request.
//!
//! Both are given together, in three layers: to the builder, to [`Provider::with_options`](crate::Provider::with_options),
//! and per turn in the stash. The highest layer that sets an option wins; `headers` and `retry` are merged key by key.
//! The result has two parts: control options, which no dialect sends, and the options of the dialect. Nothing is coerced,
//! and all problems are reported at once.

mod control;

#[cfg(test)]
mod tests;

use std::fmt;

use haft_core::error::{Coded, ErrorCode};
use haft_core::schema::{ValueSchema, nearest};
use haft_core::tokens::Estimators;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::control::{ControlOptions, RetryOptions, StructuredOutput};
use crate::codes;
use crate::dialect::Dialect;

/// A layer of options by name.
///
/// ```
/// use haft_providers::Options;
///
/// let options = Options::new().with("temperature", 0.2).with("contextShedding", true);
/// assert_eq!(options.get("temperature"), Some(&serde_json::json!(0.2)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    values: Map<String, Value>,
    /// Values that have no JSON form.
    unusable: Vec<String>,
}

impl Options {
    /// No options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an option. A value that cannot be represented in JSON is refused when the options are checked.
    ///
    /// ```
    /// use haft_providers::Options;
    ///
    /// let options = Options::new().with("max_tokens", 100).with("max_tokens", 200);
    /// assert_eq!(options.get("max_tokens"), Some(&200.into()));
    /// assert_eq!(options.get("temperature"), None);
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::to_value(value) {
            Ok(value) => {
                self.values.insert(name, value);
            }
            Err(error) => self.unusable.push(format!("`{name}`: {error}")),
        }
        self
    }

    /// Returns these options, overridden by others.
    pub(crate) fn overridden_by(&self, above: &Self) -> Self {
        let unusable = self.unusable.iter().chain(&above.unusable).cloned().collect();
        Self { values: merge_layers(&[self, above]), unusable }
    }

    /// The options by name.
    pub(crate) fn into_values(self) -> Map<String, Value> {
        self.values
    }

    /// The value of an option.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
}

/// The members of an object as options; any other value has none.
impl From<Value> for Options {
    fn from(value: Value) -> Self {
        let values = match value {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        Self { values, unusable: Vec::new() }
    }
}

/// Options that were refused, with all problems.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidOptions {
    /// The dialect.
    pub dialect: &'static str,
    /// All problems. Never empty.
    pub problems: Vec<String>,
}

impl fmt::Display for InvalidOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the options of `{}` were refused: {}", self.dialect, self.problems.join("; "))
    }
}

impl std::error::Error for InvalidOptions {}

impl Coded for InvalidOptions {
    fn code(&self) -> ErrorCode {
        codes::INVALID_PROVIDER_OPTIONS
    }
}

/// Options that were accepted.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedOptions {
    /// The control options.
    pub(crate) control: ControlOptions,
    /// The options of the request.
    pub(crate) wire: Map<String, Value>,
}

/// Validates options.
#[derive(Debug)]
pub(crate) struct OptionSchema {
    dialect: &'static str,
    wire: Result<ValueSchema, String>,
    control: Result<ValueSchema, String>,
    names: Vec<String>,
    wire_names: Vec<String>,
}

impl OptionSchema {
    pub(crate) fn for_dialect(dialect: &dyn Dialect) -> Self {
        let wire = dialect.options_schema();
        let control: Value =
            serde_json::from_str(include_str!("options/control.json")).unwrap_or_default();
        let names = |schema: &Value| -> Vec<String> {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(|all| all.keys().cloned()).collect()
        };
        let wire_names = names(&wire);
        let compiled =
            |schema| ValueSchema::from_json_schema(schema).map_err(|error| error.to_string());
        Self {
            dialect: dialect.name(),
            names: names(&control).into_iter().chain(wire_names.iter().cloned()).collect(),
            wire: compiled(wire),
            control: compiled(control),
            wire_names,
        }
    }

    /// Validates layers of options, the lowest first.
    pub(crate) fn resolve(
        &self,
        dialect: &dyn Dialect,
        layers: &[&Options],
        estimators: &Estimators,
    ) -> Result<ResolvedOptions, InvalidOptions> {
        let unusable = layers.iter().flat_map(|layer| layer.unusable.iter().cloned());
        let mut problems: Vec<String> = unusable.collect();
        let (mut control, mut wire) = (Map::new(), Map::new());
        for (name, value) in merge_layers(layers) {
            if self.wire_names.contains(&name) {
                wire.insert(name, value);
            } else if self.names.contains(&name) {
                control.insert(name, value);
            } else {
                problems.push(self.unknown_option(&name));
            }
        }
        for (schema, values) in [(&self.control, &control), (&self.wire, &wire)] {
            match schema {
                Ok(schema) => {
                    let refused = schema.check(&Value::Object(values.clone())).err();
                    let listed = refused.into_iter().flat_map(|problems| problems.list);
                    problems.extend(listed.map(|problem| problem.to_string()));
                }
                Err(error) => problems.push(format!("the schema of the options is wrong: {error}")),
            }
        }
        problems.extend(
            dialect.check_options(&wire).into_iter().map(|(name, what)| format!("`{name}` {what}")),
        );
        if problems.is_empty() {
            match ControlOptions::from_values(control, estimators) {
                Ok(control) => return Ok(ResolvedOptions { control, wire }),
                Err(wrong) => problems.extend(wrong),
            }
        }
        Err(InvalidOptions { dialect: self.dialect, problems })
    }

    /// The names that are both of the dialect and of a control option.
    #[cfg(feature = "conformance")]
    pub(crate) fn shared_names(&self) -> Vec<String> {
        let is_shared = |name: &&String| self.names.iter().filter(|it| it == name).count() > 1;
        self.wire_names.iter().filter(is_shared).cloned().collect()
    }

    fn unknown_option(&self, name: &str) -> String {
        let only_builder = ["apiKey", "baseURL", "fetch"].contains(&name);
        let near = nearest(name, self.names.iter().map(String::as_str));
        match near {
            _ if only_builder => {
                format!("`{name}` is given to the builder and cannot be an option")
            }
            Some(near) => format!("there is no option `{name}`; did you mean `{near}`?"),
            None => format!("there is no option `{name}`"),
        }
    }
}

/// Merges layers: the highest layer that sets an option wins; some options are merged key by key.
fn merge_layers(layers: &[&Options]) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, value) in layers.iter().flat_map(|layer| &layer.values) {
        match (all.get_mut(name), value) {
            (Some(Value::Object(below)), Value::Object(above))
                if MERGED_BY_KEY.contains(&name.as_str()) =>
            {
                below.extend(above.clone());
            }
            _ => {
                all.insert(name.clone(), value.clone());
            }
        }
    }
    all
}

/// Options that are merged key by key.
const MERGED_BY_KEY: [&str; 2] = ["headers", "retry"];
