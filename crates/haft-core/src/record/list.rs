//! The records of a turn.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use indexmap::IndexMap;

use super::Record;

/// Numbers the records of a turn, of all kinds, in the order in which they were first put on a list. Cheap to clone;
/// clones share the counter.
///
/// The records of the turn itself begin at [`FIRST_OF_TURN`](Self::FIRST_OF_TURN). Records of earlier turns of the
/// conversation have lower numbers, so that they come first no matter when they are added.
#[derive(Clone, Debug)]
pub struct RecordSequence(Arc<AtomicU64>);

impl RecordSequence {
    /// The number of the first record of the turn itself.
    pub const FIRST_OF_TURN: u64 = 1 << 32;

    /// Counts the records of a turn.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(Self::FIRST_OF_TURN)))
    }

    fn assign_number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for RecordSequence {
    fn default() -> Self {
        Self::new()
    }
}

/// The records of one kind that a turn works with: in order, and one for each id.
///
/// The order is that of the first [`put`](Self::put); times are for display. Lists of one turn share a
/// [`RecordSequence`], so that records of different kinds have an order too.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Message, RecordSequence, RecordList};
///
/// let list = RecordList::new(RecordSequence::new());
/// let draft = Message::assistant_at("m-1", "helo", Timestamp::EPOCH)?;
/// list.put(draft.clone());
/// list.put(Message::user_at("m-2", "thanks", Timestamp::EPOCH)?);
/// list.put(draft.revised(Timestamp::EPOCH).with_content("hello"));
///
/// let texts: Vec<_> = list.all().iter().filter_map(|it| it.content().cloned()).collect();
/// assert_eq!(texts, ["hello".into(), "thanks".into()]);
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
pub struct RecordList<T: Record> {
    records: RwLock<RecordMap<T>>,
    sequence: RecordSequence,
}

type RecordMap<T> = IndexMap<<T as Record>::Id, NumberedRecord<T>>;

struct NumberedRecord<T> {
    number: u64,
    record: Arc<T>,
}

impl<T> NumberedRecord<T> {
    fn is_earlier(&self) -> bool {
        self.number < RecordSequence::FIRST_OF_TURN
    }
}

impl<T: Record> RecordList<T> {
    /// An empty list.
    #[must_use]
    pub fn new(sequence: RecordSequence) -> Self {
        Self { records: RwLock::default(), sequence }
    }

    /// Replaces the record with the same id, or adds the record after all others. Returns the record that was replaced.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::{Message, RecordList, RecordSequence};
    ///
    /// let list = RecordList::new(RecordSequence::new());
    /// assert!(list.put(Message::user_at("m", "Hi", Timestamp::EPOCH)?).is_none());
    /// let replaced = list.put(Message::user_at("m", "Hello", Timestamp::EPOCH)?);
    /// assert!(replaced.is_some());
    /// assert_eq!(list.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&self, record: impl Into<Arc<T>>) -> Option<Arc<T>> {
        let record = record.into();
        let key = record.key();
        let mut records = self.write();
        match records.get_mut(&key) {
            Some(placed) => Some(std::mem::replace(&mut placed.record, record)),
            None => {
                let number = self.sequence.assign_number();
                records.insert(key, NumberedRecord { number, record });
                None
            }
        }
    }

    /// Adds records of earlier turns, with their numbers, after the existing ones and before the records of the turn
    /// itself. The caller makes sure that the ids are new.
    pub(crate) fn put_earlier(&self, earlier: Vec<(u64, Arc<T>)>) {
        if earlier.is_empty() {
            return;
        }
        let mut records = self.write();
        let before = std::mem::take(&mut *records).into_iter();
        let (known, own): (Vec<_>, Vec<_>) = before.partition(|(_, placed)| placed.is_earlier());
        let numbered =
            |(number, record): (u64, Arc<T>)| (record.key(), NumberedRecord { number, record });
        let earlier = earlier.into_iter().map(numbered);
        *records = known.into_iter().chain(earlier).chain(own).collect();
    }

    /// Removes and returns the record with this id, if there is one.
    pub fn remove<Q>(&self, id: &Q) -> Option<Arc<T>>
    where
        T::Id: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.write().shift_remove(id).map(|placed| placed.record)
    }

    /// The record of this id.
    #[must_use]
    pub fn get<Q>(&self, id: &Q) -> Option<Arc<T>>
    where
        T::Id: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.read().get(id).map(|placed| Arc::clone(&placed.record))
    }

    /// All records as they are now, in order.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<T>> {
        self.each(|placed| Arc::clone(&placed.record))
    }

    /// All records as they are now, in order, with the numbers that order them among records of other
    /// kinds.
    #[must_use]
    pub fn numbered(&self) -> Vec<(u64, Arc<T>)> {
        self.each(|placed| (placed.number, Arc::clone(&placed.record)))
    }

    /// The records that match, in order.
    #[must_use]
    pub fn matching(&self, mut matches: impl FnMut(&T) -> bool) -> Vec<Arc<T>> {
        let records = self.read();
        let matching = records.values().filter(|it| matches(&it.record));
        matching.map(|it| Arc::clone(&it.record)).collect()
    }

    /// Whether a record matches. The list is locked meanwhile.
    pub fn any(&self, mut matches: impl FnMut(&T) -> bool) -> bool {
        self.read().values().any(|it| matches(&it.record))
    }

    /// Whether a record of the turn itself matches. The list is locked meanwhile.
    pub fn any_of_turn(&self, mut matches: impl FnMut(&T) -> bool) -> bool {
        self.read().values().any(|it| !it.is_earlier() && matches(&it.record))
    }

    /// The last record.
    #[must_use]
    pub fn last(&self) -> Option<Arc<T>> {
        self.read().last().map(|(_, placed)| Arc::clone(&placed.record))
    }

    /// How many records of the turn itself there are, without those of earlier turns.
    #[must_use]
    pub fn len_of_turn(&self) -> usize {
        let records = self.read();
        // Records of earlier turns come first.
        records.len() - records.partition_point(|_, placed| placed.is_earlier())
    }

    /// The records of the turn itself as they are now, in order, without those of earlier turns.
    #[must_use]
    pub fn of_turn(&self) -> Vec<Arc<T>> {
        let records = self.read();
        let own = records.values().filter(|it| !it.is_earlier());
        own.map(|it| Arc::clone(&it.record)).collect()
    }

    /// Whether the record of this id belongs to an earlier turn of the conversation.
    #[must_use]
    pub fn is_earlier<Q>(&self, id: &Q) -> bool
    where
        T::Id: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.read().get(id).is_some_and(NumberedRecord::is_earlier)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys of the turn itself match.
    pub(crate) fn count_keys(&self, matches: impl Fn(&T::Id) -> bool) -> usize {
        let records = self.read();
        records.iter().filter(|(key, placed)| !placed.is_earlier() && matches(key)).count()
    }

    fn each<R>(&self, of: impl Fn(&NumberedRecord<T>) -> R) -> Vec<R> {
        self.read().values().map(of).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, RecordMap<T>> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, RecordMap<T>> {
        self.records.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list with a sequence of its own.
impl<T: Record> Default for RecordList<T> {
    fn default() -> Self {
        Self::new(RecordSequence::new())
    }
}

impl<T: Record> fmt::Debug for RecordList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.read().keys()).finish()
    }
}
