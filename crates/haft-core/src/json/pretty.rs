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
    pretty_start(view, usize::MAX).0
}

/// The first bytes of the indented text, at most `limit` of them and whole characters, and the size of the whole text.
///
/// Indentation makes a deeply nested value many times as large as it is, so what is beyond the limit is only counted.
pub(crate) fn pretty_start(view: ValueRef<'_>, limit: usize) -> (String, usize) {
    let mut out = PrettyWriter { text: Vec::new(), size: 0, limit, scratch: Vec::new() };
    out.write(view, 0);
    let PrettyWriter { mut text, size, .. } = out;
    if let Err(cut) = str::from_utf8(&text) {
        text.truncate(cut.valid_up_to());
    }
    // Made of whole strings and ASCII, and cut between two characters, so it is text.
    (String::from_utf8(text).unwrap_or_default(), size)
}

struct PrettyWriter {
    text: Vec<u8>,
    size: usize,
    limit: usize,
    scratch: Vec<u8>,
}

impl PrettyWriter {
    /// As deep as documents are, which is bounded.
    fn write(&mut self, view: ValueRef<'_>, depth: usize) {
        match view.kind() {
            ValueKind::Array if !view.is_empty() => {
                self.push(b"[");
                for (at, element) in view.elements().enumerate() {
                    self.begin_line(at > 0, depth + 1);
                    self.write(element, depth + 1);
                }
                self.begin_line(false, depth);
                self.push(b"]");
            }
            ValueKind::Object if !view.is_empty() => {
                self.push(b"{");
                for (at, (key, value)) in view.members().enumerate() {
                    self.begin_line(at > 0, depth + 1);
                    self.push_written(|out| write_string(key, out));
                    self.push(b": ");
                    self.write(value, depth + 1);
                }
                self.begin_line(false, depth);
                self.push(b"}");
            }
            _ => self.push_written(|out| super::writer::write_compact(view, out)),
        }
    }

    fn begin_line(&mut self, after_value: bool, depth: usize) {
        self.push(if after_value { b",\n" } else { b"\n" });
        let room = self.limit.saturating_sub(self.text.len());
        self.text.extend(std::iter::repeat_n(b' ', (2 * depth).min(room)));
        self.size += 2 * depth;
    }

    fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        write(&mut scratch);
        self.push(&scratch);
        self.scratch = scratch;
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.text.len());
        self.text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.size += bytes.len();
    }
}
