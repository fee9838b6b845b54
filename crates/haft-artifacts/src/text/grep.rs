//! Finds the lines that match a pattern.

mod scan;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::Arc;

use haft_core::artifact::Budget;
use haft_core::spool::{LineIndex, SpoolError};

use self::scan::GrepScan;
use super::page::{BudgetedLines, PageLimit};
use super::pattern::Pattern;
use crate::content_view::ContentView;

/// How to search. By default, every matching line is found, case matters, and no context is shown.
///
/// ```
/// use haft_artifacts::text::{GrepOptions, TextView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = "start\nload\nERROR disk\nretry\nend\n";
/// let view = TextView::new(MemorySpoolStore::new().write("log".into(), log.into()).await?);
/// let page = view.grep("error", GrepOptions::new().ignore_case().context(1, 1)).await?;
/// assert_eq!(page.text(), "load\nERROR disk\nretry");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepOptions {
    /// Whether to ignore the difference between upper and lower case.
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
    pub max_matches: Option<NonZeroUsize>,
    /// The line to begin with.
    pub start_line: u64,
    /// About how many bytes to search: the lines that end within them, and at least one line.
    pub max_search_bytes: Option<u64>,
}

impl GrepOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignores the difference between upper and lower case.
    #[must_use]
    pub fn ignore_case(mut self) -> Self {
        self.ignore_case = true;
        self
    }

    /// Shows this many lines before and after each match.
    #[must_use]
    pub fn context(mut self, before: u64, after: u64) -> Self {
        (self.context_before, self.context_after) = (before, after);
        self
    }

    /// Stops after this many matches, at least one.
    #[must_use]
    pub fn max_matches(mut self, matches: usize) -> Self {
        self.max_matches = Some(NonZeroUsize::new(matches).unwrap_or(NonZeroUsize::MIN));
        self
    }

    /// Begins with this line.
    #[must_use]
    pub fn start_line(mut self, line: u64) -> Self {
        self.start_line = line;
        self
    }

    /// Searches about this many bytes.
    #[must_use]
    pub fn max_search_bytes(mut self, bytes: u64) -> Self {
        self.max_search_bytes = Some(bytes);
        self
    }
}

/// A search for the lines that match a pattern.
#[derive(Clone)]
pub(super) struct LineSearch {
    pub(super) pattern: Pattern,
    pub(super) index: Arc<LineIndex>,
    pub(super) budget: Budget,
    pub(super) limit: Option<NonZeroUsize>,
    pub(super) limits: GrepLimits,
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrepLimits {
    pub(super) window: usize,
    /// Longer lines are not searched.
    pub(super) line: usize,
}

impl GrepLimits {
    pub(super) const DEFAULT: Self = Self { window: 256 * 1024, line: 16 * 1024 * 1024 };
}

impl LineSearch {
    /// Searches from a line on.
    pub(super) async fn search(
        self,
        content: &ContentView,
        (start, max_search_bytes): (u64, Option<u64>),
    ) -> Result<FoundLines, SpoolError> {
        let lines = start..self.end_line(start, max_search_bytes);
        let count = self.index.line_count();
        let query = Arc::new(self);
        let scan = GrepScan::new(Arc::clone(&query), &lines);
        let mut found = FoundLines::new(&query, content.run_scan(scan).await?);
        if found.resume.is_none() && lines.end < count {
            found.resume = Some((lines.end, PageLimit::SearchedBytes));
        }
        found.resume.take_if(|(line, _)| *line >= count);
        Ok(found)
    }

    /// The line before which to stop, so that about this many bytes are searched.
    fn end_line(&self, start: u64, max_search_bytes: Option<u64>) -> u64 {
        let count = self.index.line_count();
        let (Some(bytes), Some(from)) = (max_search_bytes, self.index.locate(start)) else {
            return count;
        };
        let block = u64::from(self.index.block_size().get());
        let until = from.offset.saturating_add(bytes);
        if until >= self.index.byte_length() {
            return count;
        }
        self.index.newlines_before_block(until.div_ceil(block)).max(start + 1).min(count)
    }
}

/// What was found, in order and within the budget.
pub(super) struct FoundLines {
    pub(super) shown: BudgetedLines,
    /// The line to go on with, if the search ended before the end of the content.
    pub(super) resume: Option<(u64, PageLimit)>,
    pub(super) unsearched: u64,
    pub(super) first_unsearched_line: Option<u64>,
}

impl FoundLines {
    fn new(query: &LineSearch, mut scan: GrepScan) -> Self {
        let mut shown = BudgetedLines::new(query.budget);
        let limit = query.limit.map(NonZeroUsize::get);
        if let Some(limit) = limit {
            scan.hits.truncate(limit);
        }
        let count = scan.hits.len();
        let last = scan.hits.last().map(|hit| hit.number);
        let resume = match shown.append(scan.hits) {
            Some(omitted) => shown.limit_reached.map(|limit| (omitted, limit)),
            None if limit == Some(count) => last.map(|last| (last + 1, PageLimit::Matches)),
            None => None,
        };
        // Of the lines behind the page nothing is said, also not that they were not searched.
        let mut unsearched = scan.unsearched_lines;
        if let Some((resume, _)) = resume {
            unsearched.retain(|line| *line < resume);
        }
        let first_unsearched_line = unsearched.first().copied();
        Self { shown, resume, unsearched: unsearched.len() as u64, first_unsearched_line }
    }
}
