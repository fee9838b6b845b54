//! A rough reading of a JSON Schema from another source, good enough to draw values from. It validates nothing: what it
//! misses only makes the generated values less suitable.

use serde_json::Value;

use haft_core::schema::{
    Definitions, Field, Schema, Shape, any, array, boolean, integer, map, number, object, one_of,
    string,
};

/// The schema and its definitions.
pub(super) fn approximate_schema(schema: &Value) -> (Schema, Definitions) {
    let mut definitions = Definitions::new();
    for place in ["$defs", "definitions"] {
        for (name, target) in schema.get(place).and_then(Value::as_object).into_iter().flatten() {
            definitions.insert(format!("#/{place}/{name}"), read(target));
        }
    }
    (read(schema), definitions)
}

fn read(schema: &Value) -> Schema {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return Schema::new(Shape::Ref(reference.to_owned()));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return one_of(values.iter().cloned()).into();
    }
    if let Some(value) = schema.get("const") {
        return one_of([value.clone()]).into();
    }
    let branches = ["anyOf", "oneOf", "allOf"].iter().find_map(|it| schema.get(it)?.as_array());
    if let Some(branches) = branches {
        let null = |it: &&Value| it.get("type").is_some_and(|kind| kind == "null");
        let nullable = branches.iter().any(|it| null(&it));
        let mut first = branches.iter().find(|it| !null(it)).map_or_else(|| any().into(), read);
        first.nullable |= nullable;
        return first;
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.and_then(Value::as_str).into_iter().collect(),
    };
    let mut sketched = match kinds.iter().find(|kind| **kind != "null") {
        Some(kind) => of_kind(kind, schema),
        None if schema.get("properties").is_some() => of_kind("object", schema),
        None => any().into(),
    };
    sketched.nullable = kinds.contains(&"null");
    sketched
}

fn of_kind(kind: &str, schema: &Value) -> Schema {
    let count =
        |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    match kind {
        "boolean" => boolean().into(),
        "integer" => {
            let mut sketched: Schema = integer().into();
            if let Some(min) = bound("minimum") {
                sketched = sketched.with_min(min);
            }
            if let Some(max) = bound("maximum") {
                sketched = sketched.with_max(max);
            }
            sketched
        }
        "number" => {
            let mut sketched: Schema = number().into();
            if let Shape::Number(rules) = &mut sketched.shape {
                rules.min = bound("minimum");
                rules.max = bound("maximum");
                rules.above = bound("exclusiveMinimum");
                rules.below = bound("exclusiveMaximum");
            }
            sketched
        }
        "string" => {
            let pattern = schema.get("pattern").and_then(Value::as_str);
            let mut sketched: Schema = string().into();
            if let Shape::String(rules) = &mut sketched.shape {
                rules.min_length = count("minLength");
                rules.max_length = count("maxLength");
                rules.pattern = pattern.map(haft_core::schema::Pattern::new);
            }
            sketched
        }
        "array" => {
            let items = schema.get("items").map_or_else(|| any().into(), read);
            let mut sketched: Schema = array(items).into();
            if let Shape::Array(rules) = &mut sketched.shape {
                rules.min_items = count("minItems");
                rules.max_items = count("maxItems");
                rules.unique = schema.get("uniqueItems").is_some_and(|it| *it == true);
            }
            sketched
        }
        "object" => of_object(schema),
        _ => any().into(),
    }
}

fn of_object(schema: &Value) -> Schema {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let values = schema.get("additionalProperties").filter(|it| it.is_object());
        return map(values.map_or_else(|| any().into(), read)).into();
    };
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut sketched = object();
    for (name, property) in properties {
        let field =
            if required.contains(&name.as_str()) { Field::required } else { Field::optional };
        sketched = sketched.field(name, field(read(property)));
    }
    sketched.into()
}
