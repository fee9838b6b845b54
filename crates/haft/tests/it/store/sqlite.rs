//! Turns in a file.

use haft::stores::{
    GateId, Row, RowKind, StoreError, StoreWrite, TurnQuery, TurnStatus, TurnStore,
    TurnStoreExt as _,
};
use haft::stores::{SqliteOptions, SqliteStore, Synchronous};

use super::{begin, entry, holder, run, turn};

#[test]
fn sqlite_keeps_the_contract() {
    // Each also with a queue in which everybody has to wait.
    for (synchronous, queue) in [(Synchronous::Full, 1024), (Synchronous::Normal, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::default().synchronous(synchronous).queue(queue);
        run(async {
            let store = SqliteStore::open_with(folder.path(), options).unwrap();
            haft_conformance::store(&store).await.unwrap();
            let store = std::sync::Arc::new(store);
            let checked = haft_conformance::store_with_skewed_clocks;
            checked(std::sync::Arc::clone(&store) as _).await.unwrap();
            store.close().await;
        });
    }
}

#[test]
fn everything_is_there_when_the_file_is_opened_again() {
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::default().synchronous(synchronous);
        let open = || SqliteStore::open_with(folder.path(), options).unwrap();
        run(async {
            let store = open();
            let gate: GateId = "g".parse().unwrap();
            let writes = vec![
                StoreWrite::Put(Row::new(RowKind::Message, "m", "{}")),
                StoreWrite::open_gate(gate.clone(), "1".to_owned()),
            ];
            let lease = begin(&store, "a", writes).await;
            let writes = vec![entry("1"), StoreWrite::Status(TurnStatus::Waiting)];
            store.commit(lease.clone(), writes).await.unwrap();
            store.settle(gate.clone(), "yes".to_owned()).await.unwrap();
            let kept = store.load(turn("a")).await.unwrap();
            drop(store);

            let store = open();
            assert_eq!(store.load(turn("a")).await.unwrap(), kept);
            assert_eq!(store.gate(gate).await.unwrap().unwrap().settlement.unwrap(), "yes");
            // The lease is in the file, not in the handle.
            store.commit(lease, vec![entry("2")]).await.unwrap();
        });
    }
}

#[test]
fn a_text_with_nul_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let store = SqliteStore::open(folder.path()).unwrap();
        let lease = begin(&store, "a", Vec::new()).await;
        let unwritable = "\0".to_owned();
        let row = Row::new(RowKind::Message, "m", unwritable.clone());
        for write in [StoreWrite::Journal(unwritable), StoreWrite::Put(row)] {
            let refused = store.commit(lease.clone(), vec![entry("1"), write]).await;
            assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
        }
        let kept = store.load(turn("a")).await.unwrap().unwrap();
        assert!(kept.journal.is_empty() && kept.rows.is_empty());
    });
}

#[test]
fn two_handles_on_one_file_are_one_store() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let one = SqliteStore::open(folder.path()).unwrap();
        let two = SqliteStore::open(folder.path()).unwrap();
        let gate: GateId = "g".parse().unwrap();
        let open = StoreWrite::open_gate(gate.clone(), "1".to_owned());
        let first = begin(&one, "a", vec![open]).await;
        assert_eq!(two.open_gates(None).await.unwrap().len(), 1);
        assert!(two.settle(gate.clone(), "yes".to_owned()).await.unwrap().first);
        let settled = one.settle(gate, "no".to_owned()).await.unwrap();
        assert_eq!((settled.settlement.as_str(), settled.first), ("yes", false));

        let held = two.claim(turn("a"), holder("b")).await.unwrap_err();
        assert!(matches!(held, StoreError::Held { .. }), "{held:?}");
        let mut expiring = first.clone();
        expiring.ttl = std::time::Duration::ZERO;
        one.renew(expiring).await.unwrap();
        let second = two.claim(turn("a"), holder("b")).await.unwrap();
        let lost = one.commit(first, vec![entry("late")]).await.unwrap_err();
        assert!(matches!(lost, StoreError::LeaseLost { .. }), "{lost:?}");
        one.commit(second.clone(), vec![entry("mine")]).await.unwrap();
        assert_eq!(two.load(turn("a")).await.unwrap().unwrap().journal, ["mine"]);
        two.release(second).await.unwrap();
        assert!(one.remove(turn("a")).await.unwrap());
        assert_eq!(two.turns(TurnQuery::default()).await.unwrap(), []);
    });
}

#[test]
fn it_works_without_a_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let handle = std::thread::current();
    let waker = std::task::Waker::from(std::sync::Arc::new(Unpark(handle)));
    let mut work = std::pin::pin!(async {
        let lease = begin(&store, "a", Vec::new()).await;
        store.commit(lease, vec![entry("1")]).await.unwrap();
        store.load(turn("a")).await.unwrap().unwrap().journal
    });
    let journal = loop {
        match work.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(journal) => break journal,
            std::task::Poll::Pending => std::thread::park(),
        }
    };
    assert_eq!(journal, ["1"]);
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}
