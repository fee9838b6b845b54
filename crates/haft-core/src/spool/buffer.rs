//! A read buffer at an aligned address.
//!
//! The kernel copies into an aligned buffer several times faster than into one that is 16 bytes off,
//! which is what an allocator gives for large buffers.

use std::fmt;

use crate::invariant::OrReport as _;

/// Bytes of the content: some kept from the last read, and right behind them those of this read, whose
/// first byte is aligned.
#[derive(Default)]
pub struct AlignedBuffer {
    storage: Vec<u8>,
    start: usize,
    end: usize,
}

impl AlignedBuffer {
    /// Keeps the last `keep` bytes, and gives room for `len` more behind them.
    pub fn next(&mut self, keep: usize, len: usize) -> &mut [u8] {
        let keep = keep.min(self.end - self.start);
        let room = keep.next_multiple_of(ALIGN);
        let kept = self.end - keep..self.end;
        let base;
        if self.storage.len() < ALIGN + room + len {
            let mut storage = vec![0; ALIGN + room + len];
            base = aligned(&storage) + room;
            if let (Some(to), Some(from)) =
                (storage.get_mut(base - keep..base), self.storage.get(kept))
            {
                to.copy_from_slice(from);
            }
            self.storage = storage;
        } else {
            base = aligned(&self.storage) + room;
            self.storage.copy_within(kept, base - keep);
        }
        (self.start, self.end) = (base - keep, base);
        self.storage
            .get_mut(base..base + len)
            .or_report_default("the storage was grown to this size")
    }

    /// Says that so many bytes were put into that room.
    pub fn filled(&mut self, len: usize) {
        self.end = (self.end + len).min(self.storage.len());
    }

    /// The bytes that were kept and those that were filled in.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        self.storage.get(self.start..self.end).or_report_default("the data lies in the storage")
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.data().len())
    }
}

/// The first aligned place of a buffer.
fn aligned(storage: &[u8]) -> usize {
    storage.as_ptr().align_offset(ALIGN).min(ALIGN - 1)
}

/// A cache line.
const ALIGN: usize = 64;
