//! Many threads at once.

use std::sync::Arc;

use haft::stores::MemoryStore;
use haft::stores::{
    GateId, NewTurn, Row, RowKind, StoreError, StoreWrite, TurnStore, TurnStoreExt as _,
};

use super::{begin, entry, holder, turn};

/// Runs as many as these at once, on threads, and gives what they gave.
fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    stores: &[Arc<dyn TurnStore>],
    count: usize,
    work: impl Fn(Arc<dyn TurnStore>, usize) -> F,
) -> Vec<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..count {
            tasks.spawn(work(Arc::clone(&stores[number % stores.len()]), number));
        }
        tasks.join_all().await
    })
}

fn check(stores: &[Arc<dyn TurnStore>]) {
    let gate: GateId = "gate".parse().unwrap();
    let open = StoreWrite::open_gate(gate.clone(), "{}");
    let new = NewTurn::new(turn("race")).writes(vec![open]);
    super::run(stores[0].create(new, super::brief_holder("a"))).unwrap();

    let settled = at_once(stores, 50, |store, number| {
        let gate = gate.clone();
        async move { store.settle(gate, number.to_string()).await.unwrap() }
    });
    let firsts: Vec<_> = settled.iter().filter(|it| it.first).collect();
    assert_eq!(firsts.len(), 1, "exactly one settles first");
    assert!(settled.iter().all(|it| it.settlement == firsts[0].settlement));

    let taken = at_once(stores, 50, |store, number| async move {
        store.claim(turn("race"), holder(&number.to_string())).await
    });
    let (won, lost): (Vec<_>, Vec<_>) = taken.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1, "exactly one takes over");
    let lease = won.into_iter().next().unwrap().unwrap();
    assert_eq!(lease.epoch, 2);
    for error in lost {
        let error = error.unwrap_err();
        assert!(
            matches!(&error, StoreError::Held { holder, .. } if *holder == lease.holder),
            "{error:?}"
        );
    }

    at_once(stores, 50, |store, number| async move {
        let name = format!("turn {number}");
        let lease = begin(&*store, &name, Vec::new()).await;
        for step in 0..6 {
            let row = Row::new(RowKind::Message, "same", format!("{number} {step}"));
            let writes = vec![entry(step.to_string()), StoreWrite::Put(row)];
            store.commit(lease.clone(), writes).await.unwrap();
            // Whoever is told that a commit is done finds it, also through another handle.
            let found = store.load(turn(&name)).await.unwrap().unwrap();
            assert_eq!(found.journal.len(), step + 1);
        }
    });
    for store in stores {
        for number in 0..50 {
            let name = format!("turn {number}");
            let found = super::run(store.load(turn(&name))).unwrap().unwrap();
            assert_eq!(found.journal, ["0", "1", "2", "3", "4", "5"]);
            assert_eq!(found.rows, [Row::new(RowKind::Message, "same", format!("{number} 5"))]);
        }
    }
}

#[test]
fn one_wins_in_memory() {
    check(&[Arc::new(MemoryStore::new())]);
}

#[cfg(feature = "sqlite")]
#[test]
fn one_wins_in_a_file_and_among_several_handles_on_it() {
    use haft::stores::SqliteStore;
    for handles in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let open = |_| Arc::new(SqliteStore::open(folder.path()).unwrap()) as Arc<dyn TurnStore>;
        let stores: Vec<_> = (0..handles).map(open).collect();
        check(&stores);
    }
}
