//! The JSON type of arguments: exact, bounded, and cheap to walk.
//!
//! A [`Document`] is one buffer of text and one flat list of nodes. Nothing is allocated per value, integers keep every
//! digit, and the nesting is bounded, so that a hostile argument text cannot exhaust the stack. Code reads a document
//! through a [`ValueRef`], a copyable cursor.
//!
//! `serde_json::Value` remains the JSON type of the public API. Documents exist because three properties must hold at
//! once on the call path: integers beyond 2^53 keep their digits (they are part of the call id), repairs are guided and
//! recorded, and no tree of boxed values is built for a call that is valid.

use crate::invariant::OrReport as _;

mod canonical;
mod de;
mod error;
mod number;
mod parse;
mod pretty;
mod repair;
mod scan;
mod view;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use canonical::{SortScratch, canonicalize};
pub use canonical::{canonical_text, write_canonical};
pub use error::{ParseError, ParseErrorKind};
pub(crate) use pretty::pretty_start;
pub use pretty::pretty_text;
pub use repair::Repair;
pub use view::{Elements, Members, Number, ValueKind, ValueRef};
pub(crate) use writer::write_string;
pub use writer::{JsonWriter, UnrepresentableValue};

/// Deepest nesting that a parsed document may have: this many lists and objects inside each other.
pub const MAX_DEPTH: usize = 128;

/// Longest argument text that is parsed, in bytes. Larger input belongs into an artifact.
pub const MAX_TEXT: usize = 16 * 1024 * 1024;

/// Why the text of a node exists.
const IN_BUFFER: &str = "the text of a node lies in the buffer of its document";

/// The bounds for text that this program wrote. A document that was built or coerced can be larger than one that is
/// read from another source, and must be readable again.
pub(crate) const OWN_DEPTH: usize = 4 * MAX_DEPTH;
pub(crate) const OWN_TEXT: usize = 1 << 30;

/// One parsed JSON text, owned.
///
/// ```
/// use haft_core::json::Document;
///
/// let doc = Document::parse(r#"{"city": "Paris", "n": 9007199254740993}"#)?;
/// assert_eq!(doc.root().get("city").and_then(|it| it.as_str()), Some("Paris"));
/// assert_eq!(doc.root().get("n").and_then(|it| it.as_i64()), Some(9_007_199_254_740_993));
/// # Ok::<(), haft_core::json::ParseError>(())
/// ```
#[derive(Clone, Default)]
pub struct Document {
    /// Source text (the first `source` bytes), followed by the strings that had to be unescaped.
    /// A document made by a [`JsonWriter`] has no source text, only strings.
    buf: String,
    source: usize,
    /// Strings that end below this offset stand in the text exactly as canonical JSON writes them,
    /// quotes included. The whole source text if it is strict JSON, else nothing.
    verbatim: usize,
    /// Whether the source text is canonical, if only its keys are in order.
    is_compact: bool,
    /// Values in document order. Every member of an object is a key node and then its value.
    nodes: Vec<Node>,
}

/// One entry of the flat list. Ranges are byte offsets into the document's buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Null,
    Bool(bool),
    /// An integer that fits, however it was spelled (`1`, `1.0`, `1e2`).
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// Everything else that a double can hold: fractions, and large integers whose shortest
    /// double spelling denotes exactly the number that was written. Always finite.
    Float(f64),
    /// An integer outside 64 bits that no double spelling denotes exactly: its decimal digits
    /// with a leading `-` if negative, no leading zeros.
    Big {
        start: u32,
        len: u32,
    },
    Str {
        start: u32,
        len: u32,
    },
    /// `len` elements; `end` is the index of the node after the last one.
    Array {
        len: u32,
        end: u32,
    },
    /// `len` members; `end` is the index of the node after the last one.
    Object {
        len: u32,
        end: u32,
    },
}

impl Document {
    /// Parses strict JSON (RFC 8259). Duplicate keys remain; see [`Document::duplicate_key`].
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"{"a": [1, 2]}"#)?;
    /// assert_eq!(document.root().get("a").map(|list| list.len()), Some(2));
    /// assert!(Document::parse("{'a': 1}").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Malformed text, nesting beyond [`MAX_DEPTH`], text beyond [`MAX_TEXT`], or a number beyond
    /// the range of a double; each with its byte offset.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::strict(text)
    }

    /// [`Document::parse`] of a text that is already owned, without a copy.
    ///
    /// # Errors
    ///
    /// As [`Document::parse`].
    pub fn parse_owned(text: String) -> Result<Self, ParseError> {
        parse::strict_owned(text)
    }

    /// [`Document::parse`] of compact text that a document gave, within [`OWN_DEPTH`] and [`OWN_TEXT`].
    pub(crate) fn parse_own(text: &str) -> Result<Self, ParseError> {
        parse::strict_own(text)
    }

    /// Parses text that a model wrote, repairing what has only one reading: a surrounding code fence,
    /// trailing commas, single-quoted strings, raw control characters in strings, and the Python
    /// words `True`, `False` and `None`. Strict JSON is parsed as it is and reports no repair.
    /// Every kind of repair is listed once, in the order of [`Repair`]. A leading byte order mark is
    /// skipped and is no repair.
    ///
    /// ```
    /// use haft_core::json::{Document, Repair};
    ///
    /// let (doc, repairs) = Document::parse_lenient("```json\n{'ok': True,}\n```")?;
    /// assert_eq!(doc.root().to_string(), r#"{"ok":true}"#);
    /// assert_eq!(
    ///     repairs,
    ///     [Repair::CodeFence, Repair::TrailingComma, Repair::SingleQuotes, Repair::PythonWord],
    /// );
    /// # Ok::<(), haft_core::json::ParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Document::parse`]. A text that stops early is never completed by a guess.
    pub fn parse_lenient(text: &str) -> Result<(Self, Vec<Repair>), ParseError> {
        repair::lenient(text)
    }

    /// A copy of a `serde_json` value.
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::from_value(&serde_json::json!({"days": 3}))?;
    /// assert_eq!(document.root().get("days").and_then(|days| days.as_i64()), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ParseErrorKind::TooDeep`] when it is nested beyond [`MAX_DEPTH`].
    pub fn from_value(value: &serde_json::Value) -> Result<Self, ParseError> {
        let mut out = JsonWriter::new();
        match out.value_within(value, MAX_DEPTH) {
            Ok(()) => Ok(out.finish()),
            Err(writer::TooDeep) => Err(ParseError::without_text(ParseErrorKind::TooDeep)),
        }
    }

    /// The document `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self {
            buf: String::new(),
            source: 0,
            verbatim: 0,
            is_compact: false,
            nodes: vec![Node::Object { len: 0, end: 1 }],
        }
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> ValueRef<'_> {
        ValueRef::at(self, 0)
    }

    /// The text this was parsed from, or nothing if it was built from values.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        if self.source == 0 { None } else { self.buf.get(..self.source) }
    }

    /// The first object key that occurs twice in the same object, as the JSON pointer of the member.
    /// JSON allows it, tools do not: two readers would see two different calls.
    ///
    /// ```
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"{"a": 1, "b": {"c": 1, "c": 2}}"#)?;
    /// assert!(document.duplicate_key().is_some());
    /// assert!(Document::parse(r#"{"a": 1}"#)?.duplicate_key().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn duplicate_key(&self) -> Option<String> {
        canonical::duplicate_key(self)
    }

    fn str_at(&self, start: u32, len: u32) -> &str {
        let start = start as usize;
        self.buf.get(start..start + len as usize).or_report_default(IN_BUFFER)
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Document({})", self.root())
    }
}

/// Equal when they hold the same JSON value: key order and number spelling do not matter.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.root() == other.root()
    }
}

impl serde::Serialize for Document {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}
