//! Many writes in one transaction.

use std::pin::pin;
use std::task::{Context, Waker};

use haft_core::BoxFuture;

use super::*;

/// Polls each of them once, so that all are handed over while the writer has to wait, and then waits
/// for all.
async fn together<T>(
    path: &Path,
    futures: Vec<BoxFuture<'_, Result<T, StoreError>>>,
) -> Vec<Result<T, StoreError>> {
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut futures = futures;
    for future in &mut futures {
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    other.execute_batch("ROLLBACK").unwrap();
    let mut results = Vec::new();
    for future in futures {
        results.push(future.await);
    }
    results
}

fn entry(text: &str) -> Vec<StoreWrite> {
    vec![StoreWrite::Journal(text.into()), StoreWrite::Put(Row::new(RowKind::Thought, "1", text))]
}

#[test]
fn each_succeeds_or_fails_alone() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let mut leases = Vec::new();
        for number in 0..20 {
            let mut lease = begin(&store, &number.to_string()).await;
            if number % 3 == 0 {
                lease.epoch = 7;
            }
            leases.push(lease);
        }
        let commits = leases.iter().map(|lease| {
            let mut writes = entry("kept");
            if lease.turn.as_str().ends_with('1') {
                writes.push(StoreWrite::open_gate("g".parse().unwrap(), "{}"));
            }
            store.commit(lease.clone(), writes)
        });
        let results = together(&path, commits.collect()).await;
        for (number, result) in results.into_iter().enumerate() {
            let journal = load(&store, &number.to_string()).await.journal;
            match result {
                Ok(()) => assert_eq!(journal, ["kept"], "{number}"),
                // The first of the two gates is opened, the other one is another gate.
                Err(StoreError::Exists { .. }) => assert_eq!((number, journal.len()), (11, 0)),
                Err(StoreError::LeaseLost { .. }) => {
                    assert_eq!((number % 3, journal.len()), (0, 0));
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    });
}

#[test]
fn one_that_is_too_large_does_not_fail_the_others() {
    let (_dir, path) = temp_db();
    run(async {
        let store =
            SqliteStore::open_with(&path, SqliteOptions::default().max_bytes(500_000)).unwrap();
        let mut leases = Vec::new();
        for number in 0..9 {
            leases.push(begin(&store, &number.to_string()).await);
        }
        let commits = leases.iter().enumerate().map(|(number, lease)| {
            let text = if number == 4 { "x".repeat(1 << 20) } else { "small".to_owned() };
            store.commit(lease.clone(), entry(&text))
        });
        let results = together(&path, commits.collect()).await;
        for (number, result) in results.into_iter().enumerate() {
            assert_eq!(result.is_ok(), number != 4, "{number}: {result:?}");
            let journal = load(&store, &number.to_string()).await.journal;
            assert_eq!(journal.len(), usize::from(number != 4), "{number}");
        }
    });
}

#[test]
fn who_goes_away_breaks_nothing() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open_with(&path, SqliteOptions::default().queue(1)).unwrap();
        let lease = begin(&store, "a").await;
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        for number in 0..50 {
            let commit = pin!(store.commit(lease.clone(), entry(&number.to_string())));
            let polled = commit.poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        other.execute_batch("ROLLBACK").unwrap();
        store.commit(lease, entry("last")).await.unwrap();
        let turn = load(&store, "a").await;
        // Those that did not fit into the queue were never handed over.
        let numbers: Vec<_> = turn.journal.iter().map(String::as_str).collect();
        assert!(numbers.len() <= 4, "{numbers:?}");
        assert_eq!(numbers.last(), Some(&"last"));
        assert_eq!(turn.rows.last().unwrap().json, "last");
    });
}

#[test]
fn what_was_handed_over_is_done_when_the_store_is_dropped() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "a").await;
        for number in 0..20 {
            let commit = pin!(store.commit(lease.clone(), entry(&number.to_string())));
            let polled = commit.poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        store.close().await;
        let store = SqliteStore::open(&path).unwrap();
        let expected: Vec<_> = (0..20).map(|it| it.to_string()).collect();
        assert_eq!(load(&store, "a").await.journal, expected);
    });
}

/// A write that a power failure may undo does not wait for an fsync, unless another write of its group needs one.
#[test]
fn leases_that_are_given_back_do_not_wait_for_the_disk() {
    fn level(connection: &Connection) -> Result<i64, crate::turns::sqlite::error::SqliteError> {
        Ok(connection.pragma_query_value(None, "synchronous", |row| row.get(0))?)
    }
    #[track_caller]
    fn check(synchronous: Synchronous, expected: [i64; 5]) {
        let (_dir, path) = temp_db();
        let options = SqliteOptions::default().synchronous(synchronous);
        let levels = run(async {
            let store = SqliteStore::open_with(&path, options).unwrap();
            let queue = &store.write_queue;
            let (first, brief) =
                (queue.run("a", level).await, queue.run_without_fsync("b", level).await);
            // The first has the writer wait, so that the other two are one group.
            let mixed: Vec<BoxFuture<'_, Result<i64, StoreError>>> = vec![
                Box::pin(queue.run("c", level)),
                Box::pin(queue.run_without_fsync("d", level)),
                Box::pin(queue.run("e", level)),
            ];
            let mixed = together(&path, mixed).await;
            let levels = [first, brief].into_iter().chain(mixed);
            levels.map(Result::unwrap).collect::<Vec<_>>()
        });
        assert_eq!(levels, expected);
    }
    check(Synchronous::Full, [2, 1, 2, 2, 2]);
    check(Synchronous::Normal, [1, 1, 1, 1, 1]);
}
