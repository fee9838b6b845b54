//! Files of other versions and of others.

use super::*;
use crate::turns::sqlite::schema::VERSION;

#[test]
fn a_store_that_is_open_refuses_to_work_in_a_file_of_another_version() {
    let (_directory, path) = temp_db();
    let store = SqliteStore::open_with(&path, at_once()).unwrap();
    run(async {
        let lease = begin(&store, "old").await;
        sql(&path, "PRAGMA user_version = 1000");
        let is_newer = |error: &StoreError| {
            matches!(error, StoreError::OtherVersion { found: 1000, known: VERSION })
        };
        let error =
            store.commit(lease.clone(), vec![StoreWrite::Journal("1".into())]).await.unwrap_err();
        assert!(is_newer(&error), "{error:?}");
        let error = store.load(turn("old")).await.unwrap_err();
        assert!(is_newer(&error), "{error:?}");
        // Also when several writes share a transaction.
        let (first, second) = tokio::join!(store.renew(lease.clone()), store.release(lease));
        assert!(is_newer(&first.unwrap_err()) && is_newer(&second.unwrap_err()));
        let connection = Connection::open(&path).unwrap();
        let entries: i64 =
            connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
        assert_eq!(entries, 0);
    });
}

#[test]
fn a_new_file_gets_its_tables_once() {
    let (_dir, path) = temp_db();
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| SqliteStore::open(&path))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
    });
    run(async {
        for (number, store) in opened.iter().enumerate() {
            begin(store, &number.to_string()).await;
        }
        for store in &opened {
            assert_eq!(store.turns(TurnQuery::default()).await.unwrap().len(), 16);
        }
    });
}

#[track_caller]
fn check_refused(content: impl FnOnce(&Path), expected: &str) {
    let (_dir, path) = temp_db();
    content(&path);
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    let expected = expected.replace("{}", &path.display().to_string());
    assert_eq!(message(&error), expected);
    assert_eq!(std::fs::read(&path).unwrap(), before, "the file was changed");
}

#[test]
fn files_of_others_are_refused_and_stay_as_they_are() {
    let foreign = "could not open the store `{}`: the file is a database of another program";
    check_refused(|path| sql(path, "CREATE TABLE a (b)"), foreign);
    check_refused(|path| sql(path, "PRAGMA user_version = 1"), foreign);
    check_refused(|path| sql(path, "PRAGMA application_id = 7; PRAGMA user_version = 1"), foreign);
    let ours = i32::from_be_bytes(*b"haft");
    let negative = format!("PRAGMA application_id = {ours}; PRAGMA user_version = -1");
    check_refused(|path| sql(path, &negative), foreign);
    let newer = format!("PRAGMA application_id = {ours}; PRAGMA user_version = 1000");
    check_refused(
        |path| sql(path, &newer),
        "the store has version 1000, and this program knows versions up to 8; use a newer program",
    );
    let older = format!("PRAGMA application_id = {ours}; PRAGMA user_version = 5");
    check_refused(
        |path| sql(path, &older),
        "the store has version 5, and this program knows only version 8; use the program that wrote it, or another store",
    );
    check_refused(
        |path| std::fs::write(path, "Dear diary, ".repeat(1000)).unwrap(),
        "could not open the store `{}`: file is not a database",
    );
}
