//! Validates JSON in one pass and without a tree.
//!
//! It accepts what [`Document::parse`] accepts, with two exceptions: invalid UTF-8 inside strings is accepted, because
//! it is shown as U+FFFD, and numbers have at most 64 KiB.

use haft_core::json::{Document, MAX_DEPTH, ParseErrorKind};

use super::cursor::ContentCursor;
use super::error::{FaultReason, JsonFault, ScanError};
use super::skip::ends_scalar;
use crate::invariant;

/// Skips the value at the cursor, which is nested in `depth` others. The recursion is bounded.
pub(super) fn value(cursor: &mut ContentCursor, depth: usize) -> Result<(), ScanError> {
    match cursor.peek()? {
        Some(b'"') => string(cursor),
        Some(open @ (b'{' | b'[')) => container(cursor, depth, open == b'{'),
        _ => scalar(cursor),
    }
}

fn container(cursor: &mut ContentCursor, depth: usize, object: bool) -> Result<(), ScanError> {
    if depth >= MAX_DEPTH {
        return Err(cursor.fault(ParseErrorKind::TooDeep));
    }
    let close = if object { b'}' } else { b']' };
    cursor.advance(1);
    if cursor.skip_space()? == Some(close) {
        cursor.advance(1);
        return Ok(());
    }
    loop {
        if object {
            if cursor.peek()? != Some(b'"') {
                return Err(cursor.expected("a key in double quotes"));
            }
            string(cursor)?;
            expect_colon(cursor)?;
        }
        value(cursor, depth + 1)?;
        if skip_separator(cursor, object)? {
            return Ok(());
        }
    }
}

/// From after a key to its value.
pub(super) fn expect_colon(cursor: &mut ContentCursor) -> Result<(), ScanError> {
    if cursor.skip_space()? != Some(b':') {
        return Err(cursor.expected("`:`"));
    }
    cursor.advance(1);
    cursor.skip_space()?;
    Ok(())
}

/// From after a value in a container to the next one, or after the end of the container.
pub(super) fn skip_separator(cursor: &mut ContentCursor, object: bool) -> Result<bool, ScanError> {
    let (close, what) = if object { (b'}', "`,` or `}`") } else { (b']', "`,` or `]`") };
    match cursor.skip_space()? {
        Some(b',') => {}
        Some(byte) if byte == close => {
            cursor.advance(1);
            return Ok(true);
        }
        _ => return Err(cursor.expected(what)),
    }
    let comma = cursor.offset();
    cursor.advance(1);
    if cursor.skip_space()? == Some(close) {
        let reason = FaultReason::Syntax(ParseErrorKind::TrailingComma);
        return Err(JsonFault { reason, offset: comma }.into());
    }
    Ok(false)
}

/// Skips a string from its opening quote on.
pub(super) fn string(cursor: &mut ContentCursor) -> Result<(), ScanError> {
    cursor.advance(1);
    loop {
        let rest = cursor.rest();
        let special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
        let plain = rest.iter().position(special).unwrap_or(rest.len());
        let stop = rest.get(plain).copied();
        cursor.advance(plain);
        match stop {
            Some(b'"') => {
                cursor.advance(1);
                return Ok(());
            }
            Some(b'\\') => escape(cursor)?,
            Some(_) => return Err(cursor.fault(ParseErrorKind::ControlCharacter)),
            None if cursor.read_more()? => {}
            None => return Err(cursor.fault(ParseErrorKind::Truncated)),
        }
    }
}

fn escape(cursor: &mut ContentCursor) -> Result<(), ScanError> {
    // The longest is a pair of surrogates.
    cursor.ensure(12)?;
    let rest = cursor.rest();
    match rest.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
            cursor.advance(2);
            return Ok(());
        }
        Some(b'u') => {}
        Some(_) => return Err(cursor.fault(ParseErrorKind::BadEscape)),
        None => return Err(truncated(cursor)),
    }
    let unit = match code_unit(rest) {
        Ok(unit) => unit,
        Err(kind) => return Err(escape_fault(cursor, kind, 0)),
    };
    if !(0xD800..0xE000).contains(&unit) {
        cursor.advance(6);
        return Ok(());
    }
    let rest = invariant::slice(rest, 6..);
    if unit >= 0xDC00 || !rest.starts_with(b"\\u") {
        let cut = unit < 0xDC00 && b"\\u".starts_with(rest);
        let lone = ParseErrorKind::LoneSurrogate;
        return Err(if cut { truncated(cursor) } else { cursor.fault(lone) });
    }
    match code_unit(rest) {
        Ok(low) if (0xDC00..0xE000).contains(&low) => {
            cursor.advance(12);
            Ok(())
        }
        Ok(_) => Err(cursor.fault(ParseErrorKind::LoneSurrogate)),
        Err(kind) => Err(escape_fault(cursor, kind, 6)),
    }
}

fn escape_fault(cursor: &mut ContentCursor, kind: ParseErrorKind, at: usize) -> ScanError {
    if kind == ParseErrorKind::Truncated {
        return truncated(cursor);
    }
    cursor.advance(at);
    cursor.fault(kind)
}

fn truncated(cursor: &mut ContentCursor) -> ScanError {
    cursor.advance(cursor.rest().len());
    cursor.fault(ParseErrorKind::Truncated)
}

/// The code unit of `\uXXXX`.
fn code_unit(escape: &[u8]) -> Result<u32, ParseErrorKind> {
    let mut unit = 0;
    for at in 2..6 {
        let byte = escape.get(at).ok_or(ParseErrorKind::Truncated)?;
        let digit = char::from(*byte).to_digit(16).ok_or(ParseErrorKind::BadEscape)?;
        unit = unit << 4 | digit;
    }
    Ok(unit)
}

/// Skips a number or a word.
pub(super) fn scalar(cursor: &mut ContentCursor) -> Result<(), ScanError> {
    loop {
        let rest = cursor.rest();
        let len = rest.iter().position(|byte| ends_scalar(*byte));
        match len {
            Some(len) => return literal(cursor, len),
            None if rest.len() > LONGEST_NUMBER => {
                return Err(cursor.fault(ParseErrorKind::NumberOutOfRange));
            }
            None if cursor.read_more()? => {}
            None => return literal(cursor, cursor.rest().len()),
        }
    }
}

/// Skips a literal of this many bytes. Ordinary ones are known at once, all others are parsed.
fn literal(cursor: &mut ContentCursor, len: usize) -> Result<(), ScanError> {
    let text = invariant::slice(cursor.rest(), ..len);
    if len <= 20 && is_plain_number(text) || matches!(text, b"true" | b"false" | b"null") {
        cursor.advance(len);
        return Ok(());
    }
    if text.is_empty() {
        return Err(cursor.expected("a value"));
    }
    let shown = String::from_utf8_lossy(text);
    let Err(error) = Document::parse(&shown) else {
        cursor.advance(len);
        return Ok(());
    };
    let at_end = cursor.offset() + len as u64 >= cursor.end();
    match error.kind {
        // A value and something right after it, which is for the caller to refuse.
        ParseErrorKind::TrailingText => {
            cursor.advance(error.offset.min(len));
            Ok(())
        }
        // The literal ends, but not the content: then something else is there.
        ParseErrorKind::Truncated if !at_end => {
            let number = text.first().is_some_and(|it| *it == b'-' || it.is_ascii_digit());
            cursor.advance(if number { len } else { 0 });
            Err(cursor.expected(if number { "a digit" } else { "a value" }))
        }
        kind => {
            cursor.advance(error.offset.min(len));
            Err(cursor.fault(kind))
        }
    }
}

/// An integer of few digits, perhaps with a fraction; nothing to worry about its range.
fn is_plain_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let leading_zero = whole > 1 && digits.first() == Some(&b'0');
    let fraction = invariant::slice(digits, whole..);
    let fits = match fraction.split_first() {
        None => true,
        Some((b'.', digits)) => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    };
    whole > 0 && !leading_zero && fits
}

/// A longer literal is not read.
const LONGEST_NUMBER: usize = 64 * 1024;
