//! What waits for a subscriber.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use haft_core::event::{Event, EventKind, StreamDelta, StreamState};

/// How far back a piece of text looks for an earlier one of its stream.
const LOOK_BACK: usize = 64;

/// How much waits for a subscriber, and what happens when that is not enough.
///
/// ```
/// use std::num::NonZeroUsize;
/// use haft::events::{Backlog, Overflow};
///
/// assert_eq!(Backlog::default().capacity.get(), 1024);
/// let short = Backlog::new(NonZeroUsize::MIN, Overflow::DropOldest);
/// assert_eq!(short.overflow, Overflow::DropOldest);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// How many events wait at most.
    pub capacity: NonZeroUsize,
    /// What happens to more.
    pub overflow: Overflow,
}

impl Backlog {
    /// A queue of this many events with this policy.
    #[must_use]
    pub const fn new(capacity: NonZeroUsize, overflow: Overflow) -> Self {
        Self { capacity, overflow }
    }
}

/// 1024 events, and pieces of text are joined.
impl Default for Backlog {
    fn default() -> Self {
        Self::new(NonZeroUsize::MIN.saturating_add(1023), Overflow::Coalesce)
    }
}

/// What happens to an event for which there is no room. No policy waits, so that a
/// subscriber cannot stall a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// The oldest event that waits makes room.
    DropOldest,
    /// It is dropped itself.
    DropNewest,
    /// A piece of text is joined with an earlier one of its stream that still waits; the joined piece takes the
    /// position of the later one. This happens at once when there is nothing between the two, and across at most 64
    /// other events when there is no room. If nothing can be joined, the oldest event makes room.
    Coalesce,
}

/// What waits.
pub(super) struct EventQueue {
    backlog: Backlog,
    entries: VecDeque<Entry>,
    /// Events dropped since the last entry.
    missed_since: u64,
}

struct Entry {
    /// Events dropped right before this one.
    missed: u64,
    event: Arc<Event>,
    /// Text that comes after the event's own piece.
    more: Option<JoinedText>,
}

/// Text that was joined to an earlier piece, and the event whose place the whole takes.
struct JoinedText {
    text: String,
    pieces: u64,
    last: Arc<Event>,
}

/// What leaves the queue.
pub(super) enum QueueItem {
    Event(Arc<Event>),
    Missed(u64),
}

impl EventQueue {
    pub(super) const fn new(backlog: Backlog) -> Self {
        Self { backlog, entries: VecDeque::new(), missed_since: 0 }
    }

    pub(super) fn push(&mut self, event: &Arc<Event>) {
        let coalesces = self.backlog.overflow == Overflow::Coalesce;
        if coalesces && self.entries.back_mut().is_some_and(|it| it.join(event)) {
            return;
        }
        if self.entries.len() >= self.backlog.capacity.get() {
            match self.backlog.overflow {
                Overflow::DropNewest => {
                    self.missed_since += 1;
                    return;
                }
                Overflow::DropOldest => self.drop_oldest(),
                Overflow::Coalesce => {
                    if self.join_earlier(event) {
                        return;
                    }
                    self.drop_oldest();
                }
            }
        }
        self.append(event);
    }

    /// Adds the event even if there is no room.
    pub(super) fn append(&mut self, event: &Arc<Event>) {
        let missed = std::mem::take(&mut self.missed_since);
        self.entries.push_back(Entry { missed, event: Arc::clone(event), more: None });
    }

    pub(super) fn pop(&mut self) -> Option<QueueItem> {
        let missed = self.entries.front_mut().map_or(&mut self.missed_since, |it| &mut it.missed);
        match std::mem::take(missed) {
            0 => self.entries.pop_front().map(|it| QueueItem::Event(it.finish())),
            missed => Some(QueueItem::Missed(missed)),
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.entries.pop_front() {
            let joined = oldest.more.map_or(0, |it| it.pieces);
            self.count_missed(0, oldest.missed + 1 + joined);
        }
    }

    /// Says that events are missing right before the entry at `index`.
    fn count_missed(&mut self, index: usize, missed: u64) {
        match self.entries.get_mut(index) {
            Some(next) => next.missed += missed,
            None => self.missed_since += missed,
        }
    }

    /// Joins the event with the last waiting piece of its stream, and puts both at the end.
    fn join_earlier(&mut self, event: &Arc<Event>) -> bool {
        let near = self.entries.len().saturating_sub(LOOK_BACK);
        let found = self.entries.iter_mut().skip(near).rposition(|it| it.join(event));
        let Some(index) = found.map(|it| it + near) else { return false };
        if let Some(mut joined) = self.entries.remove(index) {
            self.count_missed(index, std::mem::take(&mut joined.missed));
            joined.missed = std::mem::take(&mut self.missed_since);
            self.entries.push_back(joined);
        }
        true
    }
}

impl Entry {
    /// Takes the event's text behind its own, if the two are consecutive pieces of one stream.
    fn join(&mut self, event: &Arc<Event>) -> bool {
        let (Some(own), Some(next)) = (stream_delta(self.last()), stream_delta(event)) else {
            return false;
        };
        let follows = own.state == StreamState::Open
            && own.id == next.id
            && own.offset + own.delta.len() as u64 == next.offset
            && self.event.kind.name() == event.kind.name()
            && self.event.turn == event.turn
            && self.event.dispatch == event.dispatch;
        if follows {
            let (text, pieces) =
                self.more.take().map(|it| (it.text, it.pieces)).unwrap_or_default();
            let (text, pieces) = (text + &next.delta, pieces + 1);
            self.more = Some(JoinedText { text, pieces, last: Arc::clone(event) });
        }
        follows
    }

    /// The last event that was joined.
    fn last(&self) -> &Event {
        self.more.as_ref().map_or(&self.event, |it| &it.last)
    }

    /// The event: itself, or the last one that was joined with the text of all.
    fn finish(self) -> Arc<Event> {
        let (Some(first), Some(joined)) = (stream_delta(&self.event), &self.more) else {
            return self.event;
        };
        let mut event = Event::clone(&joined.last);
        if let EventKind::Message(last) | EventKind::Thought(last) = &mut event.kind {
            last.delta = format!("{}{}", first.delta, joined.text).into();
            last.offset = first.offset;
        }
        Arc::new(event)
    }
}

fn stream_delta(event: &Event) -> Option<&StreamDelta> {
    match &event.kind {
        EventKind::Message(delta) | EventKind::Thought(delta) => Some(delta),
        _ => None,
    }
}
