use std::collections::HashSet;
use std::time::Duration;

use haft_core::cancel::Cancellation;
use haft_core::clock::Timestamp;
use haft_core::store::{Lease, LeaseRequest};
use shuttle::sync::Arc;
use shuttle::{check_random, future, thread};

use super::lease::LeaseRenewer;
use crate::stores::{Answering, Renewals};

/// How many orders are tried.
const ORDERS: usize = 2_000;

type LeaseStore = Arc<Answering<Renewals>>;

fn lease_store(lost: HashSet<&'static str>) -> LeaseStore {
    Arc::new(Answering(Renewals::losing(lost)))
}

fn renewer(store: &LeaseStore) -> Arc<LeaseRenewer> {
    LeaseRenewer::new(Arc::clone(store) as _, Duration::ZERO)
}

fn lease(turn: &str) -> Lease {
    let request = LeaseRequest::new("test", Duration::ZERO);
    Lease::new(turn.parse().unwrap(), &request, 1, Timestamp::EPOCH)
}

/// Holds a lease until it was renewed.
async fn await_renewal(renewer: Arc<LeaseRenewer>, store: LeaseStore, turn: &'static str) {
    let held = renewer.acquire(lease(turn), Cancellation::new());
    let before = store.0.count(turn);
    while store.0.count(turn) == before {
        future::yield_now().await;
    }
    drop(held);
}

/// A lease that is acquired while the task which renews is about to end is renewed like any other.
#[test]
fn no_lease_is_left_without_renewal() {
    let run = || {
        let store = lease_store(HashSet::new());
        let renewer = renewer(&store);
        let other = {
            let renewer = Arc::clone(&renewer);
            let store = Arc::clone(&store);
            thread::spawn(move || future::block_on(await_renewal(renewer, store, "first")))
        };
        for turn in ["second", "third"] {
            future::block_on(await_renewal(Arc::clone(&renewer), Arc::clone(&store), turn));
        }
        other.join().unwrap();
    };
    check_random(run, ORDERS);
}

/// A turn that lost its lease is cancelled, and no other.
#[test]
fn only_a_turn_that_lost_its_lease_is_cancelled() {
    let run = || {
        let store = lease_store(HashSet::from(["lost"]));
        let renewer = renewer(&store);
        let turns = ["lost", "unknown", "kept"].map(|turn| {
            let token = Cancellation::new();
            (turn, renewer.acquire(lease(turn), token.clone()), token)
        });
        future::block_on(async {
            for (turn, _, token) in &turns {
                while store.0.count(turn) < 2 && !token.is_cancelled() {
                    future::yield_now().await;
                }
            }
        });
        let cancelled = turns.each_ref().map(|(_, _, token)| token.is_cancelled());
        assert_eq!(cancelled, [true, true, false]);
    };
    check_random(run, ORDERS);
}
