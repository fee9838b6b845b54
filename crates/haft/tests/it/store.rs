//! Turns that are kept.

mod broken;
#[cfg(feature = "sqlite")]
mod crash;
#[cfg(feature = "sqlite")]
mod differential;
#[cfg(all(unix, feature = "postgres", feature = "sqlite"))]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod threads;

use std::time::Duration;

use haft::stores::MemoryStore;
use haft::stores::{
    Lease, LeaseRequest, NewTurn, StoreWrite, TurnId, TurnStore, TurnStoreExt as _,
};

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn turn(name: &str) -> TurnId {
    name.parse().unwrap()
}

/// A request for a lease that does not run out during a test.
fn holder(name: &str) -> LeaseRequest {
    LeaseRequest::new(name, Duration::from_secs(100_000))
}

/// A request for a lease that has run out when it is given.
fn brief_holder(name: &str) -> LeaseRequest {
    LeaseRequest::new(name, Duration::ZERO)
}

async fn begin(store: &dyn TurnStore, name: &str, writes: Vec<StoreWrite>) -> Lease {
    store.create(NewTurn::new(turn(name)).writes(writes), holder("a")).await.unwrap()
}

fn entry(text: impl Into<String>) -> StoreWrite {
    StoreWrite::Journal(text.into())
}

#[test]
fn memory_keeps_the_contract() {
    run(async {
        let store = MemoryStore::new();
        haft_conformance::store(&store).await.unwrap();
        assert!(store.is_empty());
        let store = std::sync::Arc::new(store);
        haft_conformance::store_with_skewed_clocks(store).await.unwrap();
    });
}
