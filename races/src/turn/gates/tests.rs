use std::time::Duration;

use shuttle::sync::Arc;
use shuttle::{check_random, future, thread};

use super::bells::Bells;
use crate::turn::watch::{GateId, Gates, Store};

/// How many orders are tried.
const ORDERS: usize = 2_000;

fn gate(n: usize) -> GateId {
    format!("gate-{n}").parse().unwrap()
}

fn gates(is_gone: bool) -> Arc<Gates> {
    let gates = Gates { is_gone, ..Gates::default() };
    gates.open.lock().unwrap().extend((0..2).map(gate));
    Arc::new(gates)
}

/// Waits as a turn does: it hangs a bell, looks, and looks again whenever it rings.
async fn waits(bells: Arc<Bells>, gates: Arc<Gates>, id: GateId) {
    let bell = bells.hang(id.clone());
    while gates.is_open(&id) {
        bell.rings().await;
    }
}

/// Settled in this process: the bell is rung, and nobody needs the store.
#[test]
fn a_ring_is_never_missed() {
    let play = || {
        let gates = gates(true);
        let bells = Bells::new(Arc::clone(&gates) as Arc<dyn Store>, Duration::ZERO);
        let settling = {
            let (gates, bells) = (Arc::clone(&gates), Arc::clone(&bells));
            thread::spawn(move || {
                for id in (0..2).map(gate) {
                    gates.settle(&id);
                    bells.ring(&id);
                }
            })
        };
        let other = future::spawn(waits(Arc::clone(&bells), Arc::clone(&gates), gate(1)));
        future::block_on(waits(bells, gates, gate(0)));
        future::block_on(other).unwrap();
        settling.join().unwrap();
    };
    check_random(play, ORDERS);
}

/// Settled elsewhere: whoever asks the store finds it out, also for bells that are hung while it is about to stop.
#[test]
fn what_was_settled_elsewhere_is_found_out() {
    let play = || {
        let gates = gates(false);
        let bells = Bells::new(Arc::clone(&gates) as Arc<dyn Store>, Duration::ZERO);
        let settling = {
            let gates = Arc::clone(&gates);
            thread::spawn(move || (0..2).for_each(|n| gates.settle(&gate(n))))
        };
        for n in 0..2 {
            future::block_on(waits(Arc::clone(&bells), Arc::clone(&gates), gate(n)));
        }
        settling.join().unwrap();
    };
    check_random(play, ORDERS);
}
