//! The schemas of tools, lowered to what providers accept.
//!
//! The schema of a tool says all that its validator enforces. Providers accept less: none accepts alternatives at the
//! root, some read only the newest draft, and strict modes accept a small subset in which every property is required.
//! Only the model loses what is lost here: the validator still enforces the whole schema. Each loss is a [`RequestNote`]
//! with the JSON pointer of its location.
//!
//! A keyword is recognised by its position, so that a property with the name `default` or `format` is a property, and the
//! value of an `enum` or a `default` is never taken for a schema.
//!
//! ```
//! use haft_core::args::Strictness;
//! use haft_providers::tool_schema::{lower_full, lower_strict};
//! use haft_core::schema::{InputSchema, object, string};
//!
//! let schema = InputSchema::new(
//!     object().field("city", string().required()).field("format", string().max_length(5)),
//! ).unwrap();
//! assert_eq!(lower_full(&schema).text, schema.json_schema_text());
//!
//! let lowered = lower_strict(&schema, Strictness::Coerce).unwrap();
//! assert!(lowered.text.contains(r#""required":["city","format"]"#));
//! assert_eq!(lowered.notes[0].message, "`maxLength` at /properties/format is left out");
//! ```

mod annotations;
mod machine_bounds;
mod modern;
mod root;
mod strict;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use haft_core::args::Strictness;
use haft_core::schema::InputSchema;
use haft_core::trust::sanitized_definition;
use serde_json::Value;

use self::annotations::sanitize_annotations;
use self::machine_bounds::{may_have_machine_bounds, remove_machine_bounds};
use crate::dialect::{NoteTopic, RequestNote};

pub use self::strict::{NotStrict, lower_strict};

/// A schema that a provider accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweredSchema {
    /// The JSON Schema: the same bytes for the same schema.
    pub text: String,
    /// What it leaves out.
    pub notes: Vec<RequestNote>,
}

/// Lowers a schema for a provider that accepts JSON Schema 2020-12, but no alternatives at the root. The result accepts
/// all that the schema of the tool accepts. A schema that was built with Haft is unchanged, unless a description in it has a
/// reserved tag, which is made inert, or an integer has no bounds but those of 64 bits, which are left out.
///
/// ```
/// use haft_core::schema::{InputSchema, object, string};
/// use haft_providers::tool_schema::lower_full;
///
/// let schema = InputSchema::new(object().field("city", string().required())).unwrap();
/// let lowered = lower_full(&schema);
/// assert!(lowered.text.contains("city") && lowered.notes.is_empty());
/// ```
#[must_use]
pub fn lower_full(schema: &InputSchema) -> LoweredSchema {
    if schema.tree().is_some() {
        return LoweredSchema { text: shown_text(schema).into_owned(), notes: Vec::new() };
    }
    let mut notes = Vec::new();
    let mut value = schema.json_schema();
    sanitize_annotations(&mut value);
    remove_machine_bounds(&mut value);
    modern::modernize(&mut value, &mut notes);
    root::flatten(&mut value, &mut notes);
    LoweredSchema { text: value.to_string(), notes }
}

/// The schema of an answer in the form that strict providers accept, and whether there is one; else the whole schema.
///
/// ```
/// use haft_core::schema::{InputSchema, object, string};
/// use haft_providers::tool_schema::lower_answer;
///
/// let schema = InputSchema::new(object().field("city", string().required())).unwrap();
/// let (lowered, is_strict) = lower_answer(&schema);
/// assert!(is_strict && lowered["required"][0] == "city");
/// ```
#[must_use]
pub fn lower_answer(schema: &InputSchema) -> (Value, bool) {
    let (text, is_strict) = match lower_strict(schema, Strictness::Coerce) {
        Ok(lowered) => (lowered.text, true),
        Err(_) => (lower_full(schema).text, false),
    };
    (serde_json::from_str(&text).unwrap_or_default(), is_strict)
}

/// The schema of a tool as text, with reserved tags in its descriptions made inert, and without the bounds of integers of
/// 64 bits.
fn shown_text(schema: &InputSchema) -> Cow<'_, str> {
    let text = schema.json_schema_text();
    let is_clean = matches!(sanitized_definition(text), Cow::Borrowed(_));
    if is_clean && !may_have_machine_bounds(text) {
        return text.into();
    }
    let mut value = schema.json_schema();
    sanitize_annotations(&mut value);
    remove_machine_bounds(&mut value);
    value.to_string().into()
}

/// What the value of a keyword is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeywordValue {
    /// A schema.
    Schema,
    /// Schemas by names that are not keywords.
    Named,
    /// A list of schemas.
    List,
    /// A value, which no schema is.
    Data,
}

fn keyword_value(keyword: &str) -> KeywordValue {
    match keyword {
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => KeywordValue::Schema,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            KeywordValue::Named
        }
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => KeywordValue::List,
        _ => KeywordValue::Data,
    }
}

/// Calls a function with every schema directly below this one, and its place.
fn visit_subschemas(schema: &mut Value, at: &str, mut visit: impl FnMut(&mut Value, &str)) {
    let Some(members) = schema.as_object_mut() else { return };
    for (keyword, value) in members {
        let at = child_pointer(at, keyword);
        match (keyword_value(keyword), value) {
            (KeywordValue::Data, _) => {}
            (KeywordValue::Named, Value::Object(named)) => {
                for (name, schema) in named {
                    visit(schema, &child_pointer(&at, name));
                }
            }
            (_, Value::Array(list)) => {
                for (n, schema) in list.iter_mut().enumerate() {
                    visit(schema, &child_pointer(&at, &n.to_string()));
                }
            }
            (_, schema) => visit(schema, &at),
        }
    }
}

/// A JSON pointer, one step further.
fn child_pointer(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The note for a keyword that is left out.
fn left_out_note(keyword: &str, at: &str) -> RequestNote {
    let place = if at.is_empty() { "the root" } else { at };
    RequestNote::new(NoteTopic::SchemaKeywordLeftOut, format!("`{keyword}` at {place} is left out"))
}
