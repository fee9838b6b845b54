//! The short names of records that the model sees.

use std::sync::Arc;

use super::{CallId, RecordId, text_type};
use crate::invariant::OrReport as _;

/// A short name of a record: the first digits of its call id, at least eight, and `#n` for a repeat.
/// Unique in its [`HandleTable`].
///
/// ```
/// use haft_core::call::{CallId, HandleTable, RecordId};
///
/// let record = RecordId::first(CallId::of_text("search", "hello"));
/// let handle = HandleTable::default().insert(record);
/// assert_eq!(handle.as_str().len(), 8);
/// assert!(record.to_string().starts_with(handle.as_str()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Handle(Arc<str>);

text_type!(Handle);

impl Handle {
    /// The text, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// The handles of one turn.
///
/// A handle never changes its meaning: it names the same record however many records follow, because a new handle gets
/// as many digits as are needed to distinguish it from every known id.
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
    /// Sorted by record, and therefore by digits. A turn has few calls, and thousands of them wait at once:
    /// one short list takes the least room.
    handles: Vec<(RecordId, Handle)>,
}

impl HandleTable {
    /// Fewest digits of a handle.
    const MIN_DIGITS: usize = 8;

    /// The handle of a record. A known record keeps its handle.
    pub fn insert(&mut self, record: RecordId) -> Handle {
        let place = match self.find_place(record) {
            Ok(known) => return known.clone(),
            Err(place) => place,
        };
        let id = record.call_id();
        let hex = id.hex();
        let digits = self.unique_digits(id);
        let prefix = hex.as_str().get(..digits).or_report("an id has 64 digits", hex.as_str());
        let handle = Handle(match record.suffix() {
            Some(n) => format!("{prefix}#{n}").into(),
            None => prefix.into(),
        });
        // Nearly always there are one or two, and thousands of turns run at once.
        self.handles.reserve_exact(if self.handles.is_empty() { 2 } else { 0 });
        self.handles.insert(place, (record, handle.clone()));
        handle
    }

    /// The record that a handle was given to. Nothing but the exact text counts.
    #[must_use]
    pub fn resolve(&self, handle: &str) -> Option<RecordId> {
        self.handles.iter().find(|(_, known)| known.as_str() == handle).map(|(record, _)| *record)
    }

    /// Whether a record was given a handle.
    pub(crate) fn knows(&self, record: RecordId) -> bool {
        self.find_place(record).is_ok()
    }

    /// The handle of a record, or the place where it belongs.
    fn find_place(&self, record: RecordId) -> Result<&Handle, usize> {
        let at = self.handles.partition_point(|(known, _)| *known < record);
        match self.handles.get(at) {
            Some((known, handle)) if *known == record => Ok(handle),
            _ => Err(at),
        }
    }

    /// How many digits tell an id from all others that are known; a repeat has as many as the first call
    /// had. In sorted order the ids that share most digits with it are its neighbours.
    fn unique_digits(&self, id: CallId) -> usize {
        let at = self.handles.partition_point(|(known, _)| known.call_id() < id);
        let below = at.checked_sub(1).and_then(|at| self.handles.get(at));
        let above = self.handles.get(at);
        if let Some((_, handle)) = above.filter(|(known, _)| known.call_id() == id) {
            return handle.as_str().find('#').unwrap_or(handle.as_str().len());
        }
        let neighbours = below.into_iter().chain(above).map(|(known, _)| known.call_id());
        neighbours.map(|known| shared_digits(known, id) + 1).fold(Self::MIN_DIGITS, usize::max)
    }
}

fn shared_digits(a: CallId, b: CallId) -> usize {
    let a = a.hex();
    let b = b.hex();
    a.as_str().bytes().zip(b.as_str().bytes()).take_while(|(a, b)| a == b).count()
}
