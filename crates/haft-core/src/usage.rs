//! What a generation cost in tokens.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens that were spent. Sums never overflow: they stop at the largest number.
///
/// ```
/// use haft_core::usage::Usage;
///
/// let first = Usage::new(100, 20).with_cached(80);
/// let both = first + Usage::new(130, 5);
/// assert_eq!((both.prompt, both.completion, both.total, both.cached), (230, 25, 255, 80));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens the model read.
    #[serde(rename = "promptTokens", skip_serializing_if = "is_zero")]
    pub prompt: u64,
    /// Tokens the model wrote, reasoning included.
    #[serde(rename = "completionTokens", skip_serializing_if = "is_zero")]
    pub completion: u64,
    /// All tokens, as the provider counts them.
    #[serde(rename = "totalTokens", skip_serializing_if = "is_zero")]
    pub total: u64,
    /// Those of the completion that were reasoning.
    #[serde(rename = "reasoningTokens", skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Those of the prompt that were read from a cache.
    #[serde(rename = "cachedTokens", skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Those of the prompt that were written to a cache.
    #[serde(rename = "cacheCreationTokens", skip_serializing_if = "is_zero")]
    pub cache_creation: u64,
}

impl Usage {
    /// Tokens read and written; the total is their sum.
    #[must_use]
    pub const fn new(prompt: u64, completion: u64) -> Self {
        let total = prompt.saturating_add(completion);
        Self { prompt, completion, total, reasoning: 0, cached: 0, cache_creation: 0 }
    }

    /// The total as the provider says it, where that is not the sum.
    #[must_use]
    pub const fn with_total(mut self, total: u64) -> Self {
        self.total = total;
        self
    }

    /// How many of the tokens that were written are reasoning.
    #[must_use]
    pub const fn with_reasoning(mut self, reasoning: u64) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// How many of the tokens that were read came from a cache.
    #[must_use]
    pub const fn with_cached(mut self, cached: u64) -> Self {
        self.cached = cached;
        self
    }

    /// How many of the tokens that were read were written to a cache, for later requests.
    #[must_use]
    pub const fn with_cache_creation(mut self, written: u64) -> Self {
        self.cache_creation = written;
        self
    }

    /// Whether nothing was spent, or nothing was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.saturating_add(other.prompt),
            completion: self.completion.saturating_add(other.completion),
            total: self.total.saturating_add(other.total),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cached: self.cached.saturating_add(other.cached),
            cache_creation: self.cache_creation.saturating_add(other.cache_creation),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
