//! Files of other versions and of others.

use super::*;
use crate::turns::sqlite::schema::MIGRATIONS;

#[test]
fn an_older_file_is_brought_up_to_date() {
    let (_folder, path) = folder();
    run(async {
        let store = SqliteStore::open(&path).unwrap();
        begin(&store, "old").await;
        store.close().await;
    });
    let file = File::at(&path, at_once()).unwrap();
    let newer = [MIGRATIONS, &["ALTER TABLE turns ADD COLUMN note TEXT DEFAULT 'new'"]].concat();
    for _ in 0..2 {
        let connection = file.open(&newer).unwrap();
        let note: (String, String) = connection
            .query_row("SELECT id, note FROM turns", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(note, ("old".to_owned(), "new".to_owned()));
        let version: i32 =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 2);
    }
    // And the program that does not know the step leaves it alone.
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NewerVersion { found: 2, known: 1 }), "{error:?}");
}

#[test]
fn a_step_that_fails_leaves_the_file_as_it_is() {
    let (_folder, path) = folder();
    let file = File::at(&path, at_once()).unwrap();
    drop(file.open(MIGRATIONS).unwrap());
    let broken = [MIGRATIONS, &["CREATE TABLE half (a); INSERT INTO missing VALUES (1)"]].concat();
    let error = file.open(&broken).unwrap_err();
    assert!(message(&error).contains("no such table: missing"), "{}", message(&error));
    let connection = file.open(MIGRATIONS).unwrap();
    let half = "SELECT count(*) FROM sqlite_schema WHERE name = 'half'";
    assert_eq!(connection.query_row(half, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn a_new_file_gets_its_tables_once() {
    let (_folder, path) = folder();
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
    let (_folder, path) = folder();
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
        "the store has version 1000, and this program knows versions up to 1; use a newer program",
    );
    check_refused(
        |path| std::fs::write(path, "Dear diary, ".repeat(1000)).unwrap(),
        "could not open the store `{}`: file is not a database",
    );
}
