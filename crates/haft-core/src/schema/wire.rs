//! The JSON Schema 2020-12 text that the model sees.
//!
//! The text is written key by key in a fixed order, so that it is the same bytes every time, whatever
//! maps the rest of the program uses.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    Annotations, ArrayRules, Definitions, IntegerRules, MapRules, NumberRules, ObjectRules, Schema,
    Shape, StringRules, UnionRules, UnknownFields,
};
use crate::json::{Document, JsonWriter};

/// The whole schema as a JSON Schema document.
pub(super) fn json_schema(root: &Schema, definitions: &Definitions) -> Document {
    let mut out = JsonWriter::new();
    out.object(|out| {
        write_members(root, out);
        if !definitions.is_empty() {
            out.key("$defs").object(|out| {
                for (name, schema) in definitions {
                    out.key(name);
                    write_schema(schema, out);
                }
            });
        }
    });
    out.finish()
}

fn write_schema(schema: &Schema, out: &mut JsonWriter) {
    out.object(|out| write_members(schema, out));
}

fn write_members(schema: &Schema, out: &mut JsonWriter) {
    match &schema.shape {
        Shape::Any => {}
        Shape::Boolean => write_type("boolean", schema, out),
        Shape::String(rules) => {
            write_type("string", schema, out);
            write_string(rules, out);
        }
        Shape::Integer(rules) => {
            write_type("integer", schema, out);
            write_integer(rules, out);
        }
        Shape::Number(rules) => {
            write_type("number", schema, out);
            write_number(rules, out);
        }
        Shape::Enum(values) => write_enum(values, schema, out),
        Shape::Array(rules) => {
            write_type("array", schema, out);
            write_array(rules, out);
        }
        Shape::Tuple(places) => {
            write_type("array", schema, out);
            write_tuple(places, out);
        }
        Shape::Object(rules) => {
            write_type("object", schema, out);
            write_object(rules, out);
        }
        Shape::Map(rules) => {
            write_type("object", schema, out);
            write_map(rules, out);
        }
        Shape::Union(rules) => write_union(rules, schema.nullable, out),
        Shape::Ref(name) => write_reference(name, schema.nullable, out),
    }
    write_annotations(&schema.annotations, out);
}

fn write_type(name: &str, schema: &Schema, out: &mut JsonWriter) {
    out.key("type");
    if schema.nullable {
        out.array(|out| {
            out.string(name).string("null");
        });
    } else {
        out.string(name);
    }
}

fn write_string(rules: &StringRules, out: &mut JsonWriter) {
    write_count("minLength", rules.min_length, out);
    write_count("maxLength", rules.max_length, out);
    if let Some(pattern) = &rules.pattern {
        out.key("pattern").string(pattern.as_str());
    }
}

fn write_integer(rules: &IntegerRules, out: &mut JsonWriter) {
    for (key, bound) in [("minimum", rules.min), ("maximum", rules.max)] {
        // Bounds outside 64 bits are faults, so one of the two always fits.
        match bound.map(|value| (i64::try_from(value), u64::try_from(value))) {
            Some((Ok(value), _)) => {
                out.key(key).integer(value);
            }
            Some((Err(_), Ok(value))) => {
                out.key(key).unsigned(value);
            }
            _ => {}
        }
    }
    if let Some(step) = rules.multiple_of {
        out.key("multipleOf").unsigned(step);
    }
}

fn write_number(rules: &NumberRules, out: &mut JsonWriter) {
    let bounds = [
        ("minimum", rules.min),
        ("maximum", rules.max),
        ("exclusiveMinimum", rules.above),
        ("exclusiveMaximum", rules.below),
    ];
    for (key, bound) in bounds {
        // Bounds that are not finite are faults.
        if let Some(value) = bound.filter(|value| value.is_finite()) {
            let _ = out.key(key).float(value);
        }
    }
}

fn write_enum(values: &[Value], schema: &Schema, out: &mut JsonWriter) {
    if values.iter().all(Value::is_string) {
        write_type("string", schema, out);
    }
    out.key("enum").array(|out| {
        for value in values {
            out.value(value);
        }
        if schema.nullable && !values.contains(&Value::Null) {
            out.null();
        }
    });
}

fn write_array(rules: &ArrayRules, out: &mut JsonWriter) {
    out.key("items");
    write_schema(&rules.items, out);
    write_count("minItems", rules.min_items, out);
    write_count("maxItems", rules.max_items, out);
    if rules.unique {
        out.key("uniqueItems").boolean(true);
    }
}

fn write_tuple(places: &[Schema], out: &mut JsonWriter) {
    // JSON Schema does not allow an empty list of places.
    if !places.is_empty() {
        out.key("prefixItems").array(|out| {
            for schema in places {
                write_schema(schema, out);
            }
        });
    }
    out.key("items").boolean(false);
    write_count("minItems", Some(places.len()), out);
}

fn write_object(rules: &ObjectRules, out: &mut JsonWriter) {
    out.key("properties").object(|out| {
        for (name, field) in &rules.fields {
            out.key(name);
            write_schema(&field.schema, out);
        }
    });
    if rules.fields.values().any(super::Field::is_required) {
        out.key("required").array(|out| {
            for (name, _) in rules.fields.iter().filter(|(_, field)| field.is_required()) {
                out.string(name);
            }
        });
    }
    if rules.unknown == UnknownFields::Refuse {
        out.key("additionalProperties").boolean(false);
    }
}

fn write_map(rules: &MapRules, out: &mut JsonWriter) {
    out.key("additionalProperties");
    write_schema(&rules.values, out);
    write_count("minProperties", rules.min_entries, out);
    write_count("maxProperties", rules.max_entries, out);
}

fn write_union(rules: &UnionRules, nullable: bool, out: &mut JsonWriter) {
    // The tag values differ, so at most one variant can match and `anyOf` says the same as `oneOf`,
    // which fewer providers take.
    out.key("anyOf").array(|out| {
        for variant in rules.variants.values() {
            write_schema(variant, out);
        }
        if nullable {
            write_null(out);
        }
    });
}

fn write_reference(name: &str, nullable: bool, out: &mut JsonWriter) {
    let target = reference_target(name);
    if nullable {
        out.key("anyOf").array(|out| {
            out.object(|out| {
                out.key("$ref").string(&target);
            });
            write_null(out);
        });
    } else {
        out.key("$ref").string(&target);
    }
}

/// The reference to a definition: a JSON pointer, as the fragment of a URI.
fn reference_target(name: &str) -> String {
    let mut text = "#/$defs/".to_owned();
    for byte in name.replace('~', "~0").replace('/', "~1").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn write_null(out: &mut JsonWriter) {
    out.object(|out| {
        out.key("type").string("null");
    });
}

fn write_count(key: &str, value: Option<usize>, out: &mut JsonWriter) {
    if let Some(value) = value {
        out.key(key).unsigned(value as u64);
    }
}

fn write_annotations(annotations: &Annotations, out: &mut JsonWriter) {
    let mut text = annotations.description.clone().unwrap_or_default();
    for note in &annotations.notes {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(note);
    }
    if !text.is_empty() {
        out.key("description").string(&text);
    }
    if let Some(value) = &annotations.default {
        out.key("default").value(value);
    }
    if !annotations.examples.is_empty() {
        out.key("examples").array(|out| {
            for value in &annotations.examples {
                out.value(value);
            }
        });
    }
}
