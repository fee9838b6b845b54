//! JSON for people and models: indented by two spaces.

use super::{ValueKind, ValueRef, write_string};

/// The value in document order, indented by two spaces. Numbers keep their digits.
///
/// ```
/// use haft_core::json::{Document, pretty_text};
///
/// let document = Document::parse(r#"{"a":[1],"b":{}}"#)?;
/// assert_eq!(pretty_text(document.root()), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn pretty_text(view: ValueRef<'_>) -> String {
    let mut out = Vec::new();
    write_pretty(view, 0, &mut out);
    // Made of whole strings and ASCII, so it is text.
    String::from_utf8(out).unwrap_or_default()
}

/// As deep as documents are, which is bounded.
fn write_pretty(view: ValueRef<'_>, depth: usize, out: &mut Vec<u8>) {
    match view.kind() {
        ValueKind::Array if !view.is_empty() => {
            out.push(b'[');
            for (at, element) in view.elements().enumerate() {
                new_line(at > 0, depth + 1, out);
                write_pretty(element, depth + 1, out);
            }
            new_line(false, depth, out);
            out.push(b']');
        }
        ValueKind::Object if !view.is_empty() => {
            out.push(b'{');
            for (at, (key, value)) in view.members().enumerate() {
                new_line(at > 0, depth + 1, out);
                write_string(key, out);
                out.extend_from_slice(b": ");
                write_pretty(value, depth + 1, out);
            }
            new_line(false, depth, out);
            out.push(b'}');
        }
        _ => super::writer::write_compact(view, out),
    }
}

fn new_line(after_value: bool, depth: usize, out: &mut Vec<u8>) {
    if after_value {
        out.push(b',');
    }
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}
