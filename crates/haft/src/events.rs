//! Watching turns.
//!
//! An [`EventHub`] is an observer that many turns share and that many can listen to. Each listener has a
//! queue of its own with a size and a policy, so a slow one loses events (and is told how many) or gets
//! text in larger pieces, and never stalls a turn.
//!
//! ```
//! use haft::DispatchContext;
//! use haft::event::{EventName, Level};
//! use haft::events::{EventHub, Filter, Received};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let hub = EventHub::new();
//! let mut logs = hub.subscribe(Filter::turn("turn-1").only([EventName::Log]));
//!
//! let ctx = DispatchContext::builder("turn-1").observer(hub.clone()).build();
//! ctx.log(Level::Info, "progress", "half way", None);
//!
//! let Some(Received::Event(event)) = logs.next().await else { unreachable!() };
//! assert_eq!((&*event.turn, event.sequence), ("turn-1", 0));
//! # }
//! ```
//!
//! [`TracingObserver`] turns events into spans of the `tracing` crate, named as OpenTelemetry's
//! conventions for generative AI have it.

mod filter;
mod queue;
mod spans;
mod subscription;
mod trace;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Waker;

use haft_core::event::{Event, EventKind, Observer};

pub use self::filter::Filter;
pub use self::queue::{Backlog, Overflow};
#[cfg(feature = "otlp")]
pub(crate) use self::spans::{Backend, Begin, Field, Note, Operation, SpanTracker};
use self::subscription::Subscriber;
pub use self::subscription::{Received, Subscription};
pub use self::trace::{Content, TracingObserver};

/// Hands events to whoever subscribed. Clones are the same hub.
///
/// Give a clone to every turn as an observer. Seeing an event costs an atomic load when nobody listens,
/// and otherwise a push for each subscription that wants it; it never waits for one. Subscribing costs
/// a map entry; a queue takes memory only once something is in it.
#[derive(Clone, Default)]
pub struct EventHub {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// How many subscriptions there are, readable without the lock.
    count: AtomicUsize,
    next_key: AtomicU64,
    index: RwLock<Index>,
}

/// Who listens, by what they listen to.
#[derive(Default)]
struct Index {
    every_turn: Subscribers,
    one_turn: HashMap<Arc<str>, Subscribers>,
}

/// In the order in which they subscribed.
type Subscribers = BTreeMap<u64, Arc<Subscriber>>;

impl EventHub {
    /// A hub that nobody listens to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to events from now on, with the default [`Backlog`].
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe(&self, filter: Filter) -> Subscription {
        self.subscribe_with(filter, Backlog::default())
    }

    /// Listens to events from now on.
    ///
    /// A subscription to one turn ends with that turn's `turnEnd`, so take it before the turn begins.
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe_with(&self, filter: Filter, backlog: Backlog) -> Subscription {
        let shared = &self.shared;
        let key = shared.next_key.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(Subscriber::new(filter, backlog));
        shared.change(|index| {
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

impl Shared {
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
        let ended = self.change(|index| {
            let ended = index.one_turn.remove(turn).unwrap_or_default();
            self.count.fetch_sub(ended.len(), Ordering::Relaxed);
            ended
        });
        wakers.extend(ended.into_values().filter_map(|it| it.close()));
    }

    fn unsubscribe(&self, key: u64, turn: Option<&Arc<str>>) {
        let gone = self.change(|index| {
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
    fn change<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        change(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Who still listens is told that nothing more comes.
impl Drop for Shared {
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
