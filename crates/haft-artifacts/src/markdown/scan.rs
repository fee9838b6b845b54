//! Scans blocks line by line: which open, continue and end.
//!
//! The scanner keeps the open containers, the open block and the text of the open paragraph (capped),
//! nothing else of the document.

mod paragraph;

use self::paragraph::Paragraph;
use super::cursor::{LineCursor, is_blank};
use super::html;
use super::link_definition::ParagraphExtent;
use super::outline::Outline;
use super::syntax::{self, Fence, InterruptContext};

/// Reads lines and records what it finds in an [`Outline`].
#[derive(Debug, Default)]
pub(super) struct BlockScanner {
    pub(super) outline: Outline,
    containers: Vec<ContainerBlock>,
    leaf: LeafBlock,
    /// The number of the current line.
    line: usize,
    /// The paragraph's text; its buffer is used again for the next one.
    paragraph: Paragraph,
    steps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContainerBlock {
    Quote,
    /// `fresh` until something is in it: a blank line ends such an item.
    Item {
        indent: usize,
        fresh: bool,
    },
}

#[derive(Debug, Default, Clone, Copy)]
enum LeafBlock {
    #[default]
    None,
    Paragraph,
    Table,
    Fenced {
        fence: Fence,
        indent: usize,
    },
    Indented {
        last_text: usize,
    },
    Html(html::HtmlEnd),
}

/// What is known about the part of a line that is not kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineTail {
    /// The line continues after the part that is kept.
    pub(super) cut: bool,
    /// The ends of HTML blocks seen in the rest.
    pub(super) ends: [bool; 5],
    pub(super) has_backtick: bool,
}

impl BlockScanner {
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn line_count(&self) -> usize {
        self.line
    }

    /// Counts lines that are not Markdown.
    pub(super) fn skip_lines(&mut self, lines: usize) {
        self.line += lines;
    }

    /// Reads the next line, without its line end.
    pub(super) fn scan_line(&mut self, line: &[u8], tail: LineTail) {
        self.steps += 1 + line.len() as u64;
        if self.containers.is_empty() {
            let plain = line.first().is_some_and(|it| is_plain(*it));
            match self.leaf {
                LeafBlock::Paragraph if plain => self.push_paragraph_line(line),
                LeafBlock::None if plain => self.begin_paragraph(line),
                LeafBlock::Fenced { fence, .. }
                    if line
                        .first()
                        .is_none_or(|&it| it != fence.byte && it != b' ' && it != b'\t') => {}
                _ => self.scan_block_line(line, tail),
            }
        } else {
            self.scan_block_line(line, tail);
        }
        self.line += 1;
    }

    /// Ends what is open at the end of the document.
    pub(super) fn finish(mut self) -> Outline {
        self.end_leaf();
        self.close_containers(0);
        self.outline.finish(self.line);
        self.outline
    }

    fn scan_block_line(&mut self, line: &[u8], tail: LineTail) {
        let (cursor, matched) = self.continue_containers(line);
        let all = matched == self.containers.len();
        let done = match self.leaf {
            LeafBlock::None => false,
            LeafBlock::Paragraph => self.continue_paragraph(line, cursor, matched),
            LeafBlock::Fenced { fence, indent } => {
                if all {
                    self.scan_fenced_line(cursor, fence, indent, tail);
                }
                all
            }
            LeafBlock::Indented { .. } => all && self.continue_indented(cursor),
            LeafBlock::Html(end) => all && self.continue_html(cursor, end, tail),
            LeafBlock::Table => all && Self::continues_table(cursor),
        };
        if !done {
            self.end_leaf();
            self.begin_block(cursor, matched, tail);
        }
    }

    /// Removes the markers of open containers from a line, and returns how many containers continue.
    fn continue_containers<'a>(&mut self, line: &'a [u8]) -> (LineCursor<'a>, usize) {
        let mut cursor = LineCursor::new(line);
        let mut matched = 0;
        for container in &self.containers {
            let save = cursor;
            let goes_on = match *container {
                ContainerBlock::Quote => {
                    cursor.skip(3);
                    cursor.quote_marker()
                }
                ContainerBlock::Item { indent, .. } => {
                    cursor.skip(indent) == indent || cursor.at_end()
                }
            };
            if !goes_on {
                cursor = save;
                break;
            }
            matched += 1;
        }
        self.steps += matched as u64;
        (cursor, matched)
    }

    fn close_containers(&mut self, keep: usize) {
        if self.containers.len() > keep {
            self.containers.truncate(keep);
            if keep == 0 {
                self.outline.end_nested(self.line);
            }
        }
    }

    fn open_container(&mut self, container: ContainerBlock) {
        self.fill_item();
        self.containers.push(container);
    }

    /// Marks the innermost item as not empty.
    fn fill_item(&mut self) {
        if let Some(ContainerBlock::Item { fresh, .. }) = self.containers.last_mut() {
            *fresh = false;
        }
    }

    fn begin_block(&mut self, mut cursor: LineCursor<'_>, matched: usize, tail: LineTail) {
        self.close_containers(matched);
        while self.containers.len() < DEPTH_LIMIT {
            let save = cursor;
            let outer = cursor.skip(4);
            if outer >= 4 {
                cursor = save;
                break;
            }
            if let Some(marker) = cursor.eat_list_marker(outer) {
                self.steps += 1 + cursor.rest().len().min(64) as u64;
                let fresh = cursor.is_blank();
                self.open_container(ContainerBlock::Item { indent: marker.indent, fresh });
                if fresh {
                    return;
                }
            } else if cursor.quote_marker() {
                self.open_container(ContainerBlock::Quote);
            } else {
                cursor = save;
                break;
            }
        }
        if cursor.is_blank() {
            if let Some(ContainerBlock::Item { fresh: true, .. }) = self.containers.last() {
                self.close_containers(self.containers.len() - 1);
            }
            return;
        }
        self.fill_item();
        self.begin_leaf(cursor, tail);
    }

    fn begin_leaf(&mut self, mut cursor: LineCursor<'_>, tail: LineTail) {
        let indent = cursor.skip(4);
        if indent == 4 {
            self.outline.begin_code(self.line, None, &self.nesting());
            self.leaf = LeafBlock::Indented { last_text: self.line };
            return;
        }
        let text = cursor.rest();
        if let Some(end) = html::opens(text, html::LoneTag::Allowed) {
            if !html::ends(text, end) && !tail.ends(end) {
                self.leaf = LeafBlock::Html(end);
            }
        } else if !tail.cut && syntax::is_thematic_break(text) {
            // Nothing to note.
        } else if let Some((depth, content)) = syntax::atx_heading(text) {
            self.steps += content.len() as u64;
            self.outline.add_heading(depth, content, self.line, &self.nesting());
        } else if let Some((fence, info)) = syntax::parse_opening_fence(text)
            && !(fence.byte == b'`' && tail.has_backtick)
        {
            self.outline.begin_code(self.line, Some(info), &self.nesting());
            self.leaf = LeafBlock::Fenced { fence, indent };
        } else {
            cursor.skip_all();
            self.begin_paragraph(cursor.rest());
        }
    }

    fn nesting(&self) -> Nesting {
        if self.containers.is_empty() { Nesting::Top } else { Nesting::Nested }
    }

    fn end_leaf(&mut self) {
        match self.leaf {
            LeafBlock::None | LeafBlock::Table | LeafBlock::Html(_) => {}
            LeafBlock::Paragraph => self.take_definitions(ParagraphExtent::Whole),
            LeafBlock::Fenced { .. } => self.outline.end_code(self.line.saturating_sub(1)),
            LeafBlock::Indented { last_text } => self.outline.end_code(last_text),
        }
        self.leaf = LeafBlock::None;
    }

    /// Ends the fenced code block if the line closes it. Any other line belongs to the block.
    fn scan_fenced_line(
        &mut self,
        mut cursor: LineCursor<'_>,
        fence: Fence,
        indent: usize,
        tail: LineTail,
    ) {
        cursor.skip(indent);
        let closes =
            cursor.skip(4 - indent) < 4 - indent && syntax::closes_fence(cursor.rest(), fence);
        if closes && !tail.cut {
            self.outline.end_code(self.line);
            self.leaf = LeafBlock::None;
        }
    }

    fn continue_indented(&mut self, mut cursor: LineCursor<'_>) -> bool {
        if cursor.skip(4) < 4 && !cursor.at_end() {
            return false;
        }
        if !cursor.is_blank() {
            self.leaf = LeafBlock::Indented { last_text: self.line };
        }
        true
    }

    fn continue_html(
        &mut self,
        cursor: LineCursor<'_>,
        end: html::HtmlEnd,
        tail: LineTail,
    ) -> bool {
        if end == html::HtmlEnd::BlankLine {
            return !cursor.is_blank();
        }
        if html::ends(cursor.rest(), end) || tail.ends(end) {
            self.leaf = LeafBlock::None;
        }
        true
    }

    fn continues_table(mut cursor: LineCursor<'_>) -> bool {
        cursor.skip_all();
        let text = cursor.rest();
        // A lone pipe is a row without cells, which ends the table.
        let is_empty_row = text.strip_prefix(b"|").is_some_and(is_blank);
        !is_empty_row && !syntax::interrupts(text, InterruptContext::Table)
    }
}

/// Whether a heading or code block is inside a quote or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    Top,
    Nested,
}

impl LineTail {
    fn ends(self, end: html::HtmlEnd) -> bool {
        Self::slot(end).and_then(|it| self.ends.get(it)).is_some_and(|it| *it)
    }

    fn slot(end: html::HtmlEnd) -> Option<usize> {
        HTML_ENDS.iter().position(|&it| it == end)
    }

    /// Records what a part of the rest of the line contains.
    pub(super) fn note(&mut self, text: &[u8]) {
        self.cut = true;
        self.has_backtick |= memchr::memchr(b'`', text).is_some();
        for (seen, end) in self.ends.iter_mut().zip(HTML_ENDS) {
            *seen |= html::ends(text, end);
        }
    }
}

const HTML_ENDS: [html::HtmlEnd; 5] = [
    html::HtmlEnd::RawTag,
    html::HtmlEnd::Comment,
    html::HtmlEnd::Instruction,
    html::HtmlEnd::Declaration,
    html::HtmlEnd::CData,
];

/// Whether a line that begins with this byte is always text, inside and outside of a paragraph.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
        || byte >= 0x80
        || matches!(byte, b'!' | b'"' | b'$' | b'%' | b'&' | b'\'' | b'(' | b')' | b',' | b'.')
        || matches!(byte, b'/' | b';' | b'?' | b'@' | b'[' | b'\\' | b']' | b'^' | b'{' | b'}')
}

/// The deepest nesting of containers. Deeper markers are text.
const DEPTH_LIMIT: usize = 100;
