//! The short way of validation: whether arguments are right as they are.
//!
//! Nearly all calls are. This pass notes nothing, makes no positions and no text, and stops at the first doubt; the full
//! pass of [`super::check`] then says what is wrong or coerces it. It also finds repeated keys where it reads the keys
//! anyway, so that a valid call is walked once.

use serde_json::Value;

use super::check::SeenFields;
use super::rules::{has_repeats, is_listed};
use super::{
    ArrayRules, Definitions, Field, IntegerRules, MapRules, ObjectRules, Schema, Shape,
    StringRules, UnionRules, UnknownFields,
};
use crate::json::{ShallowValue, ValueRef};

/// Whether a value breaks no rule, needs no default, and has no key twice. False does not mean that it is wrong.
pub(super) fn is_valid_unchanged(
    schema: &Schema,
    definitions: &Definitions,
    view: ValueRef<'_>,
) -> bool {
    match (&schema.shape, view.shallow()) {
        (_, ShallowValue::Null) if schema.nullable => true,
        (Shape::String(rules), ShallowValue::Text(bytes)) => is_valid_text(rules, bytes, view),
        (Shape::Integer(rules), ShallowValue::Int(value)) => is_within(rules, value),
        (Shape::Integer(rules), ShallowValue::OtherNumber) => rules.broken_by(view)[0].is_none(),
        (Shape::Number(rules), ShallowValue::Int(_) | ShallowValue::OtherNumber) => {
            rules.broken_by(view)[0].is_none()
        }
        (Shape::Boolean, ShallowValue::Bool) => true,
        (Shape::Enum(values), ShallowValue::Text(_)) => is_listed_text(values, view),
        (Shape::Enum(values), _) => is_listed(view, values),
        (Shape::Object(rules), ShallowValue::Object) => is_valid_object(rules, definitions, view),
        (Shape::Array(rules), ShallowValue::Array) => is_valid_array(rules, definitions, view),
        (Shape::Tuple(places), ShallowValue::Array) => {
            view.len() == places.len()
                && view
                    .elements()
                    .zip(places)
                    .all(|(it, schema)| is_valid_unchanged(schema, definitions, it))
        }
        (Shape::Map(rules), ShallowValue::Object) => is_valid_map(rules, definitions, view),
        (Shape::Union(rules), ShallowValue::Object) => is_valid_union(rules, definitions, view),
        // Where `null` is allowed it can be spelled as text, which the full pass finds out.
        (Shape::Ref(_), ShallowValue::Text(_)) if schema.nullable => false,
        (Shape::Ref(name), _) => definitions
            .get(name)
            .is_some_and(|target| is_valid_unchanged(target, definitions, view)),
        (Shape::Any, ShallowValue::Object | ShallowValue::Array) => !view.has_repeated_keys(),
        (Shape::Any, _) => true,
        _ => false,
    }
}

fn is_valid_text(rules: &StringRules, bytes: usize, view: ValueRef<'_>) -> bool {
    // A character has one to four bytes, which mostly tells without counting.
    let is_certain = rules.min_length.is_none_or(|min| bytes.div_ceil(4) >= min)
        && rules.max_length.is_none_or(|max| bytes <= max);
    (is_certain && rules.pattern.is_none()) || rules.broken_by(view)[0].is_none()
}

fn is_within(rules: &IntegerRules, value: i64) -> bool {
    let wide = i128::from(value);
    rules.min.is_none_or(|min| wide >= min)
        && rules.max.is_none_or(|max| wide <= max)
        && rules
            .multiple_of
            .is_none_or(|step| step != 0 && value.unsigned_abs().is_multiple_of(step))
}

fn is_listed_text(values: &[Value], view: ValueRef<'_>) -> bool {
    values.iter().any(|value| matches!(value, Value::String(text) if view.is_text(text)))
}

fn is_valid_array(rules: &ArrayRules, definitions: &Definitions, view: ValueRef<'_>) -> bool {
    let count = view.len();
    rules.min_items.is_none_or(|min| count >= min)
        && rules.max_items.is_none_or(|max| count <= max)
        && view.elements().all(|it| is_valid_unchanged(&rules.items, definitions, it))
        && !(rules.unique && has_repeats(view))
}

fn is_valid_map(rules: &MapRules, definitions: &Definitions, view: ValueRef<'_>) -> bool {
    let count = view.len();
    rules.min_entries.is_none_or(|min| count >= min)
        && rules.max_entries.is_none_or(|max| count <= max)
        && !view.repeats_key()
        && view.member_refs().all(|(_, it)| is_valid_unchanged(&rules.values, definitions, it))
}

fn is_valid_union(rules: &UnionRules, definitions: &Definitions, view: ValueRef<'_>) -> bool {
    // A tag that occurs twice is found among the fields of the variant.
    let tag = view.member_refs().find(|(key, _)| key.is_text(&rules.tag));
    let Some((_, tag)) = tag else { return false };
    let variant = match rules.variants.len() {
        0..=FEW_VARIANTS => rules.variants.iter().find(|(name, _)| tag.is_text(name)),
        _ => tag.as_str().and_then(|name| rules.variants.get_key_value(name)),
    };
    variant.is_some_and(|(_, variant)| is_valid_unchanged(variant, definitions, view))
}

/// Up to this number of names, comparing all of them is faster than hashing one.
const FEW_VARIANTS: usize = 8;

fn is_valid_object(rules: &ObjectRules, definitions: &Definitions, view: ValueRef<'_>) -> bool {
    if view.len() != rules.fields.len() {
        return is_valid_in_any_order(rules, definitions, view);
    }
    // Models mostly send all fields in the order of the schema; then no key can be missing or occur twice.
    for ((name, field), (key, value)) in rules.fields.iter().zip(view.member_refs()) {
        if !key.is_text(name) {
            return is_valid_in_any_order(rules, definitions, view);
        }
        if !is_valid_unchanged(&field.schema, definitions, value) {
            return false;
        }
    }
    true
}

fn is_valid_in_any_order(
    rules: &ObjectRules,
    definitions: &Definitions,
    view: ValueRef<'_>,
) -> bool {
    let mut seen = SeenFields::new(rules.fields.len());
    let mut has_unknown = false;
    // The next field of the schema is tried first.
    let mut next = 0;
    for (key, value) in view.member_refs() {
        let expected = rules.fields.get_index(next).filter(|(name, _)| key.is_text(name));
        let found = match expected {
            Some((_, field)) => Some((next, field)),
            None => {
                let full = key.as_str().and_then(|key| rules.fields.get_full(key));
                full.map(|(at, _, field)| (at, field))
            }
        };
        match found {
            Some((at, field)) => {
                next = at + 1;
                if !seen.insert(at) || !is_valid_unchanged(&field.schema, definitions, value) {
                    return false;
                }
            }
            None if rules.unknown == UnknownFields::Allow => has_unknown = true,
            None => return false,
        }
    }
    if has_unknown && view.has_repeated_keys() {
        return false;
    }
    let is_absent_fine =
        |field: &Field| !field.is_required() && field.schema.annotations.default.is_none();
    seen.count() == rules.fields.len()
        || (rules.fields.values().enumerate())
            .all(|(at, field)| seen.contains(at) || is_absent_fine(field))
}
