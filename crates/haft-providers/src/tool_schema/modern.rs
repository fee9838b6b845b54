//! Older drafts, in the words of 2020-12.

use serde_json::{Map, Value};

use super::{left_out_note, visit_subschemas};
use crate::dialect::RequestNote;

/// Keywords next to a reference that say nothing about what is accepted.
const ANNOTATIONS: [&str; 7] =
    ["$ref", "description", "title", "default", "examples", "$defs", "definitions"];

/// Keywords, and the draft in which each began to count. They say nothing in a schema of an older one.
const BEGAN: [(&str, Draft); 13] = [
    ("const", Draft::D6),
    ("contains", Draft::D6),
    ("propertyNames", Draft::D6),
    ("if", Draft::D7),
    ("then", Draft::D7),
    ("else", Draft::D7),
    ("minContains", Draft::D2019),
    ("maxContains", Draft::D2019),
    ("dependentRequired", Draft::D2019),
    ("dependentSchemas", Draft::D2019),
    ("unevaluatedItems", Draft::D2019),
    ("unevaluatedProperties", Draft::D2019),
    ("prefixItems", Draft::D2020),
];

/// The drafts, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

impl Draft {
    /// The draft that a schema names; the newest if it names none.
    fn of(schema: &Value) -> Self {
        let said = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let known = [
            ("draft-04", Self::D4),
            ("draft-06", Self::D6),
            ("draft-07", Self::D7),
            ("2019-09", Self::D2019),
        ];
        known.iter().find(|(name, _)| said.contains(name)).map_or(Self::D2020, |(_, it)| *it)
    }
}

/// Rewrites a schema of an older draft. Keywords without an equivalent are left out.
pub(super) fn modernize(schema: &mut Value, notes: &mut Vec<RequestNote>) {
    let draft = Draft::of(schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
    }
    if draft < Draft::D2020 {
        visit(schema, "", draft, notes);
    }
}

fn visit(schema: &mut Value, at: &str, draft: Draft, notes: &mut Vec<RequestNote>) {
    if let Some(members) = schema.as_object_mut() {
        // Older drafts ignore the keywords next to a reference.
        if draft < Draft::D2019 && members.contains_key("$ref") {
            members.retain(|keyword, _| ANNOTATIONS.contains(&keyword.as_str()));
        }
        for (keyword, _) in BEGAN.iter().filter(|(_, began)| draft < *began) {
            members.remove(*keyword);
        }
        items(members);
        bound("minimum", "exclusiveMinimum", members);
        bound("maximum", "exclusiveMaximum", members);
        dependencies(members);
        if members.remove("$recursiveRef").is_some() {
            notes.push(left_out_note("$recursiveRef", at));
        }
    }
    visit_subschemas(schema, at, |below, at| visit(below, at, draft, notes));
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
