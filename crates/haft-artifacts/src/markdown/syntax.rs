//! Classifies one line without its container markers: pure functions on bytes.

use super::cursor::{is_blank, marker_width};
use super::html;
use crate::invariant;

/// A fence that opens a code block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence {
    pub(super) byte: u8,
    pub(super) length: usize,
}

/// Three or more equal `*`, `-` or `_`, with white space between and after them.
pub(super) fn is_thematic_break(text: &[u8]) -> bool {
    thematic_break(text).is_ok()
}

/// The same, or else how many bytes were examined: no thematic break begins before.
pub(super) fn thematic_break(text: &[u8]) -> Result<(), usize> {
    let Some(&mark @ (b'*' | b'-' | b'_')) = text.first() else {
        return Err(0);
    };
    let mut marks = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte == mark {
            marks += 1;
        } else if byte != b' ' && byte != b'\t' {
            return Err(at);
        }
    }
    if marks >= 3 { Ok(()) } else { Err(text.len()) }
}

/// The depth of an ATX heading and its text without the closing `#`s.
pub(super) fn atx_heading(text: &[u8]) -> Option<(u8, &[u8])> {
    let (marks, content) = split_run(text, b'#');
    let depth = u8::try_from(marks.len()).ok().filter(|depth| (1..=6).contains(depth))?;
    if !matches!(content.first(), None | Some(b' ' | b'\t')) {
        return None;
    }
    let content = trim(content);
    let hashes = content.iter().rev().take_while(|&&it| it == b'#').count();
    let before = invariant::slice(content, ..content.len() - hashes);
    let closed = hashes > 0 && matches!(before.last(), None | Some(b' ' | b'\t'));
    let content = if closed { trim(before) } else { content };
    Some((depth, content))
}

/// The depth that a line gives to the paragraph above it.
pub(super) fn setext_underline(text: &[u8]) -> Option<u8> {
    let &mark = text.first()?;
    let depth = match mark {
        b'=' => 1,
        b'-' => 2,
        _ => return None,
    };
    let (_, rest) = split_run(text, mark);
    is_blank(rest).then_some(depth)
}

/// The fence that opens a code block, and the info string after it.
pub(super) fn parse_opening_fence(text: &[u8]) -> Option<(Fence, &[u8])> {
    let &byte @ (b'`' | b'~') = text.first()? else {
        return None;
    };
    let (marks, info) = split_run(text, byte);
    let length = marks.len();
    if length < 3 || (byte == b'`' && info.contains(&b'`')) {
        return None;
    }
    Some((Fence { byte, length }, trim(info)))
}

/// Whether a line closes the code block that `fence` opened.
pub(super) fn closes_fence(text: &[u8], fence: Fence) -> bool {
    let (marks, rest) = split_run(text, fence.byte);
    marks.len() >= fence.length && is_blank(rest)
}

/// The context of a line that might interrupt a block of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptContext {
    /// In a paragraph, with all containers continued.
    Paragraph,
    /// In a paragraph whose containers are not all continued.
    Lazy,
    /// In a table.
    Table,
}

/// Whether a line ends the text above it because another block begins.
pub(super) fn interrupts(text: &[u8], within: InterruptContext) -> bool {
    match text.first() {
        None | Some(b'>') => true,
        Some(b'#') => atx_heading(text).is_some(),
        Some(b'`' | b'~') => parse_opening_fence(text).is_some(),
        Some(b'<') => html::opens(text, html::LoneTag::Refused).is_some(),
        Some(b'_') => is_thematic_break(text),
        Some(b'*' | b'-' | b'+' | b'0'..=b'9') => {
            is_thematic_break(text) || list_interrupts(text, within)
        }
        _ => false,
    }
}

fn list_interrupts(text: &[u8], within: InterruptContext) -> bool {
    let Some(width) = marker_width(text) else {
        return false;
    };
    if within != InterruptContext::Paragraph {
        return true;
    }
    // Neither an empty item nor a number other than 1 interrupts a paragraph.
    let starts_at_one = match text.split_at_checked(width - 1) {
        Some((number, _)) if !number.is_empty() => {
            matches!(number.split_last(), Some((b'1', zeros)) if zeros.iter().all(|&it| it == b'0'))
        }
        _ => true,
    };
    starts_at_one && !is_blank(invariant::slice(text, width..))
}

/// The columns of a table's delimiter row, if the line is one.
pub(super) fn delimiter_row(text: &[u8]) -> Option<usize> {
    if !matches!(text.first(), Some(b'|' | b'-' | b':')) {
        return None;
    }
    let inner = text.strip_prefix(b"|");
    let mut has_pipe = inner.is_some();
    let mut columns = 0;
    let mut empty = true;
    let mut has_hyphen = false;
    let mut hyphen_here = false;
    for byte in inner.unwrap_or(text) {
        match byte {
            b' ' => {}
            b':' => empty = false,
            b'-' => {
                empty = false;
                has_hyphen = true;
                hyphen_here = true;
            }
            b'|' if hyphen_here => {
                has_pipe = true;
                columns += 1;
                empty = true;
                hyphen_here = false;
            }
            _ => return None,
        }
    }
    if !empty {
        columns += 1;
    }
    (has_pipe && has_hyphen).then_some(columns)
}

/// The columns of a line as the heading row of a table, if it has a pipe.
pub(super) fn header_columns(text: &[u8]) -> Option<usize> {
    let mut pipes = 0_usize;
    let mut last = 0;
    let mut before = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'|' && before != b'\\' {
            pipes += 1;
            last = at;
        }
        before = byte;
    }
    if pipes == 0 {
        return None;
    }
    if text.first() == Some(&b'|') {
        pipes -= 1;
    }
    let closed = is_blank(invariant::slice(text, last + 1..));
    Some(if closed { pipes } else { pipes + 1 })
}

/// Whether a line ends with a backslash that is not itself escaped.
pub(super) fn ends_with_backslash(text: &[u8]) -> bool {
    text.iter().rev().take_while(|&&it| it == b'\\').count() % 2 == 1
}

/// A text without the spaces and tabs around it.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The bytes at the start of a text that are all `byte`, and the rest.
fn split_run(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    invariant::split(text, text.iter().take_while(|it| **it == byte).count())
}
