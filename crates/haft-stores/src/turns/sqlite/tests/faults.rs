//! What can happen to a file.

use haft_core::error::Coded;
use haft_core::store::GateId;

use super::*;

#[test]
fn a_locked_file_is_told_and_nothing_is_lost() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open_with(&path, at_once()).unwrap();
        let lease = begin(&store, "a").await;
        let before = load(&store, "a").await;
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let entry = || vec![StoreWrite::Journal("1".into())];
        let error = store.commit(lease.clone(), entry()).await.unwrap_err();
        assert_eq!(
            message(&error),
            "could not commit: database is locked by another process, which is busy, stopped or hangs"
        );
        assert!(error.retryable());
        assert_eq!(load(&store, "a").await, before, "reads do not wait for who writes");
        other.execute_batch("ROLLBACK").unwrap();
        store.commit(lease, entry()).await.unwrap();
        assert_eq!(load(&store, "a").await.journal, ["1"]);
    });
}

#[test]
fn a_file_that_somebody_has_for_themselves_is_not_opened() {
    let (_dir, path) = temp_db();
    drop(DatabaseFile::locate(&path, at_once()).unwrap().open().unwrap());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let error = SqliteStore::open_with(&path, at_once()).unwrap_err();
    let expected = format!(
        "could not open the store `{}`: database is locked by another process, which is busy, stopped or hangs",
        path.display()
    );
    assert_eq!(message(&error), expected);
    assert!(error.retryable());
    drop(other);
    SqliteStore::open_with(&path, at_once()).unwrap();
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let (_dir, path) = temp_db();
    let large =
        || vec![StoreWrite::Journal("x".repeat(1 << 20)), StoreWrite::Status(TurnStatus::Failed)];
    run(async {
        let store = SqliteStore::open_with(&path, at_once().max_bytes(500_000)).unwrap();
        let (a, b) = (begin(&store, "a").await, begin(&store, "b").await);
        let before = load(&store, "a").await;
        for _ in 0..3 {
            let error = store.commit(a.clone(), large()).await.unwrap_err();
            assert_eq!(message(&error), "could not commit: database or disk is full");
            assert!(!error.retryable());
        }
        assert_eq!(load(&store, "a").await, before);
        store.commit(b, vec![StoreWrite::Journal("small".into())]).await.unwrap();
        assert_eq!(load(&store, "b").await.journal, ["small"]);
        store.close().await;

        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(load(&store, "a").await, before);
        store.commit(a, large()).await.unwrap();
        assert_eq!(load(&store, "a").await.journal, ["x".repeat(1 << 20)]);
    });
}

#[cfg(unix)]
#[test]
fn a_directory_or_a_file_that_cannot_be_written_is_told() {
    let name = "turns::sqlite::tests::faults::a_directory_or_a_file_that_cannot_be_written_is_told";
    haft_testkit::run_unprivileged(name, || {
        use std::os::unix::fs::PermissionsExt;
        let (dir, path) = temp_db();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(dir.path(), 0o500);
        let error = message(&SqliteStore::open_with(&path, at_once()).unwrap_err());
        assert!(error.contains("unable to open database file"), "{error}");
        assert!(!path.exists());
        set(dir.path(), 0o700);
        let store = SqliteStore::open_with(&path, at_once()).unwrap();
        run(async move { store.close().await });
        set(&path, 0o400);
        let error = message(&SqliteStore::open_with(&path, at_once()).unwrap_err());
        assert!(error.ends_with("the file cannot be written"), "{error}");
    });
}

#[test]
fn a_path_that_cannot_be_is_told() {
    let (_dir, path) = temp_db();
    std::fs::write(&path, "").unwrap();
    let error = SqliteStore::open_with(path.join("below/a.sqlite"), at_once()).unwrap_err();
    let text = message(&error);
    let expected =
        format!("could not open the store `{}`: ", path.join("below/a.sqlite").display());
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn what_does_not_mean_anything_is_told() {
    let damages = [
        ("UPDATE turns SET status = 'odd'", "turn `a` is damaged: its status is unknown"),
        (
            "UPDATE turns SET created_at = 9223372036854775807",
            "turn `a` is damaged: its begin is no valid time",
        ),
        (
            "UPDATE turns SET held_until = 9223372036854775807",
            "turn `a` is damaged: its lease has no valid end",
        ),
        ("UPDATE turns SET tokens = -1", "turn `a` is damaged: its count of tokens is negative"),
        ("UPDATE records SET kind = 'odd'", "row `first` is damaged: its kind `odd` is unknown"),
        ("UPDATE gates SET id = ''", "gate `` is damaged: an id is none"),
    ];
    for (damage, expected) in damages {
        let (_dir, path) = temp_db();
        run(async {
            let store = SqliteStore::open(&path).unwrap();
            let lease = begin(&store, "a").await;
            let gate = StoreWrite::open_gate("g".parse().unwrap(), "{}".to_owned());
            store.commit(lease, vec![gate]).await.unwrap();
            sql(&path, damage);
            let error = store.load(turn("a")).await.unwrap_err();
            assert_eq!(error.to_string(), format!("what is stored of {expected}"));
            assert!(matches!(error, StoreError::Damaged { .. }));
        });
    }
}

/// No list can name such a turn, and it hides no other one.
#[test]
fn a_turn_whose_id_cannot_be_read_is_in_no_list() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        begin(&store, "a").await;
        begin(&store, "b").await;
        sql(&path, "UPDATE turns SET id = '' WHERE id = 'a'");
        let turns = store.turns(TurnQuery::default()).await.unwrap();
        assert_eq!(turns.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["b"]);
    });
}

#[test]
fn pages_that_are_damaged_are_told() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "a").await;
        let entries = (0..200).map(|it| StoreWrite::Journal(format!("{it} ").repeat(300)));
        store.commit(lease, entries.collect()).await.unwrap();
        store.close().await;
        let mut bytes = std::fs::read(&path).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let error = store.load(turn("a")).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    });
}

#[test]
fn close_brings_the_log_into_the_file_and_refuses_what_comes_later() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "a").await;
        assert_eq!(load(&store, "a").await.rows.len(), 1);
        let log = path.with_extension("sqlite-wal");
        assert!(log.exists());
        store.close().await;
        store.close().await;
        assert!(!log.exists(), "the last connection removes the log");
        let error = store.commit(lease, vec![StoreWrite::Journal("1".into())]).await.unwrap_err();
        assert_eq!(message(&error), "could not commit: the store was closed");
        let error = store.load(turn("a")).await.unwrap_err();
        assert_eq!(message(&error), "could not load a turn: the store was closed");
    });
}

/// Another process that still uses the file keeps its log, but the file has everything.
#[test]
fn close_brings_the_log_into_a_file_that_others_use() {
    let (dir, path) = temp_db();
    run(async {
        let other = SqliteStore::open(&path).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        begin(&store, "a").await;
        store.close().await;
        let copy = dir.path().join("copy.sqlite");
        std::fs::copy(&path, &copy).unwrap();
        let copy = SqliteStore::open(&copy).unwrap();
        assert_eq!(load(&copy, "a").await, load(&other, "a").await);
    });
}

#[cfg(unix)]
#[test]
fn a_file_that_was_deleted_or_replaced_is_noticed_by_the_next_write() {
    let entry = || vec![StoreWrite::Journal("1".into())];
    for is_replaced in [false, true] {
        let (dir, path) = temp_db();
        run(async {
            let store = SqliteStore::open(&path).unwrap();
            let lease = begin(&store, "a").await;
            store.commit(lease.clone(), entry()).await.unwrap();
            std::fs::rename(&path, dir.path().join("moved")).unwrap();
            if is_replaced {
                std::fs::copy(dir.path().join("moved"), &path).unwrap();
            }
            let error = store.commit(lease.clone(), entry()).await.unwrap_err();
            assert!(matches!(error, StoreError::Replaced { .. }), "{error:?}");
            assert!(!error.retryable());
            std::fs::rename(dir.path().join("moved"), &path).unwrap();
            store.commit(lease, entry()).await.unwrap();
            assert_eq!(load(&store, "a").await.journal, ["1", "1"]);
        });
    }
}

#[test]
fn triggers_and_views_of_others_are_refused() {
    let objects = [
        (
            "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM journal; END",
            "a trigger `t`",
        ),
        ("CREATE VIEW v AS SELECT * FROM gates", "a view `v`"),
    ];
    for (statement, expected) in objects {
        let (_dir, path) = temp_db();
        run(async { SqliteStore::open(&path).unwrap().close().await });
        sql(&path, statement);
        for opened in [SqliteStore::open(&path), SqliteStore::open_read_only(&path)] {
            let Err(StoreError::Foreign { what }) = opened else { panic!("{opened:?}") };
            assert_eq!(what, expected);
        }
    }
}

/// Every store is opened and written while the others are, as by that many processes.
#[test]
fn many_stores_on_one_file_wait_for_each_other() {
    let (_dir, path) = temp_db();
    std::thread::scope(|scope| {
        for store_number in 0..STORES {
            let path = &path;
            scope.spawn(move || {
                run(async move {
                    let options = SqliteOptions::default().synchronous(Synchronous::Normal);
                    let options = options.busy_timeout(Duration::from_secs(120));
                    let store = SqliteStore::open_with(path, options).unwrap();
                    let lease = begin(&store, &format!("turn-{store_number}")).await;
                    for _ in 0..3 {
                        let entry = vec![StoreWrite::Journal("1".into())];
                        store.commit(lease.clone(), entry).await.unwrap();
                    }
                    store.close().await;
                });
            });
        }
    });
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let turns = store.turns(TurnQuery::default().limit(1000)).await.unwrap();
        assert_eq!(turns.len(), STORES);
        for summary in turns {
            assert_eq!(store.load(summary.id).await.unwrap().unwrap().journal.len(), 3);
        }
    });
}

const STORES: usize = 48;

#[test]
fn damage_in_a_gate_is_not_covered_by_its_settlement() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "a").await;
        let gate = |id: &str| -> GateId { id.parse().unwrap() };
        let open = |id: &str| StoreWrite::open_gate(gate(id), "{\"ask\":1}".to_owned());
        store
            .commit(lease.clone(), vec![open("open"), open("settled"), open("closing")])
            .await
            .unwrap();
        store.settle(gate("settled"), "yes".to_owned()).await.unwrap();
        sql(&path, "UPDATE gates SET json = '{\"ask\":2}' WHERE id <> 'settled'");
        sql(&path, "UPDATE gates SET settlement = 'no' WHERE id = 'settled'");
        for id in ["open", "settled"] {
            let settled = store.settle(gate(id), "yes".to_owned()).await;
            assert!(matches!(settled, Err(StoreError::Damaged { .. })), "{id}: {settled:?}");
            let read = store.gate(gate(id)).await;
            assert!(matches!(read, Err(StoreError::Damaged { .. })), "{id}: {read:?}");
        }
        let close = StoreWrite::CloseGate { id: gate("closing"), settlement: "over".to_owned() };
        let closed = store.commit(lease, vec![close]).await;
        assert!(matches!(closed, Err(StoreError::Damaged { .. })), "{closed:?}");
    });
}

#[test]
fn a_store_that_is_only_read_sees_what_writers_do_later() {
    let (_dir, path) = temp_db();
    run(async {
        SqliteStore::open(&path).unwrap().close().await;
        let reader = SqliteStore::open_read_only(&path).unwrap();
        assert_eq!(reader.turns(TurnQuery::default()).await.unwrap().len(), 0);
        for count in 1..4 {
            let writer = SqliteStore::open(&path).unwrap();
            begin(&writer, &count.to_string()).await;
            assert_eq!(reader.turns(TurnQuery::default()).await.unwrap().len(), count);
            writer.close().await;
            assert_eq!(reader.turns(TurnQuery::default()).await.unwrap().len(), count);
        }
    });
}

#[test]
fn a_damaged_memory_is_noticed() {
    let (_dir, path) = temp_db();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "a").await;
        let scope = MemoryScope::user("ada");
        let put = |id: &str| {
            let (scope, id, json) = (scope.clone(), id.to_owned(), "\"tea\"".into());
            StoreWrite::PutMemory { scope, id, json }
        };
        store.commit(lease, vec![put("a"), put("b")]).await.unwrap();
        assert_eq!(store.load_memories(scope.clone()).await.unwrap().len(), 2);
        sql(&path, "UPDATE memories SET json = '\"pea\"' WHERE id = 'b'");
        let read = store.load_memories(scope.clone()).await;
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
    });
}

/// A pipe would be waited for until someone writes to it.
#[cfg(unix)]
#[test]
fn a_pipe_or_a_directory_in_the_place_of_the_file_is_refused_at_once() {
    let (dir, _) = temp_db();
    let (pipe, parent) = (dir.path().join("pipe"), dir.path().join("parent"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    std::fs::create_dir_all(parent.join("haft.sqlite")).unwrap();
    for (path, file) in [(&pipe, pipe.clone()), (&parent, parent.join("haft.sqlite"))] {
        for error in
            [SqliteStore::open(path).unwrap_err(), SqliteStore::open_read_only(path).unwrap_err()]
        {
            let path = path.display();
            let expected = format!("could not open the store `{path}`: it is no regular file");
            assert_eq!(message(&error), expected);
        }
        assert!(!std::fs::metadata(file).unwrap().is_file(), "it stays as it is");
    }
}
