//! Which notation the content is in.

use std::fmt;
use std::sync::Arc;

use haft_core::json::ParseErrorKind;

use super::container::{self, Container, SurveyedContainers};
use super::cursor::ContentCursor;
use super::error::{FaultReason, ScanError};
use super::scan::JsonLimits;
use super::{json_lines, validate};
use crate::byte_order_mark;

/// The notation of JSON content.
///
/// ```
/// use haft_artifacts::json::{JsonNotation, JsonView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "{\"id\":1}\n{\"id\":2}\n".into()).await?;
/// let view = JsonView::new(reader);
/// assert_eq!(view.detect_notation().await?, JsonNotation::Jsonl);
/// assert_eq!(view.get("$.id", 0).await?.as_str(), "[\n  1,\n  2\n]");
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
}

impl JsonNotation {
    /// The name: `json` or `jsonl`.
    ///
    /// ```
    /// use haft_artifacts::json::JsonNotation;
    ///
    /// assert_eq!(JsonNotation::Jsonl.name(), "jsonl");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonl => "jsonl",
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
pub(super) enum ContentRoot {
    /// The value that begins here.
    Value(u64),
    Lines(Arc<Container>),
}

impl ContentRoot {
    pub(super) const fn notation(&self) -> JsonNotation {
        match self {
            Self::Value(_) => JsonNotation::Json,
            Self::Lines(_) => JsonNotation::Jsonl,
        }
    }
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
) -> Result<ContentRoot, NotationMismatch> {
    let mismatch = |notation| move |error| NotationMismatch { notation, error };
    let start = start_after_mark(cursor).map_err(mismatch(JsonNotation::Json))?;
    let strict = cursor.length() <= limits.strict;
    match declared {
        None => detect(cursor, start, limits, surveyed),
        Some(JsonNotation::Json) => {
            let root =
                read_json(cursor, start, strict, surveyed).map_err(mismatch(JsonNotation::Json))?;
            Ok(ContentRoot::Value(root))
        }
        Some(JsonNotation::Jsonl) => {
            let records =
                read_records(cursor, start, strict).map_err(mismatch(JsonNotation::Jsonl))?;
            Ok(ContentRoot::Lines(Arc::new(records)))
        }
    }
}

fn detect(
    cursor: &mut ContentCursor,
    start: u64,
    limits: &JsonLimits,
    surveyed: &mut SurveyedContainers,
) -> Result<ContentRoot, NotationMismatch> {
    let strict = cursor.length() <= limits.strict;
    let mut worst = NotationMismatch {
        notation: JsonNotation::Json,
        error: match read_json(cursor, start, strict, surveyed) {
            Ok(root) => return Ok(ContentRoot::Value(root)),
            Err(error) => error,
        },
    };
    surveyed.containers.clear();
    if matches!(worst.error, ScanError::Query(_)) || worst.is_empty() {
        return Err(worst);
    }
    match read_records(cursor, start, strict) {
        Ok(records) => return Ok(ContentRoot::Lines(Arc::new(records))),
        Err(error) => worst.or(JsonNotation::Jsonl, error)?,
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
