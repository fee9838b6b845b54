//! Files of other versions and of others.

use super::*;
use crate::turns::sqlite::schema::MIGRATIONS;

/// A migration to one version more.
const NOTE: &str = "ALTER TABLE turns ADD COLUMN note TEXT DEFAULT 'new'";

/// The migrations of a program that knows these versions beyond the current one.
fn newer(steps: &[&'static str]) -> Vec<&'static str> {
    [MIGRATIONS, steps].concat()
}

/// A file of the current version with a turn `old`, whose commits are in the log of a store that is still open.
fn store_with_turn(path: &Path) -> SqliteStore {
    let store = SqliteStore::open_with(path, at_once()).unwrap();
    run(begin(&store, "old"));
    store
}

/// The names of the files in a directory, without those that belong to the database itself.
fn other_files(directory: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let own = ["turns.sqlite", "turns.sqlite-wal", "turns.sqlite-shm"];
    let mut names: Vec<_> = names.filter(|name| !own.contains(&name.as_str())).collect();
    names.sort();
    names
}

fn version_of(connection: &Connection) -> i32 {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn an_older_file_is_copied_and_migrated_once() {
    let (directory, path) = temp_db();
    let old = store_with_turn(&path);
    let before = run(load(&old, "old"));
    let file = DatabaseFile::locate(&path, at_once()).unwrap();
    let copy = directory.path().join("turns.sqlite.v5.bak");
    let mut copied = None;
    for _ in 0..2 {
        let connection = file.open(&newer(&[NOTE])).unwrap().connection;
        let note: (String, String) = connection
            .query_row("SELECT id, note FROM turns", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(note, ("old".to_owned(), "new".to_owned()));
        assert_eq!(version_of(&connection), 6);
        // The second opening finds nothing to migrate and copies nothing.
        let bytes = std::fs::read(&copy).unwrap();
        assert_eq!(*copied.get_or_insert(bytes.clone()), bytes);
        assert_eq!(other_files(&directory), ["turns.sqlite.v5.bak"]);
    }
    // The program that does not know the new version refuses the file, and can use the copy.
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NewerVersion { found: 6, known: 5 }), "{error:?}");
    let restored = SqliteStore::open(&copy).unwrap();
    assert_eq!(run(load(&restored, "old")), before);
}

#[test]
fn a_store_that_is_open_refuses_to_work_after_a_migration_by_a_newer_program() {
    let (_directory, path) = temp_db();
    let old = SqliteStore::open_with(&path, at_once()).unwrap();
    run(async {
        let lease = begin(&old, "old").await;
        let file = DatabaseFile::locate(&path, at_once()).unwrap();
        let connection = file.open(&newer(&[NOTE])).unwrap().connection;
        let is_newer =
            |error: &StoreError| matches!(error, StoreError::NewerVersion { found: 6, known: 5 });
        let error =
            old.commit(lease.clone(), vec![StoreWrite::Journal("1".into())]).await.unwrap_err();
        assert!(is_newer(&error), "{error:?}");
        let error = old.load(turn("old")).await.unwrap_err();
        assert!(is_newer(&error), "{error:?}");
        // Also when several writes share a transaction.
        let (first, second) = tokio::join!(old.renew(lease.clone()), old.release(lease.clone()));
        assert!(is_newer(&first.unwrap_err()) && is_newer(&second.unwrap_err()));
        let entries: i64 =
            connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
        assert_eq!(entries, 0);
    });
}

#[test]
fn nothing_is_copied_without_a_migration() {
    let (directory, path) = temp_db();
    for _ in 0..2 {
        run(SqliteStore::open(&path).unwrap().close());
        assert_eq!(other_files(&directory), [""; 0]);
    }
    // Nor for a new file that gets the tables of several versions at once.
    let (directory, path) = temp_db();
    drop(DatabaseFile::locate(&path, at_once()).unwrap().open(&newer(&[NOTE])).unwrap());
    assert_eq!(other_files(&directory), [""; 0]);
}

/// Opens a file of the current version with a migration that must fail, and checks that nothing has changed.
#[track_caller]
fn check_not_migrated(path: &Path, migrations: &[&str], expected: &str) {
    let old = store_with_turn(path);
    let before = run(load(&old, "old"));
    let file = DatabaseFile::locate(path, at_once()).unwrap();
    let error = file.open(migrations).unwrap_err();
    assert!(message(&error).contains(expected), "{}", message(&error));
    let connection = file.open(MIGRATIONS).unwrap().connection;
    assert_eq!(version_of(&connection), 5);
    let half = "SELECT count(*) FROM sqlite_schema WHERE name = 'half'";
    assert_eq!(connection.query_row(half, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(run(load(&old, "old")), before);
}

#[test]
fn a_step_that_fails_leaves_the_store_as_it_is() {
    let (directory, path) = temp_db();
    let broken = "CREATE TABLE half (a); INSERT INTO missing VALUES (1)";
    check_not_migrated(&path, &newer(&[NOTE, broken]), "no such table: missing");
    assert_eq!(other_files(&directory), [""; 0], "no copy of a migration that did not happen");
}

#[test]
fn a_copy_that_cannot_be_written_stops_the_migration() {
    let expected = "that a migration needs could not be written: ";
    let steps = newer(&["CREATE TABLE half (a)"]);
    // The draft cannot be created, and the finished copy cannot get its name.
    for blocked in ["turns.sqlite.v5.bak.new", "turns.sqlite.v5.bak"] {
        let (directory, path) = temp_db();
        std::fs::create_dir_all(directory.path().join(blocked).join("full")).unwrap();
        check_not_migrated(&path, &steps, expected);
        assert_eq!(other_files(&directory), [blocked]);
    }
}

#[test]
fn the_draft_of_a_process_that_died_is_replaced() {
    let (directory, path) = temp_db();
    drop(store_with_turn(&path));
    std::fs::write(directory.path().join("turns.sqlite.v5.bak.new"), "half of a copy").unwrap();
    drop(
        DatabaseFile::locate(&path, SqliteOptions::default())
            .unwrap()
            .open(&newer(&[NOTE]))
            .unwrap(),
    );
    assert_eq!(other_files(&directory), ["turns.sqlite.v5.bak"]);
    let copy = SqliteStore::open(directory.path().join("turns.sqlite.v5.bak")).unwrap();
    assert_eq!(run(copy.turns(TurnQuery::default())).unwrap().len(), 1);
}

#[test]
fn only_the_newest_two_copies_are_kept() {
    let (directory, path) = temp_db();
    drop(store_with_turn(&path));
    let file = DatabaseFile::locate(&path, SqliteOptions::default()).unwrap();
    let steps =
        ["CREATE TABLE a (x)", "CREATE TABLE b (x)", "CREATE TABLE c (x)", "CREATE TABLE d (x)"];
    let expected: [&[&str]; 4] = [
        &["turns.sqlite.v5.bak"],
        &["turns.sqlite.v5.bak", "turns.sqlite.v6.bak"],
        &["turns.sqlite.v6.bak", "turns.sqlite.v7.bak"],
        &["turns.sqlite.v7.bak", "turns.sqlite.v8.bak"],
    ];
    for (count, expected) in (1..).zip(expected) {
        drop(file.open(&newer(steps.get(..count).unwrap())).unwrap());
        assert_eq!(other_files(&directory), expected);
    }
}

#[test]
fn processes_that_open_an_older_file_at_once_migrate_it_once() {
    let (directory, path) = temp_db();
    drop(store_with_turn(&path));
    let file = DatabaseFile::locate(&path, SqliteOptions::default()).unwrap();
    let steps = newer(&[NOTE]);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| file.open(&steps).unwrap())).collect();
        for thread in threads {
            assert_eq!(version_of(&thread.join().unwrap().connection), 6);
        }
    });
    assert_eq!(other_files(&directory), ["turns.sqlite.v5.bak"]);
}

#[cfg(unix)]
#[test]
fn a_copy_is_private_whatever_its_store_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, path) = temp_db();
    drop(store_with_turn(&path));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(
        DatabaseFile::locate(&path, SqliteOptions::default())
            .unwrap()
            .open(&newer(&[NOTE]))
            .unwrap(),
    );
    let copy = std::fs::metadata(directory.path().join("turns.sqlite.v5.bak")).unwrap();
    assert_eq!(copy.permissions().mode() & 0o777, 0o600);
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
        "the store has version 1000, and this program knows versions up to 5; use a newer program",
    );
    check_refused(
        |path| std::fs::write(path, "Dear diary, ".repeat(1000)).unwrap(),
        "could not open the store `{}`: file is not a database",
    );
}

#[test]
fn an_error_of_a_migration_does_not_print_its_statements() {
    let (_dir, path) = temp_db();
    drop(store_with_turn(&path));
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 0).unwrap();
    drop(connection);
    let error = message(&SqliteStore::open(&path).unwrap_err());
    assert!(error.ends_with("already exists"), "{error}");
}

/// A turn of an agent with a memory: the turn, the agent, and the id and the text of the memory.
fn old_turn(number: i64, agent: &str, memory: Option<(&str, &str)>) -> String {
    let started = format!(r#"{{"entry":"started","stash":{{"haft-run":{{"agent":"{agent}"}}}}}}"#);
    let mut sql = format!(
        "INSERT INTO turns VALUES ({number}, 't{number}', 'talk', 'completed', {number}, 1, NULL, NULL);
         INSERT INTO journal (turn, json) VALUES ({number}, '{started}');
         INSERT INTO journal (turn, json) VALUES ({number}, 'no JSON');"
    );
    if let Some((id, text)) = memory {
        sql += &format!(
            "INSERT INTO records (turn, kind, id, json) VALUES ({number}, 'memory', '{id}', '{text}');"
        );
    }
    sql
}

fn old_deletion(turn: i64, id: &str) -> String {
    let call = format!(
        r#"{{"tool":"delete_memory","state":"succeeded","accepted":"{{\"id\":\"{id}\"}}"}}"#
    );
    format!(
        "INSERT INTO records (turn, kind, id, json) VALUES ({turn}, 'tool-call', 'c{turn}', '{call}');"
    )
}

#[test]
fn memories_of_version_1_become_rows_of_their_agents() {
    let (_dir, path) = temp_db();
    drop(
        DatabaseFile::locate(&path, at_once()).unwrap().open(MIGRATIONS.get(..1).unwrap()).unwrap(),
    );
    let old = [
        old_turn(1, "/a", Some(("tea", "1"))),
        old_turn(2, "/a", Some(("tea", "2"))),
        // Two turns at once: the newest turn does not have what the other stored.
        old_turn(3, "/a", Some(("cake", "3"))),
        old_turn(4, "/b", Some(("tea", "4"))),
        old_turn(5, "/a", Some(("gone", "5"))),
        old_turn(6, "/a", None),
        old_deletion(6, "gone"),
        // Deleted and stored again by a later turn.
        old_deletion(1, "cake"),
        "INSERT INTO records (turn, kind, id, json) VALUES (6, 'tool-call', 'c', 'no JSON');"
            .to_owned(),
    ];
    sql(&path, &old.concat());
    let store = SqliteStore::open(&path).unwrap();
    let memories = |agent: &str| -> Vec<(String, String)> {
        let rows = run(store.load_memories(MemoryScope::agent(agent))).unwrap();
        rows.into_iter().map(|it| (it.id, it.json.to_string())).collect()
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(memories("/a"), [pair("tea", "2"), pair("cake", "3")]);
    assert_eq!(memories("/b"), [pair("tea", "4")]);
    assert_eq!(memories("/c"), []);
}

#[test]
fn turns_of_version_3_get_summaries_and_a_schedule() {
    let (_dir, path) = temp_db();
    let older = MIGRATIONS.get(..3).unwrap();
    drop(DatabaseFile::locate(&path, at_once()).unwrap().open(older).unwrap());
    let started = r#"{"entry":"started","stash":{"haft-run":{"agent":"/home/ada/support"}},
        "executor":{"kind":"model","model":"small"}}"#;
    let ended = r#"{"entry":"ended","error":{"code":"E_STORE"},"usage":{"totalTokens":7},
        "at":"1970-01-01T00:00:01.500000Z"}"#;
    let message = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let call = r#"{"results":[{"locator":{"key":"turn/ended/1"}}]}"#;
    let old = format!(
        "INSERT INTO turns VALUES (1, 'ended', 'talk', 'failed', 1, 1, NULL, NULL);
         INSERT INTO turns VALUES (2, 'running', NULL, 'running', 2, 1, 'a', 50);
         INSERT INTO turns VALUES (3, 'waiting', NULL, 'waiting', 3, 1, NULL, NULL);
         INSERT INTO turns VALUES (4, 'settled', NULL, 'waiting', 4, 1, 'a', 60);
         INSERT INTO gates (id, turn, json) VALUES ('open', 3, '{{}}');
         INSERT INTO gates (id, turn, json, settlement) VALUES ('settled', 4, '{{}}', 'yes');
         INSERT INTO journal (turn, json) VALUES (1, '{started}');
         INSERT INTO journal (turn, json) VALUES (1, '{ended}');
         INSERT INTO journal (turn, json) VALUES (2, 'no JSON');
         INSERT INTO records (turn, kind, id, json) VALUES (1, 'message', '1', '{}');
         INSERT INTO records (turn, kind, id, json) VALUES (1, 'message', '2', '{}');
         INSERT INTO records (turn, kind, id, json) VALUES (1, 'message', '3', '{}');
         INSERT INTO records (turn, kind, id, json) VALUES (1, 'tool-call', '1', '{call}');
         INSERT INTO records (turn, kind, id, json) VALUES (2, 'tool-call', '1', 'no JSON');",
        message("user", "An earlier question"),
        message("user", "Deploy the shop"),
        message("assistant", "Done"),
    );
    sql(&path, &old);
    let read_only = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(run(read_only.turns(TurnQuery::default())).unwrap().len(), 4);
    assert_eq!(run(read_only.turns(TurnQuery::default().unfinished())).unwrap().len(), 3);
    drop(read_only);

    let store = SqliteStore::open(&path).unwrap();
    let found = run(store.turns(TurnQuery::default().matching("shop support talk"))).unwrap();
    let [turn] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(turn.first_words.as_deref(), Some("Deploy the shop"));
    assert_eq!((turn.agent.as_deref(), turn.model.as_deref()), (Some("support"), Some("small")));
    assert_eq!((turn.tokens, turn.error_code.as_deref()), (Some(7), Some("E_STORE")));
    assert_eq!(turn.ended_at.map(Timestamp::as_micros), Some(1_500_000));
    let keys = vec!["turn/ended/1".into(), "turn/ended/2".into()];
    assert_eq!(run(store.unreferenced_keys(keys)).unwrap(), ["turn/ended/2".into()]);
    let runnable = |id: &str| {
        let summary = run(store.summary(id.parse().unwrap())).unwrap().unwrap();
        summary.runnable_at.map(Timestamp::as_micros)
    };
    let times = ["ended", "running", "waiting", "settled"].map(runnable);
    assert_eq!(times, [None, Some(50), None, Some(60)]);
}

#[test]
fn turns_of_version_4_are_found_by_their_tools() {
    let (_dir, path) = temp_db();
    let older = MIGRATIONS.get(..4).unwrap();
    drop(DatabaseFile::locate(&path, at_once()).unwrap().open(older).unwrap());
    let old = r#"
        INSERT INTO turns (id, conversation, status, created_at, epoch) VALUES ('a', 'talk', 'completed', 1, 1);
        INSERT INTO turns (id, status, created_at, epoch) VALUES ('b', 'completed', 2, 1);
        INSERT INTO records (turn, kind, id, json) VALUES (1, 'tool-call', '1', '{"tool":"read"}');
        INSERT INTO records (turn, kind, id, json) VALUES (1, 'tool-call', '2', '{"tool":"read"}');
        INSERT INTO records (turn, kind, id, json) VALUES (1, 'tool-call', '3', '{"tool":7}');
        INSERT INTO records (turn, kind, id, json) VALUES (2, 'tool-call', '1', 'no JSON');
        INSERT INTO records (turn, kind, id, json) VALUES (2, 'message', '1', '{"tool":"read"}');"#;
    sql(&path, old);
    let read_only = SqliteStore::open_read_only(&path).unwrap();
    let titles = run(read_only.titles(String::new(), vec!["talk".to_owned()])).unwrap();
    assert!(titles.is_empty(), "a file that is only read is not migrated");
    drop(read_only);
    let store = SqliteStore::open(&path).unwrap();
    let found = run(store.turns(TurnQuery::default().tool("read"))).unwrap();
    let [turn] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((turn.id.as_str(), turn.tools.len()), ("a", 1));
    run(store.set_title(String::new(), "talk".to_owned(), Some("A title".to_owned()))).unwrap();
    let titles = run(store.titles(String::new(), vec!["talk".to_owned()])).unwrap();
    assert_eq!(titles.get("talk").map(String::as_str), Some("A title"));
}
