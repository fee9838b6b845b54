//! Reports broken invariants.
//!
//! The code of this crate neither indexes nor panics. Where an offset is in range because of an
//! invariant, these functions take the place of indexing. If the invariant is broken they report it with the
//! location of the caller through [`haft_core::invariant`], and only then fall back to something empty. A caller that expects an offset to be out of range uses `get` instead.

#[cfg(test)]
mod tests;

use std::slice::SliceIndex;

use haft_core::invariant::report;

/// The items of a range that must be in bounds.
#[inline]
#[track_caller]
pub(crate) fn slice<T, R: SliceIndex<[T], Output = [T]>>(items: &[T], range: R) -> &[T] {
    match items.get(range) {
        Some(found) => found,
        None => {
            report("a range is within its slice");
            &[]
        }
    }
}

/// The items of a range that must be in bounds, to be written to.
#[cfg(feature = "formats")]
#[inline]
#[track_caller]
pub(crate) fn slice_mut<T, R: SliceIndex<[T], Output = [T]>>(
    items: &mut [T],
    range: R,
) -> &mut [T] {
    match items.get_mut(range) {
        Some(found) => found,
        None => {
            report("a range is within its slice");
            &mut []
        }
    }
}

/// The text of a range that must be in bounds and between characters.
#[inline]
#[track_caller]
pub(crate) fn text<R: SliceIndex<str, Output = str>>(text: &str, range: R) -> &str {
    match text.get(range) {
        Some(found) => found,
        None => {
            report("a range is within its text and between characters");
            ""
        }
    }
}

/// The items before and from an index that must be in bounds.
#[inline]
#[track_caller]
pub(crate) fn split<T>(items: &[T], at: usize) -> (&[T], &[T]) {
    match items.split_at_checked(at) {
        Some(parts) => parts,
        None => {
            report("an index is within its slice");
            (items, &[])
        }
    }
}

/// A value that must be there.
#[inline]
#[track_caller]
pub(crate) fn or_default<T: Default>(value: Option<T>, invariant: &'static str) -> T {
    match value {
        Some(value) => value,
        None => {
            report(invariant);
            T::default()
        }
    }
}

/// A number that must fit into 32 bits because a limit keeps it far below.
#[cfg(feature = "formats")]
#[inline]
#[track_caller]
pub(crate) fn to_u32(value: usize) -> u32 {
    match u32::try_from(value) {
        Ok(value) => value,
        Err(_) => {
            report("a size is below 4 GiB");
            u32::MAX
        }
    }
}
