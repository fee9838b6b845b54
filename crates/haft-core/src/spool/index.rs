//! Where lines begin, as newline counts per block.

use std::fmt;
use std::num::NonZeroU32;

use sha2::{Digest, Sha256};

use super::SpoolError;

use crate::invariant::OrReport as _;

/// The number of newlines before each block of the content.
///
/// A block is 64 KiB by default, so the index of a gigabyte has 128 KiB, and the start of any line is found by a binary
/// search here and a scan of one block.
///
/// ```
/// use haft_core::spool::LineIndex;
///
/// let index = LineIndex::of(b"one\ntwo\nthree");
/// assert_eq!((index.byte_length(), index.newlines(), index.line_count()), (13, 2, 3));
/// assert!(index.locate(2).is_some() && index.locate(3).is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct LineIndex {
    block_size: NonZeroU32,
    byte_length: u64,
    /// One entry per block and one for the end: the newlines before it. Never empty.
    before: Vec<u64>,
}

/// The block in which something begins, and what to skip in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockStart {
    /// The offset of the block's first byte.
    pub offset: u64,
    /// How many newlines to pass before the line begins. The line begins at `offset` if none.
    pub newlines: u64,
}

impl LineIndex {
    /// The default size of a block.
    pub const BLOCK_SIZE: NonZeroU32 = match NonZeroU32::new(64 * 1024) {
        Some(size) => size,
        None => NonZeroU32::MIN,
    };

    /// The index of content that is at hand.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let mut builder = LineIndexBuilder::new(Self::BLOCK_SIZE);
        builder.push(content);
        builder.finish()
    }

    /// How many bytes the content has.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.byte_length
    }

    /// How many bytes a block has; the last may have fewer.
    #[must_use]
    pub fn block_size(&self) -> NonZeroU32 {
        self.block_size
    }

    /// How many newlines the content has.
    #[must_use]
    pub fn newlines(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// How many lines the content has: none if it is empty, else one more than newlines.
    #[must_use]
    pub fn line_count(&self) -> u64 {
        if self.byte_length == 0 { 0 } else { self.newlines() + 1 }
    }

    /// How many newlines stand before a block; all of them for a block past the end.
    #[must_use]
    pub fn newlines_before_block(&self, block: u64) -> u64 {
        let entry = usize::try_from(block).ok().and_then(|block| self.before.get(block));
        entry.copied().unwrap_or_else(|| self.newlines())
    }

    /// Where to look for the start of a line, or `None` if there is no such line.
    #[must_use]
    pub fn locate(&self, line: u64) -> Option<BlockStart> {
        if line >= self.line_count() {
            return None;
        }
        // The line begins after the `line`th newline, in the last block with fewer before it.
        let block = self.before.partition_point(|before| *before < line).saturating_sub(1);
        let newlines = line - self.newlines_before_block(block as u64).min(line);
        Some(BlockStart { offset: block as u64 * u64::from(self.block_size.get()), newlines })
    }

    /// The bytes of the index: magic, version, sizes, one count per block, a hash of all that.
    ///
    /// ```
    /// use haft_core::spool::LineIndex;
    ///
    /// let index = LineIndex::of(b"one\ntwo\n");
    /// let bytes = index.encode();
    /// assert_eq!(LineIndex::decode(&bytes)?.line_count(), index.line_count());
    /// assert!(LineIndex::decode(b"something else").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let blocks = self.before.len().saturating_sub(1);
        let mut bytes = Vec::with_capacity(HEADER + blocks * ENTRY + HASH);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.block_size.get().to_le_bytes());
        bytes.extend(self.byte_length.to_le_bytes());
        for (before, after) in self.before.iter().zip(self.before.iter().skip(1)) {
            // A block has fewer than 2^32 bytes, and no more newlines than bytes.
            let count = u32::try_from(after.saturating_sub(*before))
                .or_report("a block has fewer than 2^32 newlines", u32::MAX);
            bytes.extend(count.to_le_bytes());
        }
        let hash = Sha256::digest(&bytes);
        bytes.extend(hash);
        bytes
    }

    /// Reads an index from its bytes.
    ///
    /// # Errors
    ///
    /// [`SpoolError::DamagedIndex`] when they are not exactly what [`LineIndex::encode`] gives for some
    /// content.
    pub fn decode(bytes: &[u8]) -> Result<Self, SpoolError> {
        let damaged = |reason| SpoolError::DamagedIndex { reason };
        let body_len = bytes.len().checked_sub(HASH).ok_or(damaged("it is cut off"))?;
        let (body, hash) = bytes.split_at_checked(body_len).ok_or(damaged("it is cut off"))?;
        let (magic, rest) = take::<8>(body).ok_or(damaged("it is cut off"))?;
        let (version, rest) = take::<4>(rest).ok_or(damaged("it is cut off"))?;
        let (block_size, rest) = take::<4>(rest).ok_or(damaged("it is cut off"))?;
        let (byte_length, counts) = take::<8>(rest).ok_or(damaged("it is cut off"))?;
        if magic != MAGIC {
            return Err(damaged("it does not begin like one"));
        }
        if u32::from_le_bytes(version) != VERSION {
            return Err(damaged("its version is not known"));
        }
        if Sha256::digest(body).as_slice() != hash {
            return Err(damaged("its hash does not match"));
        }
        let block_size = NonZeroU32::new(u32::from_le_bytes(block_size))
            .ok_or(damaged("its blocks have no size"))?;
        Self::from_counts(block_size, u64::from_le_bytes(byte_length), counts)
            .ok_or(damaged("its counts do not fit its length"))
    }

    /// The index of these counts, or `None` if no content can have them.
    fn from_counts(block_size: NonZeroU32, byte_length: u64, counts: &[u8]) -> Option<Self> {
        let size = u64::from(block_size.get());
        let blocks = byte_length.div_ceil(size);
        if !counts.len().is_multiple_of(ENTRY) || (counts.len() / ENTRY) as u64 != blocks {
            return None;
        }
        let mut before = Vec::with_capacity(counts.len() / ENTRY + 1);
        let mut total = 0_u64;
        let mut left = byte_length;
        before.push(total);
        for count in counts.chunks_exact(ENTRY) {
            let count = u64::from(u32::from_le_bytes(count.try_into().ok()?));
            if count > left.min(size) {
                return None;
            }
            total += count;
            left = left.saturating_sub(size);
            before.push(total);
        }
        Some(Self { block_size, byte_length, before })
    }
}

impl fmt::Debug for LineIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineIndex({} bytes, {} lines)", self.byte_length, self.line_count())
    }
}

/// Builds a [`LineIndex`] while the content passes by, in pieces of any size.
///
/// ```
/// use haft_core::spool::{LineIndex, LineIndexBuilder};
///
/// let mut builder = LineIndexBuilder::new(LineIndex::BLOCK_SIZE);
/// builder.push(b"one\nt");
/// builder.push(b"wo\n");
/// assert_eq!(builder.finish().newlines(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct LineIndexBuilder {
    index: LineIndex,
    /// The newlines so far, those of the unfinished block included.
    newlines: u64,
}

impl LineIndexBuilder {
    /// Starts an index with blocks of this many bytes.
    #[must_use]
    pub fn new(block_size: NonZeroU32) -> Self {
        Self { index: LineIndex { block_size, byte_length: 0, before: vec![0] }, newlines: 0 }
    }

    /// Takes the next bytes of the content.
    pub fn push(&mut self, mut bytes: &[u8]) {
        let size = u64::from(self.index.block_size.get());
        while !bytes.is_empty() {
            // At most the size of a block, which has 32 bits.
            let room = size - self.index.byte_length % size;
            let take = bytes.len().min(room as usize);
            let (now, later) = bytes.split_at(take);
            self.newlines += count_newlines(now);
            self.index.byte_length += take as u64;
            if self.index.byte_length.is_multiple_of(size) {
                self.index.before.push(self.newlines);
            }
            bytes = later;
        }
    }

    /// How many bytes were taken.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.index.byte_length
    }

    /// The index of everything that was taken.
    #[must_use]
    pub fn finish(mut self) -> LineIndex {
        let size = u64::from(self.index.block_size.get());
        if !self.index.byte_length.is_multiple_of(size) {
            self.index.before.push(self.newlines);
        }
        self.index
    }
}

/// How many LF bytes there are.
///
/// ```
/// use haft_core::spool::count_newlines;
///
/// assert_eq!(count_newlines(b"one\ntwo\n"), 2);
/// ```
#[must_use]
pub fn count_newlines(bytes: &[u8]) -> u64 {
    // It chooses the widest instructions of the processor at run time.
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn take<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    let (start, rest) = bytes.split_first_chunk::<N>()?;
    Some((*start, rest))
}

const MAGIC: [u8; 8] = *b"HAFTLINE";
const VERSION: u32 = 1;
const HEADER: usize = 24;
const ENTRY: usize = 4;
const HASH: usize = 32;
