//! Reading a document: a copyable cursor on one of its values.

use std::fmt;

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde_json::Value;

use super::{Document, Node};

use crate::invariant::OrReport as _;

/// A JSON value inside a [`Document`].
///
/// ```
/// use haft_core::json::{Document, ValueKind};
///
/// let document = Document::parse(r#"{"city": "Paris", "days": [1, 2.5]}"#)?;
/// let root = document.root();
/// assert_eq!(root.kind(), ValueKind::Object);
/// assert_eq!(root.get("city").and_then(|city| city.as_str()), Some("Paris"));
/// let second = root.get("days").and_then(|days| days.item(1));
/// assert_eq!(second.and_then(|day| day.as_f64()), Some(2.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct ValueRef<'a> {
    doc: &'a Document,
    at: u32,
}

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has these six kinds and will not get more")]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// Any number
    Number,
    /// A string
    String,
    /// A list
    Array,
    /// An object
    Object,
}

impl ValueKind {
    /// The name that JSON Schema uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// A number as validation sees it: exact within 64 bits, a double otherwise.
///
/// The call id keeps more (integers of any length keep their digits); see [`super::canonical_text`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the three numeric models of serde_json")]
pub enum Number {
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above `i64::MAX` that fits `u64`.
    Uint(u64),
    /// Any other number; finite.
    Float(f64),
}

impl<'a> ValueRef<'a> {
    pub(super) fn at(doc: &'a Document, at: usize) -> Self {
        Self {
            doc,
            at: u32::try_from(at).or_report("a document has fewer than 2^32 values", u32::MAX),
        }
    }

    /// The value of a node.
    pub(super) const fn of_node(doc: &'a Document, at: u32) -> Self {
        Self { doc, at }
    }

    /// The value of the node behind this one.
    pub(super) const fn next_node(self) -> Self {
        Self { doc: self.doc, at: self.at + 1 }
    }

    pub(super) fn node(self) -> Node {
        self.doc.nodes.get(self.at as usize).copied().unwrap_or(Node::Null)
    }

    pub(super) fn doc(self) -> &'a Document {
        self.doc
    }

    /// Position in the document's list of values; unique within one document.
    #[must_use]
    pub fn index(self) -> usize {
        self.at as usize
    }

    /// The bytes of the document's text from the start of this string on, and the string's length.
    pub(super) fn str_window(self) -> (&'a [u8], usize) {
        match self.node() {
            Node::Str { start, len } => (
                self.doc.buf.as_bytes().get(start as usize..).or_report_default(super::IN_BUFFER),
                len as usize,
            ),
            _ => (&[], 0),
        }
    }

    /// The keys of an object in document order, as views.
    pub(super) fn member_keys(self) -> impl ExactSizeIterator<Item = Self> {
        let mut key = Self { doc: self.doc, at: self.at + 1 };
        (0..self.members().len()).map(move |_| {
            let next = Self { doc: self.doc, at: key.at + 1 }.end();
            std::mem::replace(&mut key, Self { doc: self.doc, at: next })
        })
    }

    /// Index of the node behind this value.
    pub(super) fn end(self) -> u32 {
        match self.node() {
            Node::Array { end, .. } | Node::Object { end, .. } => end,
            _ => self.at + 1,
        }
    }

    /// Which kind of value this is.
    #[must_use]
    pub fn kind(self) -> ValueKind {
        match self.node() {
            Node::Null => ValueKind::Null,
            Node::Bool(_) => ValueKind::Boolean,
            Node::Int(_) | Node::Uint(_) | Node::Float(_) | Node::Big { .. } => ValueKind::Number,
            Node::Str { .. } => ValueKind::String,
            Node::Array { .. } => ValueKind::Array,
            Node::Object { .. } => ValueKind::Object,
        }
    }

    /// True for `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.node(), Node::Null)
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if let Node::Bool(value) = self.node() { Some(value) } else { None }
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        if let Node::Str { start, len } = self.node() {
            Some(self.doc.str_at(start, len))
        } else {
            None
        }
    }

    /// The source text from the opening quote of this string on, and how many bytes the string has there with its quotes.
    /// Nothing if the source text is not strict, or if something in the string is escaped.
    #[inline]
    pub(super) fn verbatim_window(self) -> Option<(&'a [u8], usize)> {
        let Node::Str { start, len } = self.node() else { return None };
        let start = start as usize;
        let len = len as usize;
        if start + len >= self.doc.verbatim {
            return None;
        }
        let window = self.doc.buf.as_bytes().get(start.checked_sub(1)?..)?;
        Some((window, len + 2))
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(self) -> Option<Number> {
        match self.node() {
            Node::Int(value) => Some(Number::Int(value)),
            Node::Uint(value) => Some(Number::Uint(value)),
            Node::Float(value) => Some(Number::Float(value)),
            Node::Big { start, len } => self.doc.str_at(start, len).parse().ok().map(Number::Float),
            _ => None,
        }
    }

    /// The number as `i64`, if it is an integer in range.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        if let Node::Int(value) = self.node() { Some(value) } else { None }
    }

    /// The number as `u64`, if it is an integer in range.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self.node() {
            Node::Int(value) => u64::try_from(value).ok(),
            Node::Uint(value) => Some(value),
            _ => None,
        }
    }

    /// The number as a double, rounded if need be.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        self.as_number().map(Number::to_f64)
    }

    /// Decimal digits of an integer that neither 64 bits nor a double spelling can hold.
    pub(super) fn as_big(self) -> Option<&'a str> {
        if let Node::Big { start, len } = self.node() {
            Some(self.doc.str_at(start, len))
        } else {
            None
        }
    }

    /// How many elements or members a list or an object has; zero for everything else.
    #[must_use]
    pub fn len(self) -> usize {
        match self.node() {
            Node::Array { len, .. } | Node::Object { len, .. } => len as usize,
            _ => 0,
        }
    }

    /// True when [`ValueRef::len`] is zero.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The elements of a list in order; nothing for any other kind.
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse("[1, 2, 3]")?;
    /// let sum: i64 = document.root().elements().filter_map(|it| it.as_i64()).sum();
    /// assert_eq!(sum, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        let left = if let Node::Array { len, .. } = self.node() { len } else { 0 };
        Elements { next: Self { doc: self.doc, at: self.at + 1 }, left }
    }

    /// The members of an object in document order, duplicates included; nothing for any other kind.
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"{"b": 1, "a": 2}"#)?;
    /// let keys: Vec<String> = document.root().members().map(|(key, _)| key.to_string()).collect();
    /// assert_eq!(keys, ["b", "a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn members(self) -> Members<'a> {
        let left = if let Node::Object { len, .. } = self.node() { len } else { 0 };
        Members { next: Self { doc: self.doc, at: self.at + 1 }, left }
    }

    /// The value of an object's member. Of duplicate keys the last one counts, as in ECMAScript.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.members().filter(|(name, _)| *name == key).last().map(|(_, value)| value)
    }

    /// The members that count, ordered by key.
    fn last_members(self) -> std::collections::BTreeMap<&'a str, Self> {
        self.members().collect()
    }

    /// An element of a list.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        self.elements().nth(index)
    }

    /// A copy as a `serde_json` value. Integers beyond 64 bits become doubles there.
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"{"a": [true, null]}"#)?;
    /// assert_eq!(document.root().to_value(), serde_json::json!({"a": [true, null]}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.node() {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(value),
            Node::Int(value) => Value::from(value),
            Node::Uint(value) => Value::from(value),
            Node::Float(value) => Value::from(value),
            Node::Big { .. } => Value::from(self.as_f64().unwrap_or_default()),
            Node::Str { start, len } => Value::from(self.doc.str_at(start, len)),
            Node::Array { .. } => self.elements().map(Self::to_value).collect(),
            Node::Object { .. } => Value::Object(
                self.members().map(|(key, value)| (key.to_owned(), value.to_value())).collect(),
            ),
        }
    }
}

impl ValueRef<'_> {
    /// A document of its own with this value as its root.
    #[must_use]
    pub fn to_document(self) -> Document {
        let mut out = super::JsonWriter::new();
        out.view(self);
        out.finish()
    }
}

impl Number {
    /// The nearest double.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest double is the contract"
    )]
    pub const fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Uint(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// True when it has no fraction, however it was spelled.
    #[must_use]
    pub fn is_integer(self) -> bool {
        match self {
            Self::Int(_) | Self::Uint(_) => true,
            Self::Float(value) => value.fract() == 0.0,
        }
    }
}

/// Equality of JSON values: equal if and only if the canonical texts are. Key order and number
/// spelling do not matter, the last of duplicate keys counts.
impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.node(), other.node()) {
            (Node::Big { .. }, Node::Big { .. }) => self.as_big() == other.as_big(),
            (Node::Str { .. }, Node::Str { .. }) => self.as_str() == other.as_str(),
            (Node::Array { len: a, .. }, Node::Array { len: b, .. }) => {
                a == b && self.elements().eq(other.elements())
            }
            (Node::Object { .. }, Node::Object { .. }) => {
                self.last_members() == other.last_members()
            }
            // Every number has one node, so numbers compare as nodes.
            (Node::Array { .. } | Node::Object { .. }, _) => false,
            (a, b) => a == b,
        }
    }
}

/// Compact JSON text in document order.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        super::writer::write_compact(*self, &mut out);
        // Made of whole strings and ASCII, so it is text.
        f.write_str(str::from_utf8(&out).unwrap_or_default())
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for ValueRef<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.node() {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(value),
            Node::Int(value) => serializer.serialize_i64(value),
            Node::Uint(value) => serializer.serialize_u64(value),
            Node::Float(_) | Node::Big { .. } => {
                serializer.serialize_f64(self.as_f64().unwrap_or_default())
            }
            Node::Str { start, len } => serializer.serialize_str(self.doc.str_at(start, len)),
            Node::Array { len, .. } => {
                let mut seq = serializer.serialize_seq(Some(len as usize))?;
                for element in self.elements() {
                    seq.serialize_element(&element)?;
                }
                seq.end()
            }
            Node::Object { len, .. } => {
                let mut map = serializer.serialize_map(Some(len as usize))?;
                for (key, value) in self.members() {
                    map.serialize_entry(key, &value)?;
                }
                map.end()
            }
        }
    }
}

/// The elements of a list; see [`ValueRef::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    next: ValueRef<'a>,
    left: u32,
}

impl<'a> Iterator for Elements<'a> {
    type Item = ValueRef<'a>;

    fn next(&mut self) -> Option<ValueRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        self.next.at = value.end();
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// The members of an object; see [`ValueRef::members`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    next: ValueRef<'a>,
    left: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, ValueRef<'a>);

    fn next(&mut self) -> Option<(&'a str, ValueRef<'a>)> {
        self.left = self.left.checked_sub(1)?;
        let key = self.next;
        let value = ValueRef { doc: key.doc, at: key.at + 1 };
        self.next.at = value.end();
        Some((key.as_str().unwrap_or_default(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Members<'_> {}
