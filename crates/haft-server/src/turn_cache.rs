//! The turns that were read lately, so that windows of a timeline do not read the whole turn each time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft::stores::{TurnId, TurnSummary};
use tokio::time::Instant;

use crate::timeline::ReadTurn;

/// How many turns are cached.
const MAX_TURNS: usize = 8;
/// How many bytes of stored texts the cached turns have together, apart from the newest.
const MAX_BYTES: usize = 64 << 20;
/// How long a turn that has not ended is taken from the cache. Its feed reads it again whenever it changes.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Turns that were read, the newest last.
#[derive(Default)]
pub(crate) struct TurnCache {
    turns: Mutex<VecDeque<CachedTurn>>,
}

struct CachedTurn {
    read: Arc<ReadTurn>,
    read_at: Instant,
}

impl TurnCache {
    /// A turn that is stored as it was when it was read.
    pub(crate) fn get(&self, summary: &TurnSummary) -> Option<Arc<ReadTurn>> {
        let turns = self.lock();
        let found = turns.iter().find(|it| it.read.summary.id == summary.id)?;
        let is_current = found.read.summary == *summary
            && (summary.status.is_final() || found.read_at.elapsed() < MAX_AGE);
        is_current.then(|| Arc::clone(&found.read))
    }

    pub(crate) fn insert(&self, read: Arc<ReadTurn>) {
        let mut turns = self.lock();
        turns.retain(|it| it.read.summary.id != read.summary.id);
        turns.push_back(CachedTurn { read, read_at: Instant::now() });
        let mut bytes: usize = turns.iter().map(|it| it.read.bytes).sum();
        while turns.len() > MAX_TURNS || (bytes > MAX_BYTES && turns.len() > 1) {
            bytes -= turns.pop_front().map_or(0, |it| it.read.bytes);
        }
    }

    pub(crate) fn remove(&self, turn: &TurnId) {
        self.lock().retain(|it| it.read.summary.id != *turn);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
