//! Turns that are kept.

#[cfg(feature = "conformance")]
mod broken;
#[cfg(feature = "sqlite")]
mod crash;
#[cfg(feature = "sqlite")]
mod differential;
#[cfg(all(feature = "sqlite", feature = "conformance"))]
mod sqlite;
mod threads;

use std::time::Duration;

#[cfg(feature = "conformance")]
use haft::stores::MemoryStore;
use haft::stores::{Lease, LeaseRequest, NewTurn, StoreWrite, StoredText, TurnId, TurnStore};
use haft::turn::Timestamp;

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn turn(name: &str) -> TurnId {
    name.parse().unwrap()
}

/// Somebody who wants a lease of a hundred seconds.
fn holder(name: &str, second: u64) -> LeaseRequest {
    LeaseRequest::new(name, at(second), Duration::from_secs(100))
}

fn at(second: u64) -> Timestamp {
    Timestamp::EPOCH.saturating_add(Duration::from_secs(second))
}

async fn begin(store: &dyn TurnStore, name: &str, writes: Vec<StoreWrite>) -> Lease {
    store.create(NewTurn::new(turn(name), holder("a", 0)).writes(writes)).await.unwrap()
}

fn entry(text: impl Into<StoredText>) -> StoreWrite {
    StoreWrite::Journal(text.into())
}

#[cfg(feature = "conformance")]
#[test]
fn memory_keeps_the_contract() {
    run(async {
        let store = MemoryStore::new();
        haft::testing::conformance::store(&store).await.unwrap();
        assert!(store.is_empty());
    });
}
