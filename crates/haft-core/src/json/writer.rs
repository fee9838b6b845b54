//! Building a document value by value, and writing one as text.

use serde_json::Value;

use super::number::{copy_big, float_node};
use super::scan::plain_len;
use super::{Document, Node, ValueRef};

use crate::invariant::OrReport as _;

/// Builds a [`Document`] in document order.
///
/// ```
/// use haft_core::json::JsonWriter;
///
/// let mut out = JsonWriter::new();
/// out.object(|out| {
///     out.key("city").string("Paris");
///     out.key("days").array(|out| {
///         out.integer(1).integer(2);
///     });
/// });
/// assert_eq!(out.finish().root().to_string(), r#"{"city":"Paris","days":[1,2]}"#);
/// ```
#[derive(Debug, Default)]
pub struct JsonWriter {
    doc: Document,
    /// How many values stand at the level that is being written.
    level: u32,
}

/// A typed value that JSON cannot hold, such as NaN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JSON has no way to write {what}")]
#[non_exhaustive]
pub struct UnrepresentableValue {
    /// What it was, in words.
    pub what: &'static str,
}

impl JsonWriter {
    /// An empty writer. The first value written becomes the root.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The finished document; `null` if nothing was written.
    #[must_use]
    pub fn finish(mut self) -> Document {
        if self.doc.nodes.is_empty() {
            self.doc.nodes.push(Node::Null);
        }
        self.doc
    }

    /// Writes `null`.
    pub fn null(&mut self) -> &mut Self {
        self.push(Node::Null)
    }

    /// Writes a boolean.
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.push(Node::Bool(value))
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: i64) -> &mut Self {
        self.push(Node::Int(value))
    }

    /// Writes an unsigned integer.
    pub fn unsigned(&mut self, value: u64) -> &mut Self {
        self.push(i64::try_from(value).map_or(Node::Uint(value), Node::Int))
    }

    /// Writes a double.
    ///
    /// # Errors
    ///
    /// NaN and the infinities are not JSON.
    pub fn float(&mut self, value: f64) -> Result<&mut Self, UnrepresentableValue> {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "an infinite number" };
            return Err(UnrepresentableValue { what });
        }
        Ok(self.push(float_node(value)))
    }

    /// Writes a string.
    pub fn string(&mut self, value: &str) -> &mut Self {
        let node = self.intern(value);
        self.push(node)
    }

    /// Writes the key of the next member. Only inside [`JsonWriter::object`].
    pub fn key(&mut self, key: &str) -> &mut Self {
        // Not counted: `object` counts values.
        let node = self.intern(key);
        self.doc.nodes.push(node);
        self
    }

    /// Writes a list whose elements `body` writes.
    pub fn array(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        let _ = self.try_array(|out| {
            body(out);
            Ok::<(), std::convert::Infallible>(())
        });
        self
    }

    /// Writes an object whose members `body` writes, each a key and then a value.
    pub fn object(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        let _ = self.try_object(|out| {
            body(out);
            Ok::<(), std::convert::Infallible>(())
        });
        self
    }

    /// [`JsonWriter::array`] with a body that can fail.
    ///
    /// # Errors
    ///
    /// What `body` returns; the writer is then of no further use.
    pub fn try_array<E>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<&mut Self, E> {
        self.nested(|len, end| Node::Array { len, end }, body)
    }

    /// [`JsonWriter::object`] with a body that can fail.
    ///
    /// # Errors
    ///
    /// What `body` returns; the writer is then of no further use.
    pub fn try_object<E>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<&mut Self, E> {
        self.nested(|len, end| Node::Object { len, end }, body)
    }

    /// Copies a value of another document.
    pub fn view(&mut self, view: ValueRef<'_>) -> &mut Self {
        match view.node() {
            Node::Str { .. } => self.string(view.as_str().unwrap_or_default()),
            Node::Big { .. } => {
                let node = copy_big(view.as_big().unwrap_or_default(), &mut self.doc.buf);
                self.push(node)
            }
            Node::Array { .. } => self.array(|out| {
                for element in view.elements() {
                    out.view(element);
                }
            }),
            Node::Object { .. } => self.object(|out| {
                for (key, value) in view.members() {
                    out.key(key).view(value);
                }
            }),
            scalar => self.push(scalar),
        }
    }

    /// Copies a `serde_json` value. Recurses as deep as the value is nested; see
    /// [`Document::from_value`] for one from an unknown hand.
    pub fn value(&mut self, value: &Value) -> &mut Self {
        // Without a bound there is no error.
        let _ = self.value_within(value, usize::MAX);
        self
    }

    /// [`JsonWriter::value`] of a value that is nested at most `levels` deep.
    pub(super) fn value_within(&mut self, value: &Value, levels: usize) -> Result<(), TooDeep> {
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.boolean(*value),
            Value::Number(number) => {
                if let Some(value) = number.as_i64() {
                    self.integer(value)
                } else if let Some(value) = number.as_u64() {
                    self.unsigned(value)
                } else {
                    // A `serde_json` number is finite.
                    self.push(float_node(number.as_f64().unwrap_or_default()))
                }
            }
            Value::String(value) => self.string(value),
            Value::Array(elements) => {
                let levels = levels.checked_sub(1).ok_or(TooDeep)?;
                self.try_array(|out| {
                    elements.iter().try_for_each(|it| out.value_within(it, levels))
                })?
            }
            Value::Object(members) => {
                let levels = levels.checked_sub(1).ok_or(TooDeep)?;
                self.try_object(|out| {
                    members.iter().try_for_each(|(key, it)| out.key(key).value_within(it, levels))
                })?
            }
        };
        Ok(())
    }

    fn push(&mut self, node: Node) -> &mut Self {
        self.doc.nodes.push(node);
        self.level += 1;
        self
    }

    fn nested<E>(
        &mut self,
        close: impl FnOnce(u32, u32) -> Node,
        body: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<&mut Self, E> {
        let at = self.doc.nodes.len();
        self.push(Node::Null);
        let outer = std::mem::replace(&mut self.level, 0);
        let result = body(self);
        let len = std::mem::replace(&mut self.level, outer);
        let end = offset(self.doc.nodes.len());
        if let Some(node) = self.doc.nodes.get_mut(at) {
            *node = close(len, end);
        }
        result.map(|()| self)
    }

    fn intern(&mut self, text: &str) -> Node {
        let (start, len) = store(text, &mut self.doc.buf);
        Node::Str { start, len }
    }
}

/// A value is nested deeper than allowed.
#[derive(Debug)]
pub(super) struct TooDeep;

/// Appends text to a document's buffer and gives its place there.
pub(super) fn store(text: &str, buf: &mut String) -> (u32, u32) {
    let start = offset(buf.len());
    buf.push_str(text);
    (start, offset(text.len()))
}

/// Offsets are 32 bits wide; [`super::MAX_TEXT`] keeps parsed documents far below that. A built
/// document that outgrows it saturates and reads back as empty strings, never out of bounds.
pub(super) fn offset(value: usize) -> u32 {
    u32::try_from(value).or_report("a document has fewer than 2^32 bytes", u32::MAX)
}

/// Appends compact JSON in document order.
pub(super) fn write_compact(view: ValueRef<'_>, out: &mut Vec<u8>) {
    match view.node() {
        Node::Array { .. } => {
            out.push(b'[');
            for (at, element) in view.elements().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_compact(element, out);
            }
            out.push(b']');
        }
        Node::Object { .. } => {
            out.push(b'{');
            for (at, (key, value)) in view.members().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write_compact(value, out);
            }
            out.push(b'}');
        }
        _ => write_scalar(view, out),
    }
}

/// Appends anything but a list or an object.
#[inline]
pub(super) fn write_scalar(view: ValueRef<'_>, out: &mut Vec<u8>) {
    match view.node() {
        Node::Null | Node::Array { .. } | Node::Object { .. } => out.extend_from_slice(b"null"),
        Node::Bool(value) => out.extend_from_slice(if value { &b"true"[..] } else { b"false" }),
        Node::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Node::Uint(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Node::Float(value) => {
            out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes())
        }
        Node::Big { .. } => out.extend_from_slice(view.as_big().unwrap_or_default().as_bytes()),
        Node::Str { .. } => write_str_node(view, out),
    }
}

/// Appends the JSON text of a string node: copied from strict source text, quotes and all, or written.
#[inline]
pub(super) fn write_str_node(view: ValueRef<'_>, out: &mut Vec<u8>) {
    match view.verbatim_window() {
        Some((window, len)) => write_start(window, len, out),
        None => write_string(view.as_str().unwrap_or_default(), out),
    }
}

/// Appends the JSON text of a key and its colon.
#[inline]
pub(super) fn write_key_node(key: ValueRef<'_>, out: &mut Vec<u8>) {
    match key.verbatim_window() {
        // Compact source text has the colon in the same place.
        Some((window, len)) if window.get(len) == Some(&b':') => write_start(window, len + 1, out),
        _ => {
            write_str_node(key, out);
            out.push(b':');
        }
    }
}

/// Appends the first `len` bytes of a window. If they are few, a block of fixed size is copied and cut, which needs no
/// call.
#[inline]
fn write_start(window: &[u8], len: usize, out: &mut Vec<u8>) {
    match window.first_chunk::<32>() {
        Some(block) if len <= block.len() => {
            let end = out.len() + len;
            out.extend_from_slice(block);
            out.truncate(end);
        }
        _ => out.extend_from_slice(window.get(..len).or_report_default(super::IN_BUFFER)),
    }
}

/// Appends a JSON string the way ECMAScript's `JSON.stringify` writes it.
#[inline]
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = plain_len(rest.as_bytes(), b'"');
        // What stops plain text is ASCII, so both sides are whole characters.
        let Some((head, tail)) = rest.split_at_checked(plain) else { break };
        out.extend_from_slice(head.as_bytes());
        let Some(special) = tail.bytes().next() else { break };
        write_escape(special, out);
        rest = tail.get(1..).or_report_default("only ASCII ends plain text");
    }
    out.push(b'"');
}

#[cold]
fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'\\');
    match byte {
        b'"' | b'\\' => out.push(byte),
        0x08 => out.push(b'b'),
        0x0c => out.push(b'f'),
        b'\n' => out.push(b'n'),
        b'\r' => out.push(b'r'),
        b'\t' => out.push(b't'),
        _ => {
            out.extend_from_slice(if byte < 0x10 { b"u000" } else { b"u001" });
            out.extend(HEX.get(usize::from(byte & 0xF)));
        }
    }
}
