//! Who is told when a gate was settled.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::store::{GateId, Store};
use tokio::sync::Notify;

use super::super::watch::{Stopwatch, beside, sleep};

/// Tells turns of this process that their gates were settled, here or elsewhere.
pub(in crate::turn) struct Bells {
    store: Arc<dyn Store>,
    poll: Duration,
    hung: Mutex<Hung>,
}

#[derive(Default)]
struct Hung {
    /// More than one waits at a gate when a turn was taken over by the runner that lost it.
    bells: HashMap<GateId, Vec<Arc<Notify>>>,
    polling: bool,
}

impl Bells {
    pub(in crate::turn) fn new(store: Arc<dyn Store>, poll: Duration) -> Arc<Self> {
        Arc::new(Self { store, poll, hung: Mutex::default() })
    }

    pub(super) fn ring(&self, id: &GateId) {
        if let Some(bells) = self.hung().bells.get(id) {
            bells.iter().for_each(|bell| bell.notify_one());
        }
    }

    /// A bell that rings when the gate was settled. One task asks the store for all of them.
    pub(super) fn hang(self: &Arc<Self>, id: GateId) -> Bell {
        let mut hung = self.hung();
        let notify = Arc::new(Notify::new());
        // Nearly always it is the only one, and there may be many thousand gates.
        let bells = hung.bells.entry(id.clone()).or_insert_with(|| Vec::with_capacity(1));
        bells.push(Arc::clone(&notify));
        if !std::mem::replace(&mut hung.polling, true) {
            beside(Self::poll(Polling { bells: Arc::clone(self), ended: false }));
        }
        Bell { bells: Arc::clone(self), id, notify }
    }

    async fn poll(mut polling: Polling) {
        let bells = Arc::clone(&polling.bells);
        let mut pause = bells.poll;
        loop {
            sleep(pause).await;
            {
                let mut hung = bells.hung();
                if hung.bells.is_empty() {
                    hung.polling = false;
                    polling.ended = true;
                    return;
                }
            }
            pause = bells.poll;
            let asked = Stopwatch::start();
            let Ok(open) = bells.store.open_gates(None).await else { continue };
            let open: HashSet<_> = open.into_iter().map(|row| row.id).collect();
            let hung = bells.hung();
            let settled = hung.bells.iter().filter(|(id, _)| !open.contains(id));
            settled.flat_map(|(_, bells)| bells).for_each(|bell| bell.notify_one());
            // With many thousands open an answer takes long: asking must not become all that is done.
            pause = pause.max(asked.elapsed() * PATIENCE);
        }
    }

    fn hung(&self) -> MutexGuard<'_, Hung> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bells({})", self.hung().bells.len())
    }
}

/// The task that asks the store. It may end with its runtime, while turns on another one go on.
struct Polling {
    bells: Arc<Bells>,
    ended: bool,
}

impl Drop for Polling {
    fn drop(&mut self) {
        if !self.ended {
            self.bells.hung().polling = false;
        }
    }
}

pub(super) struct Bell {
    bells: Arc<Bells>,
    id: GateId,
    notify: Arc<Notify>,
}

impl Bell {
    /// Waits until it rings.
    pub(super) async fn rings(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut hung = self.bells.hung();
        if let Some(bells) = hung.bells.get_mut(&self.id) {
            bells.retain(|bell| !Arc::ptr_eq(bell, &self.notify));
            if bells.is_empty() {
                hung.bells.remove(&self.id);
            }
        }
    }
}

/// How many times as long as an answer took nobody asks again.
const PATIENCE: u32 = 20;
