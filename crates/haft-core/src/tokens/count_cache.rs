//! Counts of one text, remembered per encoding.

use std::sync::{Mutex, PoisonError};

use super::TokenCount;

/// The counts of one text, per name of an encoding and set of estimators.
#[derive(Debug, Default)]
pub(crate) struct CountCache(Mutex<Vec<CachedCount>>);

#[derive(Clone, Debug)]
struct CachedCount {
    stamp: u64,
    name: Box<str>,
    count: TokenCount,
}

/// More counters than this for one text are counted again.
pub(crate) const MAX_COUNTS: usize = 16;

impl CountCache {
    pub(crate) fn get(&self, stamp: u64, name: &str) -> Option<TokenCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = counts.iter().find(|cached| cached.stamp == stamp && *cached.name == *name);
        found.map(|cached| cached.count)
    }

    pub(crate) fn insert(&self, stamp: u64, name: &str, count: TokenCount) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_COUNTS {
            counts.remove(0);
        }
        counts.push(CachedCount { stamp, name: name.into(), count });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Clone for CountCache {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
