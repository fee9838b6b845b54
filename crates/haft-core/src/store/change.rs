//! Changes that other processes wait for, and the journal as they read it.

use std::fmt;

use super::TurnId;
use crate::BoxFuture;

/// Reports the changes of a store since the listener was created, whichever process made them.
///
/// It is a hint and not a log: changes can be reported late, more than once, or together as [`StoreChange::Unknown`]. A
/// process creates the listener first, then looks at the store, and waits for a change before it looks again. It
/// therefore misses nothing; a superfluous report only makes it look once more.
///
/// Dropping a future of [`next_change`](Self::next_change) loses no change.
pub trait ChangeListener: fmt::Debug + Send {
    /// Waits for the next change. Bounded by the interval at which the store polls where it is not notified, and by nothing
    /// else: a caller that must look from time to time anyway sets a deadline of its own.
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange>;
}

/// Something that changed in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreChange {
    /// A turn has changed.
    Turn {
        /// The turn.
        turn: TurnId,
        /// What happened to it.
        kind: StoreChangeKind,
    },
    /// Anything may have changed: the store cannot tell, or there was too much to tell.
    Unknown,
}

/// What happened to a turn. New journal entries alone are not reported, because there are too many of them: observers
/// read them by [`TurnStore::read_journal`](super::TurnStore::read_journal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreChangeKind {
    /// It may be claimable: it was enqueued, released or interrupted.
    Claimable,
    /// One of its gates was settled.
    GateSettled,
    /// Its end was asked for.
    CancelRequested,
    /// It has ended.
    Ended,
}

impl StoreChangeKind {
    /// All of them.
    pub const ALL: &[Self] =
        &[Self::Claimable, Self::GateSettled, Self::CancelRequested, Self::Ended];

    /// The name by which it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claimable => "claimable",
            Self::GateSettled => "gate-settled",
            Self::CancelRequested => "cancel-requested",
            Self::Ended => "ended",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// A journal entry with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalRow {
    /// Grows from entry to entry of a turn, not always by one.
    pub number: u64,
    /// The entry, as JSON text.
    pub json: String,
}

impl JournalRow {
    /// A row.
    #[must_use]
    pub fn new(number: u64, json: impl Into<String>) -> Self {
        Self { number, json: json.into() }
    }
}
