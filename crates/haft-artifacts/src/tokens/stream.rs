//! Counts of texts that come in chunks.

use std::fmt;

use haft_core::tokens::{Encoding, HeuristicTally, TokenCount};
use tiktoken::CoreBpe;

use super::cut::{self, CutPoint, SplitRule};
use super::exact::{add_piece, bpe_table, split_rule};
use crate::invariant;

/// Counts the tokens of a text that comes in chunks of bytes, in bounded memory.
///
/// Gives the count that [`ExactCounter`](super::ExactCounter) gives for the whole text, however the
/// chunks are cut. Bytes that are not UTF-8 count as U+FFFD, as in [`String::from_utf8_lossy`].
///
/// ```
/// use haft_artifacts::tokens::StreamCounter;
/// use haft_core::tokens::{Encoding, TokenCount};
///
/// let mut counter = StreamCounter::new(Encoding::Cl100kBase);
/// for chunk in ["The quick ", "brown f", "ox"] {
///     counter.push(chunk.as_bytes());
/// }
/// assert_eq!(counter.finish(), TokenCount::exact(4));
/// ```
pub struct StreamCounter {
    encoding: Encoding,
    /// The beginning of a character whose end was not read yet.
    partial: Vec<u8>,
    tally: StreamTally,
}

enum StreamTally {
    Exact(ExactTally),
    Heuristic(HeuristicTally),
}

struct ExactTally {
    table: &'static CoreBpe,
    split_rule: SplitRule,
    total: TokenCount,
    /// Text that is not counted yet: less than the longest piece and a chunk.
    text: String,
    searched: usize,
}

/// Longer chunks are taken in parts, so that a long one takes no more memory.
const MAX_CHUNK: usize = 16 * 1024;

impl StreamCounter {
    /// A count of an empty text.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let tally = match split_rule(encoding).zip(bpe_table(encoding)) {
            Some((split_rule, table)) => StreamTally::Exact(ExactTally {
                table,
                split_rule,
                total: TokenCount::exact(0),
                text: String::new(),
                searched: 0,
            }),
            None => StreamTally::Heuristic(HeuristicTally::new(encoding)),
        };
        Self { encoding, partial: Vec::new(), tally }
    }

    /// Adds a chunk of the text.
    pub fn push(&mut self, chunk: &[u8]) {
        for chunk in chunk.chunks(MAX_CHUNK) {
            if self.partial.is_empty() {
                self.decode(chunk);
            } else {
                let mut bytes = std::mem::take(&mut self.partial);
                bytes.extend_from_slice(chunk);
                self.decode(&bytes);
            }
        }
    }

    /// The count of everything that was added.
    #[must_use]
    pub fn finish(mut self) -> TokenCount {
        if !self.partial.is_empty() {
            self.tally.push("\u{FFFD}");
        }
        self.tally.finish()
    }

    fn decode(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.tally.push(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            // Only the last bytes can be the beginning of something that is still to come.
            let cut_off = std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
            if cut_off && chunks.peek().is_none() {
                self.partial = invalid.to_vec();
            } else {
                self.tally.push("\u{FFFD}");
            }
        }
    }
}

impl StreamTally {
    fn push(&mut self, text: &str) {
        match self {
            Self::Exact(pieces) => pieces.push(text),
            Self::Heuristic(tally) => tally.push(text),
        }
    }

    fn finish(self) -> TokenCount {
        match self {
            Self::Exact(mut pieces) => {
                add_piece(&mut pieces.total, pieces.table, &pieces.text, true);
                pieces.total
            }
            Self::Heuristic(tally) => tally.finish(),
        }
    }
}

impl ExactTally {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        loop {
            let (at, safe) = match cut::first_cut(&self.text, self.split_rule, self.searched) {
                CutPoint::Safe(at) => (at, true),
                CutPoint::Hard(at) => (at, false),
                CutPoint::Unknown(searched) => {
                    self.searched = searched;
                    return;
                }
            };
            let piece = invariant::text(&self.text, ..at);
            add_piece(&mut self.total, self.table, piece, safe);
            self.text.drain(..at);
            self.searched = 0;
        }
    }
}

impl fmt::Debug for StreamCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamCounter").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}
