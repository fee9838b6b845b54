//! Detects the delimiter of a table.

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::byte_order_mark;
use crate::invariant;

/// What the first bytes of the content show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SniffedStart {
    /// How many bytes the mark at the start has.
    pub(crate) mark: u64,
    pub(crate) delimiter: u8,
}

/// Examines the first bytes; `None` if they are not UTF-8. `whole` says that they are the whole content.
pub(crate) fn sniff_start(sample: &[u8], whole: bool) -> Option<SniffedStart> {
    if byte_order_mark::is_utf16(sample) {
        return None;
    }
    let table = byte_order_mark::strip_utf8(sample);
    let mark = (sample.len() - table.len()) as u64;
    // Of several delimiters that fit equally well, the first one is taken.
    let best = CANDIDATES.into_iter().rev().max_by_key(|it| delimiter_fit(table, *it, whole));
    Some(SniffedStart { mark, delimiter: best.unwrap_or(b',') })
}

/// Whether a text begins as a table does: with several rows of as many fields.
pub(crate) fn is_table(start: &[u8]) -> bool {
    let fits = |delimiter: &u8| {
        let counts = count_fields(start, *delimiter, false);
        counts.len() > 2
            && counts.first().is_some_and(|first| *first > 1 && counts.iter().all(|it| it == first))
    };
    !byte_order_mark::is_utf16(start) && CANDIDATES.iter().any(fits)
}

/// How well a delimiter fits: how many of a thousand rows have as many fields as the first, and the
/// number of those fields; `None` if it separates no fields.
fn delimiter_fit(table: &[u8], delimiter: u8, whole: bool) -> Option<(usize, usize)> {
    let counts = count_fields(table, delimiter, whole);
    let first = counts.first().copied().filter(|it| *it > 1)?;
    let same = counts.iter().filter(|it| **it == first).count();
    Some((same * 1000 / counts.len(), first))
}

/// How many fields the first rows have.
fn count_fields(mut table: &[u8], delimiter: u8, whole: bool) -> Vec<usize> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut output = vec![0; table.len().max(1)];
    let mut ends = vec![0; table.len() + 1];
    let mut counts = Vec::new();
    let mut fields = 0;
    while counts.len() < ROWS {
        let ended = table.is_empty();
        if ended && !whole && !counts.is_empty() {
            // The last row may be cut off.
            break;
        }
        let (result, read, _, found) = reader.read_record(table, &mut output, &mut ends);
        table = invariant::slice(table, read..);
        fields += found;
        match result {
            ReadRecordResult::Record => counts.push(std::mem::take(&mut fields)),
            ReadRecordResult::End => break,
            _ => {}
        }
    }
    counts
}

/// The byte that separates the fields of a table in UTF-8; a comma if no candidate fits.
///
/// Only the first 64 KiB are examined.
///
/// ```
/// use haft_artifacts::csv::sniff_delimiter;
///
/// assert_eq!(sniff_delimiter("name;price\nbread;2,50\n"), b';');
/// ```
#[must_use]
pub fn sniff_delimiter(table: &str) -> u8 {
    let sample = table.as_bytes().get(..SAMPLE);
    let start = sniff_start(sample.unwrap_or(table.as_bytes()), sample.is_none());
    start.map_or(b',', |start| start.delimiter)
}

/// How many bytes are examined.
pub(crate) const SAMPLE: usize = 64 * 1024;
const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
const ROWS: usize = 100;
