//! Scans a range of lines, one window after the other.

use std::ops::Range;
use std::sync::Arc;

use haft_core::spool::{BlockStart, LineIndex, count_newlines};
use memchr::{memchr, memrchr};

use super::LineSearch;
use crate::byte_order_mark;
use crate::invariant;
use crate::scan::{ContentScan, ReadRequest, saturating_len};
use crate::text::line::{RawLine, shown_prefix_len};
use crate::text::page::TextLine;

/// A search of some lines. The data always begins at the start of a line, unless the line is longer
/// than may be held; such a line is skipped and counted.
pub(super) struct GrepScan {
    query: Arc<LineSearch>,
    first: u64,
    /// Where the line begins that is not searched any more; `None` if all are searched.
    end: Option<BlockStart>,
    /// Where reading ends: with the content, or with the block in which the last line ends.
    until: u64,
    /// From where to read next, always the start of a block.
    position: u64,
    /// How many bytes before that were kept.
    carried: usize,
    /// How many bytes to read next.
    window: usize,
    /// Newlines to pass before the first line.
    skip: u64,
    /// Whether the data begins inside a line that is too long.
    inside_long_line: bool,
    /// How many bytes a mark at the very start has.
    mark: u64,
    bytes: usize,
    full: bool,
    /// The lines that match, in order, until there are more than a result may have.
    pub(super) hits: Vec<TextLine>,
    /// The numbers of the lines that were too long to be searched, in order.
    pub(super) unsearched_lines: Vec<u64>,
}

impl GrepScan {
    pub(super) fn new(query: Arc<LineSearch>, lines: &Range<u64>) -> Self {
        let index = &query.index;
        let length = index.byte_length();
        let block = u64::from(index.block_size().get());
        let start = index.locate(lines.start).filter(|_| !lines.is_empty());
        let end = index.locate(lines.end);
        Self {
            first: lines.start,
            end,
            until: end.map_or(length, |end| length.min(end.offset + block)),
            position: start.map_or(u64::MAX, |start| start.offset),
            carried: 0,
            window: whole_blocks(query.limits.window, index),
            skip: start.map_or(0, |start| start.newlines),
            inside_long_line: false,
            mark: 0,
            bytes: 0,
            full: false,
            hits: Vec::new(),
            unsearched_lines: Vec::new(),
            query,
        }
    }

    /// The number of the line that the data begins with or in.
    fn first_line(&self) -> u64 {
        let block = self.position / u64::from(self.query.index.block_size().get());
        self.query.index.newlines_before_block(block)
    }

    /// Searches whole lines: up to an LF, or to the end of the content.
    fn search(&mut self, lines: &[u8], first: u64, last: bool) {
        let end = if last { lines.len() } else { lines.len().saturating_sub(1) };
        let mut at = 0;
        let mut counted = 0;
        let mut number = first;
        while at <= end && !self.full {
            let Some(hit) = self.query.pattern.find_end(lines, at, end) else { return };
            let before = invariant::slice(lines, at..hit);
            let start = memrchr(b'\n', before).map_or(at, |newline| at + newline + 1);
            let after = invariant::slice(lines, hit..);
            let stop = memchr(b'\n', after).map_or(lines.len(), |newline| hit + newline);
            let line = invariant::slice(lines, start..stop);
            if self.query.pattern.matches_line(line) {
                number += count_newlines(invariant::slice(lines, counted..start));
                counted = start;
                self.push_match(number, line);
            }
            at = stop + 1;
        }
    }

    /// Searches whole lines, except for those that are too long.
    fn search_except_long_lines(&mut self, mut lines: &[u8], mut first: u64, last: bool) {
        while let Some((start, stop)) = find_long_line(lines, self.query.limits.line) {
            let before = invariant::slice(lines, ..start);
            if !before.is_empty() {
                self.search(before, first, false);
            }
            if self.full {
                return;
            }
            first += count_newlines(before);
            self.unsearched_lines.push(first);
            let Some(rest) = lines.get(stop + 1..) else { return };
            (lines, first) = (rest, first + 1);
        }
        if last || !lines.is_empty() {
            self.search(lines, first, last);
        }
    }

    /// Adds a match, and stops the search if there are more than a result may have.
    fn push_match(&mut self, number: u64, line: &[u8]) {
        let LineSearch { budget, limit, .. } = &*self.query;
        let start = line.get(..shown_prefix_len(budget.line_cap())).unwrap_or(line);
        let complete = start.len() == line.len();
        let mark = if number == 0 { self.mark } else { 0 };
        let bytes = line.len() as u64 + mark;
        let line = RawLine { number, start, complete, bytes }.to_line(budget.line_cap());
        self.bytes = self.bytes.saturating_add(line.text.len() + 1);
        self.hits.push(line);
        let count = self.hits.len();
        self.full = count > budget.lines.get()
            || (count > 1 && self.bytes > budget.bytes)
            || limit.is_some_and(|limit| count >= limit.get());
    }

    /// Skips what does not belong to a line that is to be searched, and says which line the rest
    /// begins with. `None` if all of it has to be skipped.
    fn skip_to_line<'d>(&mut self, data: &'d [u8], offset: u64) -> Option<(u64, &'d [u8])> {
        if self.skip > 0 {
            // All of them are in the first block, and a window has whole blocks.
            let rest = after_newlines(data, std::mem::take(&mut self.skip))?;
            return Some((self.first, rest));
        }
        let line = self.first_line();
        if std::mem::take(&mut self.inside_long_line) {
            let rest = after_newlines(data, 1);
            self.inside_long_line = rest.is_none();
            return rest.map(|rest| (line + 1, rest));
        }
        if offset == 0 {
            let rest = byte_order_mark::strip_utf8(data);
            self.mark = (data.len() - rest.len()) as u64;
            return Some((0, rest));
        }
        Some((line, data))
    }

    /// How many of the last bytes that were read belong to lines that are not searched.
    fn bytes_past_end(&self, data: &[u8]) -> usize {
        let Some(end) = self.end else { return 0 };
        let block = saturating_len(self.until - end.offset);
        let block = invariant::slice(data, data.len().saturating_sub(block)..);
        after_newlines(block, end.newlines).map_or(0, <[u8]>::len)
    }

    /// Keeps an unfinished line, or gives it up if it is too long.
    fn carry_line(&mut self, unfinished: &[u8], line: u64) -> usize {
        let LineSearch { limits, index, .. } = &*self.query;
        if unfinished.len() <= limits.line {
            self.carried = unfinished.len();
            // As much again as there is, so that long lines are not scanned over and over.
            self.window = whole_blocks(limits.window.max(self.carried), index);
            return self.carried;
        }
        self.window = whole_blocks(limits.window, index);
        self.carried = 0;
        self.inside_long_line = true;
        // Past the end if it is the last line.
        let next = index.locate(line + 1).map_or(u64::MAX, |next| next.offset);
        self.position = self.position.max(next);
        self.unsearched_lines.push(line);
        0
    }
}

impl ContentScan for GrepScan {
    fn next_read(&self) -> Option<ReadRequest> {
        let left = self.until.saturating_sub(self.position);
        if self.full || left == 0 {
            return None;
        }
        let len = saturating_len(left).min(self.window);
        Some(ReadRequest { offset: self.position, len })
    }

    fn process(&mut self, data: &[u8]) -> usize {
        let offset = self.position - self.carried as u64;
        let read = (data.len() - self.carried) as u64;
        let done = self.position + read >= self.until;
        if offset == 0 && data.len() < byte_order_mark::UTF8.len() && !done {
            // It may be the start of a mark.
            (self.position, self.carried) = (read + self.position, data.len());
            return data.len();
        }
        let entered = self.skip_to_line(data, offset);
        self.position += read;
        let Some((first, rest)) = entered else {
            self.carried = 0;
            return 0;
        };
        if done {
            let whole = rest.len().saturating_sub(self.bytes_past_end(data));
            self.search_except_long_lines(
                invariant::slice(rest, ..whole),
                first,
                self.end.is_none(),
            );
            return 0;
        }
        let whole = memrchr(b'\n', rest).map_or(0, |at| at + 1);
        let (lines, unfinished) = invariant::split(rest, whole);
        self.search_except_long_lines(lines, first, false);
        if self.full { 0 } else { self.carry_line(unfinished, self.first_line()) }
    }
}

/// Where the first line of more than `longest` bytes begins and ends.
fn find_long_line(lines: &[u8], longest: usize) -> Option<(usize, usize)> {
    let mut start = 0;
    while lines.len().saturating_sub(start) > longest {
        let rest = lines.get(start..)?;
        let len = memchr(b'\n', rest).unwrap_or(rest.len());
        if len > longest {
            return Some((start, start + len));
        }
        start += len + 1;
    }
    None
}

/// The bytes after this many LFs.
fn after_newlines(mut bytes: &[u8], count: u64) -> Option<&[u8]> {
    for _ in 0..count {
        bytes = bytes.get(memchr(b'\n', bytes)? + 1..)?;
    }
    Some(bytes)
}

fn whole_blocks(bytes: usize, index: &LineIndex) -> usize {
    let block = saturating_len(index.block_size().get().into());
    bytes.max(1).checked_next_multiple_of(block).unwrap_or(block)
}
