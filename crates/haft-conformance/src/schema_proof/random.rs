//! A small source of repeatable randomness.

/// SplitMix64: one word of state, every seed is good.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `limit`; zero if there is none. The bias is far below what a test can see.
    pub(super) fn next_below(&mut self, limit: usize) -> usize {
        let word = u128::from(self.next_u64());
        ((word * limit as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn next_between(&mut self, low: usize, high: usize) -> usize {
        low.saturating_add(self.next_below(high.saturating_sub(low).saturating_add(1)))
    }

    /// True once in `of` times.
    pub(super) fn once_in(&mut self, of: usize) -> bool {
        self.next_below(of) == 0
    }

    pub(super) fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        list.get(self.next_below(list.len()))
    }
}
