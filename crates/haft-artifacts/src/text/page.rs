//! Bounded answers.

use std::fmt;
use std::sync::Arc;

use haft_core::artifact::Budget;
use haft_core::spool::LineIndex;
use memchr::memchr;

use super::drive::{Scan, Want};
use super::line::{RawLine, kept, without_mark};

/// Some lines of the content, and where to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The lines, in the order of the content.
    pub lines: Vec<Line>,
    /// How to get what was left out; nothing if this is all.
    pub more: Option<Continuation>,
    /// How many lines the content has.
    pub total_lines: u64,
    /// How many bytes the content has.
    pub total_bytes: u64,
    /// How many lines were too long to be searched. The rest of a page holds for the others.
    pub unsearched_lines: u64,
    /// The number of the first of them.
    pub first_unsearched: Option<u64>,
}

impl Page {
    /// The text of the lines, with an LF between them.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}

/// A line of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Its number; the first line has 0.
    pub number: u64,
    /// Its text, without LF, final CR or byte order mark.
    pub text: String,
    /// Whether the text was cut because the line is too long. The rest of it is read by
    /// [`TextView::line_part`](super::TextView::line_part).
    pub truncated: bool,
    /// How many bytes the whole line has in the content, without its LF.
    pub bytes: u64,
    /// Whether it is there because of a line near it, and does not match itself.
    pub context: bool,
}

/// Where an answer broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Continuation {
    /// The line to begin with next time.
    pub start: u64,
    /// The line before which to stop next time; the end of the content if nothing.
    pub end: Option<u64>,
    /// How many lines that were asked for are not in the answer, if that is known.
    pub left_out: Option<u64>,
    /// Why it broke off.
    pub reason: Stopped,
}

/// In words for a model.
impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left_out {
            Some(1) => f.write_str("1 line was left out")?,
            Some(count) => write!(f, "{count} lines were left out")?,
            None => f.write_str("there may be more")?,
        }
        write!(f, " ({}); go on with start {}", self.reason, self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, " and end {end}"))
    }
}

/// Why an answer broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stopped {
    /// It has as many lines as an answer may have.
    Lines,
    /// It has as many bytes as an answer may have.
    Bytes,
    /// It has as many matches as were asked for.
    Limit,
    /// As much was searched as one query may search.
    Work,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "an answer has a limited number of lines",
            Self::Bytes => "an answer has a limited number of bytes",
            Self::Limit => "as many matches as were asked for",
            Self::Work => "one search reads a limited number of bytes",
        })
    }
}

/// Lines within a budget.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) lines: Vec<Line>,
    pub(super) stopped: Option<Stopped>,
    budget: Budget,
    bytes: usize,
}

impl Shown {
    pub(super) fn new(budget: Budget) -> Self {
        Self { lines: Vec::new(), stopped: None, budget, bytes: 0 }
    }

    /// Adds a line, or says that there is no room for it, nor for any after it.
    pub(super) fn push(&mut self, line: Line) -> bool {
        let bytes = self.bytes.saturating_add(line.text.len() + 1);
        if self.stopped.is_some() {
            return false;
        }
        if self.lines.len() >= self.budget.lines.get() {
            self.stopped = Some(Stopped::Lines);
        } else if bytes > self.budget.bytes && !self.lines.is_empty() {
            self.stopped = Some(Stopped::Bytes);
        } else {
            self.bytes = bytes;
            self.lines.push(line);
        }
        self.stopped.is_none()
    }
}

/// Collects the lines of a range, by way of the index and without reading what is not shown.
#[derive(Debug)]
pub(super) struct LineScan {
    index: Arc<LineIndex>,
    /// The line that is being read.
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
    pub(super) shown: Shown,
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
            shown: Shown::new(budget),
            index,
        }
    }

    /// The line after the last that is shown.
    pub(super) fn next_line(&self) -> u64 {
        self.number
    }

    fn done(&self) -> bool {
        self.number >= self.end || self.shown.stopped.is_some()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = kept(self.cap).saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }

    /// Ends the line before this offset.
    fn finish_line(&mut self, at: u64) {
        let bytes = at - self.line_start;
        let complete = self.start.len() as u64 == bytes;
        let start = if self.number == 0 { without_mark(&self.start) } else { &self.start };
        let line = RawLine { number: self.number, start, complete, bytes }.show(self.cap);
        if self.shown.push(line) {
            self.number += 1;
        }
        self.start.clear();
        self.line_start = at + 1;
    }

    /// Goes on where the line ends, if nothing of it is needed before that.
    fn skip_rest_of_line(&mut self) {
        if self.skip > 0 || self.start.len() < kept(self.cap) {
            return;
        }
        match self.index.locate(self.number + 1) {
            Some(next) => self.position = self.position.max(next.offset),
            None => self.position = self.index.byte_length(),
        }
    }
}

impl Scan for LineScan {
    fn want(&self) -> Option<Want> {
        let left = self.index.byte_length().saturating_sub(self.position);
        if self.done() || left == 0 {
            return None;
        }
        let len = left.min(u64::from(self.index.block_size().get()));
        Some(Want { offset: self.position, len: usize::try_from(len).unwrap_or(usize::MAX) })
    }

    fn feed(&mut self, data: &[u8]) -> usize {
        let mut rest = data;
        let mut at = self.position;
        self.position += data.len() as u64;
        while !self.done() {
            let Some((line, after)) = split_line(rest) else {
                if self.skip == 0 {
                    self.keep(rest);
                }
                self.skip_rest_of_line();
                break;
            };
            let line_end = at + line.len() as u64;
            if self.skip > 0 {
                self.skip -= 1;
                self.line_start = line_end + 1;
            } else {
                self.keep(line);
                self.finish_line(line_end);
            }
            (rest, at) = (after, line_end + 1);
        }
        if self.position >= self.index.byte_length() && self.skip == 0 && !self.done() {
            self.finish_line(self.index.byte_length());
        }
        0
    }
}

/// The bytes before the first LF and those after it.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = bytes.split_at_checked(memchr(b'\n', bytes)?)?;
    Some((line, rest.get(1..).unwrap_or_default()))
}
