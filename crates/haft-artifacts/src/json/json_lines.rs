//! Records: one value per line that is not blank.

use haft_core::json::ParseErrorKind;
use memchr::memchr;

use super::container::{self, Container, ContainerBuilder, ContainerKind, SurveyedContainers};
use super::cursor::ContentCursor;
use super::error::ScanError;
use super::validate;
use crate::invariant;

/// A line that is not blank, without the white space around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRecord {
    pub(super) start: u64,
    /// After its last byte.
    pub(super) end: u64,
}

/// The next line that is not blank, from a cursor at the start of a line. The cursor is then at its start, and the
/// content ends with the line.
pub(super) fn next_record(cursor: &mut ContentCursor) -> Result<Option<LineRecord>, ScanError> {
    cursor.clear_end();
    if cursor.skip_space()?.is_none() {
        return Ok(None);
    }
    let start = cursor.offset();
    let end = line_end(cursor)?;
    cursor.seek(start);
    cursor.set_end(end);
    Ok(Some(LineRecord { start, end }))
}

/// Moves after a record.
pub(super) fn skip_record(cursor: &mut ContentCursor, record: LineRecord) {
    cursor.clear_end();
    cursor.seek(record.end);
}

/// The offset of the LF that ends the line, or of the end.
fn line_end(cursor: &mut ContentCursor) -> Result<u64, ScanError> {
    let start = cursor.offset();
    let mut seen = 0;
    loop {
        let rest = cursor.rest();
        let fresh = invariant::slice(rest, seen..);
        if let Some(at) = memchr(b'\n', fresh) {
            return Ok(start + (seen + at) as u64);
        }
        seen = rest.len();
        if seen > LONG {
            return long_line_end(cursor);
        }
        if !cursor.read_more()? {
            return Ok(start + seen as u64);
        }
    }
}

#[cold]
fn long_line_end(cursor: &mut ContentCursor) -> Result<u64, ScanError> {
    loop {
        let rest = cursor.rest();
        if let Some(at) = memchr(b'\n', rest) {
            return Ok(cursor.offset() + at as u64);
        }
        cursor.advance(rest.len());
        if !cursor.read_more()? {
            return Ok(cursor.offset());
        }
    }
}

/// Refuses text after the value of a record.
pub(super) fn expect_end(cursor: &mut ContentCursor) -> Result<(), ScanError> {
    match cursor.skip_space()? {
        None => Ok(()),
        Some(_) => Err(cursor.fault(ParseErrorKind::TrailingText)),
    }
}

/// Checks all records and remembers where they begin. If not all are to be validated, the first
/// ones are, and of long ones the outermost values.
pub(super) fn survey_records(
    cursor: &mut ContentCursor,
    start: u64,
    strict: bool,
) -> Result<Container, ScanError> {
    cursor.clear_end();
    cursor.seek(start);
    let mut builder = ContainerBuilder::new(ContainerKind::Lines, start, 0);
    while let Some(record) = next_record(cursor)? {
        if strict || builder.count() < CHECKED && record.end - record.start <= SHORT {
            validate::value(cursor, 0)?;
        } else if record.end - record.start > SHORT {
            container::survey(cursor, 0, &mut SurveyedContainers::nothing())?;
        } else {
            cursor.skip_value(0, u64::MAX)?;
        }
        expect_end(cursor)?;
        builder.child(record.start);
        skip_record(cursor, record);
    }
    let end = cursor.length();
    Ok(builder.finish(end))
}

/// A longer line is read twice instead of being held.
const LONG: usize = 1024 * 1024;
/// How many records are validated in any case, if they are short.
const CHECKED: u64 = 1024;
const SHORT: u64 = 64 * 1024;
