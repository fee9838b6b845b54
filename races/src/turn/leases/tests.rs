use std::collections::HashSet;
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::{ManualClock, Timestamp};
use shuttle::sync::Arc;
use shuttle::{check_random, future, thread};

use super::lease::Leases;
use crate::turn::lease_store::{Counting, Lease};

/// How many orders are tried.
const ORDERS: usize = 2_000;

fn leases(store: &Arc<Counting>) -> Arc<Leases> {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    Leases::new(Arc::clone(store) as _, clock, Duration::ZERO)
}

/// Holds a lease until it was renewed.
async fn holds(leases: Arc<Leases>, store: Arc<Counting>, turn: &'static str) {
    let held = leases.hold(Lease { turn }, Cancellation::new());
    let before = store.renewals(turn);
    while store.renewals(turn) == before {
        future::yield_now().await;
    }
    drop(held);
}

/// A lease that is taken while the task which renews is about to end is renewed like any other.
#[test]
fn no_lease_is_left_without_renewal() {
    let play = || {
        let store = Arc::new(Counting::default());
        let leases = leases(&store);
        let other = {
            let (leases, store) = (Arc::clone(&leases), Arc::clone(&store));
            thread::spawn(move || future::block_on(holds(leases, store, "first")))
        };
        for turn in ["second", "third"] {
            future::block_on(holds(Arc::clone(&leases), Arc::clone(&store), turn));
        }
        other.join().unwrap();
    };
    check_random(play, ORDERS);
}

/// Who has lost a lease is told, and nobody else.
#[test]
fn only_who_lost_its_lease_is_cancelled() {
    let play = || {
        let lost = HashSet::from(["lost"]);
        let store = Arc::new(Counting { lost, ..Counting::default() });
        let leases = leases(&store);
        let turns = ["lost", "unknown", "kept"].map(|turn| {
            let token = Cancellation::new();
            (turn, leases.hold(Lease { turn }, token.clone()), token)
        });
        future::block_on(async {
            for (turn, _, token) in &turns {
                while store.renewals(turn) < 2 && !token.is_cancelled() {
                    future::yield_now().await;
                }
            }
        });
        let cancelled = turns.each_ref().map(|(_, _, token)| token.is_cancelled());
        assert_eq!(cancelled, [true, true, false]);
    };
    check_random(play, ORDERS);
}
