//! Older drafts, in the words of 2020-12.

use serde_json::{Map, Value};

use super::{each_below, left_out};
use crate::providers::dialect::Note;

/// Keywords beside a reference that say nothing about what is accepted.
const ANNOTATIONS: [&str; 7] =
    ["$ref", "description", "title", "default", "examples", "$defs", "definitions"];

/// Rewrites a schema of an older draft. What has no other name is left out.
pub(super) fn modernise(schema: &mut Value, notes: &mut Vec<Note>) {
    let said = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let lonely_references = ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"];
    let era = Era {
        lonely_references: lonely_references.iter().any(|it| said.contains(it)),
        current: said.is_empty() || said.contains("2020-12"),
    };
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
    }
    if !era.current {
        visit(schema, "", &era, notes);
    }
}

struct Era {
    /// Whether keywords beside a reference count for nothing.
    lonely_references: bool,
    current: bool,
}

fn visit(schema: &mut Value, at: &str, era: &Era, notes: &mut Vec<Note>) {
    if let Some(members) = schema.as_object_mut() {
        if era.lonely_references && members.contains_key("$ref") {
            members.retain(|keyword, _| ANNOTATIONS.contains(&keyword.as_str()));
        }
        items(members);
        bound("minimum", "exclusiveMinimum", members);
        bound("maximum", "exclusiveMaximum", members);
        dependencies(members);
        if members.remove("$recursiveRef").is_some() {
            notes.push(left_out("$recursiveRef", at));
        }
    }
    each_below(schema, at, |below, at| visit(below, at, era, notes));
}

/// Places of a list had the name `items`, and what follows them `additionalItems`.
fn items(members: &mut Map<String, Value>) {
    let rest = members.remove("additionalItems");
    if !members.get("items").is_some_and(Value::is_array) {
        return;
    }
    if let Some(places) = members.remove("items") {
        // There is no empty list of places.
        if places.as_array().is_some_and(|it| !it.is_empty()) {
            members.insert("prefixItems".to_owned(), places);
        }
        if let Some(rest) = rest {
            members.insert("items".to_owned(), rest);
        }
    }
}

/// Whether a bound is exclusive was a flag.
fn bound(inclusive: &str, exclusive: &str, members: &mut Map<String, Value>) {
    let Some(Value::Bool(flag)) = members.get(exclusive) else { return };
    let flag = *flag;
    members.remove(exclusive);
    if flag && let Some(bound) = members.remove(inclusive) {
        members.insert(exclusive.to_owned(), bound);
    }
}

/// Dependencies were names or schemas under one keyword.
fn dependencies(members: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = members.remove("dependencies") else { return };
    for (name, needs) in all {
        let keyword = if needs.is_array() { "dependentRequired" } else { "dependentSchemas" };
        let group = members.entry(keyword).or_insert_with(|| Value::Object(Map::new()));
        if let Some(group) = group.as_object_mut() {
            group.insert(name, needs);
        }
    }
}
