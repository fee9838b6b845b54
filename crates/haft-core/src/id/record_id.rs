//! The name of one record, and how repeats get theirs.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::digest::FromText;
use super::{CallId, InvalidName};

/// The name of one call record, unique in its turn: the call id, and which occurrence it is.
///
/// Its text is the call id for the first occurrence and `<call id>#<n>` for the n-th.
///
/// ```
/// use haft_core::call::{CallId, RecordId};
///
/// let first = RecordId::first(CallId::of_text("search", "hello"));
/// let third: RecordId = format!("{first}#3").parse()?;
/// assert_eq!(third.call_id(), first.call_id());
/// assert_eq!(third.occurrence().get(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    id: CallId,
    occurrence: NonZeroU32,
}

impl RecordId {
    /// The record of the n-th occurrence of a call, counted from one.
    #[must_use]
    pub const fn new(id: CallId, occurrence: NonZeroU32) -> Self {
        Self { id, occurrence }
    }

    /// The record of the first occurrence of a call.
    #[must_use]
    pub const fn first(id: CallId) -> Self {
        Self::new(id, NonZeroU32::MIN)
    }

    /// What was called.
    #[must_use]
    pub const fn call_id(self) -> CallId {
        self.id
    }

    /// Which occurrence it is, counted from one.
    #[must_use]
    pub const fn occurrence(self) -> NonZeroU32 {
        self.occurrence
    }

    /// Calls a function with the text form, which allocates nothing for the first occurrence of a call.
    pub(crate) fn with_text<T>(self, run: impl FnOnce(&str) -> T) -> T {
        match self.suffix() {
            None => run(self.id.hex().as_str()),
            Some(_) => run(&self.to_string()),
        }
    }

    /// The `#n` of a repeat.
    pub(super) fn suffix(self) -> Option<u32> {
        Some(self.occurrence.get()).filter(|it| *it > 1)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id.hex().as_str())?;
        match self.suffix() {
            Some(n) => write!(f, "#{n}"),
            None => Ok(()),
        }
    }
}

impl From<RecordId> for String {
    fn from(id: RecordId) -> Self {
        id.with_text(str::to_owned)
    }
}

/// The first digits, and the occurrence of a repeat.
impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({:.8}…", self.id.hex().as_str())?;
        match self.suffix() {
            Some(n) => write!(f, "#{n})"),
            None => f.write_str(")"),
        }
    }
}

/// Reads exactly the texts that `Display` writes, so that an id has one spelling.
impl FromStr for RecordId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let Some((id, occurrence)) = text.split_once('#') else {
            return text.parse().map(Self::first);
        };
        let id = id.parse()?;
        let why = "starts at 2 and has no leading zero";
        let invalid = InvalidName { what: "the number behind `#` of a record id", why };
        if !occurrence.starts_with(|it: char| matches!(it, '1'..='9')) {
            return Err(invalid);
        }
        match occurrence.parse::<NonZeroU32>() {
            Ok(occurrence) if occurrence > NonZeroU32::MIN => Ok(Self { id, occurrence }),
            _ => Err(invalid),
        }
    }
}

impl serde::Serialize for RecordId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for RecordId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText(PhantomData))
    }
}

/// Counts the calls of one turn and names their records.
///
/// ```
/// use haft_core::call::{CallId, OccurrenceCounter};
///
/// let id = CallId::of_text("search", "hello");
/// let mut seen = OccurrenceCounter::default();
/// assert_eq!(seen.next(id).to_string(), id.to_string());
/// assert_eq!(seen.next(id).to_string(), format!("{id}#2"));
/// assert_eq!(seen.count(id), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OccurrenceCounter(HashMap<CallId, NonZeroU32>);

impl OccurrenceCounter {
    /// Counts one more call and names its record.
    pub fn next(&mut self, id: CallId) -> RecordId {
        let count = self.0.get(&id).map_or(NonZeroU32::MIN, |it| it.saturating_add(1));
        self.0.insert(id, count);
        RecordId::new(id, count)
    }

    /// Takes over a record that already has its name, as when a turn is resumed: later names come
    /// behind it.
    ///
    /// ```
    /// use haft_core::call::{CallId, OccurrenceCounter, RecordId};
    ///
    /// let id = CallId::of_text("search", "hello");
    /// let mut counter = OccurrenceCounter::default();
    /// counter.restore(RecordId::first(id));
    /// assert_eq!(counter.next(id).occurrence().get(), 2);
    /// ```
    pub fn restore(&mut self, record: RecordId) {
        let known = self.0.get(&record.id).copied().unwrap_or(record.occurrence);
        self.0.insert(record.id, record.occurrence.max(known));
    }

    /// Takes over everything that another counter has counted.
    pub fn restore_all(&mut self, other: &Self) {
        for (id, occurrence) in other.0.iter() {
            self.restore(RecordId::new(*id, *occurrence));
        }
    }

    /// How often a call was counted.
    #[must_use]
    pub fn count(&self, id: CallId) -> u32 {
        self.0.get(&id).map_or(0, |it| it.get())
    }
}
