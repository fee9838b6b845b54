//! Counting the tokens of a text once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use haft_core::tokens::{Estimators, TokenCount, TokenError};

/// The counts of texts that were counted before. Consecutive requests consist of nearly the same texts, and counting
/// takes much longer than hashing.
#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    /// By the hash of encoding and text, and its length. The hash has a random key, so that no text is made to have the
    /// hash of another.
    counts: Mutex<HashMap<(u64, usize), TokenCount>>,
    hasher: RandomState,
}

impl TokenCache {
    /// How many counts are remembered; 1.5 MB. When there are more, all are forgotten.
    const MAX_COUNTS: usize = 32_768;
}

/// Counts tokens by one encoding.
#[derive(Clone, Copy)]
pub(crate) struct TokenCounter<'e> {
    pub(crate) estimators: &'e Estimators,
    pub(crate) encoding: &'e str,
    pub(crate) cache: &'e TokenCache,
}

impl TokenCounter<'_> {
    /// Counts the tokens of a text, unless that was done before.
    pub(crate) fn count(&self, text: &str) -> Result<TokenCount, TokenError> {
        let TokenCache { counts, hasher } = self.cache;
        let key = (hasher.hash_one((self.encoding, text)), text.len());
        let known = counts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some(count) = known {
            return Ok(count);
        }
        let count = self.estimators.count_or_estimate(self.encoding, text, |_| {})?;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= TokenCache::MAX_COUNTS {
            *counts = HashMap::new();
        }
        counts.insert(key, count);
        Ok(count)
    }
}
