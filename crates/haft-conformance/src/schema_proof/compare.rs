//! Whether a value survived decoding and encoding, as far as its schema promises.

use haft_core::json::ValueRef;
use haft_core::schema::{Definitions, ObjectRules, Schema, Shape, UnknownFields};

/// Whether `encoded` is `accepted` again. Numbers may have been singles, lists without repeats may
/// have been sets, and a type need not keep keys that its schema does not name.
pub(super) fn is_same_after_round_trip(
    schema: &Schema,
    definitions: &Definitions,
    accepted: ValueRef<'_>,
    encoded: ValueRef<'_>,
) -> bool {
    if accepted == encoded {
        return true;
    }
    let schema = schema.resolve(definitions);
    match &schema.shape {
        Shape::Number(_) => match (accepted.as_f64(), encoded.as_f64()) {
            (Some(accepted), Some(encoded)) => same_single(accepted, encoded),
            _ => false,
        },
        Shape::Array(rules) if rules.unique => {
            is_same_set(&rules.items, definitions, accepted, encoded)
        }
        Shape::Array(rules) => {
            accepted.len() == encoded.len()
                && accepted.elements().zip(encoded.elements()).all(|(accepted, encoded)| {
                    is_same_after_round_trip(&rules.items, definitions, accepted, encoded)
                })
        }
        Shape::Tuple(places) => {
            accepted.len() == encoded.len()
                && accepted.elements().zip(encoded.elements()).zip(places).all(
                    |((accepted, encoded), schema)| {
                        is_same_after_round_trip(schema, definitions, accepted, encoded)
                    },
                )
        }
        Shape::Map(rules) => {
            accepted.len() == encoded.len()
                && accepted.members().all(|(key, value)| {
                    encoded.get(key).is_some_and(|encoded| {
                        is_same_after_round_trip(&rules.values, definitions, value, encoded)
                    })
                })
        }
        Shape::Object(rules) => is_same_object(rules, definitions, accepted, encoded),
        Shape::Union(rules) => {
            let tag = accepted.get(&rules.tag).and_then(ValueRef::as_str).unwrap_or_default();
            let variant = rules.variants.get(tag);
            variant.is_some_and(|variant| {
                is_same_after_round_trip(variant, definitions, accepted, encoded)
            })
        }
        _ => false,
    }
}

/// Whether two lists have the same elements in any order.
fn is_same_set(
    items: &Schema,
    definitions: &Definitions,
    accepted: ValueRef<'_>,
    encoded: ValueRef<'_>,
) -> bool {
    let mut left: Vec<_> = encoded.elements().collect();
    let mut matched = accepted.elements().filter(|element| {
        let is_same =
            |it: &ValueRef<'_>| is_same_after_round_trip(items, definitions, *element, *it);
        left.iter().position(is_same).map(|at| left.swap_remove(at)).is_some()
    });
    accepted.len() == encoded.len() && matched.by_ref().count() == accepted.len()
}

/// Whether two objects have the same fields, and no key was added.
fn is_same_object(
    rules: &ObjectRules,
    definitions: &Definitions,
    accepted: ValueRef<'_>,
    encoded: ValueRef<'_>,
) -> bool {
    let is_named_same =
        rules.fields.iter().all(|(name, field)| match (accepted.get(name), encoded.get(name)) {
            (Some(accepted), Some(encoded)) => {
                is_same_after_round_trip(&field.schema, definitions, accepted, encoded)
            }
            (None, None) => true,
            _ => false,
        });
    let is_added = |(key, _): (&str, ValueRef<'_>)| accepted.get(key).is_none();
    let may_lose = rules.unknown == UnknownFields::Allow || accepted.len() == encoded.len();
    is_named_same && may_lose && !encoded.members().any(is_added)
}

/// Equal once both are rounded to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding to a single is what is compared")]
fn same_single(a: f64, b: f64) -> bool {
    (a as f32).to_bits() == (b as f32).to_bits() || a as f32 == b as f32
}
