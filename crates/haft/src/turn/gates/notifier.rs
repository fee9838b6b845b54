//! Telling turns that their gates were settled.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use haft_core::store::{
    ChangeListener, GateId, StoreChange, StoreChangeKind, TurnStore, TurnStoreExt as _,
};

use crate::sync::{Arc, Instant, Mutex, MutexGuard, Notify, PoisonError, sleep, spawn_background};

/// Notifies the turns of this process that their gates were settled, by this or another process.
pub(crate) struct GateNotifier {
    store: Arc<dyn TurnStore>,
    poll_interval: Duration,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    /// More than one waits at a gate when a turn was taken over by the agent that lost it.
    by_gate: HashMap<GateId, Vec<Arc<Notify>>>,
    is_polling: bool,
}

impl GateNotifier {
    pub(crate) fn new(store: Arc<dyn TurnStore>, poll_interval: Duration) -> Arc<Self> {
        Arc::new(Self { store, poll_interval, waiters: Mutex::default() })
    }

    /// Notifies the subscribers of a gate that it was settled.
    pub(crate) fn notify(&self, id: &GateId) {
        if let Some(waiters) = self.lock().by_gate.get(id) {
            waiters.iter().for_each(|waiter| waiter.notify_one());
        }
    }

    /// Subscribes to the settlement of a gate. One task listens to the store for all subscriptions, and polls it in
    /// case a notification is lost.
    pub(crate) fn subscribe(self: &Arc<Self>, id: GateId) -> GateSubscription {
        let mut waiters = self.lock();
        let notify = Arc::new(Notify::new());
        // Nearly always it is the only one, and there may be many thousand gates.
        let of_gate = waiters.by_gate.entry(id.clone()).or_insert_with(|| Vec::with_capacity(1));
        of_gate.push(Arc::clone(&notify));
        if !std::mem::replace(&mut waiters.is_polling, true) {
            spawn_background(Self::poll_store(Polling {
                notifier: Arc::clone(self),
                has_ended: false,
            }));
        }
        GateSubscription { notifier: Arc::clone(self), id, notify }
    }

    async fn poll_store(mut polling: Polling) {
        let notifier = Arc::clone(&polling.notifier);
        let mut listener = notifier.store.listen();
        let mut pause = notifier.poll_interval;
        loop {
            await_settlement(&mut *listener, pause).await;
            {
                let mut waiters = notifier.lock();
                if waiters.by_gate.is_empty() {
                    waiters.is_polling = false;
                    polling.has_ended = true;
                    return;
                }
            }
            pause = notifier.poll_interval;
            let asked = Instant::now();
            let Ok(open) = notifier.store.open_gates(None).await else { continue };
            let open: HashSet<_> = open.into_iter().map(|row| row.id).collect();
            notifier.notify_settled(&open);
            // With many thousand open gates a query takes long: it must not take all the time there is.
            let rest = asked.elapsed() * POLL_BACKOFF;
            sleep(rest).await;
            pause = pause.saturating_sub(rest);
        }
    }

    /// Notifies the subscribers of gates that are no longer open.
    fn notify_settled(&self, open: &HashSet<GateId>) {
        let waiters = self.lock();
        let settled = waiters.by_gate.iter().filter(|(id, _)| !open.contains(*id));
        settled.flat_map(|(_, waiters)| waiters).for_each(|waiter| waiter.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the store reports that a gate may have been settled, or this time has passed.
async fn await_settlement(listener: &mut dyn ChangeListener, time: Duration) {
    let mut pause = pin!(sleep(time));
    loop {
        let mut change = listener.next_change();
        let told = poll_fn(|cx| match change.as_mut().poll(cx) {
            Poll::Ready(change) => Poll::Ready(Some(change)),
            Poll::Pending => pause.as_mut().poll(cx).map(|()| None),
        });
        match told.await {
            Some(StoreChange::Turn { kind: StoreChangeKind::GateSettled, .. })
            | Some(StoreChange::Unknown)
            | None => return,
            Some(_) => {}
        }
    }
}

impl fmt::Debug for GateNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateNotifier({})", self.lock().by_gate.len())
    }
}

/// The task that polls the store. It may end with its runtime, while turns on another runtime continue.
struct Polling {
    notifier: Arc<GateNotifier>,
    has_ended: bool,
}

impl Drop for Polling {
    fn drop(&mut self) {
        if !self.has_ended {
            self.notifier.lock().is_polling = false;
        }
    }
}

/// Waits for the settlement of one gate, until it is dropped.
pub(crate) struct GateSubscription {
    notifier: Arc<GateNotifier>,
    id: GateId,
    notify: Arc<Notify>,
}

impl GateSubscription {
    /// Waits until the gate may have been settled.
    pub(crate) fn notified(&self) -> impl Future<Output = ()> + '_ {
        self.notify.notified()
    }
}

impl Drop for GateSubscription {
    fn drop(&mut self) {
        let mut waiters = self.notifier.lock();
        if let Some(of_gate) = waiters.by_gate.get_mut(&self.id) {
            of_gate.retain(|waiter| !Arc::ptr_eq(waiter, &self.notify));
            if of_gate.is_empty() {
                waiters.by_gate.remove(&self.id);
            }
        }
    }
}

/// After a query, the store is not polled for this many times the duration of the query.
const POLL_BACKOFF: u32 = 20;
