//! Queries of text.

use std::num::NonZeroUsize;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use haft_core::spool::{LineIndex, SpoolError, SpoolReader};

use super::error::QueryError;
use super::grep::{GrepOptions, Query, Sizes};
use super::line_part::{LinePart, PartScan};
use super::page::{Continuation, Page, Shown, Stopped};
use super::pattern::Pattern;
use super::scan::LineScan;
use crate::content_view::{ContentView, content_view_options};
use crate::ranges::range_of;

/// The lines of stored content.
///
/// Every answer is a [`Page`]: bounded by the [`Budget`], and telling how to get what was left out.
/// Lines are found by the reader's index, so no query but a search reads more than it shows and one
/// block. The work is done on a thread for work that blocks, and stops when the future is dropped.
#[derive(Clone, Debug)]
pub struct TextView {
    content: ContentView,
    sizes: Sizes,
}

impl TextView {
    /// The lines of what a reader reads.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(crate) fn of_content(content: ContentView) -> Self {
        Self { content, sizes: Sizes::DEFAULT }
    }

    content_view_options!();

    /// Searches lines of up to so many bytes instead of 16 MiB. This is what a thread of a search holds in
    /// memory at most, a few times over; longer lines are passed over, and counted in the answer.
    #[must_use]
    pub fn longest_searched_line(mut self, bytes: usize) -> Self {
        self.sizes.line = bytes;
        self
    }

    /// Searches by so many threads instead of two. That goes for 64 MiB and more on this machine; less,
    /// and content that is elsewhere, is searched by one. The answers are the same.
    #[must_use]
    pub fn search_threads(mut self, threads: NonZeroUsize) -> Self {
        self.sizes.threads = threads;
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
    pub async fn line_count(&self) -> Result<u64, SpoolError> {
        Ok(self.content.reader.index().await?.line_count())
    }

    /// The first `n` lines.
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn head(&self, n: u64) -> Result<Page, SpoolError> {
        self.cat(..n).await
    }

    /// The last `n` lines. If there is no room for all of them, those nearest to the end are shown.
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn tail(&self, n: u64) -> Result<Page, SpoolError> {
        let index = self.content.reader.index().await?;
        let count = index.line_count();
        let asked = count - n.min(count);
        let start = asked.max(count.saturating_sub(self.content.budget.lines.get() as u64));
        // Bounded by lines here, and by bytes from the end below.
        let room = self.content.budget.bytes(usize::MAX).line_bytes(self.content.budget.line_cap());
        let scan = LineScan::new(Arc::clone(&index), start, count, room);
        let read = self.content.run_scan(scan).await?.shown.lines;
        let mut shown = Shown::new(self.content.budget);
        let all = read.into_iter().rev().try_for_each(|line| shown.push(line).then_some(()));
        shown.lines.reverse();
        let first = shown.lines.first().map_or(count, |line| line.number);
        let reason = if all.is_none() { Stopped::Bytes } else { Stopped::Lines };
        let more = rest(asked, first, first < count && asked < first, reason);
        Ok(Page { lines: shown.lines, more, ..facts(&index) })
    }

    /// The lines of a range; what lies past the end is left out.
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn cat(&self, range: impl RangeBounds<u64> + Send) -> Result<Page, SpoolError> {
        let Range { start, end } = range_of(&range);
        let index = self.content.reader.index().await?;
        let end = end.min(index.line_count());
        if start >= end {
            return Ok(facts(&index));
        }
        let scan = LineScan::new(Arc::clone(&index), start, end, self.content.budget);
        let scan = self.content.run_scan(scan).await?;
        let reason = scan.shown.stopped.unwrap_or(Stopped::Lines);
        let next = scan.next_line();
        let more = rest(next, end, next < end, reason);
        Ok(Page { lines: scan.shown.lines, more, ..facts(&index) })
    }

    /// A part of one line, for lines that are too long for an answer; nothing if there is no such line.
    ///
    /// The range is in bytes of the line as it is stored, up to [`Line::bytes`](super::Line::bytes). An
    /// answer has at most [`Budget::bytes`] of text and at least one character, whole characters only:
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
    /// let part = view.line_part(0, ..).await?.expect("there is a first line");
    /// assert_eq!(part.text, "one long");
    /// assert_eq!(part.more.map(|more| (more.start, more.end)), Some((8, 13)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the content cannot be read, or the query was cancelled.
    pub async fn line_part(
        &self,
        number: u64,
        bytes: impl RangeBounds<u64> + Send,
    ) -> Result<Option<LinePart>, SpoolError> {
        let bytes = range_of(&bytes);
        let index = self.content.reader.index().await?;
        if number >= index.line_count() {
            return Ok(None);
        }
        let scan = PartScan::new(index, number, bytes, self.content.budget.bytes);
        Ok(self.content.run_scan(scan).await?.part)
    }

    /// The lines that match a pattern, each once, in order. The pattern is matched against the text of
    /// one line at a time, without its line end.
    ///
    /// # Errors
    ///
    /// [`QueryError::Pattern`] when the pattern is not one that can be searched for in linear time, else
    /// when the content cannot be read, or the query was cancelled.
    pub async fn grep(&self, pattern: &str, options: GrepOptions) -> Result<Page, QueryError> {
        let pattern = Pattern::new(pattern, &options)?;
        let index = self.content.reader.index().await?;
        let around = (options.context_before, options.context_after);
        let query = Query {
            pattern,
            index: Arc::clone(&index),
            budget: self.content.budget,
            limit: options.limit,
            sizes: Sizes { window: self.content.window_bytes, ..self.sizes },
        };
        let from = (options.start_line, options.scan_bytes);
        let found = query.search(&self.content, from).await?;
        let go_on = |(start, reason)| Continuation { start, end: None, left_out: None, reason };
        let mut page = Page {
            lines: found.shown.lines,
            more: found.resume.map(go_on),
            unsearched_lines: found.unsearched,
            first_unsearched: found.first_unsearched,
            ..facts(&index)
        };
        if around != (0, 0) {
            self.add_context(&mut page, &index, around).await?;
        }
        Ok(page)
    }

    /// Puts the lines around the matches between them.
    async fn add_context(
        &self,
        page: &mut Page,
        index: &Arc<LineIndex>,
        (before, after): (u64, u64),
    ) -> Result<(), SpoolError> {
        let matches: Vec<u64> = page.lines.iter().map(|line| line.number).collect();
        let mut shown = Shown::new(self.content.budget);
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
            let reason = shown.stopped.or(scan.shown.stopped);
            if let Some(reason) = reason {
                let mut seen = shown.lines.last().is_some_and(|line| line.number >= *number);
                if at == 0 && !seen {
                    // Lines around it leave no room for the match: then it goes without.
                    shown.lines = page.lines.drain(..).take(1).collect();
                    seen = true;
                }
                let start = if seen { number + 1 } else { *number };
                page.more = (start < index.line_count()).then_some(Continuation {
                    start,
                    end: None,
                    left_out: None,
                    reason,
                });
                break;
            }
        }
        page.lines = shown.lines;
        Ok(())
    }
}

/// A page without lines.
fn facts(index: &LineIndex) -> Page {
    Page { total_lines: index.line_count(), total_bytes: index.byte_length(), ..Page::default() }
}

/// The lines from `start` until before `end` as what was left out, if any were.
fn rest(start: u64, end: u64, any: bool, reason: Stopped) -> Option<Continuation> {
    any.then(|| Continuation {
        start,
        end: Some(end),
        left_out: Some(end.saturating_sub(start)),
        reason,
    })
}
