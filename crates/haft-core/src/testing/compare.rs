//! Whether a value survived decoding and encoding, as far as its schema promises.

use crate::json::ValueRef;
use crate::schema::{Definitions, Schema, Shape, UnknownFields};

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
            let mut left: Vec<_> = encoded.elements().collect();
            let mut matched = accepted.elements().filter(|element| {
                let found = left.iter().position(|it| {
                    is_same_after_round_trip(&rules.items, definitions, *element, *it)
                });
                found.map(|at| left.swap_remove(at)).is_some()
            });
            accepted.len() == encoded.len() && matched.by_ref().count() == accepted.len()
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
        Shape::Object(rules) => {
            let named = rules.fields.iter().all(|(name, field)| {
                match (accepted.get(name), encoded.get(name)) {
                    (Some(accepted), Some(encoded)) => {
                        is_same_after_round_trip(&field.schema, definitions, accepted, encoded)
                    }
                    (None, None) => true,
                    _ => false,
                }
            });
            let invented = |(key, _): (&str, ValueRef<'_>)| accepted.get(key).is_none();
            let allowed = rules.unknown == UnknownFields::Allow || accepted.len() == encoded.len();
            named && allowed && !encoded.members().any(invented)
        }
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

/// Equal once both are rounded to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding to a single is what is compared")]
fn same_single(a: f64, b: f64) -> bool {
    (a as f32).to_bits() == (b as f32).to_bits() || a as f32 == b as f32
}
