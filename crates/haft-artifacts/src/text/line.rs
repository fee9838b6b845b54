//! Lines as they are shown.

use super::page::TextLine;

/// The bytes of a line as far as they were read, without LF and byte order mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawLine<'a> {
    pub(super) number: u64,
    /// Its first bytes: all of them, or at least [`shown_prefix_len`].
    pub(super) start: &'a [u8],
    /// Whether these are all.
    pub(super) complete: bool,
    /// How many bytes it has in the content.
    pub(super) bytes: u64,
}

impl RawLine<'_> {
    /// The line with at most `cap` bytes of text.
    pub(super) fn to_line(self, cap: usize) -> TextLine {
        let start = if self.complete { strip_carriage_return(self.start) } else { self.start };
        // Nearly all lines are text, which is found out much faster than what is wrong with one.
        let mut text = match str::from_utf8(start) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(start).into_owned(),
        };
        let truncated = text.len() > cap;
        if truncated {
            let cut = (0..=cap).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
        }
        TextLine { number: self.number, text, truncated, bytes: self.bytes, context: false }
    }
}

/// How many bytes of a line are needed to show it. Text is never shorter than the bytes it was decoded
/// from, except for a byte order mark at the start and a CR at the end. A sequence that is cut here is past
/// the cap.
pub(super) fn shown_prefix_len(cap: usize) -> usize {
    cap.saturating_add(8)
}

/// The bytes without one CR at their end.
pub(super) fn strip_carriage_return(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}
