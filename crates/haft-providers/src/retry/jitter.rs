//! Delays that differ from client to client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A source of small differences: the same seed gives the same ones.
#[derive(Debug)]
pub(super) struct Jitter(AtomicU64);

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Up to a tenth more or less.
    pub(super) fn around(&self, delay: Duration) -> Duration {
        delay.mul_f64(0.9 + 0.2 * self.next())
    }

    /// Up to a tenth more.
    pub(super) fn above(&self, delay: Duration) -> Duration {
        delay.mul_f64(1.0 + 0.1 * self.next())
    }

    /// From zero to one; the generator is SplitMix64, of which only the upper bits are used.
    fn next(&self) -> f64 {
        let step = 0x9E37_79B9_7F4A_7C15_u64;
        let mut z = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        f64::from(u32::try_from(z >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}
