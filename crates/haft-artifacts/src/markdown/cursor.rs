//! The start of a line: indentation and container markers.

use super::syntax::thematic_break;
use crate::invariant;

/// A position in a line that knows its column, because a tab counts up to the next multiple of four.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineCursor<'a> {
    rest: &'a [u8],
    column: usize,
    /// Columns of a tab that was begun but not used up.
    pending: usize,
    /// A thematic break begins only where at most this much is left, so that no part of a line with many
    /// list markers is examined for each of them.
    break_within: usize,
}

/// A list marker: how far the content of its item is indented.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListMarker {
    pub(super) indent: usize,
}

impl<'a> LineCursor<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line, column: 0, pending: 0, break_within: line.len() }
    }

    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether only spaces and tabs are left.
    pub(super) fn is_blank(&self) -> bool {
        is_blank(self.rest)
    }

    /// Skips at most `wanted` columns of white space and returns how many there were.
    pub(super) fn skip(&mut self, wanted: usize) -> usize {
        let from_tab = self.pending.min(wanted);
        self.pending -= from_tab;
        let mut skipped = from_tab;
        while skipped < wanted {
            match self.rest.split_first() {
                Some((b' ', rest)) => {
                    self.rest = rest;
                    self.column += 1;
                    skipped += 1;
                }
                Some((b'\t', rest)) => {
                    let width = 4 - self.column % 4;
                    self.rest = rest;
                    self.column += width;
                    let used = width.min(wanted - skipped);
                    self.pending = width - used;
                    skipped += used;
                }
                _ => break,
            }
        }
        skipped
    }

    pub(super) fn skip_all(&mut self) {
        self.pending = 0;
        let blanks = self.rest.iter().take_while(|&&it| it == b' ' || it == b'\t').count();
        self.advance(blanks);
    }

    /// The marker of a block quote and the space that belongs to it.
    pub(super) fn quote_marker(&mut self) -> bool {
        if self.rest.first() != Some(&b'>') {
            return false;
        }
        self.advance(1);
        self.skip(1);
        true
    }

    /// A list marker after `outer` columns of indentation. A thematic break is not a list marker.
    pub(super) fn eat_list_marker(&mut self, outer: usize) -> Option<ListMarker> {
        let width = marker_width(self.rest)?;
        if self.rest.len() <= self.break_within {
            match thematic_break(self.rest) {
                Ok(()) => return None,
                Err(looked_at) => self.break_within = self.rest.len() - looked_at,
            }
        }
        self.advance(width);
        let mut indent = outer + width + 1;
        self.skip(1);
        if self.is_blank() {
            return Some(ListMarker { indent });
        }
        let save = *self;
        let inner = self.skip(4);
        if inner < 4 {
            indent += inner;
        } else {
            *self = save;
        }
        Some(ListMarker { indent })
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = invariant::slice(self.rest, bytes..);
        self.column += bytes;
    }
}

/// Whether a text has only spaces and tabs.
pub(super) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|&it| it == b' ' || it == b'\t')
}

/// The bytes of a list marker that is followed by white space or the end of the line.
pub(super) fn marker_width(text: &[u8]) -> Option<usize> {
    let width = match text.first()? {
        b'-' | b'+' | b'*' => 1,
        b'0'..=b'9' => {
            let digits = text.iter().take(10).take_while(|it| it.is_ascii_digit()).count();
            if digits > 9 || !matches!(text.get(digits), Some(b'.' | b')')) {
                return None;
            }
            digits + 1
        }
        _ => return None,
    };
    matches!(text.get(width), None | Some(b' ' | b'\t')).then_some(width)
}
