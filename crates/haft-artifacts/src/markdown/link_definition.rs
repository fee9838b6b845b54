//! Link reference definitions at the start of a paragraph.

use super::cursor::is_blank;
use crate::invariant;

/// What is at the start of a paragraph.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DefinitionStart<'a> {
    /// A definition, and the bytes it takes with its line end.
    Definition { found: DefinitionSource<'a>, length: usize },
    /// Something else.
    Other,
    /// It depends on lines that were not read yet.
    NeedsMore,
}

/// A definition as it is written.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) struct DefinitionSource<'a> {
    pub(super) label: &'a [u8],
    pub(super) url: &'a [u8],
    pub(super) title: Option<&'a [u8]>,
}

/// Reads one definition. `text` is a paragraph: its lines begin without white space, none is blank.
pub(super) fn parse(text: &[u8], so_far: ParagraphExtent) -> DefinitionStart<'_> {
    match read(text, so_far) {
        Ok((found, rest)) => DefinitionStart::Definition { found, length: text.len() - rest.len() },
        Err(DefinitionMiss::Other) => DefinitionStart::Other,
        Err(DefinitionMiss::Short) => DefinitionStart::NeedsMore,
    }
}

/// Whether a paragraph is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParagraphExtent {
    Whole,
    /// More lines may follow.
    Beginning,
}

/// Why a text is not a definition.
#[derive(Debug, PartialEq, Eq)]
enum DefinitionMiss {
    Other,
    /// The text ended too early. At the end of the paragraph this is the same as `Other`.
    Short,
}

fn read(
    text: &[u8],
    so_far: ParagraphExtent,
) -> Result<(DefinitionSource<'_>, &[u8]), DefinitionMiss> {
    let (label, rest) = label(text)?;
    let rest = rest.strip_prefix(b":").ok_or(DefinitionMiss::Other)?;
    let (rest, _) = skip_space(rest);
    let (url, after_url) = destination(rest)?;
    let bare = DefinitionSource { label, url, title: None };
    let (rest, lines) = skip_space(after_url);
    if rest.is_empty() {
        // The title may be on the next line.
        return if so_far == ParagraphExtent::Whole {
            Ok((bare, rest))
        } else {
            Err(DefinitionMiss::Short)
        };
    }
    if lines == 0 && rest.len() == after_url.len() {
        return Err(DefinitionMiss::Other);
    }
    let miss = match title(rest) {
        Ok((title, after)) => {
            let (line, next) = split_line(after);
            if is_blank(line) {
                return Ok((DefinitionSource { title: Some(title), ..bare }, next));
            }
            DefinitionMiss::Other
        }
        Err(miss) => miss,
    };
    // On a line of its own a bad title is the text after the definition.
    let decided = so_far == ParagraphExtent::Whole || miss == DefinitionMiss::Other;
    if lines == 1 && decided { Ok((bare, rest)) } else { Err(miss) }
}

fn label(text: &[u8]) -> Result<(&[u8], &[u8]), DefinitionMiss> {
    let inner = text.strip_prefix(b"[").ok_or(DefinitionMiss::Other)?;
    let mut at = 0;
    loop {
        if at > LABEL_LIMIT {
            return Err(DefinitionMiss::Other);
        }
        match inner.get(at).ok_or(DefinitionMiss::Short)? {
            b'[' => return Err(DefinitionMiss::Other),
            b']' => break,
            b'\\' if inner.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
            _ => at += 1,
        }
    }
    let label = invariant::slice(inner, ..at);
    if label.iter().all(u8::is_ascii_whitespace) {
        return Err(DefinitionMiss::Other);
    }
    Ok((label, invariant::slice(inner, at + 1..)))
}

fn destination(text: &[u8]) -> Result<(&[u8], &[u8]), DefinitionMiss> {
    if let Some(inner) = text.strip_prefix(b"<") {
        let mut at = 0;
        loop {
            match inner.get(at) {
                None | Some(b'\n' | b'<') => return Err(DefinitionMiss::Other),
                Some(b'>') => break,
                Some(b'\\') if inner.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
                Some(_) => at += 1,
            }
        }
        return Ok((invariant::slice(inner, ..at), invariant::slice(inner, at + 1..)));
    }
    let mut at = 0;
    let mut open = 0_usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            0..=b' ' => break,
            b'(' => open += 1,
            b')' if open == 0 => break,
            b')' => open -= 1,
            b'\\' if text.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            _ => {}
        }
        at += 1;
    }
    if at == 0 && text.is_empty() {
        return Err(DefinitionMiss::Short);
    }
    if at == 0 || open > 0 {
        return Err(DefinitionMiss::Other);
    }
    Ok(invariant::split(text, at))
}

fn title(text: &[u8]) -> Result<(&[u8], &[u8]), DefinitionMiss> {
    let (&open, inner) = text.split_first().ok_or(DefinitionMiss::Short)?;
    let close = match open {
        b'"' | b'\'' => open,
        b'(' => b')',
        _ => return Err(DefinitionMiss::Other),
    };
    let mut at = 0;
    loop {
        match inner.get(at) {
            None => return Err(DefinitionMiss::Short),
            Some(b'(') if close == b')' => return Err(DefinitionMiss::Other),
            Some(&byte) if byte == close => break,
            Some(b'\\') if inner.get(at + 1).is_some_and(|&it| it != b'\n') => at += 2,
            Some(_) => at += 1,
        }
    }
    Ok((invariant::slice(inner, ..at), invariant::slice(inner, at + 1..)))
}

/// Skips white space with at most one line end, and returns how many line ends there were.
fn skip_space(text: &[u8]) -> (&[u8], usize) {
    let mut lines = 0;
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b' ' | b'\t' => {}
            b'\n' if lines == 0 => lines = 1,
            _ => break,
        }
        rest = after;
    }
    (rest, lines)
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', text) {
        Some(end) => (invariant::slice(text, ..end), invariant::slice(text, end + 1..)),
        None => (text, &[]),
    }
}

/// A label has at most 999 characters.
const LABEL_LIMIT: usize = 999;
