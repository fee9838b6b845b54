//! Queries of text.

use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use haft_core::spool::{LineIndex, SpoolError, SpoolReader};

use super::error::TextError;
use super::grep::{GrepLimits, GrepOptions, LineSearch};
use super::line_part::{LinePart, LinePartScan};
use super::page::{BudgetedLines, NextPage, PageLimit, TextPage};
use super::pattern::Pattern;
use super::scan::LineScan;
use crate::content_view::{ContentView, content_view_options};
use crate::ranges::range_of;

/// Queries of the lines of stored content.
///
/// Every result is a [`TextPage`], which stays within the [`Budget`](haft_core::artifact::Budget) and says
/// how to get what was omitted. The index of the reader finds lines, so that only a search reads more than
/// what it shows and one block. Queries run on a thread for blocking work and stop when their future is
/// dropped.
///
/// ```
/// use haft_artifacts::text::TextView;
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "one\ntwo\nthree".into()).await?;
/// let view = TextView::new(reader);
/// assert_eq!(view.count_lines().await?, 3);
/// assert_eq!(view.head(2).await?.text(), "one\ntwo");
/// assert_eq!(view.tail(1).await?.text(), "three");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TextView {
    content: ContentView,
    limits: GrepLimits,
}

impl TextView {
    /// A view of the content of a reader.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(crate) fn of_content(content: ContentView) -> Self {
        Self { content, limits: GrepLimits::DEFAULT }
    }

    content_view_options!();

    /// Searches lines of up to this many bytes instead of 16 MiB. A search holds at most a few times as many
    /// bytes in memory. Longer lines are skipped, and counted in the result.
    #[must_use]
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.limits.line = bytes;
        self
    }

    /// How many bytes the content has.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.content.reader.byte_length()
    }

    /// How many lines the content has.
    ///
    /// # Errors
    ///
    /// When the content cannot be read.
    pub async fn count_lines(&self) -> Result<u64, SpoolError> {
        Ok(self.content.reader.index().await?.line_count())
    }

    /// The first `n` lines.
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn head(&self, n: u64) -> Result<TextPage, SpoolError> {
        self.cat(..n).await
    }

    /// The last `n` lines. If there is no room for all of them, those nearest to the end are shown.
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn tail(&self, n: u64) -> Result<TextPage, SpoolError> {
        let index = self.content.reader.index().await?;
        let count = index.line_count();
        let asked = count - n.min(count);
        let start = asked.max(count.saturating_sub(self.content.budget.lines.get() as u64));
        // Bounded by lines here, and by bytes from the end below.
        let room = self.content.budget.bytes(usize::MAX).line_bytes(self.content.budget.line_cap());
        let scan = LineScan::new(Arc::clone(&index), start, count, room);
        let read = self.content.run_scan(scan).await?.shown.lines;
        let mut shown = BudgetedLines::new(self.content.budget);
        let all = read.into_iter().rev().try_for_each(|line| shown.push(line).then_some(()));
        shown.lines.reverse();
        let first = shown.lines.first().map_or(count, |line| line.number);
        let limit = if all.is_none() { PageLimit::Bytes } else { PageLimit::Lines };
        let next =
            (first < count && asked < first).then(|| NextPage::of_lines(asked..first, limit));
        Ok(TextPage { lines: shown.lines, next, ..empty_page(&index) })
    }

    /// The lines of a range. Lines past the end of the content are ignored.
    ///
    /// ```
    /// # use haft_artifacts::text::TextView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "one\ntwo\nthree".into()).await?;
    /// let view = TextView::new(reader);
    /// assert_eq!(view.cat(1..).await?.text(), "two\nthree");
    /// assert!(view.cat(7..9).await?.lines.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn cat(&self, range: impl RangeBounds<u64> + Send) -> Result<TextPage, SpoolError> {
        let Range { start, end } = range_of(&range);
        let index = self.content.reader.index().await?;
        let end = end.min(index.line_count());
        if start >= end {
            return Ok(empty_page(&index));
        }
        let scan = LineScan::new(Arc::clone(&index), start, end, self.content.budget);
        let scan = self.content.run_scan(scan).await?;
        let limit = scan.shown.limit_reached.unwrap_or(PageLimit::Lines);
        let first = scan.next_line();
        let next = (first < end).then(|| NextPage::of_lines(first..end, limit));
        Ok(TextPage { lines: scan.shown.lines, next, ..empty_page(&index) })
    }

    /// A part of one line, for lines that are too long for one result; `None` if there is no such line.
    ///
    /// The range is in bytes of the line as it is stored, up to [`TextLine::bytes`](super::TextLine::bytes). A
    /// result has at most [`Budget::bytes`](haft_core::artifact::Budget::bytes) of text and at least one character, whole characters only:
    /// one that the range begins in is shown, one that it ends in is left for the next part. Parts that
    /// follow each other make the text of the line.
    ///
    /// ```
    /// # use {haft_artifacts::text::TextView, haft_core::artifact::Budget, haft_core::spool::SpoolStore};
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft_core::spool::SpoolError> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "one long line".into()).await?;
    /// let view = TextView::new(reader).budget(Budget::new().bytes(8));
    /// let part = view.read_line_part(0, ..).await?.expect("there is a first line");
    /// assert_eq!(part.text, "one long");
    /// assert_eq!(part.next.map(|more| (more.start, more.end)), Some((8, 13)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn read_line_part(
        &self,
        number: u64,
        bytes: impl RangeBounds<u64> + Send,
    ) -> Result<Option<LinePart>, SpoolError> {
        let bytes = range_of(&bytes);
        let index = self.content.reader.index().await?;
        if number >= index.line_count() {
            return Ok(None);
        }
        let scan = LinePartScan::new(index, number, bytes, self.content.budget.bytes);
        Ok(self.content.run_scan(scan).await?.part)
    }

    /// The lines that match a pattern, each once, in order. The pattern is matched against the text of
    /// one line at a time, without its line end.
    ///
    /// ```
    /// use haft_artifacts::text::GrepOptions;
    /// # use haft_artifacts::text::TextView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "one\ntwo\nthree".into()).await?;
    /// let page = TextView::new(reader).grep("^t", GrepOptions::default()).await?;
    /// let numbers: Vec<_> = page.lines.iter().map(|line| line.number).collect();
    /// assert_eq!(numbers, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`TextError::Pattern`] when the pattern cannot be searched for in linear time, else when the content
    /// cannot be read, or the query was cancelled.
    pub async fn grep(&self, pattern: &str, options: GrepOptions) -> Result<TextPage, TextError> {
        let pattern = Pattern::new(pattern, &options)?;
        let index = self.content.reader.index().await?;
        let around = (options.context_before, options.context_after);
        let query = LineSearch {
            pattern,
            index: Arc::clone(&index),
            budget: self.content.budget,
            limit: options.max_matches,
            limits: GrepLimits { window: self.content.window_bytes, ..self.limits },
        };
        let from = (options.start_line, options.max_search_bytes);
        let found = query.search(&self.content, from).await?;
        let mut page = TextPage {
            lines: found.shown.lines,
            next: found.resume.map(|(start, limit)| NextPage::from_line(start, limit)),
            unsearched_lines: found.unsearched,
            first_unsearched_line: found.first_unsearched_line,
            ..empty_page(&index)
        };
        if around != (0, 0) {
            self.add_context(&mut page, &index, around).await?;
        }
        Ok(page)
    }

    /// Adds the lines around the matches to a page.
    async fn add_context(
        &self,
        page: &mut TextPage,
        index: &Arc<LineIndex>,
        (before, after): (u64, u64),
    ) -> Result<(), SpoolError> {
        let matches: Vec<u64> = page.lines.iter().map(|line| line.number).collect();
        let mut shown = BudgetedLines::new(self.content.budget);
        let mut next = 0;
        for (at, number) in matches.iter().enumerate() {
            let start = number.saturating_sub(before).max(next).min(*number);
            let end = number.saturating_add(after).saturating_add(1).min(index.line_count());
            // A match of its own begins where another line follows that is shown because of it.
            let end = matches.get(at + 1).map_or(end, |next| end.min(*next));
            let scan = LineScan::new(Arc::clone(index), start, end, self.content.budget);
            let scan = self.content.run_scan(scan).await?;
            next = end;
            for mut line in scan.shown.lines {
                line.context = line.number != *number;
                shown.push(line);
            }
            let limit = shown.limit_reached.or(scan.shown.limit_reached);
            if let Some(limit) = limit {
                let mut includes_match =
                    shown.lines.last().is_some_and(|line| line.number >= *number);
                if at == 0 && !includes_match {
                    // The lines around the match leave no room for it, so it is shown without them.
                    shown.lines = page.lines.drain(..).take(1).collect();
                    includes_match = true;
                }
                let start = if includes_match { number + 1 } else { *number };
                page.next = (start < index.line_count()).then(|| NextPage::from_line(start, limit));
                break;
            }
        }
        page.lines = shown.lines;
        Ok(())
    }
}

/// A page without lines that has the totals of the content.
fn empty_page(index: &LineIndex) -> TextPage {
    TextPage {
        total_lines: index.line_count(),
        total_bytes: index.byte_length(),
        ..TextPage::default()
    }
}
