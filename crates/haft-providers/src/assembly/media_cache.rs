//! A cache of encoded media.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::media::Media;

/// The base64 of media, cached from one iteration of a turn to the next, so that the same attachment is not read and
/// encoded again for every request. Clones share their entries.
///
/// It never holds more than its bound, counting the text and the bytes that the media may hold in memory themselves; the
/// least recently used entry is evicted first, and media that are larger than the bound are not cached. An entry is found
/// only by the turn that stored it, and only for the same media read by the same reader: media that changed at their source
/// between two turns are read again.
///
/// ```
/// use haft_providers::internals::MediaCache;
///
/// let cache = MediaCache::new(16 << 20);
/// assert_eq!(cache.used_bytes(), 0);
/// ```
#[derive(Clone, Default)]
pub struct MediaCache {
    /// `None` if nothing is cached.
    entries: Option<Arc<Mutex<CachedEntries>>>,
}

#[derive(Default)]
struct CachedEntries {
    bound: u64,
    used_bytes: u64,
    /// Least recently used first.
    all: VecDeque<CachedMedia>,
}

struct CachedMedia {
    turn: Arc<str>,
    media: Media,
    base64: Arc<str>,
    cost: u64,
}

impl MediaCache {
    /// A cache with a maximum size in bytes. Zero disables it.
    #[must_use]
    pub fn new(bound: u64) -> Self {
        let entries = CachedEntries { bound, ..CachedEntries::default() };
        Self { entries: (bound > 0).then(|| Arc::new(Mutex::new(entries))) }
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.lock().map_or(0, |entries| entries.used_bytes)
    }

    pub(super) fn get(&self, turn: &str, media: &Media) -> Option<Arc<str>> {
        let mut entries = self.lock()?;
        let at = entries.all.iter().position(|it| *it.turn == *turn && it.media == *media)?;
        let found = entries.all.remove(at)?;
        let base64 = Arc::clone(&found.base64);
        entries.all.push_back(found);
        Some(base64)
    }

    pub(super) fn insert(&self, turn: &str, media: &Media, base64: &Arc<str>) {
        let Some(mut entries) = self.lock() else { return };
        let length = base64.len() as u64;
        let cost = length.saturating_add(media.byte_length().unwrap_or(length));
        if cost > entries.bound {
            return;
        }
        while entries.used_bytes.saturating_add(cost) > entries.bound
            && let Some(oldest) = entries.all.pop_front()
        {
            entries.used_bytes = entries.used_bytes.saturating_sub(oldest.cost);
        }
        entries.used_bytes = entries.used_bytes.saturating_add(cost);
        let media = media.clone();
        let base64 = Arc::clone(base64);
        entries.all.push_back(CachedMedia { turn: turn.into(), media, base64, cost });
    }

    fn lock(&self) -> Option<MutexGuard<'_, CachedEntries>> {
        // A panic leaves the entries consistent: no foreign code runs between two changes.
        Some(self.entries.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for MediaCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MediaCache").field("used_bytes", &self.used_bytes()).finish_non_exhaustive()
    }
}
