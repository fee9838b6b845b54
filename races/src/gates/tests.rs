use std::time::Duration;

use haft_core::store::{GateId, TurnStore};
use shuttle::sync::Arc;
use shuttle::{check_random, future, thread};

use super::notifier::GateNotifier;
use crate::stores::{Answering, Gates};

/// How many orders are tried.
const ORDERS: usize = 2_000;

type GateStore = Arc<Answering<Gates>>;

fn gate(n: usize) -> GateId {
    format!("gate-{n}").parse().unwrap()
}

fn open_gates(is_unavailable: bool) -> GateStore {
    let gates = Gates { is_unavailable, ..Gates::default() };
    gates.open.lock().unwrap().extend((0..2).map(gate));
    Arc::new(Answering(gates))
}

fn notifier(store: &GateStore) -> Arc<GateNotifier> {
    GateNotifier::new(Arc::clone(store) as Arc<dyn TurnStore>, Duration::ZERO)
}

/// Waits as a turn does: it subscribes, looks, and looks again whenever it is notified.
async fn await_gate(notifier: Arc<GateNotifier>, store: GateStore, id: GateId) {
    let subscription = notifier.subscribe(id.clone());
    while store.0.is_open(&id) {
        subscription.notified().await;
    }
}

/// Settled in this process: the turn is notified, and the store is not needed.
#[test]
fn a_notification_is_never_missed() {
    let run = || {
        let store = open_gates(true);
        let notifier = notifier(&store);
        let settling = {
            let store = Arc::clone(&store);
            let notifier = Arc::clone(&notifier);
            thread::spawn(move || {
                for id in (0..2).map(gate) {
                    store.0.settle(&id);
                    notifier.notify(&id);
                }
            })
        };
        let other = future::spawn(await_gate(Arc::clone(&notifier), Arc::clone(&store), gate(1)));
        future::block_on(await_gate(notifier, store, gate(0)));
        future::block_on(other).unwrap();
        settling.join().unwrap();
    };
    check_random(run, ORDERS);
}

/// Settled by another process: polling finds it, also for turns that subscribe while the polling is about to stop.
#[test]
fn what_another_process_settled_is_found() {
    let run = || {
        let store = open_gates(false);
        let notifier = notifier(&store);
        let settling = {
            let store = Arc::clone(&store);
            thread::spawn(move || (0..2).for_each(|n| store.0.settle(&gate(n))))
        };
        for n in 0..2 {
            future::block_on(await_gate(Arc::clone(&notifier), Arc::clone(&store), gate(n)));
        }
        settling.join().unwrap();
    };
    check_random(run, ORDERS);
}
