//! Schemas that come from outside, such as an MCP server or a file: stored unchanged and enforced by the `jsonschema`
//! crate. Without the feature `foreign-schemas` they are refused.

#[cfg(feature = "foreign-schemas")]
mod coerce;
#[cfg(feature = "foreign-schemas")]
mod references;
#[cfg(feature = "foreign-schemas")]
mod validator;
#[cfg(feature = "foreign-schemas")]
mod work;

#[cfg(not(feature = "foreign-schemas"))]
mod unsupported;

use serde_json::Value;

use super::problem::{Problems, excerpt};

#[cfg(not(feature = "foreign-schemas"))]
pub(super) use self::unsupported::ForeignSchema;
#[cfg(feature = "foreign-schemas")]
pub(super) use self::validator::ForeignSchema;

/// Why a JSON Schema from another source cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignSchemaError {
    /// The root does not ask for an object.
    #[error(
        "the input schema of a tool must be an object: its root needs `\"type\": \"object\"`, got {found}"
    )]
    NotAnObject {
        /// What the root says instead.
        found: String,
    },
    /// References that lead back to themselves without looking at a part of the value in between.
    #[error("the reference `{reference}` leads in a circle and would never end")]
    Circular {
        /// The reference.
        reference: String,
    },
    /// A reference to another document. Nothing is fetched.
    #[error("the reference `{reference}` points outside the schema, and nothing is fetched")]
    External {
        /// The reference.
        reference: String,
    },
    /// The schema is too large or too deeply nested.
    #[error("the schema is too large: {what}")]
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// This build of the crate cannot validate by foreign schemas.
    #[error(
        "JSON Schemas from outside are not supported by this build: enable the feature `foreign-schemas` of `haft-core`"
    )]
    Unsupported,
    /// The schema breaks the rules of its own dialect.
    #[error("not a usable JSON Schema: {reason}")]
    Invalid {
        /// What the validator says.
        reason: String,
    },
}

/// A JSON Schema for one value, such as the answer to a question.
///
/// ```
/// use haft_core::schema::ValueSchema;
///
/// let schema = ValueSchema::from_json_schema(serde_json::json!({"type": "integer", "minimum": 1}))?;
/// assert!(schema.check(&3.into()).is_ok());
/// assert!(schema.check(&0.into()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ValueSchema(ForeignSchema);

impl ValueSchema {
    /// Takes a JSON Schema.
    ///
    /// # Errors
    ///
    /// References that cannot be resolved here or that lead in a circle, patterns that do not compile, a
    /// schema that breaks its own dialect.
    pub fn from_json_schema(schema: Value) -> Result<Self, ForeignSchemaError> {
        ForeignSchema::of_any(schema).map(Self)
    }

    /// The schema.
    #[must_use]
    pub fn json_schema(&self) -> &Value {
        self.0.schema()
    }

    /// Validates a value.
    ///
    /// # Errors
    ///
    /// Every problem, each with a JSON pointer.
    pub fn check(&self, value: &Value) -> Result<(), Problems> {
        self.0.faults(value).map_or(Ok(()), Err)
    }
}

/// Requires that the root of a schema asks for an object.
fn require_object_root(schema: &Value) -> Result<(), ForeignSchemaError> {
    let found = match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => return Ok(()),
        Some(other) => format!("`\"type\": {}`", excerpt(&other.to_string())),
        None => "no type".to_owned(),
    };
    let found = if schema.is_object() { found } else { excerpt(&schema.to_string()) };
    Err(ForeignSchemaError::NotAnObject { found })
}
