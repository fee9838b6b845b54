//! Bounds that say only how wide the integers of a program are.

use serde_json::Value;

use super::visit_subschemas;

/// The smallest and the largest integers of 64 bits, as they are written. To a model they are tokens that say nothing.
const EDGES: [&str; 3] = ["-9223372036854775808", "9223372036854775807", "18446744073709551615"];

/// Whether a schema may have such a bound.
pub(super) fn may_have_machine_bounds(text: &str) -> bool {
    EDGES.iter().any(|edge| text.contains(edge))
}

/// Removes such bounds from a schema and from all schemas below it. The validator keeps them.
pub(super) fn remove_machine_bounds(schema: &mut Value) {
    if let Some(members) = schema.as_object_mut() {
        for keyword in ["minimum", "maximum"] {
            let bound = members.get(keyword).filter(|it| it.is_number()).map(ToString::to_string);
            if bound.is_some_and(|bound| EDGES.contains(&bound.as_str())) {
                members.remove(keyword);
            }
        }
    }
    visit_subschemas(schema, "", |schema, _| remove_machine_bounds(schema));
}
