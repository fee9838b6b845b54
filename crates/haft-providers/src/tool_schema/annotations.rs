//! Texts of a schema that only the model reads.

use std::borrow::Cow;

use haft_core::trust::sanitized_definition;
use serde_json::Value;

use super::visit_subschemas;

/// Keywords whose texts only the model reads. All others have a meaning for the validator and stay as they are.
const ANNOTATIONS: [&str; 3] = ["description", "title", "$comment"];

/// Makes reserved tags in the annotations of a schema and of all schemas below it inert.
pub(super) fn sanitize_annotations(schema: &mut Value) {
    for keyword in ANNOTATIONS {
        if let Some(Value::String(text)) = schema.get_mut(keyword)
            && let Cow::Owned(clean) = sanitized_definition(text)
        {
            *text = clean;
        }
    }
    visit_subschemas(schema, "", |schema, _| sanitize_annotations(schema));
}
