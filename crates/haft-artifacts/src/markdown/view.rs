//! Stored Markdown.

use std::ops::Range;

use haft_core::artifact::Budget;
use haft_core::forge::QueryContext;
use haft_core::spool::SpoolError;

use super::{MarkdownIndex, MarkdownIndexBuilder};
use crate::content_view::ContentView;
use crate::scan::saturating_len;
use crate::text::TextView;

/// The structure and the lines of stored Markdown.
#[derive(Clone, Debug)]
pub(super) struct MarkdownView {
    content: ContentView,
}

impl MarkdownView {
    /// The queried artifact.
    pub(super) fn of_query(asked: &QueryContext) -> Self {
        Self { content: ContentView::of_query(asked) }
    }

    /// Reads the whole document and builds its index.
    pub(super) async fn build_index(&self) -> Result<MarkdownIndex, SpoolError> {
        let builder = MarkdownIndex::builder();
        let read = self.content.fold_chunks(builder, MarkdownIndexBuilder::push);
        Ok(read.await?.finish())
    }

    /// Reads lines, as many as may be parsed for one result.
    pub(super) async fn read_part(&self, lines: Range<u64>) -> Result<MarkdownPart, SpoolError> {
        let room = Budget::new().lines(std::num::NonZeroUsize::MAX);
        let room = room.bytes(LONGEST_PART).line_bytes(LONGEST_PART);
        let first_line = saturating_len(lines.start);
        let page = TextView::of_content(self.content.clone()).budget(room).cat(lines).await?;
        Ok(MarkdownPart { text: page.text(), first_line, next: page.next.map(|it| it.start) })
    }
}

/// Lines of a document.
#[derive(Debug)]
pub(super) struct MarkdownPart {
    pub(super) text: String,
    pub(super) first_line: usize,
    /// The first line that was omitted because the part would be too long.
    pub(super) next: Option<u64>,
}

/// How much of a document is parsed for one result.
const LONGEST_PART: usize = 1024 * 1024;
