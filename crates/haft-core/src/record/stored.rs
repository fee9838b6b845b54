//! The text of stored forms.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{LoadError, NotStorable};
use crate::store::RowKind;

/// How deeply a stored form may nest. The parser reads 127 levels.
const MAX_DEPTH: usize = 120;

/// The text of a stored form.
pub(crate) fn write_stored(kind: RowKind, form: &impl Serialize) -> Result<String, NotStorable> {
    let refused = |why| NotStorable::Extent { what: kind.as_str(), why };
    let json = serde_json::to_string(form).map_err(|_| refused("a part of it is not JSON"))?;
    if nesting_depth(&json) > MAX_DEPTH {
        return Err(refused("a part of it is nested too deeply"));
    }
    Ok(json)
}

/// Parses a stored form, which must be an object: a list of the fields in order, which serde would also accept, is
/// refused.
pub(crate) fn read_stored<T: DeserializeOwned>(kind: RowKind, json: &str) -> Result<T, LoadError> {
    if !json.trim_start().starts_with('{') {
        return Err(LoadError::damaged(kind, "it is not an object"));
    }
    serde_json::from_str(json).map_err(|error| LoadError::damaged(kind, error.to_string()))
}

/// Whether a value is nested at most so deeply.
pub(crate) fn nests_within(value: &Value, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else {
        return !value.is_array() && !value.is_object();
    };
    match value {
        Value::Array(all) => all.iter().all(|it| nests_within(it, levels)),
        Value::Object(all) => all.values().all(|it| nests_within(it, levels)),
        _ => true,
    }
}

/// How deeply a JSON text nests.
pub(crate) fn nesting_depth(json: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
