//! Validation of foreign schemas by the `jsonschema` crate.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::coerce::coerce;
use super::{ForeignSchemaError, references, work};
use crate::json::Document;
use crate::schema::args::Args;
use crate::schema::capped_list::CappedList;
use crate::schema::check::CoercionMode;
use crate::schema::coerce::{find_wrapped_args, prepend_pointer};
use crate::schema::problem::{Change, ChangeKind, Problem, Problems, Rule, excerpt};

/// The maximum number of bytes of a foreign schema, as compact text.
const MAX_SCHEMA: usize = 1024 * 1024;

/// Most steps that one pattern of a foreign schema may backtrack.
const MAX_BACKTRACK: usize = 100_000;

/// A foreign schema and its compiled validator.
#[derive(Clone, Debug)]
pub(in crate::schema) struct ForeignSchema {
    schema: Arc<Value>,
    validator: Arc<Validator>,
    /// Whether parts of the schema refer to others, so that they can multiply.
    has_references: bool,
}

impl ForeignSchema {
    pub(in crate::schema) fn new(schema: Value) -> Result<Self, ForeignSchemaError> {
        super::require_object_root(&schema)?;
        Self::of_any(schema)
    }

    /// A schema of values that need not be objects.
    pub(super) fn of_any(schema: Value) -> Result<Self, ForeignSchemaError> {
        let text = Document::from_value(&schema)
            .map_err(|error| ForeignSchemaError::TooLarge { what: error.to_string() })?
            .root()
            .to_string();
        if text.len() > MAX_SCHEMA {
            return Err(ForeignSchemaError::TooLarge { what: format!("{} bytes", text.len()) });
        }
        references::check(&schema)?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACK))
            .build(&schema)
            .map_err(|error| ForeignSchemaError::Invalid { reason: invalid_reason(&error) })?;
        let has_references = work::has_references(&schema);
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator), has_references })
    }

    pub(in crate::schema) fn schema(&self) -> &Value {
        &self.schema
    }

    /// The schema as text, in the order its maps have.
    pub(in crate::schema) fn text(&self) -> String {
        self.schema.to_string()
    }

    /// Validates arguments. `None` when they are accepted as they are.
    pub(in crate::schema) fn validate(
        &self,
        tool: &str,
        args: &Args,
        mode: CoercionMode,
        changes: &mut Vec<Change>,
    ) -> Result<Option<Document>, Problems> {
        let value = args.to_value();
        let Some(problems) = self.problems(&value) else { return Ok(None) };
        // A coerced value goes through `serde_json`, which does not keep integers beyond 64 bits.
        if mode == CoercionMode::Strict
            || document(&value).is_none_or(|doc| doc != *args.document())
        {
            return Err(problems);
        }
        if let Some((value, mut made)) = coerce(self, &value) {
            changes.append(&mut made);
            return Ok(document(&value));
        }
        if let Some((key, inner)) = find_wrapped_args(args.root(), tool)
            && let Some((inner, made)) = coerce(self, &inner.to_value())
        {
            let kind = ChangeKind::Unwrapped(key.to_owned());
            changes.push(Change { pointer: String::new(), kind });
            for mut change in made {
                prepend_pointer(key, &mut change.pointer);
                changes.push(change);
            }
            return Ok(document(&inner));
        }
        Err(problems)
    }

    /// Why the value is refused, or `None` if it is accepted.
    fn problems(&self, value: &Value) -> Option<Problems> {
        if !value.is_object() {
            let found = excerpt(&value.to_string());
            let problem = Problem::of(Rule::Type, String::new(), "an object".to_owned(), found);
            return Some(problem.into());
        }
        self.faults(value)
    }

    /// The compiled validator, or `None` if it would look at this value too often.
    pub(super) fn validator_for(&self, value: &Value) -> Option<&Validator> {
        // Without references the work is that of the text of the schema, for each part of the value.
        let is_too_much = self.has_references && work::is_too_much(&self.schema, value);
        (!is_too_much).then_some(&self.validator)
    }

    /// The problem of a value that is not validated, because that would take too long.
    fn too_much_work(&self, value: &Value) -> Option<Problems> {
        if self.validator_for(value).is_some() {
            return None;
        }
        let expected = "a value that the schema can be applied to in bounded time".to_owned();
        let found = excerpt(&value.to_string());
        Some(Problem::of(Rule::Foreign, String::new(), expected, found).into())
    }

    /// Lists the problems of a value of any type; `None` if it is accepted.
    pub(super) fn faults(&self, value: &Value) -> Option<Problems> {
        if let Some(problems) = self.too_much_work(value) {
            return Some(problems);
        }
        if self.validator.is_valid(value) {
            return None;
        }
        let mut found = CappedList::new();
        for error in self.validator.iter_errors(value).take(256) {
            found.push_with(|| {
                let pointer = error.instance_path().as_str().to_owned();
                let expected = format!("a value that meets `{}`", error.kind().keyword());
                Problem::of(Rule::Foreign, pointer, expected, excerpt(&error.to_string()))
            });
        }
        Some(Problems::new(found))
    }
}

fn document(value: &Value) -> Option<Document> {
    // The value was made from a document, so it is not nested too deeply.
    Document::from_value(value).ok()
}

/// Why something is no schema, and where: a misspelled type is named, because the rule that it breaks says nothing.
fn invalid_reason(error: &jsonschema::ValidationError<'_>) -> String {
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let path = error.instance_path().as_str();
    let reason = match error.instance().as_str().filter(|_| path.ends_with("/type")) {
        Some(found) => match crate::schema::nearest(found, TYPES.into_iter()) {
            Some(near) => format!("`{found}` is not a type; did you mean `{near}`?"),
            None => format!("`{found}` is not a type; the types are {}", TYPES.join(", ")),
        },
        None => error.to_string(),
    };
    match path {
        "" => excerpt(&reason),
        _ => excerpt(&format!("at `{path}`: {reason}")),
    }
}
