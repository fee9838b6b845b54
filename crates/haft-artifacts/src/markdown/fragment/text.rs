//! Blocks as plain text.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::markdown::plain;

/// Writes the text of blocks.
#[derive(Debug, Default)]
pub(super) struct PlainTextWriter {
    text: String,
    gap: BlockGap,
    /// Lists that are open.
    lists: usize,
    is_row_begun: bool,
}

/// What separates the text so far from the next text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BlockGap {
    #[default]
    None,
    Line,
    Blank,
}

impl PlainTextWriter {
    /// Adds code that is a block of its own.
    pub(super) fn push_code(&mut self, code: &str) {
        if !code.is_empty() {
            self.push(code);
            self.gap = BlockGap::Blank;
        }
    }

    pub(super) fn push_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Html(html) => self.push(html),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            event => {
                let mut text = String::new();
                plain::push_inline(&mut text, event, "\n");
                self.push(&text);
            }
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(_) => {
                self.widen_gap(if self.lists == 0 { BlockGap::Blank } else { BlockGap::Line });
                self.lists += 1;
            }
            Tag::Item => self.widen_gap(BlockGap::Line),
            Tag::TableHead | Tag::TableRow => {
                self.widen_gap(BlockGap::Line);
                self.is_row_begun = false;
            }
            Tag::TableCell => {
                if self.is_row_begun {
                    self.text.push('\t');
                } else {
                    self.fill_gap();
                }
                self.is_row_begun = true;
            }
            tag if is_block(tag) => self.widen_gap(BlockGap::Blank),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::List(_) => {
                self.lists = self.lists.saturating_sub(1);
                self.widen_gap(if self.lists == 0 { BlockGap::Blank } else { BlockGap::Line });
            }
            TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow => self.widen_gap(BlockGap::Line),
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::Table => self.widen_gap(BlockGap::Blank),
            _ => {}
        }
    }

    fn widen_gap(&mut self, gap: BlockGap) {
        self.gap = self.gap.max(gap);
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.fill_gap();
        self.text.push_str(text);
    }

    fn fill_gap(&mut self) {
        if self.gap > BlockGap::None && !self.text.is_empty() {
            self.text.truncate(self.text.trim_end_matches('\n').len());
            self.text.push_str(if self.gap == BlockGap::Blank { "\n\n" } else { "\n" });
        }
        self.gap = BlockGap::None;
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::BlockQuote(_)
            | Tag::Table(_)
    )
}
