//! Roots without alternatives.
//!
//! No provider takes a schema of arguments whose root has alternatives, references or values. Their properties
//! move up, so that the model still sees them, with all that any alternative accepts.

use serde_json::{Map, Value, json};

use super::left_out_note;
use crate::dialect::RequestNote;

/// Moves what the root refers to up into the root.
pub(super) fn flatten(schema: &mut Value, notes: &mut Vec<RequestNote>) {
    let whole = schema.clone();
    let Some(root) = schema.as_object_mut() else { return };
    if let Some(reference) = root.remove("$ref") {
        notes.push(left_out_note("$ref", ""));
        let reference = json!({ "$ref": reference });
        conjoin(root, resolve_reference(&reference, &whole));
    }
    if let Some(Value::Array(all)) = root.remove("allOf") {
        notes.push(left_out_note("allOf", ""));
        for part in &all {
            conjoin(root, resolve_reference(part, &whole));
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(all)) = root.remove(keyword) {
            notes.push(left_out_note(keyword, ""));
            let all: Vec<&Value> = all.iter().map(|it| resolve_reference(it, &whole)).collect();
            widen(root, &all);
        }
    }
    for keyword in ["enum", "const", "not"] {
        if root.remove(keyword).is_some() {
            notes.push(left_out_note(keyword, ""));
        }
    }
    // Arguments are objects whatever the schema says, and providers want to read it.
    root.entry("type").or_insert_with(|| "object".into());
}

/// A schema, or what it refers to. One that leads to nothing we know says nothing.
fn resolve_reference<'v>(schema: &'v Value, whole: &'v Value) -> &'v Value {
    let mut schema = schema;
    // References that lead in a circle were refused when the tool was made; this only makes sure.
    for _ in 0..16 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema };
        let Some(pointer) = reference.strip_prefix('#') else { return &Value::Null };
        let Some(target) = whole.pointer(pointer) else { return &Value::Null };
        schema = target;
    }
    &Value::Null
}

/// Adds the keywords that apply next to the root.
fn conjoin(root: &mut Map<String, Value>, part: &Value) {
    let alone = !root.contains_key("properties");
    for (name, schema) in object_members(part, "properties") {
        add_property(root, name, || schema.clone());
    }
    // It restricts the properties next to it, which have to be all properties.
    let open = root.contains_key("additionalProperties") || part.get("patternProperties").is_some();
    if alone
        && !open
        && let Some(rest) = part.get("additionalProperties")
    {
        root.insert("additionalProperties".to_owned(), rest.clone());
    }
    add_required(root, required_names(part));
    if let Some(text) = part.get("description") {
        root.entry("description").or_insert_with(|| text.clone());
    }
}

/// Adds what any of the alternatives accepts.
fn widen(root: &mut Map<String, Value>, all: &[&Value]) {
    let names: Vec<&String> =
        all.iter().flat_map(|it| object_members(it, "properties").map(|(name, _)| name)).collect();
    for name in names {
        add_property(root, name, || merged_property(name, all));
    }
    if !root.contains_key("additionalProperties") && !all.is_empty() && all.iter().all(is_closed) {
        root.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some((first, others)) = all.split_first() {
        let everywhere =
            |name: &&str| others.iter().all(|it| required_names(it).any(|it| it == *name));
        add_required(root, required_names(first).filter(everywhere));
    }
}

/// What a property may be in any of the alternatives.
fn merged_property(name: &str, all: &[&Value]) -> Value {
    let mut choices: Vec<&Value> = Vec::new();
    for part in all {
        match object_members(part, "properties").find(|(it, _)| *it == name) {
            Some((_, schema)) if !choices.contains(&schema) => choices.push(schema),
            Some(_) => {}
            None if is_closed(part) => {}
            None => return json!({}),
        }
    }
    match choices.as_slice() {
        [only] => (*only).clone(),
        several => json!({ "anyOf": several }),
    }
}

/// Whether an alternative refuses properties that it does not name.
fn is_closed(part: &&Value) -> bool {
    part.get("additionalProperties") == Some(&Value::Bool(false))
        && part.get("patternProperties").is_none()
}

fn add_required<'n>(root: &mut Map<String, Value>, names: impl Iterator<Item = &'n str>) {
    for name in names {
        let list = root.entry("required").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut()
            && !list.iter().any(|it| it == name)
        {
            list.push(name.into());
        }
    }
}

fn required_names(part: &Value) -> impl Iterator<Item = &str> {
    part.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn object_members<'v>(part: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    part.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// Adds a property that the root does not have.
fn add_property(root: &mut Map<String, Value>, name: &str, schema: impl FnOnce() -> Value) {
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.entry(name).or_insert_with(schema);
    }
}
