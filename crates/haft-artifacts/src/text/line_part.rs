//! Parts of one line.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use haft_core::spool::{BlockStart, LineIndex};
use memchr::memchr_iter;

use crate::byte_order_mark;
use crate::invariant;
use crate::scan::{ContentScan, ReadRequest, saturating_len};

/// A part of a line that is too long for one result.
///
/// Positions are bytes of the line as it is stored, so that any part is found without reading the
/// bytes before it. A part begins and ends between characters of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinePart {
    /// The number of the line; the first line has 0.
    pub number: u64,
    /// The text of the part, without final CR or byte order mark.
    pub text: String,
    /// The bytes of the line that the text stands for.
    pub range: Range<u64>,
    /// How many bytes the whole line has in the content, without its LF.
    pub bytes: u64,
    /// How to get what was omitted of the range that was requested; `None` if this is all.
    pub next: Option<NextLinePart>,
}

/// The rest of a line that a part does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextLinePart {
    /// The byte of the line to begin with next time.
    pub start: u64,
    /// The byte to end before.
    pub end: u64,
}

/// In words for a model.
impl fmt::Display for NextLinePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end } = self;
        match end.saturating_sub(*start) {
            1 => f.write_str("1 byte of the line was left out")?,
            count => write!(f, "{count} bytes of the line were left out")?,
        }
        write!(f, "; go on with start {start} and end {end}")
    }
}

/// Finds a line by the index, and reads a part of it.
#[derive(Debug)]
pub(super) struct LinePartScan {
    index: Arc<LineIndex>,
    number: u64,
    requested: Range<u64>,
    cap: usize,
    /// Where the line begins and ends in the content, as far as that was found.
    start: Option<u64>,
    end: Option<u64>,
    /// Whether the line is not where the index says that it is.
    lost: bool,
    pub(super) part: Option<LinePart>,
}

impl LinePartScan {
    /// The part of a line, which must exist.
    pub(super) fn new(
        index: Arc<LineIndex>,
        number: u64,
        requested: Range<u64>,
        cap: usize,
    ) -> Self {
        let start = (number == 0).then_some(0);
        let end = index.locate(number + 1).is_none().then_some(index.byte_length());
        let requested = requested.start..requested.end.max(requested.start);
        Self { index, number, requested, cap, start, end, lost: false, part: None }
    }

    fn block_request(&self, line: u64) -> Option<ReadRequest> {
        let BlockStart { offset, .. } = self.index.locate(line)?;
        let left = self.index.byte_length().saturating_sub(offset);
        let len = left.min(u64::from(self.index.block_size().get()));
        Some(ReadRequest { offset, len: usize::try_from(len).ok()? })
    }

    /// The offset of a line that begins after an LF of this block.
    fn find_line_start(&self, line: u64, block: &[u8]) -> Option<u64> {
        let BlockStart { offset, newlines, .. } = self.index.locate(line)?;
        let before = usize::try_from(newlines.checked_sub(1)?).ok()?;
        Some(offset + memchr_iter(b'\n', block).nth(before)? as u64 + 1)
    }

    /// The bytes of the line to read: some more than are requested, to see whole characters.
    fn bytes_to_read(&self, line: &Range<u64>) -> Range<u64> {
        let length = line.end - line.start;
        let start = self.requested.start.min(length);
        let end = self.requested.end.min(start.saturating_add(self.cap as u64)).max(start);
        start.saturating_sub(3)..end.saturating_add(8).min(length)
    }

    fn build_part(&self, data: &[u8], line: &Range<u64>) -> LinePart {
        let length = line.end - line.start;
        let from = self.bytes_to_read(line).start;
        let position = |at: usize| from + at as u64;
        let last = position(data.len()) == length;
        let text = if last { data.strip_suffix(b"\r").unwrap_or(data) } else { data };
        let requested = saturating_len(self.requested.start.min(length) - from);
        let mut start = character_start(text, requested.min(text.len()));
        if self.number == 0
            && from == 0
            && start < byte_order_mark::UTF8.len()
            && text.starts_with(byte_order_mark::UTF8)
        {
            start = byte_order_mark::UTF8.len();
        }
        let mut shown = String::new();
        let mut at = start;
        for (character, len) in characters(invariant::slice(text, start..)) {
            let fits = shown.len() + character.len_utf8() <= self.cap;
            // One is shown in any case, so that the caller makes progress.
            if !shown.is_empty() && (!fits || position(at + len) > self.requested.end) {
                break;
            }
            if position(at) >= self.requested.end {
                break;
            }
            shown.push(character);
            at += len;
        }
        let left = position(at)..self.requested.end.min(length - (data.len() - text.len()) as u64);
        LinePart {
            number: self.number,
            text: shown,
            range: position(start)..position(at),
            bytes: length,
            next: (!left.is_empty()).then_some(NextLinePart { start: left.start, end: left.end }),
        }
    }
}

impl ContentScan for LinePartScan {
    fn next_read(&self) -> Option<ReadRequest> {
        if self.lost || self.part.is_some() {
            return None;
        }
        match (self.start, self.end) {
            (None, _) => self.block_request(self.number),
            (_, None) => self.block_request(self.number + 1),
            (Some(start), Some(end)) => {
                let part = self.bytes_to_read(&(start..end));
                let len = usize::try_from(part.end - part.start).ok()?;
                Some(ReadRequest { offset: start + part.start, len })
            }
        }
    }

    fn process(&mut self, data: &[u8]) -> usize {
        match (self.start, self.end) {
            (None, _) => {
                self.start = self.find_line_start(self.number, data);
                self.lost = self.start.is_none();
            }
            (Some(start), None) => {
                // Without the LF that ends it.
                self.end = self.find_line_start(self.number + 1, data).map(|next| next - 1);
                self.lost = self.end.is_none_or(|end| end < start);
            }
            (Some(start), Some(end)) => self.part = Some(self.build_part(data, &(start..end))),
        }
        0
    }
}

/// The characters of a text and how many bytes each has, also those that cannot be decoded.
fn characters(text: &[u8]) -> impl Iterator<Item = (char, usize)> {
    text.utf8_chunks().flat_map(|chunk| {
        let bad = Some((char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
        let good = chunk.valid().chars().map(|character| (character, character.len_utf8()));
        good.chain(bad.filter(|(_, len)| *len > 0))
    })
}

/// Where the character begins that this byte belongs to.
fn character_start(text: &[u8], at: usize) -> usize {
    let is_inner = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    if !text.get(at).is_some_and(is_inner) {
        return at;
    }
    let before = invariant::slice(text, ..at);
    let lead = before.iter().rposition(|byte| !is_inner(byte)).unwrap_or(at);
    let first = characters(invariant::slice(text, lead..)).next();
    if first.is_some_and(|(_, len)| lead + len > at) { lead } else { at }
}
