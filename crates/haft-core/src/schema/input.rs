//! The input schema of a tool: sound, sealed, and the only validator of its arguments.

use std::borrow::Cow;

use serde_json::Value;

use super::capped_list::CappedList;
use super::check::{Checker, CoercionMode, SchemaPosition};
use super::coerce::{MAX_CHANGES, apply_patches, find_wrapped_args, prepend_pointer};
use super::fault::{SchemaFault, find_schema_faults};
use super::foreign::ForeignSchema;
use super::problem::{Change, ChangeKind, Problem, Problems, Rule, excerpt};
use super::{Definitions, ForeignSchemaError, Schema, describe, wire};
use crate::json::Document;
use crate::schema::args::{ArgDefinitions, Args, RawArgs, Strictness, ToolArgs};

/// A schema that was checked when it was made: an object at the root, sound constraints, a default and
/// examples that it accepts itself.
///
/// ```
/// use haft_core::RawArgs;
/// use haft_core::args::Strictness;
/// use haft_core::schema::{InputSchema, integer, object};
///
/// let schema = InputSchema::new(object().field("days", integer().required())).unwrap();
/// let raw = RawArgs::text(r#"{"days": "3"}"#);
/// let accepted = schema.accept("forecast", &raw, Strictness::Coerce)?;
/// assert_eq!(accepted.args.to_value(), serde_json::json!({"days": 3}));
/// assert!(schema.accept("forecast", &raw, Strictness::Strict).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InputSchema {
    validator: SchemaValidator,
    /// The JSON Schema text, written once.
    text: String,
}

#[derive(Clone, Debug)]
enum SchemaValidator {
    Native(Box<Native>),
    Foreign(ForeignSchema),
}

/// A schema of our own.
#[derive(Clone, Debug)]
struct Native {
    root: Schema,
    definitions: Definitions,
}

/// Arguments that a schema accepted, and what was changed to get there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AcceptedArgs {
    /// The arguments the handler gets.
    pub args: Args,
    /// What coercion changed, in document order. Empty if the arguments were valid as they were received.
    pub changes: Vec<Change>,
}

impl InputSchema {
    /// Validates a schema and makes it the input of a tool.
    ///
    /// # Errors
    ///
    /// Every fault of the schema: a root that is not an object, bounds that exclude everything, patterns that do not
    /// compile, defaults and examples that the schema itself refuses.
    pub fn new(root: impl Into<Schema>) -> Result<Self, Vec<SchemaFault>> {
        Self::with_definitions(root, Definitions::new())
    }

    /// Seals a schema that refers to definitions by name.
    ///
    /// # Errors
    ///
    /// As [`InputSchema::new`].
    pub fn with_definitions(
        root: impl Into<Schema>,
        definitions: Definitions,
    ) -> Result<Self, Vec<SchemaFault>> {
        let root = root.into();
        let faults = find_schema_faults(&root, &definitions);
        if !faults.is_empty() {
            return Err(faults);
        }
        let text = wire::json_schema(&root, &definitions).root().to_string();
        Ok(Self {
            validator: SchemaValidator::Native(Box::new(Native { root, definitions })),
            text,
        })
    }

    /// The schema of a type that derives `ToolArgs`.
    ///
    /// # Errors
    ///
    /// As [`InputSchema::new`]; the attributes of a type can contradict each other too.
    pub fn of<T: ToolArgs>() -> Result<Self, Vec<SchemaFault>> {
        let mut definitions = ArgDefinitions::default();
        let schema = T::schema(&mut definitions);
        let (root, definitions) = definitions.finish(schema);
        Self::with_definitions(root, definitions)
    }

    /// Takes a JSON Schema from another source unchanged. It is shown to the model unchanged and enforced by the
    /// `jsonschema` crate.
    ///
    /// # Errors
    ///
    /// A root that is not an object schema, references that cannot be resolved here or that lead in
    /// a circle, patterns that do not compile, a schema that breaks its own dialect.
    pub fn from_json_schema(schema: Value) -> Result<Self, ForeignSchemaError> {
        let foreign = ForeignSchema::new(schema)?;
        let text = foreign.text();
        Ok(Self { validator: SchemaValidator::Foreign(foreign), text })
    }

    /// The JSON Schema as text: the same bytes every time.
    #[must_use]
    pub fn json_schema_text(&self) -> &str {
        &self.text
    }

    /// The JSON Schema as a value.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        match &self.validator {
            SchemaValidator::Native(own) => {
                wire::json_schema(&own.root, &own.definitions).root().to_value()
            }
            SchemaValidator::Foreign(foreign) => foreign.schema().clone(),
        }
    }

    /// The schema as a plain tree: `type`, `flags`, `rules`, `keys`, `allow`, `notes`, `examples`. A schema from
    /// another source is its own description.
    #[must_use]
    pub fn describe(&self) -> Value {
        match &self.validator {
            SchemaValidator::Native(own) => {
                describe::describe_schema(&own.root, &own.definitions).root().to_value()
            }
            SchemaValidator::Foreign(foreign) => foreign.schema().clone(),
        }
    }

    /// The typed tree and its definitions, or `None` for a schema from another source.
    #[must_use]
    pub fn tree(&self) -> Option<(&Schema, &Definitions)> {
        match &self.validator {
            SchemaValidator::Native(own) => Some((&own.root, &own.definitions)),
            SchemaValidator::Foreign(_) => None,
        }
    }

    /// Validates arguments: accepts them, unchanged or coerced, or lists every problem.
    ///
    /// `tool` is the tool's name; it only helps to recognise a wrapper object.
    ///
    /// # Errors
    ///
    /// Every problem with its JSON pointer.
    pub fn accept(
        &self,
        tool: &str,
        raw: &RawArgs,
        strictness: Strictness,
    ) -> Result<AcceptedArgs, Problems> {
        let duplicate = raw.document().and_then(Document::duplicate_key);
        self.accept_checked(tool, raw, strictness, duplicate)
    }

    /// [`InputSchema::accept`] for a caller who knows already whether a key occurs twice.
    pub(crate) fn accept_checked(
        &self,
        tool: &str,
        raw: &RawArgs,
        strictness: Strictness,
        duplicate: Option<String>,
    ) -> Result<AcceptedArgs, Problems> {
        if let Some(pointer) = duplicate {
            return Err(repeated_key_problem(pointer));
        }
        let mode = match strictness {
            Strictness::Coerce => CoercionMode::Coerce,
            Strictness::Strict => CoercionMode::Strict,
        };
        let (args, mut changes) = readable(raw, mode)?;
        let coerced = match &self.validator {
            SchemaValidator::Native(own) => own.validate(tool, &args, mode, &mut changes)?,
            SchemaValidator::Foreign(foreign) => {
                foreign.validate(tool, &args, mode, &mut changes)?
            }
        };
        let args = coerced.map_or_else(|| args.into_owned(), Args::new);
        Ok(AcceptedArgs { args, changes })
    }
}

/// Text into a document: as it is, or repaired if that is allowed.
fn readable(raw: &RawArgs, mode: CoercionMode) -> Result<(Cow<'_, Args>, Vec<Change>), Problems> {
    let (text, error) = match raw.parsed() {
        Ok(args) if mode == CoercionMode::Coerce && args.root().is_null() => {
            let change = Change { pointer: String::new(), kind: ChangeKind::Absent };
            return Ok((Cow::Owned(Args::empty()), vec![change]));
        }
        Ok(args) => return Ok((Cow::Borrowed(args), Vec::new())),
        Err(unreadable) => unreadable,
    };
    let error = match mode {
        CoercionMode::Strict => *error,
        CoercionMode::Coerce => match Document::parse_lenient(text) {
            Ok((doc, repairs)) => {
                if let Some(pointer) = doc.duplicate_key() {
                    return Err(repeated_key_problem(pointer));
                }
                let repaired =
                    |repair| Change { pointer: String::new(), kind: ChangeKind::Repaired(repair) };
                return Ok((
                    Cow::Owned(Args::new(doc)),
                    repairs.into_iter().map(repaired).collect(),
                ));
            }
            Err(error) => error,
        },
    };
    let expected = "one complete JSON object".to_owned();
    let found = format!("text that is not JSON: {error}: {}", excerpt(text));
    Err(Problem::of(Rule::Syntax, String::new(), expected, found).into())
}

impl Native {
    /// Validates a document. Returns `None` if it is accepted unchanged.
    fn validate(
        &self,
        tool: &str,
        args: &Args,
        mode: CoercionMode,
        changes: &mut Vec<Change>,
    ) -> Result<Option<Document>, Problems> {
        let mut checker = Checker::new(&self.definitions, mode);
        if checker.check(&self.root, args.root(), &SchemaPosition::ROOT) {
            changes.extend(listed(checker.changes));
            if checker.patches.is_empty() {
                return Ok(None);
            }
            return Ok(Some(apply_patches(args.root(), checker.patches)));
        }
        if mode == CoercionMode::Coerce
            && let Some((key, inner)) = find_wrapped_args(args.root(), tool)
        {
            let doc = inner.to_document();
            let mut second = Checker::new(&self.definitions, mode);
            if second.check(&self.root, doc.root(), &SchemaPosition::ROOT) {
                changes.push(Change {
                    pointer: String::new(),
                    kind: ChangeKind::Unwrapped(key.to_owned()),
                });
                for mut change in listed(second.changes) {
                    prepend_pointer(key, &mut change.pointer);
                    changes.push(change);
                }
                return Ok(Some(apply_patches(doc.root(), second.patches)));
            }
        }
        Err(Problems::new(checker.problems))
    }
}

/// The changes that are listed, and at their end how many are not.
fn listed(changes: CappedList<Change, MAX_CHANGES>) -> impl Iterator<Item = Change> {
    let (list, left_out) = changes.into_parts();
    let further = Change { pointer: String::new(), kind: ChangeKind::Further(left_out) };
    list.into_iter().chain((left_out > 0).then_some(further))
}

fn repeated_key_problem(pointer: String) -> Problems {
    let expected = "send each key once".to_owned();
    let found = "this key is given twice".to_owned();
    Problem::of(Rule::Duplicate, pointer, expected, found).into()
}
