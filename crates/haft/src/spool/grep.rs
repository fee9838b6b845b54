//! Finds the lines that match a pattern.

use std::num::NonZeroUsize;
use std::sync::Arc;

use haft_core::artifact::Budget;
use haft_core::spool::{LineIndex, count_newlines};
use memchr::{memchr, memrchr};

use super::drive::{Scan, Want};
use super::line::{MARK, RawLine, kept, without_mark};
use super::page::{Shown, Stopped};
use super::pattern::Pattern;

/// How to search. The default finds every line that matches, in the case given, without lines around.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepOptions {
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether `^` and `$` also match inside the text. A line is searched alone, so this changes nothing
    /// but is accepted.
    pub multi_line: bool,
    /// Whether `.` also matches LF. A line has none, so this changes nothing but is accepted.
    pub dot_all: bool,
    /// How many lines to show before a match.
    pub context_before: u64,
    /// How many lines to show after a match.
    pub context_after: u64,
    /// How many matches to stop after.
    pub limit: Option<NonZeroUsize>,
    /// The line to begin with.
    pub start_line: u64,
    /// How many bytes to search at most, in whole windows.
    pub scan_bytes: Option<u64>,
}

impl GrepOptions {
    /// The default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes upper and lower case for the same.
    #[must_use]
    pub fn ignore_case(mut self) -> Self {
        self.ignore_case = true;
        self
    }

    /// Shows so many lines before and after a match.
    #[must_use]
    pub fn context(mut self, before: u64, after: u64) -> Self {
        (self.context_before, self.context_after) = (before, after);
        self
    }

    /// Stops after so many matches; one if none.
    #[must_use]
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = Some(NonZeroUsize::new(matches).unwrap_or(NonZeroUsize::MIN));
        self
    }

    /// Begins with this line.
    #[must_use]
    pub fn start_line(mut self, line: u64) -> Self {
        self.start_line = line;
        self
    }

    /// Searches at most about so many bytes.
    #[must_use]
    pub fn scan_bytes(mut self, bytes: u64) -> Self {
        self.scan_bytes = Some(bytes);
        self
    }
}

/// A search, one window after the other. What is fed always begins at the start of a line, unless the
/// line is longer than may be held; such a line is passed over and counted.
pub(super) struct GrepScan {
    pattern: Pattern,
    index: Arc<LineIndex>,
    options: GrepOptions,
    sizes: Sizes,
    cap: usize,
    /// From where to read next, always the start of a block.
    position: u64,
    /// How many bytes before that were kept.
    carried: usize,
    /// How many bytes to read next.
    window: usize,
    /// Newlines to pass before the first line.
    skip: u64,
    /// Whether what is fed begins inside a line that is too long.
    inside_long_line: bool,
    /// How many bytes a mark at the very start has.
    mark: u64,
    scanned: u64,
    pub(super) found: Shown,
    /// The line to go on with, once the search has stopped before the end.
    pub(super) resume: Option<(u64, Stopped)>,
    pub(super) unsearched: u64,
    pub(super) first_unsearched: Option<u64>,
}

/// How much is read at once, and how long a line may be to be searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) window: usize,
    pub(super) line: usize,
}

impl GrepScan {
    pub(super) fn new(
        pattern: Pattern,
        index: Arc<LineIndex>,
        options: GrepOptions,
        budget: Budget,
        sizes: Sizes,
    ) -> Self {
        let found = index.locate(options.start_line);
        let nowhere = (index.byte_length(), 0);
        let (position, skip) = found.map_or(nowhere, |found| (found.offset, found.newlines));
        let window = whole_blocks(sizes.window, &index);
        Self {
            pattern,
            index,
            options,
            sizes,
            cap: budget.line_cap(),
            position,
            carried: 0,
            window,
            skip,
            inside_long_line: false,
            mark: 0,
            scanned: 0,
            found: Shown::new(budget),
            resume: None,
            unsearched: 0,
            first_unsearched: None,
        }
    }

    /// The number of the line that what is fed begins with or in.
    fn first_line(&self) -> u64 {
        let block = self.position / u64::from(self.index.block_size().get());
        self.index.newlines_before_block(block)
    }

    /// Searches whole lines: up to an LF, or to the end of the content.
    fn search(&mut self, lines: &[u8], first: u64, last: bool) {
        let end = if last { lines.len() } else { lines.len().saturating_sub(1) };
        let (mut at, mut counted, mut number) = (0, 0, first);
        while at <= end {
            let Some(hit) = self.pattern.find_end(lines, at, end) else { return };
            let before = lines.get(at..hit).unwrap_or_default();
            let start = memrchr(b'\n', before).map_or(at, |newline| at + newline + 1);
            let after = lines.get(hit..).unwrap_or_default();
            let stop = memchr(b'\n', after).map_or(lines.len(), |newline| hit + newline);
            let line = lines.get(start..stop).unwrap_or_default();
            if self.pattern.holds(line) {
                number += count_newlines(lines.get(counted..start).unwrap_or_default());
                counted = start;
                self.take(number, line);
                if self.resume.is_some() {
                    return;
                }
            }
            at = stop + 1;
        }
    }

    /// Adds a match, and stops the search if it is the last one.
    fn take(&mut self, number: u64, line: &[u8]) {
        let start = line.get(..kept(self.cap)).unwrap_or(line);
        let complete = start.len() == line.len();
        let mark = if number == 0 { self.mark } else { 0 };
        let bytes = line.len() as u64 + mark;
        let shown = RawLine { number, start, complete, bytes }.show(self.cap);
        if !self.found.push(shown) {
            self.resume = self.found.stopped.map(|stopped| (number, stopped));
        } else if self.options.limit.is_some_and(|it| self.found.lines.len() >= it.get()) {
            self.resume = Some((number + 1, Stopped::Limit));
        }
    }

    /// Passes over what does not belong to a line that is to be searched, and says which line the rest
    /// begins with. Nothing if all of it has to be passed over.
    fn enter<'d>(&mut self, data: &'d [u8], offset: u64) -> Option<(u64, &'d [u8])> {
        if self.skip > 0 {
            // All of them are in the first block, and a window has whole blocks.
            let mut rest = data;
            for _ in 0..std::mem::take(&mut self.skip) {
                rest = after_newline(rest)?;
            }
            return Some((self.options.start_line, rest));
        }
        let line = self.first_line();
        if std::mem::take(&mut self.inside_long_line) {
            let rest = after_newline(data);
            self.inside_long_line = rest.is_none();
            return rest.map(|rest| (line + 1, rest));
        }
        if offset == 0 {
            let rest = without_mark(data);
            self.mark = (data.len() - rest.len()) as u64;
            return Some((0, rest));
        }
        Some((line, data))
    }

    /// Keeps an unfinished line, or gives it up if it is too long.
    fn carry(&mut self, unfinished: &[u8], line: u64) -> usize {
        if unfinished.len() < self.sizes.line {
            self.carried = unfinished.len();
            // As much again as there is, so that long lines are not gone through over and over.
            self.window = whole_blocks(self.sizes.window.max(self.carried), &self.index);
            return self.carried;
        }
        self.unsearched += 1;
        self.first_unsearched.get_or_insert(line);
        self.inside_long_line = true;
        if let Some(next) = self.index.locate(line + 1) {
            self.position = self.position.max(next.offset);
        } else {
            self.position = self.index.byte_length();
        }
        self.carried = 0;
        self.window = whole_blocks(self.sizes.window, &self.index);
        0
    }
}

impl Scan for GrepScan {
    fn want(&self) -> Option<Want> {
        let left = self.index.byte_length().saturating_sub(self.position);
        if self.resume.is_some() || left == 0 {
            return None;
        }
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(self.window);
        Some(Want { offset: self.position, len })
    }

    fn feed(&mut self, data: &[u8]) -> usize {
        let offset = self.position - self.carried as u64;
        let read = data.len() - self.carried;
        let last = self.position + read as u64 == self.index.byte_length();
        if offset == 0 && data.len() < MARK.len() && !last {
            // It may be the start of a mark.
            (self.position, self.carried) = (read as u64 + self.position, data.len());
            return data.len();
        }
        let entered = self.enter(data, offset);
        self.position += read as u64;
        self.scanned += read as u64;
        let Some((first, rest)) = entered else {
            self.carried = 0;
            return 0;
        };
        let whole = if last { rest.len() } else { memrchr(b'\n', rest).map_or(0, |at| at + 1) };
        let (lines, unfinished) = rest.split_at_checked(whole).unwrap_or((rest, &[]));
        if last || !lines.is_empty() {
            self.search(lines, first, last);
        }
        if last || self.resume.is_some() {
            return 0;
        }
        let next = self.first_line();
        if self.options.scan_bytes.is_some_and(|limit| self.scanned >= limit) && next > first {
            self.resume = Some((next, Stopped::Work));
            return 0;
        }
        self.carry(unfinished, next)
    }
}

/// What stands behind the first LF.
fn after_newline(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(memchr(b'\n', bytes)? + 1..)
}

fn whole_blocks(bytes: usize, index: &LineIndex) -> usize {
    let block = usize::try_from(index.block_size().get()).unwrap_or(usize::MAX);
    bytes.max(1).checked_next_multiple_of(block).unwrap_or(block)
}
