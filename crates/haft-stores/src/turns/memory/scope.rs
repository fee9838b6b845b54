//! The memories of one scope.

use std::collections::{BTreeMap, HashMap};

use haft_core::store::MemoryRow;

/// The memories of a scope.
#[derive(Default)]
pub(super) struct ScopeMemories {
    /// By number, in the order in which they were put.
    rows: BTreeMap<u64, MemoryRow>,
    /// The number of each row, and the version of every id that was ever written.
    numbers: HashMap<String, u64>,
    versions: HashMap<String, u64>,
    last: u64,
}

impl ScopeMemories {
    /// The memories, in the order in which they were put.
    pub(super) fn rows(&self) -> impl Iterator<Item = &MemoryRow> {
        self.rows.values()
    }

    pub(super) fn put(&mut self, id: String, json: String) {
        let version = self.versions.entry(id.clone()).or_default();
        *version += 1;
        let number = *self.numbers.entry(id.clone()).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.rows.insert(number, MemoryRow::new(id, json, *version));
    }

    pub(super) fn delete(&mut self, id: &str) {
        if let Some(number) = self.numbers.remove(id) {
            self.rows.remove(&number);
            *self.versions.entry(id.to_owned()).or_default() += 1;
        }
    }
}
