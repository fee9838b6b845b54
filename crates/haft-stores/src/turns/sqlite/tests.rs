mod authentic;
mod faults;
mod groups;
mod listeners;
mod versions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::store::{
    ClaimFilter, Lease, LeaseRequest, MemoryScope, NewTurn, Row, RowKind, StoreError, StoreWrite,
    StoredTurn, TurnId, TurnQuery, TurnStatus, TurnStore, TurnStoreExt as _,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::database_file::DatabaseFile;
use super::transaction::own_dialect;
use super::{SqliteOptions, SqliteStore, SqliteTransaction, Synchronous};
use crate::turns::sql::{ByLease, TurnListSql, UNFINISHED, claim_sql};

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Does not wait for others.
fn at_once() -> SqliteOptions {
    SqliteOptions::default().busy_timeout(Duration::ZERO)
}

fn temp_db() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("turns.sqlite");
    (dir, file)
}

fn turn(name: &str) -> TurnId {
    name.parse().unwrap()
}

async fn begin(store: &SqliteStore, name: &str) -> Lease {
    let holder = LeaseRequest::new("a", Duration::from_secs(100));
    let writes = vec![StoreWrite::Put(Row::new(RowKind::Message, "first", "{}"))];
    store.create(NewTurn::new(turn(name)).writes(writes), holder).await.unwrap()
}

async fn load(store: &SqliteStore, name: &str) -> StoredTurn {
    store.load(turn(name)).await.unwrap().unwrap()
}

/// The message of an error with all its causes.
fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[test]
fn a_directory_holds_a_file_and_missing_directories_are_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let store = SqliteStore::open(path).unwrap();
    assert_eq!(store.file(), path.join("haft.sqlite"));
    let store = SqliteStore::open(path.join("new/deep/turns.db")).unwrap();
    assert_eq!(store.file(), path.join("new/deep/turns.db"));
    assert!(path.join("new/deep/turns.db").is_file());
}

#[test]
fn the_file_is_used_as_it_should_be() {
    let (_dir, path) = temp_db();
    let file = DatabaseFile::locate(&path, SqliteOptions::default()).unwrap();
    let connection = file.open().unwrap().0.connection;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(number("synchronous").unwrap(), 2, "FULL");
    assert_eq!(number("foreign_keys").unwrap(), 1);
    assert_eq!(number("temp_store").unwrap(), 2, "MEMORY");
    let mode: String = connection.pragma_query_value(None, "journal_mode", |it| it.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn lists_walk_through_what_they_list() {
    let (_dir, path) = temp_db();
    let file = DatabaseFile::locate(&path, SqliteOptions::default()).unwrap();
    let connection = file.open().unwrap().0.connection;
    let plan = |query: TurnQuery| {
        let list = TurnListSql::new::<SqliteTransaction<'_>>(&query, Some(1), ByLease::All);
        let sql = own_dialect(&format!("EXPLAIN QUERY PLAN {}", list.sql));
        let mut statement = connection.prepare(&sql).unwrap();
        let parameters = rusqlite::params_from_iter(list.values.iter().map(|it| it.borrow()));
        let lines = statement.query_map(parameters, |row| row.get::<_, String>(3)).unwrap();
        lines.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    };
    let check = |query: TurnQuery, expected: &str| assert_eq!(plan(query), expected);
    let all = TurnQuery::default();
    check(all.clone(), "SEARCH turns USING INTEGER PRIMARY KEY (rowid<?)");
    check(all.clone().unfinished(), "SEARCH turns USING INDEX turns_unfinished (number<?)");
    let found = "SEARCH turns USING INDEX turns_by_conversation (conversation=? AND rowid<?)";
    check(all.clone().conversation("a"), found);
    check(all.clone().conversation("a").unfinished(), found);
    let by_tool = plan(all.clone().tool("read"));
    assert!(by_tool.contains("SEARCH turn_words USING PRIMARY KEY (word=?"), "{by_tool}");
    let found = plan(all.matching("deploy"));
    let by_word = "SEARCH turn_words USING PRIMARY KEY (word>? AND word<?)";
    assert!(found.contains(by_word), "{found}");

    let sql = claim_sql::<SqliteTransaction<'_>>(&ClaimFilter::default(), 0);
    let sql = own_dialect(&format!("EXPLAIN QUERY PLAN {sql}"));
    let mut statement = connection.prepare(&sql).unwrap();
    let lines = statement.query_map([1, 1], |row| row.get::<_, String>(3));
    let lines = lines.unwrap().collect::<Result<Vec<_>, _>>().unwrap().join("; ");
    assert!(lines.contains("turns USING INDEX turns_runnable"), "{lines}");
    assert!(!lines.contains("TEMP B-TREE"), "{lines}");
}

#[test]
fn the_tables_know_which_turns_are_over() {
    let open: Vec<_> =
        TurnStatus::ALL.iter().filter(|it| !it.is_final()).map(|it| it.as_str()).collect();
    let words = format!("status IN ('{}')", open.join("', '"));
    assert!(super::schema::TABLES.contains(&words), "{words}");
    assert_eq!(UNFINISHED, words);
}

fn sql(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}
