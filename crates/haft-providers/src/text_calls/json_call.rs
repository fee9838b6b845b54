//! Calls that are written as JSON objects.

use haft_core::args::RawArgs;
use haft_core::invariant::OrReport as _;
use haft_core::json::{Document, MAX_DEPTH, ValueKind, ValueRef};

use super::TextCall;
use super::cursor::ParseStop;

/// The call that the text of an object stands for.
pub(super) fn call_of(text: &str) -> Option<TextCall> {
    let (document, _) = Document::parse_lenient(text).ok()?;
    let object = document.root();
    let name = only(object, "name")?.as_str().filter(|it| !it.trim().is_empty())?;
    let arguments = match object.get("arguments") {
        Some(_) => arguments_of(only(object, "arguments")?),
        None => RawArgs::none(),
    };
    Some(TextCall::new(name.trim(), arguments))
}

/// The member of this name, if there is exactly one: of two, readers would see different calls.
fn only<'d>(object: ValueRef<'d>, key: &str) -> Option<ValueRef<'d>> {
    let mut found = object.members().filter(|(it, _)| *it == key).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

/// The arguments from their JSON value.
fn arguments_of(value: ValueRef<'_>) -> RawArgs {
    if value.kind() == ValueKind::Object {
        return RawArgs::text(&value.to_string());
    }
    let inside = value.as_str().and_then(|it| Document::parse_lenient(it).ok());
    match inside {
        Some((document, _)) if document.root().kind() == ValueKind::Object => {
            RawArgs::text(&document.root().to_string())
        }
        _ => RawArgs::none(),
    }
}

/// The arguments that the text of an object stands for.
pub(super) fn arguments_from(text: &str) -> Option<RawArgs> {
    let (document, _) = Document::parse_lenient(text).ok()?;
    Some(RawArgs::text(&document.root().to_string()))
}

/// The end of the object that begins at `start`.
///
/// This follows the grammar and does not only count brackets. A candidate that goes wrong is therefore
/// left at the first sign of it: of all candidates in a text, three at the most can be alive at the same
/// place (outside of strings, in a string of one kind of quotes, and of the other), because a marker
/// outside of a string is no JSON. That is what keeps the search linear.
pub(super) fn end_of_object(text: &str, start: usize) -> Result<usize, ParseStop> {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut open = OpenBrackets::default();
    let mut want = Expected::Value;
    loop {
        let byte = *bytes.get(at).ok_or(ParseStop::Incomplete)?;
        match (want, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => {}
            (Expected::Value | Expected::Element, b'{' | b'[') => {
                open.push(byte)?;
                want = if byte == b'{' { Expected::Key } else { Expected::Element };
            }
            (Expected::Key | Expected::Comma, b'}')
            | (Expected::Element | Expected::Comma, b']') => {
                if open.pop(byte)? {
                    return Ok(at + 1);
                }
                want = Expected::Comma;
            }
            (Expected::Value | Expected::Element | Expected::Key, b'"' | b'\'') => {
                at = end_of_string(bytes, at)?;
                want = if want == Expected::Key { Expected::Colon } else { Expected::Comma };
                continue;
            }
            (Expected::Value | Expected::Element, _) => {
                at = end_of_scalar(text, at)?;
                want = Expected::Comma;
                continue;
            }
            (Expected::Colon, b':') => want = Expected::Value,
            (Expected::Comma, b',') => {
                want = if open.in_object() { Expected::Key } else { Expected::Element }
            }
            _ => return Err(ParseStop::Mismatch),
        }
        at += 1;
    }
}

/// What may stand next. A comma before a closing bracket is mended later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    /// A value, or the end of the list.
    Element,
    /// A key, or the end of the object.
    Key,
    Colon,
    /// A comma, or the end.
    Comma,
}

/// The brackets that are open: a bit for each, set for objects.
#[derive(Default)]
struct OpenBrackets {
    objects: u128,
    depth: usize,
}

impl OpenBrackets {
    fn push(&mut self, open: u8) -> Result<(), ParseStop> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseStop::Mismatch);
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(open == b'{');
        Ok(())
    }

    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    /// True when this was the outermost one.
    fn pop(&mut self, close: u8) -> Result<bool, ParseStop> {
        if self.in_object() != (close == b'}') {
            return Err(ParseStop::Mismatch);
        }
        self.objects >>= 1;
        self.depth -= 1;
        Ok(self.depth == 0)
    }
}

/// The place behind the string whose opening quote is at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, ParseStop> {
    let quote = *bytes.get(at).ok_or(ParseStop::Incomplete)?;
    let mut at = at + 1;
    loop {
        let rest = bytes.get(at..).ok_or(ParseStop::Incomplete)?;
        at += memchr::memchr2(quote, b'\\', rest).ok_or(ParseStop::Incomplete)?;
        if bytes.get(at) == Some(&quote) {
            return Ok(at + 1);
        }
        at += 2;
    }
}

/// The position after a number or a word.
fn end_of_scalar(text: &str, at: usize) -> Result<usize, ParseStop> {
    let rest =
        text.get(at..).or_report_default("a value of JSON begins at the boundary of a character");
    let is_part = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.');
    let len = rest.bytes().position(|it| !is_part(it));
    let word = rest.get(..len.unwrap_or(rest.len()));
    let word = word.or_report_default("a word of ASCII ends at the boundary of a character");
    let is_number = word.starts_with(|it: char| it.is_ascii_digit() || it == '-');
    let words = ["true", "false", "null", "True", "False", "None"];
    match len {
        Some(len) if is_number || words.contains(&word) => Ok(at + len),
        None if is_number || words.iter().any(|it| it.starts_with(word)) => {
            Err(ParseStop::Incomplete)
        }
        _ => Err(ParseStop::Mismatch),
    }
}
