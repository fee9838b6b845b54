//! From chunks of bytes to lines.

use super::front_matter::FrontMatter;
use super::scan::{BlockScanner, LineTail};
use super::{FrontMatterKind, MarkdownIndex};
use crate::byte_order_mark;
use crate::invariant;

/// Reads a document in chunks of any size and builds its index.
///
/// It holds the current line, the open paragraph and the index, all of limited size, never the document.
///
/// ```
/// use haft_artifacts::markdown::MarkdownIndex;
///
/// let mut builder = MarkdownIndex::builder();
/// for chunk in ["# Ti", "tle\n\n``", "`rust\nfn main() {}\n```\n"] {
///     builder.push(chunk.as_bytes());
/// }
/// let index = builder.finish();
/// assert_eq!(&*index.headings()[0].text, "Title");
/// assert_eq!(index.code_blocks()[0].lang.as_deref(), Some("rust"));
/// ```
#[derive(Debug, Default)]
pub struct MarkdownIndexBuilder {
    scanner: BlockScanner,
    /// The start of a line whose end was not read yet.
    partial: Vec<u8>,
    /// What is known about the rest of that line.
    tail: LineTail,
    /// The last bytes of that rest, because an end mark may be split.
    overlap: Vec<u8>,
    front: FrontMatterState,
}

/// Whether the current lines may be front matter.
#[derive(Debug, Default)]
enum FrontMatterState {
    /// No line was read yet.
    #[default]
    Unread,
    /// Open. The lines are kept to be read as Markdown if it never closes.
    Open {
        kind: FrontMatterKind,
        lines: Vec<(Vec<u8>, LineTail)>,
        bytes: usize,
    },
    Closed(FrontMatter),
    None,
}

impl MarkdownIndexBuilder {
    /// Reads a chunk of the document.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = invariant::slice(rest, ..end);
            if self.partial.is_empty() && line.len() <= LINE_LIMIT {
                self.read_line(line, LineTail::default());
            } else {
                self.extend(line);
                self.end_line();
            }
            rest = invariant::slice(rest, end + 1..);
        }
        if !rest.is_empty() {
            self.extend(rest);
        }
    }

    /// Reads a whole line, given without its line end.
    pub fn push_line(&mut self, line: &str) {
        self.push(line.as_bytes());
        self.push(b"\n");
    }

    /// The work done so far: the number of bytes that were examined, counting each time. It grows linearly
    /// with the document.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.scanner.steps()
    }

    /// Ends the document.
    #[must_use]
    pub fn finish(mut self) -> MarkdownIndex {
        if !self.partial.is_empty() {
            self.end_line();
        }
        let front_matter = match std::mem::take(&mut self.front) {
            FrontMatterState::Open { lines, .. } => {
                self.rescan(lines);
                None
            }
            FrontMatterState::Closed(it) => Some(it),
            FrontMatterState::Unread | FrontMatterState::None => None,
        };
        let line_count = self.scanner.line_count();
        MarkdownIndex::new(self.scanner.finish(), front_matter, line_count)
    }

    /// Adds to the current line, of which only the start is kept.
    fn extend(&mut self, text: &[u8]) {
        let room = LINE_LIMIT.saturating_sub(self.partial.len());
        let (kept, rest) = text.split_at_checked(room).unwrap_or((text, &[]));
        self.partial.extend_from_slice(kept);
        if rest.is_empty() {
            return;
        }
        if self.overlap.is_empty() {
            let start = self.partial.len().saturating_sub(OVERLAP);
            self.overlap.extend_from_slice(invariant::slice(&self.partial, start..));
        }
        // The seam first, then the rest in one go.
        let (seam, _) = rest.split_at_checked(OVERLAP).unwrap_or((rest, &[]));
        self.overlap.extend_from_slice(seam);
        self.tail.note(&self.overlap);
        self.tail.note(rest);
        if rest.len() > OVERLAP {
            self.overlap.clear();
            let start = rest.len() - OVERLAP;
            self.overlap.extend_from_slice(invariant::slice(rest, start..));
        } else {
            let surplus = self.overlap.len().saturating_sub(OVERLAP);
            self.overlap.drain(..surplus);
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.partial);
        let tail = std::mem::take(&mut self.tail);
        self.overlap.clear();
        self.read_line(&line, tail);
        line.clear();
        self.partial = line;
    }

    fn read_line(&mut self, line: &[u8], tail: LineTail) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match &mut self.front {
            FrontMatterState::None | FrontMatterState::Closed(_) => {
                self.scanner.scan_line(line, tail)
            }
            FrontMatterState::Unread => {
                let line = byte_order_mark::strip_utf8(line);
                match FrontMatterKind::opened_by(line) {
                    Some(kind) if !tail.cut => {
                        self.front = FrontMatterState::Open {
                            kind,
                            lines: vec![(line.to_vec(), tail)],
                            bytes: 0,
                        };
                    }
                    _ => {
                        self.front = FrontMatterState::None;
                        self.scanner.scan_line(line, tail);
                    }
                }
            }
            FrontMatterState::Open { kind, lines, bytes } => {
                *bytes += line.len() + 1;
                let kind = *kind;
                if kind.is_closed_by(line) {
                    let text = lines.iter().skip(1).map(|(line, _)| String::from_utf8_lossy(line));
                    let text = text.collect::<Vec<_>>().join("\n").into_boxed_str();
                    self.scanner.skip_lines(lines.len() + 1);
                    self.front =
                        FrontMatterState::Closed(FrontMatter { kind, end_line: lines.len(), text });
                } else if *bytes > FRONT_MATTER_LIMIT || tail.cut {
                    let mut lines = std::mem::take(lines);
                    lines.push((line.to_vec(), tail));
                    self.front = FrontMatterState::None;
                    self.rescan(lines);
                } else {
                    lines.push((line.to_vec(), tail));
                }
            }
        }
    }

    fn rescan(&mut self, lines: Vec<(Vec<u8>, LineTail)>) {
        for (line, tail) in lines {
            self.scanner.scan_line(&line, tail);
        }
    }
}

/// The part of a line that is kept: what comes after it only ends HTML blocks.
const LINE_LIMIT: usize = 64 * 1024;
/// Longer than the longest end of an HTML block.
const OVERLAP: usize = 16;
/// Front matter larger than this is text.
const FRONT_MATTER_LIMIT: usize = 64 * 1024;
