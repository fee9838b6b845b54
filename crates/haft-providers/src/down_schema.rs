//! Schemas of tools, as far as a provider can take them.
//!
//! The schema of a tool says all that its validator enforces. Providers take less: none takes alternatives at
//! the root, some read only the newest draft, and strict modes take a small subset in which every property is
//! required. What is lost here is lost for the model alone: the validator still enforces the whole schema. Each
//! loss is a [`Note`] with the JSON pointer of the place.
//!
//! Both ways look at where a keyword stands, so that a property with the name `default` or `format` is a
//! property, and the value of an `enum` or a `default` is never taken for a schema.
//!
//! ```
//! use haft_core::args::Strictness;
//! use haft_providers::down_schema::{full, strict};
//! use haft_core::schema::{InputSchema, object, string};
//!
//! let schema = InputSchema::new(
//!     object().field("city", string().required()).field("format", string().max_length(5)),
//! ).unwrap();
//! assert_eq!(full(&schema).text, schema.json_schema_text());
//!
//! let lowered = strict(&schema, Strictness::Coerce).unwrap();
//! assert!(lowered.text.contains(r#""required":["city","format"]"#));
//! assert_eq!(lowered.notes[0].message, "`maxLength` at /properties/format is left out");
//! ```

mod modern;
mod root;
mod strict;

#[cfg(test)]
mod tests;

use haft_core::schema::InputSchema;
use serde_json::Value;

use super::dialect::Note;

pub use self::strict::{NotStrict, strict};

/// A schema that a provider takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lowered {
    /// The JSON Schema: the same bytes for the same schema.
    pub text: String,
    /// What it does not say.
    pub notes: Vec<Note>,
}

/// The schema for a provider that takes JSON Schema 2020-12, but no alternatives at the root. It accepts all
/// that the schema of the tool accepts.
///
/// A schema of our own is shown as it is.
#[must_use]
pub fn full(schema: &InputSchema) -> Lowered {
    if schema.tree().is_some() {
        return Lowered { text: schema.json_schema_text().to_owned(), notes: Vec::new() };
    }
    let mut notes = Vec::new();
    let mut value = schema.json_schema();
    modern::modernise(&mut value, &mut notes);
    root::flatten(&mut value, &mut notes);
    Lowered { text: value.to_string(), notes }
}

/// What stands behind a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// A schema.
    Schema,
    /// Schemas by names that are not keywords.
    Named,
    /// A list of schemas.
    List,
    /// A value, which no schema is.
    Data,
}

fn behind(keyword: &str) -> Behind {
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
        | "contentSchema" => Behind::Schema,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Behind::Named
        }
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Behind::List,
        _ => Behind::Data,
    }
}

/// Calls a function with every schema directly below this one, and its place.
fn each_below(schema: &mut Value, at: &str, mut visit: impl FnMut(&mut Value, &str)) {
    let Some(members) = schema.as_object_mut() else { return };
    for (keyword, value) in members {
        let at = step(at, keyword);
        match (behind(keyword), value) {
            (Behind::Data, _) => {}
            (Behind::Named, Value::Object(named)) => {
                for (name, schema) in named {
                    visit(schema, &step(&at, name));
                }
            }
            (_, Value::Array(list)) => {
                for (n, schema) in list.iter_mut().enumerate() {
                    visit(schema, &step(&at, &n.to_string()));
                }
            }
            (_, schema) => visit(schema, &at),
        }
    }
}

/// A JSON pointer, one step further.
fn step(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The note of something that is not said.
fn left_out(keyword: &str, at: &str) -> Note {
    let place = if at.is_empty() { "the root" } else { at };
    Note::new("schema-keyword-left-out", format!("`{keyword}` at {place} is left out"))
}
