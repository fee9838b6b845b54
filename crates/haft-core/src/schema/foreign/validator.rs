//! Schemas that come from elsewhere (an MCP server, a file): kept as they are, enforced by the
//! `jsonschema` crate.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::check::Mode;
use super::coerce::{below, unwrapped};
use super::foreign_coerce::mend;
use super::problem::{Change, ChangeKind, Problem, Problems, Rule, excerpt};
use crate::json::Document;
use crate::schema::args::Args;

/// Most bytes of a schema that is taken from elsewhere, as compact text.
const MAX_SCHEMA: usize = 1024 * 1024;

/// Most steps that one pattern of a foreign schema may backtrack.
const MAX_BACKTRACK: usize = 100_000;

/// Why a JSON Schema from elsewhere cannot be used.
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
    /// The schema breaks the rules of its own dialect.
    #[error("not a usable JSON Schema: {reason}")]
    Invalid {
        /// What the validator says.
        reason: String,
    },
}

/// A foreign schema and its compiled validator.
#[derive(Clone, Debug)]
pub(super) struct Foreign {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

impl Foreign {
    pub(super) fn new(schema: Value) -> Result<Self, ForeignSchemaError> {
        root_is_object(&schema)?;
        Self::of_any(schema)
    }

    /// A schema of values that need not be objects.
    fn of_any(schema: Value) -> Result<Self, ForeignSchemaError> {
        let text = Document::from_value(&schema)
            .map_err(|error| ForeignSchemaError::TooLarge { what: error.to_string() })?
            .root()
            .to_string();
        if text.len() > MAX_SCHEMA {
            return Err(ForeignSchemaError::TooLarge { what: format!("{} bytes", text.len()) });
        }
        super::foreign_refs::check(&schema)?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACK))
            .build(&schema)
            .map_err(|error| ForeignSchemaError::Invalid { reason: excerpt(&error.to_string()) })?;
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator) })
    }

    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// The schema as text, in the order its maps have.
    pub(super) fn text(&self) -> String {
        self.schema.to_string()
    }

    /// Judges arguments. `None` when they are accepted as they are.
    pub(super) fn judge(
        &self,
        tool: &str,
        args: &Args,
        mode: Mode,
        changes: &mut Vec<Change>,
    ) -> Result<Option<Document>, Problems> {
        let value = args.to_value();
        let Some(problems) = self.problems(&value) else { return Ok(None) };
        // A mended value goes through `serde_json`, which does not keep integers beyond 64 bits.
        if mode == Mode::Strict || document(&value).is_none_or(|doc| doc != *args.document()) {
            return Err(problems);
        }
        if let Some((value, mut made)) = mend(&self.validator, &value) {
            changes.append(&mut made);
            return Ok(document(&value));
        }
        if let Some((key, inner)) = unwrapped(args.root(), tool)
            && let Some((inner, made)) = mend(&self.validator, &inner.to_value())
        {
            let kind = ChangeKind::Unwrapped(key.to_owned());
            changes.push(Change { pointer: String::new(), kind });
            for mut change in made {
                below(key, &mut change.pointer);
                changes.push(change);
            }
            return Ok(document(&inner));
        }
        Err(problems)
    }

    /// Why the value is refused; nothing if it is accepted.
    fn problems(&self, value: &Value) -> Option<Problems> {
        if !value.is_object() {
            let found = excerpt(&value.to_string());
            let problem = Problem::of(Rule::Type, String::new(), "an object".to_owned(), found);
            return Some(problem.into());
        }
        self.faults(value)
    }

    fn faults(&self, value: &Value) -> Option<Problems> {
        if self.validator.is_valid(value) {
            return None;
        }
        let list = self.validator.iter_errors(value).take(256).map(|error| {
            let pointer = error.instance_path().as_str().to_owned();
            let expected = format!("a value that meets `{}`", error.kind().keyword());
            Problem::of(Rule::Foreign, pointer, expected, excerpt(&error.to_string()))
        });
        Some(Problems::new(list.collect()))
    }
}

/// A JSON Schema for one value, such as the answer to a question.
#[derive(Clone, Debug)]
pub struct ValueSchema(Foreign);

impl ValueSchema {
    /// Takes a JSON Schema.
    ///
    /// # Errors
    ///
    /// References that cannot be resolved here or that lead in a circle, patterns that do not compile, a
    /// schema that breaks its own dialect.
    pub fn from_json_schema(schema: Value) -> Result<Self, ForeignSchemaError> {
        Foreign::of_any(schema).map(Self)
    }

    /// The schema.
    #[must_use]
    pub fn json_schema(&self) -> &Value {
        self.0.schema()
    }

    /// Judges a value.
    ///
    /// # Errors
    ///
    /// Every problem, each with a JSON pointer.
    pub fn check(&self, value: &Value) -> Result<(), Problems> {
        self.0.faults(value).map_or(Ok(()), Err)
    }
}

fn document(value: &Value) -> Option<Document> {
    // The value was made from a document, so it is not nested too deeply.
    Document::from_value(value).ok()
}

fn root_is_object(schema: &Value) -> Result<(), ForeignSchemaError> {
    let found = match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => return Ok(()),
        Some(other) => format!("`\"type\": {}`", excerpt(&other.to_string())),
        None => "no type".to_owned(),
    };
    let found = if schema.is_object() { found } else { excerpt(&schema.to_string()) };
    Err(ForeignSchemaError::NotAnObject { found })
}
