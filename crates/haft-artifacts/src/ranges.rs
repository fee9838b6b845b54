//! Ranges of lines, rows and records.

use std::ops::{Bound, Range, RangeBounds};

/// The half-open range that the bounds describe; an open end reaches to the end of the content.
pub(crate) fn range_of(bounds: &impl RangeBounds<u64>) -> Range<u64> {
    let start = match bounds.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match bounds.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    start..end
}
