//! The hub that hands events to subscriptions.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;

use haft_core::event::{Event, EventKind, Observer};
use tokio::sync::broadcast;

use super::filter::EventFilter;
use super::subscription::Subscription;
use crate::sync::{Arc, PoisonError, RwLock};

/// Delivers events to subscriptions. Clones refer to the same hub.
///
/// Give a clone to every turn as an observer. Observing an event never waits: a subscriber that does not keep up misses the
/// oldest events, and learns how many. The events of a turn that is subscribed to have a queue of their own, so that they
/// do not displace those of other turns.
///
/// ```
/// use haft::events::{EventFilter, EventHub, EventName};
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hub = EventHub::new();
/// let mut ends = hub.subscribe(EventFilter::all().only([EventName::TurnEnd]));
/// let executor = async |_: StepContext| Ok::<_, StepError>(Step::done());
/// let agent = Agent::builder(executor).observer(hub.clone()).build()?;
/// agent.turn([]).system("Be brief.").id("turn-1").report().await?;
/// let end = ends.next().await.and_then(|it| it.event()).ok_or("no event")?;
/// assert_eq!(&*end.turn, "turn-1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EventHub {
    shared: Arc<HubState>,
}

/// What the clones of a hub share.
pub(super) struct HubState {
    /// How many events wait in a channel.
    capacity: usize,
    every_turn: EventSender,
    /// The channels of turns with subscriptions.
    turns: RwLock<HashMap<Arc<str>, EventSender>>,
}

type EventSender = broadcast::Sender<Arc<Event>>;

/// How many events wait for a subscriber by default.
const CAPACITY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// The most events that can wait, which bounds the memory of a channel.
const MAX_CAPACITY: usize = 1 << 20;

impl EventHub {
    /// A hub without subscriptions, in which 1024 events wait for each subscription.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A hub in which this many events wait for each subscription: at most 1 048 576, and rounded up to a power of two.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use haft::events::EventHub;
    ///
    /// let hub = EventHub::with_capacity(NonZeroUsize::MIN.saturating_add(4095));
    /// assert_eq!(hub.subscriptions(), 0);
    /// ```
    #[must_use]
    pub fn with_capacity(capacity: NonZeroUsize) -> Self {
        let capacity = capacity.get().min(MAX_CAPACITY);
        let every_turn = broadcast::Sender::new(capacity);
        Self { shared: Arc::new(HubState { capacity, every_turn, turns: RwLock::default() }) }
    }

    /// Subscribes to events from now on.
    ///
    /// A subscription to one turn ends with that turn's `turnEnd`, so take it before the turn begins.
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe(&self, filter: EventFilter) -> Subscription {
        let shared = &self.shared;
        let receiver = match filter.turn_id() {
            Some(turn) => shared.with_turns(|turns| {
                let channel = turns.entry(Arc::clone(turn));
                channel.or_insert_with(|| broadcast::Sender::new(shared.capacity)).subscribe()
            }),
            None => shared.every_turn.subscribe(),
        };
        Subscription::new(filter, receiver, Arc::downgrade(shared))
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
        let turns = self.shared.turns.read().unwrap_or_else(PoisonError::into_inner);
        let of_turns: usize = turns.values().map(broadcast::Sender::receiver_count).sum();
        of_turns + self.shared.every_turn.receiver_count()
    }
}

impl Default for EventHub {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for EventHub {
    fn observe(&self, event: &Event) {
        let HubState { every_turn, .. } = &*self.shared;
        // Sending wakes subscribers, which may run code that asks for this hub: no lock is held.
        let of_turn = self.shared.channel_for(event);
        if of_turn.is_none() && every_turn.receiver_count() == 0 {
            return;
        }
        let event = Arc::new(event.clone());
        // Without a receiver an event is dropped.
        if let Some(of_turn) = of_turn {
            let _ = of_turn.send(Arc::clone(&event));
        }
        let _ = every_turn.send(event);
    }

    fn is_idle(&self) -> bool {
        let turns = self.shared.turns.read().unwrap_or_else(PoisonError::into_inner);
        turns.is_empty() && self.shared.every_turn.receiver_count() == 0
    }
}

impl HubState {
    /// The channel of the turn of an event. The end of a turn takes the channel from the hub, so that it closes after it.
    fn channel_for(&self, event: &Event) -> Option<EventSender> {
        if matches!(event.kind, EventKind::TurnEnd { .. }) {
            return self.with_turns(|turns| turns.remove(&event.turn));
        }
        let turns = self.turns.read().unwrap_or_else(PoisonError::into_inner);
        turns.get(&event.turn).cloned()
    }

    /// Removes the channel of a turn if its last subscription has been dropped.
    pub(super) fn remove_unused(&self, turn: &str) {
        self.with_turns(|turns| {
            if turns.get(turn).is_some_and(|channel| channel.receiver_count() == 0) {
                turns.remove(turn);
            }
        });
    }

    /// Nothing panics while the lock is held, and if it did the map would still be whole.
    fn with_turns<T>(&self, change: impl FnOnce(&mut HashMap<Arc<str>, EventSender>) -> T) -> T {
        change(&mut self.turns.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for EventHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHub")
            .field("subscriptions", &self.subscriptions())
            .finish_non_exhaustive()
    }
}
