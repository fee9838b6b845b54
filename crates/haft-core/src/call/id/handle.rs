//! The short names of records that the model sees.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::{CallId, RecordId};

/// A short name of a record: the first digits of its call id, at least eight, and `#n` for a repeat.
/// Unique in its [`HandleTable`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Handle(Box<str>);

impl Handle {
    /// The text that the model sees.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Handle {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Handle {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.0)
    }
}

/// The handles of one turn.
///
/// A handle once given keeps its meaning: it names the same record however many come later, because
/// a newcomer takes as many digits as tell it from every id that is already known.
///
/// ```
/// use haft_core::call::{CallId, HandleTable, RecordId};
///
/// let record = RecordId::first(CallId::of_text("search", "hello"));
/// let mut handles = HandleTable::default();
/// let handle = handles.insert(record);
/// assert_eq!(handle.as_str().len(), 8);
/// assert_eq!(handles.resolve(handle.as_str()), Some(record));
/// assert_eq!(handles.resolve("search"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct HandleTable {
    /// How many digits of each known call id its handles have.
    digits: BTreeMap<CallId, usize>,
    records: HashMap<Handle, RecordId>,
}

impl HandleTable {
    /// Fewest digits of a handle.
    const MIN_DIGITS: usize = 8;

    /// The handle of a record. A record that is known keeps the one it has.
    pub fn insert(&mut self, record: RecordId) -> Handle {
        let id = record.call_id();
        let digits = self.digits.get(&id).copied().unwrap_or_else(|| self.unique_digits(id));
        self.digits.insert(id, digits);
        let hex = id.hex();
        let prefix = hex.as_str().get(..digits).unwrap_or(hex.as_str());
        let text = match record.suffix() {
            Some(n) => format!("{prefix}#{n}"),
            None => prefix.to_owned(),
        };
        let handle = Handle(text.into_boxed_str());
        self.records.insert(handle.clone(), record);
        handle
    }

    /// The record that a handle was given to. Nothing but the exact text counts.
    #[must_use]
    pub fn resolve(&self, handle: &str) -> Option<RecordId> {
        self.records.get(handle).copied()
    }

    /// Whether a record was given a handle.
    pub(crate) fn knows(&self, record: RecordId) -> bool {
        self.records.values().any(|known| *known == record)
    }

    /// How many digits tell a new id from all known ones. In sorted order the ids that share most
    /// digits with it are its neighbours.
    fn unique_digits(&self, id: CallId) -> usize {
        let below = self.digits.range(..id).next_back();
        let above = self.digits.range(id..).next();
        let neighbours = below.into_iter().chain(above).map(|(known, _)| *known);
        neighbours.map(|known| shared_digits(known, id) + 1).fold(Self::MIN_DIGITS, usize::max)
    }
}

fn shared_digits(a: CallId, b: CallId) -> usize {
    let (a, b) = (a.hex(), b.hex());
    a.0.iter().zip(&b.0).take_while(|(a, b)| a == b).count()
}
