//! Turns that are kept.

#[cfg(feature = "sqlite")]
mod sqlite;

use haft::stores::MemoryStore;

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[cfg(feature = "conformance")]
#[test]
fn memory_keeps_the_contract() {
    run(async {
        let store = MemoryStore::new();
        haft::conformance::store(&store).await.unwrap();
        assert!(store.is_empty());
    });
}
