//! Sixty-four bytes of JSON at once, as masks with a bit per byte.

/// The classes of the bytes of a block; the lowest bit is the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockMasks {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// `[`, `]`, `{` and `}`, and also `Y`, `_`, `y` and DEL, which differ from them by two bits.
    pub(super) brackets: u64,
}

impl BlockMasks {
    #[inline]
    pub(super) fn of(block: &[u8; 64]) -> Self {
        Self {
            quotes: match_mask(block, |byte| byte == b'"'),
            backslashes: rare_mask(block, |byte| byte == b'\\'),
            brackets: rare_mask(block, |byte| byte & 0xD9 == 0x59),
        }
    }
}

/// The bits of the bytes for which something holds, quickly if there are none.
#[inline]
fn rare_mask(block: &[u8; 64], holds: impl Fn(u8) -> bool) -> u64 {
    if any(block, &holds) { match_mask(block, holds) } else { 0 }
}

#[inline]
fn any(block: &[u8; 64], holds: impl Fn(u8) -> bool) -> bool {
    marks(block, holds).iter().fold(0, |all, mark| all | mark) != 0
}

/// The bits of the bytes for which something holds.
#[inline]
fn match_mask(block: &[u8; 64], holds: impl Fn(u8) -> bool) -> u64 {
    let marks = marks(block, holds);
    let mut bits = 0;
    for (at, word) in marks.as_chunks().0.iter().enumerate() {
        // Of every byte one bit, each at its own place, which a multiplication adds up in the highest byte.
        let word = u64::from_le_bytes(*word) & 0x8040_2010_0804_0201;
        bits |= word.wrapping_mul(0x0101_0101_0101_0101) >> 56 << (8 * at);
    }
    bits
}

/// All bits of the bytes for which something holds, and none of the others. Compiles to vector instructions.
#[inline]
fn marks(block: &[u8; 64], holds: impl Fn(u8) -> bool) -> [u8; 64] {
    let mut marks = [0; 64];
    for (mark, byte) in marks.iter_mut().zip(block) {
        *mark = if holds(*byte) { 0xFF } else { 0 };
    }
    marks
}

/// Which bytes are inside strings, from block to block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringTracker {
    /// All bits if the last byte was inside a string.
    inside: u64,
    /// The lowest bit if the next byte is escaped.
    escaped: u64,
}

impl StringTracker {
    /// The bytes from an opening quote until before the closing one.
    #[inline]
    pub(super) fn advance(&mut self, masks: &BlockMasks) -> u64 {
        let escaped = if masks.backslashes | self.escaped == 0 {
            0
        } else {
            self.escaped_by(masks.backslashes)
        };
        let inside = running_parity(masks.quotes & !escaped) ^ self.inside;
        self.inside = (inside >> 63).wrapping_neg();
        inside
    }

    /// Whether all of a block is inside a string, by a quick check.
    #[inline]
    pub(super) fn cover(self, block: &[u8; 64]) -> bool {
        self.inside != 0
            && self.escaped == 0
            && !any(block, |byte| (byte == b'"') | (byte == b'\\'))
    }

    /// The bytes after a backslash that is not itself after one: in a run of backslashes every second
    /// one escapes, which an addition with carries finds for all runs at once.
    fn escaped_by(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslashes = backslashes & !self.escaped;
        let follows = backslashes << 1 | self.escaped;
        let odd_starts = backslashes & !EVEN & !follows;
        let (runs_from_even, overflow) = odd_starts.overflowing_add(backslashes);
        self.escaped = u64::from(overflow);
        (EVEN ^ (runs_from_even << 1)) & follows
    }
}

/// Every bit is the parity of the bits up to it.
#[inline]
fn running_parity(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    bits
}
