//! Paragraphs, and the headings, tables and definitions that a later line turns them into.

use super::{BlockScanner, LeafBlock, LineTail};
use crate::invariant;
use crate::markdown::cursor::LineCursor;
use crate::markdown::link_definition::{self, DefinitionStart, ParagraphExtent};
use crate::markdown::syntax::{self, InterruptContext};

/// The text of the open paragraph.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    start: usize,
    /// Lines without the white space before them, joined by a line feed.
    text: Vec<u8>,
    /// How many lines `text` began with, the ones past the cap included.
    lines: usize,
    /// The last line, if it may be the heading row of a table that ends the paragraph.
    header: Option<TableHeader>,
    /// Failed attempts to find definitions since the last one was found.
    looks: u32,
    /// The length of `text` at which definitions are taken out of it.
    next_look: usize,
}

#[derive(Debug)]
struct TableHeader {
    columns: usize,
    /// How many containers its line continued.
    matched: usize,
    row: Vec<u8>,
}

impl BlockScanner {
    pub(super) fn begin_paragraph(&mut self, text: &[u8]) {
        let it = &mut self.paragraph;
        it.start = self.line;
        it.lines = 0;
        it.text.clear();
        it.header = None;
        it.looks = 0;
        it.next_look = FIRST_LOOK;
        self.leaf = LeafBlock::Paragraph;
        self.push_paragraph_line(text);
    }

    pub(super) fn push_paragraph_line(&mut self, text: &[u8]) {
        let it = &mut self.paragraph;
        it.header = None;
        if it.lines > 0 {
            it.text.push(b'\n');
        }
        it.lines += 1;
        let room = PARAGRAPH_LIMIT.saturating_sub(it.text.len());
        it.text.extend_from_slice(text.get(..room).unwrap_or(text));
        if room == 0 {
            it.text.pop();
        }
        if it.text.len() > it.next_look {
            self.take_definitions(ParagraphExtent::Beginning);
            self.paragraph.next_look = FIRST_LOOK + 2 * self.paragraph.text.len();
        }
    }

    /// Whether the line belongs to the paragraph, or was processed as its end.
    pub(super) fn continue_paragraph(
        &mut self,
        line: &[u8],
        cursor: LineCursor<'_>,
        matched: usize,
    ) -> bool {
        let all = matched == self.containers.len();
        let mut start = cursor;
        if start.skip(4) < 4 {
            let text = start.rest();
            if all && let Some(columns) = syntax::delimiter_row(text) {
                if let Some(header) = self.paragraph.header.take_if(|it| it.columns == columns) {
                    self.split_at_header(&header);
                    self.scan_block_line(line, LineTail::default());
                    return true;
                }
                if self.becomes_table(columns) {
                    self.leaf = LeafBlock::Table;
                    return true;
                }
            }
            if all
                && let Some(depth) = syntax::setext_underline(text)
                && self.becomes_heading(depth, text)
            {
                return true;
            }
            let within = if all { InterruptContext::Paragraph } else { InterruptContext::Lazy };
            if syntax::interrupts(text, within) {
                return false;
            }
            if text.first() == Some(&b'|') {
                self.push_paragraph_line(text);
                self.paragraph.header = syntax::header_columns(text).map(|columns| TableHeader {
                    columns,
                    matched,
                    row: text.to_vec(),
                });
                return true;
            }
        }
        start.skip_all();
        if start.at_end() {
            return false;
        }
        self.push_paragraph_line(start.rest());
        true
    }

    /// The last line of the paragraph begins a table: end the paragraph before it.
    fn split_at_header(&mut self, header: &TableHeader) {
        let it = &mut self.paragraph;
        if it.text.ends_with(&header.row) {
            it.text.truncate(it.text.len().saturating_sub(header.row.len() + 1));
        }
        self.end_leaf();
        self.line -= 1;
        self.close_containers(header.matched);
        self.begin_paragraph(&header.row);
        self.line += 1;
    }

    /// Whether the paragraph is the heading row of a table with this many columns.
    fn becomes_table(&mut self, columns: usize) -> bool {
        if self.paragraph.text.first() == Some(&b'[') && self.paragraph.lines > 1 {
            self.paragraph.looks += 1;
            if self.paragraph.looks > LOOKS_LIMIT {
                return false;
            }
            self.take_definitions_but_last_line();
        }
        let it = &self.paragraph;
        it.lines == 1
            && !syntax::ends_with_backslash(&it.text)
            && syntax::header_columns(&it.text) == Some(columns)
    }

    /// Whether an underline makes the paragraph a heading. Under definitions alone it is text, or a block
    /// of its own.
    fn becomes_heading(&mut self, depth: u8, underline: &[u8]) -> bool {
        self.take_definitions(ParagraphExtent::Whole);
        if self.paragraph.text.is_empty() {
            if syntax::interrupts(underline, InterruptContext::Paragraph) {
                return false;
            }
            self.begin_paragraph(underline);
            return true;
        }
        let it = &self.paragraph;
        self.steps += it.text.len() as u64;
        self.outline.add_heading(depth, &it.text, it.start, &self.nesting());
        self.leaf = LeafBlock::None;
        true
    }

    /// Takes definitions from the start of the paragraph, so that its last line is left over.
    fn take_definitions_but_last_line(&mut self) {
        let Some(end) = memchr::memrchr(b'\n', &self.paragraph.text) else {
            return;
        };
        let last = self.paragraph.text.split_off(end);
        let last = invariant::slice(&last, 1..);
        let lines = self.paragraph.lines;
        self.take_definitions(ParagraphExtent::Whole);
        let it = &mut self.paragraph;
        if it.text.is_empty() {
            it.start = self.line - 1;
            it.lines = 1;
        } else {
            it.text.push(b'\n');
            it.lines = lines;
        }
        it.text.extend_from_slice(last);
    }

    pub(super) fn take_definitions(&mut self, extent: ParagraphExtent) {
        let it = &mut self.paragraph;
        let mut taken = 0;
        while let Some(text) = it.text.get(taken..)
            && text.first() == Some(&b'[')
        {
            let DefinitionStart::Definition { found, length } =
                link_definition::parse(text, extent)
            else {
                self.steps += text.len() as u64;
                break;
            };
            self.steps += length as u64;
            self.outline.add_definition(found);
            let lines = text.iter().take(length).filter(|&&it| it == b'\n').count();
            it.start += lines;
            it.lines = it.lines.saturating_sub(lines);
            it.looks = 0;
            taken += length.max(1);
        }
        if taken >= it.text.len() {
            // What comes next is on the line after.
            it.start += usize::from(taken > 0);
            it.text.clear();
            it.lines = 0;
        } else if taken > 0 {
            it.text.drain(..taken);
        }
    }
}

/// The maximum number of bytes that are kept of a paragraph.
const PARAGRAPH_LIMIT: usize = 64 * 1024;
/// The size of a paragraph at which its definitions are taken out the first time.
const FIRST_LOOK: usize = 8 * 1024;
/// The maximum number of attempts to find a table under definitions, per paragraph and definition.
const LOOKS_LIMIT: u32 = 16;
