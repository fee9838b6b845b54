//! Reads a range of lines.

use std::sync::Arc;

use haft_core::artifact::Budget;
use haft_core::spool::LineIndex;
use memchr::memchr;

use super::line::{RawLine, shown_prefix_len};
use super::page::BudgetedLines;
use crate::byte_order_mark;
use crate::invariant;
use crate::scan::{ContentScan, ReadRequest, saturating_len};

/// Collects the lines of a range. It finds them with the index and reads only what is shown.
#[derive(Debug)]
pub(super) struct LineScan {
    index: Arc<LineIndex>,
    /// The number of the line that is being read.
    number: u64,
    end: u64,
    cap: usize,
    /// From where to read next.
    position: u64,
    /// Newlines to pass before the first line.
    skip: u64,
    /// Where the line begins that is being read, and its first bytes.
    line_start: u64,
    start: Vec<u8>,
    pub(super) shown: BudgetedLines,
}

impl LineScan {
    /// The lines from `start` until before `end`, which must exist.
    pub(super) fn new(index: Arc<LineIndex>, start: u64, end: u64, budget: Budget) -> Self {
        let found = index.locate(start);
        let (position, skip) = found.map_or((0, 0), |found| (found.offset, found.newlines));
        Self {
            end: if found.is_some() { end } else { start },
            number: start,
            cap: budget.line_cap(),
            position,
            skip,
            line_start: position,
            start: Vec::new(),
            shown: BudgetedLines::new(budget),
            index,
        }
    }

    /// The line after the last that is shown.
    pub(super) fn next_line(&self) -> u64 {
        self.number
    }

    fn is_done(&self) -> bool {
        self.number >= self.end || self.shown.limit_reached.is_some()
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = shown_prefix_len(self.cap).saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(invariant::slice(bytes, ..room));
    }

    /// Ends the line before this offset.
    fn finish_line(&mut self, at: u64) {
        let bytes = at - self.line_start;
        let complete = self.start.len() as u64 == bytes;
        let start =
            if self.number == 0 { byte_order_mark::strip_utf8(&self.start) } else { &self.start };
        let line = RawLine { number: self.number, start, complete, bytes }.to_line(self.cap);
        if self.shown.push(line) {
            self.number += 1;
        }
        self.start.clear();
        self.line_start = at + 1;
    }

    /// Skips to the end of the line if enough of it was read.
    fn skip_rest_of_line(&mut self) {
        if self.skip > 0 || self.start.len() < shown_prefix_len(self.cap) {
            return;
        }
        match self.index.locate(self.number + 1) {
            Some(next) => self.position = self.position.max(next.offset),
            None => self.position = self.index.byte_length(),
        }
    }
}

impl ContentScan for LineScan {
    fn next_read(&self) -> Option<ReadRequest> {
        let left = self.index.byte_length().saturating_sub(self.position);
        if self.is_done() || left == 0 {
            return None;
        }
        let len = left.min(u64::from(self.index.block_size().get()));
        Some(ReadRequest { offset: self.position, len: saturating_len(len) })
    }

    fn process(&mut self, data: &[u8]) -> usize {
        let mut rest = data;
        let mut at = self.position;
        self.position += data.len() as u64;
        while !self.is_done() {
            let Some((line, after)) = split_line(rest) else {
                if self.skip == 0 {
                    self.append(rest);
                }
                self.skip_rest_of_line();
                break;
            };
            let line_end = at + line.len() as u64;
            if self.skip > 0 {
                self.skip -= 1;
                self.line_start = line_end + 1;
            } else {
                self.append(line);
                self.finish_line(line_end);
            }
            (rest, at) = (after, line_end + 1);
        }
        if self.position >= self.index.byte_length() && self.skip == 0 && !self.is_done() {
            self.finish_line(self.index.byte_length());
        }
        0
    }
}

/// The bytes before the first LF and those after it.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = bytes.split_at_checked(memchr(b'\n', bytes)?)?;
    let (_newline, after) = rest.split_first()?;
    Some((line, after))
}
