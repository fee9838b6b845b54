//! How deeply JSON nests.

use serde_json::Value;

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
