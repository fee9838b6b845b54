//! The listening end.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use haft_core::event::{Event, EventKind, EventName};

use super::filter::EventFilter;
use super::hub::HubState;
use super::queue::{Backlog, EventQueue, QueueItem};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What a subscription yields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReceivedEvent {
    /// Something happened.
    Event(Arc<Event>),
    /// Events were dropped at this place, because the subscriber did not fetch them in time.
    #[non_exhaustive]
    Lagged {
        /// How many.
        missed: u64,
    },
}

impl ReceivedEvent {
    /// The event, if it is one.
    #[must_use]
    pub fn event(self) -> Option<Arc<Event>> {
        match self {
            Self::Event(event) => Some(event),
            Self::Lagged { .. } => None,
        }
    }
}

/// A stream of events. [`next`](Self::next) is for callers that do not use streams.
///
/// It begins with the first event after its creation. It ends when its turn ends, if it is for one turn, and when the
/// hub is dropped; queued events are still yielded. Dropping it ends it at once.
pub struct Subscription {
    subscriber: Arc<Subscriber>,
    key: u64,
    hub: Weak<HubState>,
}

impl Subscription {
    pub(super) const fn new(subscriber: Arc<Subscriber>, key: u64, hub: Weak<HubState>) -> Self {
        Self { subscriber, key, hub }
    }

    /// Waits for the next event. Returns `None` when there will be no more.
    pub async fn next(&mut self) -> Option<ReceivedEvent> {
        poll_fn(|cx| self.subscriber.poll(cx)).await
    }

    /// The next event that is there already.
    ///
    /// ```
    /// use haft::events::{EventFilter, EventHub};
    ///
    /// let mut events = EventHub::new().subscribe(EventFilter::all());
    /// assert!(events.try_next().is_none());
    /// ```
    pub fn try_next(&mut self) -> Option<ReceivedEvent> {
        self.subscriber.lock().queue.pop().map(Into::into)
    }
}

impl Stream for Subscription {
    type Item = ReceivedEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ReceivedEvent>> {
        self.subscriber.poll(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.unsubscribe(self.key, self.subscriber.turn());
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("filter", &self.subscriber.filter)
            .finish_non_exhaustive()
    }
}

impl From<QueueItem> for ReceivedEvent {
    fn from(popped: QueueItem) -> Self {
        match popped {
            QueueItem::Event(event) => Self::Event(event),
            QueueItem::Missed(missed) => Self::Lagged { missed },
        }
    }
}

/// What hub and subscription share.
pub(super) struct Subscriber {
    filter: EventFilter,
    state: Mutex<State>,
}

struct State {
    queue: EventQueue,
    waker: Option<Waker>,
    closed: bool,
}

impl Subscriber {
    pub(super) const fn new(filter: EventFilter, backlog: Backlog) -> Self {
        let state = State { queue: EventQueue::new(backlog), waker: None, closed: false };
        Self { filter, state: Mutex::new(state) }
    }

    pub(super) fn turn(&self) -> Option<&Arc<str>> {
        self.filter.turn_id()
    }

    pub(super) fn wants(&self, name: EventName) -> bool {
        self.filter.wants(name)
    }

    /// Adds an event, and returns the waker of the task that waits for it.
    pub(super) fn push(&self, event: &Arc<Event>) -> Option<Waker> {
        let mut state = self.lock();
        match event.kind {
            // Nothing follows it in the subscription of one turn, so it always has room there.
            EventKind::TurnEnd { .. } if self.turn().is_some() => state.queue.append(event),
            _ => state.queue.push(event),
        }
        state.waker.take()
    }

    /// Ends the subscription, and returns the waker of the task that waits for it.
    pub(super) fn close(&self) -> Option<Waker> {
        let mut state = self.lock();
        state.closed = true;
        state.waker.take()
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<ReceivedEvent>> {
        let mut state = self.lock();
        if let Some(popped) = state.queue.pop() {
            return Poll::Ready(Some(popped.into()));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Nothing panics while the lock is held, and if it did the state would still be whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
