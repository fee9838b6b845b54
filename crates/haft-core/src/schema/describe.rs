//! The schema as a plain serialisable tree, for code that renders its own wire shape.

use serde_json::Value;

use super::{Definitions, Field, Schema, Shape, UnknownFields};
use crate::json::{Document, JsonWriter};

/// Describes a schema: `type`, `flags`, `rules`, `keys`, `items`, `allow`, `notes`, `examples`.
pub(super) fn describe_schema(root: &Schema, definitions: &Definitions) -> Document {
    let mut out = JsonWriter::new();
    out.object(|out| {
        write_members(root, None, out);
        if !definitions.is_empty() {
            out.key("shared").object(|out| {
                for (name, schema) in definitions {
                    out.key(name);
                    write_schema(schema, None, out);
                }
            });
        }
    });
    out.finish()
}

fn write_schema(schema: &Schema, field: Option<&Field>, out: &mut JsonWriter) {
    out.object(|out| write_members(schema, field, out));
}

fn write_members(schema: &Schema, field: Option<&Field>, out: &mut JsonWriter) {
    out.key("type").string(type_name(&schema.shape));
    write_flags(schema, field, out);
    write_rules(&schema.shape, out);
    write_contents(&schema.shape, out);
    write_texts("notes", &schema.annotations.notes, out);
    if !schema.annotations.examples.is_empty() {
        out.key("examples").array(|out| {
            for value in &schema.annotations.examples {
                out.value(value);
            }
        });
    }
}

/// Writes the values and schemas that a shape is made of.
fn write_contents(shape: &Shape, out: &mut JsonWriter) {
    match shape {
        Shape::Enum(values) => {
            out.key("allow").array(|out| {
                for value in values {
                    out.value(value);
                }
            });
        }
        Shape::Array(rules) => {
            out.key("items").array(|out| write_schema(&rules.items, None, out));
        }
        Shape::Tuple(places) => {
            out.key("ordered").array(|out| {
                for schema in places {
                    write_schema(schema, None, out);
                }
            });
        }
        Shape::Object(rules) => {
            out.key("keys").object(|out| {
                for (name, field) in &rules.fields {
                    out.key(name);
                    write_schema(&field.schema, Some(field), out);
                }
            });
        }
        Shape::Map(rules) => {
            out.key("values");
            write_schema(&rules.values, None, out);
        }
        Shape::Union(rules) => {
            out.key("tag").string(&rules.tag);
            out.key("matches").array(|out| {
                for variant in rules.variants.values() {
                    write_schema(variant, None, out);
                }
            });
        }
        Shape::Ref(name) => {
            out.key("link").string(name);
        }
        Shape::Any | Shape::Boolean | Shape::String(_) | Shape::Integer(_) | Shape::Number(_) => {}
    }
}

fn type_name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any => "any",
        Shape::Boolean => "boolean",
        Shape::String(_) => "string",
        Shape::Integer(_) | Shape::Number(_) => "number",
        Shape::Enum(values) if values.iter().all(Value::is_string) => "string",
        Shape::Enum(values) if values.iter().all(Value::is_number) => "number",
        Shape::Enum(_) => "any",
        Shape::Array(_) | Shape::Tuple(_) => "array",
        Shape::Object(_) | Shape::Map(_) => "object",
        Shape::Union(_) => "alternatives",
        Shape::Ref(_) => "link",
    }
}

fn write_flags(schema: &Schema, field: Option<&Field>, out: &mut JsonWriter) {
    let only = matches!(schema.shape, Shape::Enum(_));
    let required = field.is_some_and(Field::is_required);
    let unknown =
        matches!(&schema.shape, Shape::Object(rules) if rules.unknown == UnknownFields::Allow);
    let annotations = &schema.annotations;
    let plain = annotations.description.is_none() && annotations.default.is_none();
    if plain && !only && !required && !unknown && !schema.nullable {
        return;
    }
    out.key("flags").object(|out| {
        if only {
            out.key("only").boolean(true);
        }
        if required {
            out.key("presence").string("required");
        }
        if unknown {
            out.key("unknown").boolean(true);
        }
        if schema.nullable {
            out.key("nullable").boolean(true);
        }
        if let Some(value) = &annotations.default {
            out.key("default").value(value);
        }
        if let Some(text) = &annotations.description {
            out.key("description").string(text);
        }
    });
}

fn write_rules(shape: &Shape, out: &mut JsonWriter) {
    let list = match shape {
        Shape::String(rules) => vec![
            limit_rule("min", rules.min_length),
            limit_rule("max", rules.max_length),
            rules
                .pattern
                .as_ref()
                .map(|it| ("pattern", "regex", format!("/{}/", it.as_str()).into())),
        ],
        Shape::Integer(rules) => vec![
            Some(("integer", "", Value::Null)),
            bound_rule("min", rules.min),
            bound_rule("max", rules.max),
            rules.multiple_of.map(|step| ("multiple", "base", step.into())),
        ],
        Shape::Number(rules) => vec![
            rules.min.map(|it| ("min", "limit", it.into())),
            rules.max.map(|it| ("max", "limit", it.into())),
            rules.above.map(|it| ("greater", "limit", it.into())),
            rules.below.map(|it| ("less", "limit", it.into())),
        ],
        Shape::Array(rules) => vec![
            limit_rule("min", rules.min_items),
            limit_rule("max", rules.max_items),
            rules.unique.then_some(("unique", "", Value::Null)),
        ],
        Shape::Map(rules) => {
            vec![limit_rule("min", rules.min_entries), limit_rule("max", rules.max_entries)]
        }
        _ => Vec::new(),
    };
    let list: Vec<_> = list.into_iter().flatten().collect();
    if list.is_empty() {
        return;
    }
    out.key("rules").array(|out| {
        for (name, argument, value) in &list {
            out.object(|out| {
                out.key("name").string(name);
                if !argument.is_empty() {
                    out.key("args").object(|out| {
                        out.key(argument).value(value);
                    });
                }
            });
        }
    });
}

type RuleEntry = (&'static str, &'static str, Value);

fn limit_rule(name: &'static str, value: Option<usize>) -> Option<RuleEntry> {
    value.map(|it| (name, "limit", it.into()))
}

fn bound_rule(name: &'static str, value: Option<i128>) -> Option<RuleEntry> {
    let value = value?;
    let value =
        i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from));
    value.ok().map(|it| (name, "limit", it))
}

fn write_texts(key: &str, list: &[String], out: &mut JsonWriter) {
    if !list.is_empty() {
        out.key(key).array(|out| {
            for text in list {
                out.string(text);
            }
        });
    }
}
