//! Which notation the content is in.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::json::ParseErrorKind;

use super::container::{self, Container, SurveyedContainers};
use super::cursor::ContentCursor;
use super::error::{FaultReason, JsonFault, ScanError};
use super::scan::JsonLimits;
use super::{json_lines, json5, validate};
use crate::byte_order_mark;
use crate::scan::saturating_len;

/// The notation of JSON content.
///
/// ```
/// use haft_artifacts::json::{JsonNotation, JsonView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "{host: 'a', /* port: 80 */}".into()).await?;
/// let view = JsonView::new(reader);
/// assert_eq!(view.detect_notation().await?, JsonNotation::Json5);
/// assert_eq!(view.get("$.host", 0).await?.as_str(), "a");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonNotation {
    /// One JSON value.
    Json,
    /// One JSON value on every line that is not blank: the records.
    Jsonl,
    /// The same as [`JsonNotation::Jsonl`] under its other name. It is never detected.
    Ndjson,
    /// One JSON5 value, of at most 4 MiB of text.
    Json5,
}

impl JsonNotation {
    /// The name: `json`, `jsonl`, `ndjson` or `json5`.
    ///
    /// ```
    /// use haft_artifacts::json::JsonNotation;
    ///
    /// assert_eq!(JsonNotation::Json5.name(), "json5");
    /// ```
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

impl fmt::Display for JsonNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a first pass over the content has found.
#[derive(Clone, Debug)]
pub(super) struct OpenedContent {
    pub(super) notation: JsonNotation,
    pub(super) root: ContentRoot,
}

#[derive(Clone, Debug)]
pub(super) enum ContentRoot {
    /// The value that begins here.
    Value(u64),
    Lines(Arc<Container>),
    /// The JSON5 value, converted to JSON.
    Text(Bytes),
}

/// An error of content that was read in this notation.
#[derive(Debug)]
pub(super) struct NotationMismatch {
    pub(super) notation: JsonNotation,
    pub(super) error: ScanError,
}

/// Reads all of the content once: detects its notation unless it is declared, and checks that it is
/// well-formed.
pub(super) fn open_content(
    cursor: &mut ContentCursor,
    declared: Option<JsonNotation>,
    limits: &JsonLimits,
    surveyed: &mut SurveyedContainers,
) -> Result<OpenedContent, NotationMismatch> {
    let mismatch = |notation| move |error| NotationMismatch { notation, error };
    let start = start_after_mark(cursor).map_err(mismatch(JsonNotation::Json))?;
    let strict = cursor.length() <= limits.strict;
    let opened = |notation, root| Ok(OpenedContent { notation, root });
    match declared {
        None => detect(cursor, start, limits, surveyed),
        Some(JsonNotation::Json) => {
            let root =
                read_json(cursor, start, strict, surveyed).map_err(mismatch(JsonNotation::Json))?;
            opened(JsonNotation::Json, ContentRoot::Value(root))
        }
        Some(notation @ (JsonNotation::Jsonl | JsonNotation::Ndjson)) => {
            let records = read_records(cursor, start, strict).map_err(mismatch(notation))?;
            opened(notation, ContentRoot::Lines(Arc::new(records)))
        }
        Some(JsonNotation::Json5) => {
            let text = convert_json5(cursor, limits).map_err(mismatch(JsonNotation::Json5))?;
            opened(JsonNotation::Json5, ContentRoot::Text(text))
        }
    }
}

fn detect(
    cursor: &mut ContentCursor,
    start: u64,
    limits: &JsonLimits,
    surveyed: &mut SurveyedContainers,
) -> Result<OpenedContent, NotationMismatch> {
    let strict = cursor.length() <= limits.strict;
    let mut worst = NotationMismatch {
        notation: JsonNotation::Json,
        error: match read_json(cursor, start, strict, surveyed) {
            Ok(root) => {
                return Ok(OpenedContent {
                    notation: JsonNotation::Json,
                    root: ContentRoot::Value(root),
                });
            }
            Err(error) => error,
        },
    };
    surveyed.containers.clear();
    if matches!(worst.error, ScanError::Query(_)) || worst.is_empty() {
        return Err(worst);
    }
    match read_records(cursor, start, strict) {
        Ok(records) => {
            let root = ContentRoot::Lines(Arc::new(records));
            return Ok(OpenedContent { notation: JsonNotation::Jsonl, root });
        }
        Err(error) => worst.or(JsonNotation::Jsonl, error)?,
    }
    if cursor.length() <= limits.json5 {
        match convert_json5(cursor, limits) {
            Ok(text) => {
                return Ok(OpenedContent {
                    notation: JsonNotation::Json5,
                    root: ContentRoot::Text(text),
                });
            }
            Err(error) => worst.or(JsonNotation::Json5, error)?,
        }
    }
    Err(worst)
}

impl NotationMismatch {
    fn is_empty(&self) -> bool {
        let empty = FaultReason::Syntax(ParseErrorKind::Empty);
        matches!(self.error, ScanError::Fault(fault) if fault.reason == empty)
    }

    /// Keeps the notation whose error is further into the content. A failed read is returned at once.
    fn or(&mut self, notation: JsonNotation, error: ScanError) -> Result<(), Self> {
        match (&self.error, error) {
            (_, error @ ScanError::Query(_)) => Err(Self { notation, error }),
            (ScanError::Fault(this), ScanError::Fault(other)) if this.offset < other.offset => {
                *self = Self { notation, error: ScanError::Fault(other) };
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Where the content begins after a byte order mark.
fn start_after_mark(cursor: &mut ContentCursor) -> Result<u64, ScanError> {
    cursor.clear_end();
    cursor.seek(0);
    cursor.ensure(byte_order_mark::UTF8.len())?;
    Ok(if cursor.rest().starts_with(byte_order_mark::UTF8) {
        byte_order_mark::UTF8.len() as u64
    } else {
        0
    })
}

/// Reads one value and nothing else, and returns its offset.
fn read_json(
    cursor: &mut ContentCursor,
    start: u64,
    strict: bool,
    surveyed: &mut SurveyedContainers,
) -> Result<u64, ScanError> {
    cursor.seek(start);
    if cursor.skip_space()?.is_none() {
        return Err(cursor.fault(ParseErrorKind::Empty));
    }
    let root = cursor.offset();
    if strict {
        validate::value(cursor, 0)?;
    } else {
        container::survey(cursor, 0, surveyed)?;
    }
    json_lines::expect_end(cursor)?;
    Ok(root)
}

/// Reads one value per line, and at least one.
fn read_records(
    cursor: &mut ContentCursor,
    start: u64,
    strict: bool,
) -> Result<Container, ScanError> {
    let records = json_lines::survey_records(cursor, start, strict)?;
    if records.count == 0 {
        cursor.seek(start);
        return Err(cursor.fault(ParseErrorKind::Empty));
    }
    Ok(records)
}

/// Reads the content as JSON5 and converts it to JSON.
fn convert_json5(cursor: &mut ContentCursor, limits: &JsonLimits) -> Result<Bytes, ScanError> {
    cursor.clear_end();
    let length = cursor.length();
    if length > limits.json5 {
        let reason = FaultReason::Other("JSON5 is read up to 4 MiB, and this is more");
        return Err(JsonFault { reason, offset: limits.json5 }.into());
    }
    cursor.seek(0);
    cursor.ensure(saturating_len(length))?;
    let bytes = cursor.rest();
    let json = json5::to_json(&String::from_utf8_lossy(bytes)).map_err(|mut fault| {
        fault.offset = byte_offset_of(bytes, fault.offset);
        fault
    })?;
    Ok(Bytes::from(json))
}

/// The offset in the bytes that belongs to an offset in their lossy text, in which every invalid sequence
/// is a replacement character of three bytes.
fn byte_offset_of(bytes: &[u8], shown: u64) -> u64 {
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
