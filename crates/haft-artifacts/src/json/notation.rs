//! Which notation the content is in.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::json::ParseErrorKind;

use super::container::{self, Container, Remembered};
use super::cursor::Cursor;
use super::error::{Fault, Reason, Trouble};
use super::scan::Sizes;
use super::{json_lines, json5, validate};
use crate::byte_order_mark;

/// The notation of JSON content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonShape {
    /// One JSON value.
    Json,
    /// One JSON value on every line that is not blank: the records.
    Jsonl,
    /// The same under its other name; never inferred.
    Ndjson,
    /// One JSON5 value, of at most 4 MiB of text.
    Json5,
}

impl JsonShape {
    /// The name: `json`, `jsonl`, `ndjson` or `json5`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Ndjson => "ndjson",
            Self::Json5 => "json5",
        }
    }
}

impl fmt::Display for JsonShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of content that was looked at once.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) shape: JsonShape,
    pub(super) root: Root,
}

#[derive(Clone, Debug)]
pub(super) enum Root {
    /// The value that begins here.
    Value(u64),
    Lines(Arc<Container>),
    /// JSON5 as JSON.
    Text(Bytes),
}

/// Something wrong for content of this shape.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) shape: JsonShape,
    pub(super) trouble: Trouble,
}

/// Looks at all of the content once: finds out its shape, unless that is given, and that it is well-formed.
pub(super) fn open(
    cursor: &mut Cursor,
    hint: Option<JsonShape>,
    sizes: &Sizes,
    remembered: &mut Remembered,
) -> Result<Opened, Unfit> {
    let unfit = |shape| move |trouble| Unfit { shape, trouble };
    let start = after_mark(cursor).map_err(unfit(JsonShape::Json))?;
    let strict = cursor.length() <= sizes.strict;
    let opened = |shape, root| Ok(Opened { shape, root });
    match hint {
        None => infer(cursor, start, sizes, remembered),
        Some(JsonShape::Json) => {
            let root = json(cursor, start, strict, remembered).map_err(unfit(JsonShape::Json))?;
            opened(JsonShape::Json, Root::Value(root))
        }
        Some(shape @ (JsonShape::Jsonl | JsonShape::Ndjson)) => {
            let records = records(cursor, start, strict).map_err(unfit(shape))?;
            opened(shape, Root::Lines(Arc::new(records)))
        }
        Some(JsonShape::Json5) => {
            let text = json5(cursor, sizes).map_err(unfit(JsonShape::Json5))?;
            opened(JsonShape::Json5, Root::Text(text))
        }
    }
}

fn infer(
    cursor: &mut Cursor,
    start: u64,
    sizes: &Sizes,
    remembered: &mut Remembered,
) -> Result<Opened, Unfit> {
    let strict = cursor.length() <= sizes.strict;
    let mut worst = Unfit {
        shape: JsonShape::Json,
        trouble: match json(cursor, start, strict, remembered) {
            Ok(root) => return Ok(Opened { shape: JsonShape::Json, root: Root::Value(root) }),
            Err(trouble) => trouble,
        },
    };
    remembered.containers.clear();
    if matches!(worst.trouble, Trouble::Query(_)) || worst.is_empty() {
        return Err(worst);
    }
    match records(cursor, start, strict) {
        Ok(records) => {
            let root = Root::Lines(Arc::new(records));
            return Ok(Opened { shape: JsonShape::Jsonl, root });
        }
        Err(trouble) => worst.or(JsonShape::Jsonl, trouble)?,
    }
    if cursor.length() <= sizes.json5 {
        match json5(cursor, sizes) {
            Ok(text) => {
                return Ok(Opened { shape: JsonShape::Json5, root: Root::Text(text) });
            }
            Err(trouble) => worst.or(JsonShape::Json5, trouble)?,
        }
    }
    Err(worst)
}

impl Unfit {
    fn is_empty(&self) -> bool {
        let empty = Reason::Syntax(ParseErrorKind::Empty);
        matches!(self.trouble, Trouble::Fault(fault) if fault.reason == empty)
    }

    /// Takes the shape that fits further. Content that cannot be read is no matter of shape.
    fn or(&mut self, shape: JsonShape, trouble: Trouble) -> Result<(), Self> {
        match (&self.trouble, trouble) {
            (_, trouble @ Trouble::Query(_)) => Err(Self { shape, trouble }),
            (Trouble::Fault(this), Trouble::Fault(other)) if this.offset < other.offset => {
                *self = Self { shape, trouble: Trouble::Fault(other) };
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Where the content begins behind a byte order mark.
fn after_mark(cursor: &mut Cursor) -> Result<u64, Trouble> {
    cursor.clear_end();
    cursor.seek(0);
    cursor.ensure(byte_order_mark::UTF8.len())?;
    Ok(if cursor.rest().starts_with(byte_order_mark::UTF8) {
        byte_order_mark::UTF8.len() as u64
    } else {
        0
    })
}

/// One value and nothing else; gives its place.
fn json(
    cursor: &mut Cursor,
    start: u64,
    strict: bool,
    remembered: &mut Remembered,
) -> Result<u64, Trouble> {
    cursor.seek(start);
    if cursor.skip_space()?.is_none() {
        return Err(cursor.fault(ParseErrorKind::Empty));
    }
    let root = cursor.offset();
    if strict {
        validate::value(cursor, 0)?;
    } else {
        container::survey(cursor, 0, remembered)?;
    }
    json_lines::expect_end(cursor)?;
    Ok(root)
}

/// One value a line, and at least one.
fn records(cursor: &mut Cursor, start: u64, strict: bool) -> Result<Container, Trouble> {
    let records = json_lines::survey(cursor, start, strict)?;
    if records.count == 0 {
        cursor.seek(start);
        return Err(cursor.fault(ParseErrorKind::Empty));
    }
    Ok(records)
}

/// The content as JSON, read as JSON5.
fn json5(cursor: &mut Cursor, sizes: &Sizes) -> Result<Bytes, Trouble> {
    cursor.clear_end();
    let length = cursor.length();
    if length > sizes.json5 {
        let reason = Reason::Other("JSON5 is read up to 4 MiB, and this is more");
        return Err(Fault { reason, offset: sizes.json5 }.into());
    }
    cursor.seek(0);
    cursor.ensure(usize::try_from(length).unwrap_or(usize::MAX))?;
    let bytes = cursor.rest();
    let json = json5::to_json(&String::from_utf8_lossy(bytes)).map_err(|mut fault| {
        fault.offset = offset_in(bytes, fault.offset);
        fault
    })?;
    Ok(Bytes::from(json))
}

/// The offset in bytes of an offset in their text, where what is not UTF-8 is a character of three bytes.
fn offset_in(bytes: &[u8], shown: u64) -> u64 {
    let (mut offset, mut left) = (0, shown);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len() as u64;
        if left <= valid {
            break;
        }
        offset += valid + chunk.invalid().len() as u64;
        left = left.saturating_sub(valid + char::REPLACEMENT_CHARACTER.len_utf8() as u64);
    }
    (offset + left).min(bytes.len() as u64)
}
