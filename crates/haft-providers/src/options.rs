//! Options: those of the core, and those that go into the request.
//!
//! Both are given together, in three layers: to the builder, to [`Provider::with_options`](super::Provider::with_options),
//! and per turn in the stash. The highest layer that says something wins; `headers` and `retry` are merged key by key.
//! What comes out are two types: [`Control`], which no dialect writes, and the map of the dialect, which holds nothing
//! else. Nothing is coerced, and everything that is wrong is said at once.

mod control;

#[cfg(test)]
mod tests;

use std::fmt;

use haft_core::error::{Coded, ErrorCode};
use haft_core::schema::{ValueSchema, nearest};
use haft_core::tokens::Estimators;
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::control::{Control, RetryOptions};
use super::dialect::Dialect;

/// A layer of options: names and values.
///
/// ```
/// use haft_providers::Options;
///
/// let options = Options::new().with("temperature", 0.2).with("thoughtSurfacing", "latest-self");
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

    /// Sets an option. A value that has no JSON form is refused when the options are checked.
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

    /// These options, and over them others.
    pub(super) fn below(&self, above: &Self) -> Self {
        let unusable = self.unusable.iter().chain(&above.unusable).cloned().collect();
        Self { values: merged(&[self, above]), unusable }
    }

    /// What an option was set to.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
}

/// The options of an object; anything else is no options.
impl From<Value> for Options {
    fn from(value: Value) -> Self {
        let values = match value {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        Self { values, unusable: Vec::new() }
    }
}

/// Options that were refused, with every reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidOptions {
    /// The dialect.
    pub dialect: &'static str,
    /// Everything that is wrong. Never empty.
    pub problems: Vec<String>,
    code: ErrorCode,
}

impl fmt::Display for InvalidOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the options of `{}` were refused: {}", self.dialect, self.problems.join("; "))
    }
}

impl std::error::Error for InvalidOptions {}

impl Coded for InvalidOptions {
    fn code(&self) -> ErrorCode {
        self.code.clone()
    }
}

/// Options that were accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// Those of the core.
    pub control: Control,
    /// Those of the request.
    pub wire: Map<String, Value>,
}

/// Checks options.
#[derive(Debug)]
pub(super) struct OptionSchema {
    dialect: &'static str,
    code: ErrorCode,
    wire: Result<ValueSchema, String>,
    control: Result<ValueSchema, String>,
    names: Vec<String>,
    wire_names: Vec<String>,
}

impl OptionSchema {
    pub(super) fn of<D: Dialect + ?Sized>(dialect: &D) -> Self {
        let wire = dialect.options();
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
            code: dialect.codes().options,
            names: names(&control).into_iter().chain(wire_names.iter().cloned()).collect(),
            wire: compiled(wire),
            control: compiled(control),
            wire_names,
        }
    }

    /// What comes of these layers, the lowest first.
    pub(super) fn resolve<D: Dialect + ?Sized>(
        &self,
        dialect: &D,
        layers: &[&Options],
        estimators: &Estimators,
    ) -> Result<Resolved, InvalidOptions> {
        let unusable = layers.iter().flat_map(|layer| layer.unusable.iter().cloned());
        let mut problems: Vec<String> = unusable.collect();
        let (mut control, mut wire) = (Map::new(), Map::new());
        for (name, value) in merged(layers) {
            if self.wire_names.contains(&name) {
                wire.insert(name, value);
            } else if self.names.contains(&name) {
                control.insert(name, value);
            } else {
                problems.push(self.unknown(&name));
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
            dialect.check(&wire).into_iter().map(|(name, what)| format!("`{name}` {what}")),
        );
        if problems.is_empty() {
            match Control::read(control, estimators) {
                Ok(control) => return Ok(Resolved { control, wire }),
                Err(wrong) => problems.extend(wrong),
            }
        }
        Err(InvalidOptions { dialect: self.dialect, problems, code: self.code.clone() })
    }

    /// Options that are refused for another reason.
    pub(super) fn refused(&self, problem: String) -> InvalidOptions {
        InvalidOptions { dialect: self.dialect, problems: vec![problem], code: self.code.clone() }
    }

    fn unknown(&self, name: &str) -> String {
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

/// The highest layer that says something wins; headers and retries are merged key by key.
fn merged(layers: &[&Options]) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, value) in layers.iter().flat_map(|layer| &layer.values) {
        match (all.get_mut(name), value) {
            (Some(Value::Object(below)), Value::Object(above))
                if BY_KEY.contains(&name.as_str()) =>
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
const BY_KEY: [&str; 2] = ["headers", "retry"];
