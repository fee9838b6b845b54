//! Which stored content the rows refer to.

use std::collections::{HashMap, HashSet};

use haft_core::spool::SpoolKey;
use haft_core::store::Row;

/// The keys that the rows of turns refer to. They are rarely needed, so the rows of a turn are read on demand, and
/// again only after they have changed.
#[derive(Default)]
pub(super) struct ContentIndex {
    /// How many turns refer to a key.
    references: HashMap<SpoolKey, usize>,
    /// The keys of each turn that was read, by its number.
    by_turn: HashMap<u64, HashSet<SpoolKey>>,
    /// Turns that have changed since, or were never read.
    changed: HashSet<u64>,
}

impl ContentIndex {
    /// Notes that the rows of a turn have changed since they were read.
    pub(super) fn note_change(&mut self, turn: u64) {
        self.changed.insert(turn);
    }

    /// Forgets a turn.
    pub(super) fn remove(&mut self, turn: u64) {
        self.changed.remove(&turn);
        self.drop_references(turn);
    }

    /// The turns whose rows have to be read.
    pub(super) fn take_changed(&mut self) -> HashSet<u64> {
        std::mem::take(&mut self.changed)
    }

    /// Reads the rows of a turn.
    pub(super) fn read<'r>(&mut self, turn: u64, rows: impl Iterator<Item = &'r Row>) {
        self.drop_references(turn);
        let keys: HashSet<SpoolKey> = rows.flat_map(Row::content_keys).collect();
        if keys.is_empty() {
            return;
        }
        for key in &keys {
            *self.references.entry(key.clone()).or_default() += 1;
        }
        self.by_turn.insert(turn, keys);
    }

    /// Whether a row refers to a key, as far as they were read.
    pub(super) fn contains(&self, key: &SpoolKey) -> bool {
        self.references.contains_key(key)
    }

    fn drop_references(&mut self, turn: u64) {
        for key in self.by_turn.remove(&turn).unwrap_or_default() {
            if let Some(count) = self.references.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.references.remove(&key);
                }
            }
        }
    }
}
