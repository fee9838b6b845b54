//! Media that were encoded already.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::media::Media;

/// The base64 of media, kept from one iteration of a turn to the next, so that the same attachment is not read and
/// encoded anew for every request. Clones share what they hold.
///
/// It never holds more than its bound, counting the text and the bytes that a medium may hold in memory itself; what was
/// not used for the longest time goes first, and what is larger than the bound is not kept at all. A turn finds only what
/// it kept itself, and only for the same medium read by the same reader: what changed at its source between two turns is
/// read again.
///
/// ```
/// use haft_providers::assemble::MediaCache;
///
/// let cache = MediaCache::new(16 << 20);
/// assert_eq!(cache.held(), 0);
/// ```
#[derive(Clone, Default)]
pub struct MediaCache {
    /// Nothing if nothing is kept.
    kept: Option<Arc<Mutex<Kept>>>,
}

#[derive(Default)]
struct Kept {
    bound: u64,
    held: u64,
    /// The one that was used last is the last one.
    all: VecDeque<Encoded>,
}

struct Encoded {
    turn: Arc<str>,
    media: Media,
    base64: Arc<str>,
    cost: u64,
}

impl MediaCache {
    /// A cache that holds at most so many bytes; nothing for zero.
    #[must_use]
    pub fn new(bound: u64) -> Self {
        let kept = Kept { bound, ..Kept::default() };
        Self { kept: (bound > 0).then(|| Arc::new(Mutex::new(kept))) }
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.lock().map_or(0, |kept| kept.held)
    }

    pub(super) fn get(&self, turn: &str, media: &Media) -> Option<Arc<str>> {
        let mut kept = self.lock()?;
        let at = kept.all.iter().position(|it| *it.turn == *turn && it.media == *media)?;
        let found = kept.all.remove(at)?;
        let base64 = Arc::clone(&found.base64);
        kept.all.push_back(found);
        Some(base64)
    }

    pub(super) fn keep(&self, turn: &str, media: &Media, base64: &Arc<str>) {
        let Some(mut kept) = self.lock() else { return };
        let length = u64::try_from(base64.len()).unwrap_or(u64::MAX);
        let cost = length.saturating_add(media.byte_length().unwrap_or(length));
        if cost > kept.bound {
            return;
        }
        while kept.held.saturating_add(cost) > kept.bound
            && let Some(oldest) = kept.all.pop_front()
        {
            kept.held = kept.held.saturating_sub(oldest.cost);
        }
        kept.held = kept.held.saturating_add(cost);
        let (media, base64) = (media.clone(), Arc::clone(base64));
        kept.all.push_back(Encoded { turn: turn.into(), media, base64, cost });
    }

    fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        // Whoever panicked in here left it whole: nothing in here calls anything of others between two changes.
        Some(self.kept.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for MediaCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MediaCache").field("held", &self.held()).finish_non_exhaustive()
    }
}
