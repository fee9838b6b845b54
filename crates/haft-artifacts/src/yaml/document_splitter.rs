//! Finds where the documents of a stream begin and end.
//!
//! A line that begins with `---` or `...` and a blank is a marker everywhere, even inside
//! quoted and block scalars, so that only the starts of lines matter.

use std::ops::Range;

use memchr::memchr2;

use crate::invariant;

/// Cuts content into documents while it is read.
#[derive(Debug, Default)]
pub(super) struct DocumentSplitter {
    data: Vec<u8>,
    /// Where the document begins that is being collected.
    start: usize,
    /// Where the line begins that is not complete yet.
    line: usize,
    /// How far that line was searched for its end.
    searched: usize,
    /// How many lines precede `start`, and before `line`.
    start_number: u64,
    line_number: u64,
    /// Whether a document has begun since `start`, and not only comments and directives before one.
    started: bool,
    /// Whether there is a directive since `start`.
    directed: bool,
}

/// A document as it was cut out.
#[derive(Debug)]
pub(super) struct DocumentSlice {
    pub(super) bytes: Range<usize>,
    /// How many lines precede it.
    pub(super) line: u64,
}

impl DocumentSplitter {
    /// Takes more content.
    pub(super) fn push(&mut self, data: &[u8]) {
        self.data.drain(..self.start);
        self.line -= self.start;
        self.searched -= self.start;
        self.start = 0;
        self.data.extend_from_slice(data);
    }

    /// The next document that is complete. `last` says that no more content comes.
    pub(super) fn next(&mut self, last: bool) -> Option<DocumentSlice> {
        while let Some((end, next)) = self.process_line_end(last) {
            let line = LineKind::of(invariant::slice(&self.data, self.line..end));
            let slice = match line {
                LineKind::Start if self.started => {
                    Some(self.cut_document(self.line, self.line_number))
                }
                LineKind::End if self.started => {
                    Some(self.cut_document(next, self.line_number + 1))
                }
                LineKind::End => {
                    let _ = self.cut_document(next, self.line_number + 1);
                    None
                }
                _ => None,
            };
            match line {
                LineKind::Start | LineKind::Content => self.started = true,
                LineKind::Directive => self.directed = true,
                LineKind::End | LineKind::Nothing => {}
            }
            (self.line, self.searched) = (next, next);
            self.line_number += 1;
            if !self.started && !self.directed {
                (self.start, self.start_number) = (self.line, self.line_number);
            }
            if slice.is_some() {
                return slice;
            }
        }
        (last && (self.started || self.directed))
            .then(|| self.cut_document(self.data.len(), self.line_number))
    }

    /// The bytes of a document.
    pub(super) fn bytes(&self, slice: &DocumentSlice) -> &[u8] {
        invariant::slice(&self.data, slice.bytes.clone())
    }

    /// How many bytes the document has that is being collected.
    pub(super) fn pending_bytes(&self) -> usize {
        self.data.len() - self.start
    }

    /// How many lines precede the document that is being collected.
    pub(super) fn pending_line(&self) -> u64 {
        self.start_number
    }

    fn cut_document(&mut self, end: usize, end_line: u64) -> DocumentSlice {
        let slice = DocumentSlice { bytes: self.start..end, line: self.start_number };
        (self.start, self.start_number) = (end, end_line);
        (self.started, self.directed) = (false, false);
        slice
    }

    /// Where the current line ends, without and with its line end; `None` if it may go on.
    fn process_line_end(&mut self, last: bool) -> Option<(usize, usize)> {
        let rest = invariant::slice(&self.data, self.searched..);
        let Some(found) = memchr2(b'\n', b'\r', rest) else {
            self.searched = self.data.len();
            return (last && self.line < self.data.len())
                .then_some((self.data.len(), self.data.len()));
        };
        let end = self.searched + found;
        if self.data.get(end) == Some(&b'\n') {
            return Some((end, end + 1));
        }
        match self.data.get(end + 1) {
            Some(b'\n') => Some((end, end + 2)),
            Some(_) => Some((end, end + 1)),
            None if last => Some((end, end + 1)),
            None => None,
        }
    }
}

/// What a line says about documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// `---`
    Start,
    /// `...`
    End,
    /// `%YAML 1.2`, if no document has begun.
    Directive,
    /// White space or a comment.
    Nothing,
    Content,
}

impl LineKind {
    fn of(line: &[u8]) -> Self {
        let marker =
            |mark: &[u8]| line.strip_prefix(mark).is_some_and(|it| it.first().is_none_or(is_blank));
        if marker(b"---") {
            return Self::Start;
        }
        if marker(b"...") {
            return Self::End;
        }
        match line.iter().find(|byte| !is_blank(byte)) {
            None | Some(b'#') => Self::Nothing,
            Some(b'%') if line.first() == Some(&b'%') => Self::Directive,
            Some(_) => Self::Content,
        }
    }
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
