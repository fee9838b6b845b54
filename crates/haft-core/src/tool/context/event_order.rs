//! Numbers the events of a turn and delivers them in the order of their numbers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::event::Event;

/// The order of a turn's events. Calls that run in parallel emit events on several threads: each event gets its number
/// and reaches the observers before the next one gets a number.
#[derive(Default)]
pub(super) struct EventOrder {
    own: AtomicU64,
    /// The counter of dispatches that share their numbers.
    shared: Option<Arc<AtomicU64>>,
    /// Held by the thread that delivers an event.
    delivery: Mutex<()>,
    /// The number of that thread; 0 if no event is being delivered.
    deliverer: AtomicU64,
    /// Events that an observer emitted while it observed another one.
    nested: Mutex<VecDeque<Event>>,
}

impl EventOrder {
    pub(super) fn new(shared: Option<Arc<AtomicU64>>) -> Self {
        Self { shared, ..Self::default() }
    }

    /// Numbers an event, dates it and delivers it. An event that an observer emits is delivered after the one that it
    /// observes.
    pub(super) fn deliver(&self, event: &mut Event, clock: &dyn Clock, observe: impl Fn(&Event)) {
        let thread = thread_number();
        if thread != 0 && self.deliverer.load(Ordering::Relaxed) == thread {
            (event.sequence, event.at) = (self.next_number(), clock.now());
            lock(&self.nested).push_back(event.clone());
            return;
        }
        let _delivery = Delivery::begin(self, thread);
        (event.sequence, event.at) = (self.next_number(), clock.now());
        observe(event);
        while let Some(nested) = self.next_nested() {
            observe(&nested);
        }
    }

    fn next_number(&self) -> u64 {
        self.shared.as_deref().unwrap_or(&self.own).fetch_add(1, Ordering::Relaxed)
    }

    fn next_nested(&self) -> Option<Event> {
        lock(&self.nested).pop_front()
    }
}

/// The right to deliver an event.
struct Delivery<'o> {
    order: &'o EventOrder,
    _guard: MutexGuard<'o, ()>,
}

impl<'o> Delivery<'o> {
    /// Waits until no other thread delivers an event.
    fn begin(order: &'o EventOrder, thread: u64) -> Self {
        let guard = lock(&order.delivery);
        order.deliverer.store(thread, Ordering::Relaxed);
        Self { order, _guard: guard }
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        self.order.deliverer.store(0, Ordering::Relaxed);
    }
}

/// A number that no other thread has or had; 0 while the thread ends.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

/// What the locks guard is whole after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
