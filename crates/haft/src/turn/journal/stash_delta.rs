//! Changes of the stash in the journal.
//!
//! If the whole stash were written whenever it changes, a stash that gains a key in every iteration would make the
//! journal grow quadratically. Instead only the changes are written, and the whole stash again when the changes since
//! then have become as large as the stash: the journal grows linearly with the changes.

use haft_core::stash::{Stash, StashChanges, StashError, StashPath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JournalEntry;

/// What has changed in the stash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::turn) struct StashDelta {
    /// New values with the JSON pointers of their places. A container comes before what is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<(String, Value)>,
    /// The places of values that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<String>,
}

impl StashDelta {
    fn new(parts: Vec<(StashPath, Option<Value>)>) -> Self {
        let mut delta = Self::default();
        for (path, value) in parts {
            match value {
                Some(value) => delta.set.push((to_pointer(&path), value)),
                None => delta.removed.push(to_pointer(&path)),
            }
        }
        delta
    }

    fn apply(self, stash: &Stash) -> Result<(), StashError> {
        for pointer in self.removed {
            stash.remove(from_pointer(&pointer));
        }
        self.set.into_iter().try_for_each(|(at, value)| stash.set_value(from_pointer(&at), value))
    }

    fn size(&self) -> usize {
        let set = self.set.iter().map(|(pointer, value)| pointer.len() + json_size(value));
        set.chain(self.removed.iter().map(String::len)).sum()
    }
}

/// Decides how the stash of a turn is journaled, and tracks its size without reading all of it.
#[derive(Debug, Default)]
pub(in crate::turn) struct StashJournal {
    /// The size of the stash when all of it was last written. A turn that is resumed does not know it, and writes all.
    whole: usize,
    /// The size of the changes that were written since.
    changes: usize,
}

impl StashJournal {
    /// A stash of this size is written as a whole: the gain would be small, and every version reads it.
    const SMALL: usize = 1024;

    /// The entry that journals what has changed since the last one.
    pub(in crate::turn) fn journal_changes(&mut self, stash: &Stash) -> Option<JournalEntry> {
        let stash = match stash.take_changes() {
            StashChanges::None => return None,
            StashChanges::Parts(parts) => {
                let delta = StashDelta::new(parts);
                let changes = self.changes + delta.size();
                if self.whole + changes > Self::SMALL && changes <= self.whole {
                    self.changes = changes;
                    return Some(JournalEntry::StashDelta(delta));
                }
                stash.all()
            }
            StashChanges::Whole(stash) => stash,
            _ => stash.all(),
        };
        (self.whole, self.changes) = (json_size(&stash), 0);
        Some(JournalEntry::Stash { stash })
    }
}

/// The stash as a journal describes it.
#[derive(Debug, Default)]
pub(in crate::turn) struct ReplayedStash {
    whole: Value,
    /// What has changed since.
    deltas: Vec<StashDelta>,
}

impl ReplayedStash {
    /// Takes an entry with the whole stash.
    pub(in crate::turn) fn replace(&mut self, stash: Value) {
        (self.whole, self.deltas) = (stash, Vec::new());
    }

    /// Takes an entry with changes.
    pub(in crate::turn) fn add(&mut self, delta: StashDelta) {
        self.deltas.push(delta);
    }

    /// The stash after all entries.
    ///
    /// # Errors
    ///
    /// The entries do not fit together.
    pub(in crate::turn) fn into_value(self) -> Result<Value, StashError> {
        if self.deltas.is_empty() {
            return Ok(self.whole);
        }
        let stash = Stash::from_value(self.whole)?;
        self.deltas.into_iter().try_for_each(|delta| delta.apply(&stash))?;
        Ok(stash.all())
    }
}

/// The length of a value as JSON text.
fn json_size(value: &Value) -> usize {
    struct Counter(usize);

    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // Counting does not fail, and a value of JSON can be written.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// The JSON pointer of a path.
fn to_pointer(path: &StashPath) -> String {
    let segments = path.segments().map(|it| it.replace('~', "~0").replace('/', "~1"));
    segments.flat_map(|segment| ["/".to_owned(), segment]).collect()
}

fn from_pointer(pointer: &str) -> StashPath {
    let segments = pointer.strip_prefix('/').unwrap_or(pointer).split('/');
    segments.map(|it| it.replace("~1", "/").replace("~0", "~")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_name_the_same_places() {
        for segments in [vec!["a"], vec!["a/b", "~c", "0"], vec!["", "~1", "x.y"]] {
            let path = StashPath::from(segments);
            assert_eq!(from_pointer(&to_pointer(&path)), path);
        }
    }

    /// Journals every change, and says how much text there was and what comes of it.
    fn journaled(changes: impl Iterator<Item = (String, Value)>) -> (usize, usize, Value) {
        let stash = Stash::new();
        stash.track_changes();
        let (mut journal, mut replayed) = (StashJournal::default(), ReplayedStash::default());
        replayed.replace(json!({}));
        let (mut bytes, mut deltas) = (0, 0);
        for (key, value) in changes {
            stash.set(key, value).unwrap();
            let entry = journal.journal_changes(&stash).unwrap();
            let text = serde_json::to_string(&entry).unwrap();
            bytes += text.len();
            match serde_json::from_str(&text).unwrap() {
                JournalEntry::Stash { stash } => replayed.replace(stash),
                JournalEntry::StashDelta(delta) => {
                    deltas += 1;
                    replayed.add(delta);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(replayed.into_value().unwrap(), stash.all());
        (bytes, deltas, stash.all())
    }

    #[test]
    fn a_small_stash_is_written_whole() {
        let (_, deltas, _) = journaled((0..20).map(|n| (format!("k{n}"), json!(n))));
        assert_eq!(deltas, 0);
    }

    #[test]
    fn the_journal_grows_with_what_was_changed() {
        let bytes = |count: usize| {
            journaled((0..count).map(|n| (format!("k{n}.v"), json!("x".repeat(40))))).0
        };
        let (few, many) = (bytes(500), bytes(4000));
        assert!(many < few * 10, "{few} bytes for 500 changes, {many} for 4000");
        // One key that changes for ever does not grow the journal beyond its values.
        let (bytes, _, stash) = journaled((0..4000).map(|n| ("k".to_owned(), json!(n))));
        assert_eq!(stash, json!({"k": 3999}));
        assert!(bytes < 4000 * 60, "{bytes}");
    }
}
