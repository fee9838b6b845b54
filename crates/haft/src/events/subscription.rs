//! The listening end.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_core::Stream;
use haft_core::BoxFuture;
use haft_core::event::Event;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::unconstrained;

use super::filter::EventFilter;
use super::hub::HubState;
use crate::sync::{Arc, Weak};

/// What a subscription yields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReceivedEvent {
    /// Something happened.
    Event(Arc<Event>),
    /// Events were dropped at this place, because the subscriber did not fetch them in time.
    #[non_exhaustive]
    Lagged {
        /// How many, whatever their names.
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
    filter: EventFilter,
    state: ReceiverState,
    hub: Weak<HubState>,
}

enum ReceiverState {
    Ready(EventReceiver),
    /// Waits, and owns the receiver meanwhile.
    Waiting(BoxFuture<'static, (Result<Arc<Event>, RecvError>, EventReceiver)>),
    Ended,
}

type EventReceiver = Receiver<Arc<Event>>;

impl Subscription {
    pub(super) const fn new(
        filter: EventFilter,
        receiver: EventReceiver,
        hub: Weak<HubState>,
    ) -> Self {
        Self { filter, state: ReceiverState::Ready(receiver), hub }
    }

    /// Waits for the next event. Returns `None` when there will be no more.
    pub async fn next(&mut self) -> Option<ReceivedEvent> {
        poll_fn(|cx| self.poll_received(cx)).await
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
        match self.poll_received(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(received) => received,
            Poll::Pending => None,
        }
    }

    fn poll_received(&mut self, cx: &mut Context<'_>) -> Poll<Option<ReceivedEvent>> {
        loop {
            match ready!(self.poll_channel(cx)) {
                Ok(event) if self.filter.wants(event.kind.name()) => {
                    return Poll::Ready(Some(ReceivedEvent::Event(event)));
                }
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => {
                    return Poll::Ready(Some(ReceivedEvent::Lagged { missed }));
                }
                Err(RecvError::Closed) => {
                    self.state = ReceiverState::Ended;
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn poll_channel(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arc<Event>, RecvError>> {
        if let ReceiverState::Ready(receiver) = &mut self.state {
            match receiver.try_recv() {
                Ok(event) => return Poll::Ready(Ok(event)),
                Err(TryRecvError::Lagged(missed)) => {
                    return Poll::Ready(Err(RecvError::Lagged(missed)));
                }
                Err(TryRecvError::Closed) => return Poll::Ready(Err(RecvError::Closed)),
                Err(TryRecvError::Empty) => self.wait(),
            }
        }
        let ReceiverState::Waiting(waiting) = &mut self.state else {
            return Poll::Ready(Err(RecvError::Closed));
        };
        let (received, receiver) = ready!(waiting.as_mut().poll(cx));
        self.state = ReceiverState::Ready(receiver);
        Poll::Ready(received)
    }

    fn wait(&mut self) {
        let state = mem::replace(&mut self.state, ReceiverState::Ended);
        if let ReceiverState::Ready(mut receiver) = state {
            // An event that is there is always yielded, also to a task that has used up its share of the thread.
            let waiting = unconstrained(async move { (receiver.recv().await, receiver) });
            self.state = ReceiverState::Waiting(Box::pin(waiting));
        }
    }
}

impl Stream for Subscription {
    type Item = ReceivedEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ReceivedEvent>> {
        self.get_mut().poll_received(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // The hub counts the receivers that are left.
        self.state = ReceiverState::Ended;
        if let (Some(hub), Some(turn)) = (self.hub.upgrade(), self.filter.turn_id()) {
            hub.remove_unused(turn);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("filter", &self.filter).finish_non_exhaustive()
    }
}
