//! The hub that hands events to subscriptions.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::task::Waker;

use haft_core::event::{Event, EventKind, Observer};

use super::filter::EventFilter;
use super::queue::Backlog;
use super::subscription::{Subscriber, Subscription};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, PoisonError, RwLock};

/// Delivers events to subscriptions. Clones refer to the same hub.
///
/// Give a clone to every turn as an observer. Observing an event costs an atomic load when there are no subscriptions,
/// and otherwise a push for each matching subscription; it never waits. Subscribing costs a map entry; a queue takes
/// memory only once something is in it.
///
/// ```
/// use haft::events::{EventFilter, EventHub, EventName};
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::{TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hub = EventHub::new();
/// let mut ends = hub.subscribe(EventFilter::all().only([EventName::TurnEnd]));
/// let executor = async |_: StepContext| Ok::<_, StepError>(Step::done());
/// let runner = TurnRunner::builder(executor).observer(hub.clone()).build()?;
/// runner.run(TurnInput::new("Be brief.").id("turn-1")).await?;
/// let end = ends.next().await.and_then(|it| it.event()).ok_or("no event")?;
/// assert_eq!(&*end.turn, "turn-1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct EventHub {
    shared: Arc<HubState>,
}

/// What the clones of a hub share.
#[derive(Default)]
pub(super) struct HubState {
    /// How many subscriptions there are, readable without the lock.
    count: AtomicUsize,
    next_key: AtomicU64,
    index: RwLock<SubscriberIndex>,
}

/// The subscribers, by the turn that they subscribed to.
#[derive(Default)]
struct SubscriberIndex {
    every_turn: Subscribers,
    one_turn: HashMap<Arc<str>, Subscribers>,
}

/// In the order in which they subscribed.
type Subscribers = BTreeMap<u64, Arc<Subscriber>>;

impl EventHub {
    /// A hub without subscriptions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Subscribes to events from now on, with the default [`Backlog`].
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe(&self, filter: EventFilter) -> Subscription {
        self.subscribe_with(filter, Backlog::default())
    }

    /// Subscribes to events from now on.
    ///
    /// A subscription to one turn ends with that turn's `turnEnd`, so take it before the turn begins.
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe_with(&self, filter: EventFilter, backlog: Backlog) -> Subscription {
        let shared = &self.shared;
        let key = shared.next_key.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(Subscriber::new(filter, backlog));
        shared.with_index(|index| {
            let place = match subscriber.turn() {
                Some(turn) => index.one_turn.entry(Arc::clone(turn)).or_default(),
                None => &mut index.every_turn,
            };
            place.insert(key, Arc::clone(&subscriber));
            shared.count.fetch_add(1, Ordering::Relaxed);
        });
        Subscription::new(subscriber, key, Arc::downgrade(shared))
    }

    /// How many subscriptions there are.
    ///
    /// ```
    /// use haft::events::{EventFilter, EventHub};
    ///
    /// let hub = EventHub::new();
    /// let subscription = hub.subscribe(EventFilter::all());
    /// assert_eq!(hub.subscriptions(), 1);
    /// drop(subscription);
    /// assert_eq!(hub.subscriptions(), 0);
    /// ```
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }
}

impl Observer for EventHub {
    fn observe(&self, event: &Event) {
        if self.is_idle() {
            return;
        }
        let mut wakers = self.shared.deliver(event);
        if matches!(event.kind, EventKind::TurnEnd { .. }) {
            self.shared.end_turn(&event.turn, &mut wakers);
        }
        // Only now, without a lock: a waker runs code of others, which may ask for this hub.
        wakers.into_iter().for_each(Waker::wake);
    }

    fn is_idle(&self) -> bool {
        self.subscriptions() == 0
    }
}

impl HubState {
    fn deliver(&self, event: &Event) -> Vec<Waker> {
        let mut wakers = Vec::new();
        // One copy for all who want it, made when the first does.
        let mut copy = None;
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let of_turn = index.one_turn.get(&event.turn).into_iter().flatten();
        for (_, subscriber) in of_turn.chain(&index.every_turn) {
            if subscriber.wants(event.kind.name()) {
                let event = copy.get_or_insert_with(|| Arc::new(event.clone()));
                wakers.extend(subscriber.push(event));
            }
        }
        wakers
    }

    fn end_turn(&self, turn: &str, wakers: &mut Vec<Waker>) {
        let ended = self.with_index(|index| {
            let ended = index.one_turn.remove(turn).unwrap_or_default();
            self.count.fetch_sub(ended.len(), Ordering::Relaxed);
            ended
        });
        wakers.extend(ended.into_values().filter_map(|it| it.close()));
    }

    pub(super) fn unsubscribe(&self, key: u64, turn: Option<&Arc<str>>) {
        let gone = self.with_index(|index| {
            let Some(turn) = turn else { return index.every_turn.remove(&key) };
            let place = index.one_turn.get_mut(turn)?;
            let gone = place.remove(&key);
            if place.is_empty() {
                index.one_turn.remove(turn);
            }
            gone
        });
        if gone.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Nothing panics while the lock is held, and if it did the index would still be whole.
    fn with_index<T>(&self, change: impl FnOnce(&mut SubscriberIndex) -> T) -> T {
        change(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells the remaining subscriptions that no more events come.
impl Drop for HubState {
    fn drop(&mut self) {
        let index = self.index.get_mut().unwrap_or_else(PoisonError::into_inner);
        let of_turns = index.one_turn.values().flat_map(BTreeMap::values);
        for subscriber in of_turns.chain(index.every_turn.values()) {
            if let Some(waker) = subscriber.close() {
                waker.wake();
            }
        }
    }
}

impl fmt::Debug for EventHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHub")
            .field("subscriptions", &self.subscriptions())
            .finish_non_exhaustive()
    }
}
