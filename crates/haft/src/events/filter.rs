//! Which events a subscription gets.

use std::sync::Arc;

use haft_core::event::EventName;

/// Selects the events of a subscription: of every turn or of one, and by name.
///
/// ```
/// use haft::events::{EventFilter, EventName};
///
/// let filter = EventFilter::turn("turn-1").only([EventName::Log]);
/// assert_eq!(filter, filter.clone().only(EventName::ALL.iter().copied()));
/// assert_ne!(filter, EventFilter::all());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a filter does nothing until something subscribes with it"]
pub struct EventFilter {
    turn: Option<Arc<str>>,
    /// A bit for each name.
    names: u64,
}

impl EventFilter {
    /// All events of all turns.
    pub fn all() -> Self {
        Self { turn: None, names: u64::MAX }
    }

    /// All events of one turn. The subscription ends when the turn does.
    pub fn turn(id: impl Into<Arc<str>>) -> Self {
        Self { turn: Some(id.into()), ..Self::all() }
    }

    /// Of these, only the events of these names.
    pub fn only(mut self, names: impl IntoIterator<Item = EventName>) -> Self {
        self.names &= names.into_iter().fold(0, |all, name| all | bit(name));
        self
    }

    pub(super) fn turn_id(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    pub(super) fn wants(&self, name: EventName) -> bool {
        self.names & bit(name) != 0
    }
}

impl Default for EventFilter {
    fn default() -> Self {
        Self::all()
    }
}

fn bit(name: EventName) -> u64 {
    1 << (name as u8)
}
