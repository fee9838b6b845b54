//! Rows that no process with the key has written, or that were changed since.

use haft_core::store::{ClaimFilter, GateId, GateQuery, StopReason, SummaryUpdate};

use super::*;
use crate::TurnDir;

const KEY: [u8; 32] = [7; 32];

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open_with(path, at_once().secret(KEY)).unwrap()
}

fn message_row(id: &str, json: &str) -> StoreWrite {
    StoreWrite::Put(Row::new(RowKind::Message, id, json))
}

/// A store with two turns that have ended, each with rows, a journal, gates, a memory and a title.
async fn fill(store: &SqliteStore) {
    for name in ["a", "b"] {
        let holder = LeaseRequest::new("w", Duration::from_secs(100));
        let new = NewTurn::new(turn(name)).agent("shop").model("small").said("deploy the shop");
        let new = new.tenant("t").conversation("talk").writes(vec![message_row("first", name)]);
        let lease = store.create(new, holder).await.unwrap();
        let gate = |kind: &str| -> GateId { format!("{kind}-{name}").parse().unwrap() };
        let entries = ["1", "2", "3"].map(|it| StoreWrite::Journal(it.into()));
        let mut writes: Vec<StoreWrite> = entries.into();
        writes.push(message_row("second", "old"));
        writes.push(StoreWrite::open_gate(gate("open"), "{}"));
        writes.push(StoreWrite::open_gate(gate("settled"), "{}"));
        store.commit(lease.clone(), writes).await.unwrap();
        store.settle(gate("settled"), "yes".to_owned()).await.unwrap();
        let scope = MemoryScope::user("ada");
        let update = SummaryUpdate::default()
            .tokens(70)
            .tool("read")
            .stop(StopReason::new("the store failed"));
        let writes = vec![
            message_row("second", "new"),
            StoreWrite::PutMemory { scope, id: name.to_owned(), json: "\"tea\"".into() },
            StoreWrite::Summary(update),
            StoreWrite::Status(TurnStatus::Failed),
        ];
        store.commit(lease.clone(), writes).await.unwrap();
        store.release(lease).await.unwrap();
    }
    store.set_title("t".to_owned(), "talk".to_owned(), Some("Shop".to_owned())).await.unwrap();
}

/// Whether an error says that something was not written by a process with the key.
#[expect(clippy::needless_pass_by_value, reason = "a call reads as the question that it is")]
fn is_damaged<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Damaged { .. }))
}

/// Whether a list shows turn `a` as damaged.
async fn lists_damage(store: &SqliteStore) -> bool {
    let turns = store.turns(TurnQuery::default()).await.unwrap();
    turns.iter().any(|it| it.id == turn("a") && it.status == TurnStatus::Damaged)
}

#[test]
fn an_edited_row_is_told() {
    let edits = [
        "UPDATE turns SET agent = 'evil'",
        "UPDATE turns SET model = 'large'",
        "UPDATE turns SET first_words = 'deploy the shob'",
        "UPDATE turns SET tenant = 'u'",
        "UPDATE turns SET conversation = NULL",
        "UPDATE turns SET priority = 1",
        "UPDATE turns SET created_at = created_at + 1",
        "UPDATE turns SET updated_at = updated_at + 1",
        "UPDATE turns SET ended_at = ended_at - 1",
        "UPDATE turns SET tools = 'write'",
        "UPDATE turns SET tokens = 71",
        "UPDATE turns SET stop = NULL",
        "UPDATE turns SET status = 'completed'",
        "UPDATE turns SET status = 'running'",
        "UPDATE turns SET take_overs = 1",
        "UPDATE turns SET runnable_at = 1",
        "UPDATE turns SET held_until = 1",
        "UPDATE turns SET entries = 2, last_entry = (SELECT mark FROM journal WHERE json = '2')",
        "UPDATE turns SET mark = zeroblob(32)",
        "UPDATE turns SET mark = x''",
        "UPDATE records SET json = 'x'",
        "UPDATE records SET id = 'third' WHERE id = 'second'",
        "UPDATE records SET kind = 'thought' WHERE id = 'second'",
        "UPDATE records SET mark = zeroblob(32)",
        "UPDATE records SET mark = x''",
        "UPDATE records SET turn = 2, id = 'third' WHERE turn = 1 AND id = 'first'",
        "UPDATE records SET number = 100 - number",
        "UPDATE records SET (json, mark) = (SELECT json, mark FROM records WHERE turn = 2 AND id = 'first')
             WHERE turn = 1 AND id = 'first'",
        "DELETE FROM records WHERE id = 'first'",
        "UPDATE journal SET json = '4' WHERE json = '2'",
        "UPDATE journal SET mark = x'00'",
        "UPDATE journal SET turn = 3 - turn",
        "DELETE FROM journal WHERE json = '1'",
        "DELETE FROM journal WHERE json = '2'",
        "DELETE FROM journal WHERE json = '3'",
        "DELETE FROM journal",
        "UPDATE journal SET number = 100 - number",
        "INSERT INTO journal (turn, json, mark) SELECT turn, json, mark FROM journal WHERE json = '3'",
        "UPDATE gates SET json = '{|'",
        "UPDATE gates SET expires_at = 1",
        "UPDATE gates SET settlement = 'nes' WHERE settlement IS NOT NULL",
        "UPDATE gates SET settlement = NULL",
        "UPDATE gates SET settlement = NULL, settlement_mark = NULL, mark = settlement_mark
             WHERE settlement IS NOT NULL",
        "UPDATE gates SET turn = 3 - turn",
        "DELETE FROM gates WHERE settlement IS NULL",
    ];
    for edit in edits {
        let (_dir, path) = temp_db();
        run(async {
            let store = open(&path);
            fill(&store).await;
            assert!(store.load(turn("a")).await.is_ok());
            sql(&path, edit);
            assert!(is_damaged(store.load(turn("a")).await), "{edit}");
            if edit.contains(" turns ") {
                assert!(lists_damage(&store).await, "{edit}");
                let holder = LeaseRequest::new("w", Duration::from_secs(1));
                assert!(is_damaged(store.claim(turn("a"), holder).await), "{edit}");
            }
            if edit.contains(" journal") {
                assert!(is_damaged(store.read_journal(turn("a"), 0, 10).await), "{edit}");
            }
        });
    }
}

/// A row of an earlier time is authentic, and does not belong where it stands.
#[test]
fn an_earlier_state_of_a_row_is_told() {
    let (_dir, path) = temp_db();
    run(async {
        let store = open(&path);
        let lease = begin(&store, "a").await;
        let put = |json: &str| vec![message_row("second", json)];
        store.commit(lease.clone(), put("\"not approved\"")).await.unwrap();
        sql(&path, "CREATE TABLE kept AS SELECT * FROM records WHERE id = 'second'");
        store.commit(lease, put("\"approved\"")).await.unwrap();
        sql(
            &path,
            "UPDATE records SET (json, mark) = (SELECT json, mark FROM kept) WHERE id = 'second'",
        );
        let error = store.load(turn("a")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "what is stored of turn `a` is damaged: a row is missing, or an older one stands in its place; restore the \
             store from a copy, or use another one"
        );
    });
}

/// One damaged turn hides no other one, keeps no other one waiting, and can be removed.
#[test]
fn a_damaged_turn_is_listed_and_removed() {
    let edits = [
        ("UPDATE turns SET agent = 'evil' WHERE id = 'a'", true),
        ("UPDATE turns SET status = 'paused' WHERE id = 'a'", true),
        ("UPDATE turns SET mark = x'' WHERE id = 'a'", true),
        ("UPDATE records SET json = 'x' WHERE id = 'first' AND turn = 1", false),
        ("UPDATE gates SET json = '{|' WHERE turn = 1", false),
    ];
    for (edit, is_listed) in edits {
        let (_dir, path) = temp_db();
        run(async {
            let store = open(&path);
            fill(&store).await;
            for name in ["a", "b"] {
                let new = NewTurn::new(turn(&format!("queued-{name}"))).agent("shop");
                store.insert(new).await.unwrap();
            }
            sql(&path, edit);
            sql(&path, "UPDATE turns SET agent = 'evil' WHERE id = 'queued-a'");
            let turns = store.turns(TurnQuery::default()).await.unwrap();
            assert_eq!(turns.len(), 4, "{edit}");
            assert_eq!(lists_damage(&store).await, is_listed, "{edit}");
            assert!(is_damaged(store.load(turn("a")).await), "{edit}");
            assert!(store.load(turn("b")).await.is_ok(), "{edit}");
            // A gate that was changed is not left out of what waits for a person.
            let gates = store.gates(GateQuery::default()).await;
            assert_eq!(is_damaged(gates), edit.contains("gates"), "{edit}");
            let holder = LeaseRequest::new("w", Duration::from_secs(1));
            let claimed = store.claim_next(ClaimFilter::default(), holder).await.unwrap();
            assert_eq!(claimed.map(|it| it.turn), Some(turn("queued-b")), "{edit}");
            let collected = store.remove_turns(TurnQuery::default().ended()).await.unwrap();
            assert_eq!(collected.contains(&turn("a")), !is_listed, "{edit}");
            assert_eq!(store.remove(turn("a")).await.unwrap(), is_listed, "{edit}");
            assert!(store.load(turn("a")).await.unwrap().is_none(), "{edit}");
        });
    }
}

/// A write does not make an edited row authentic.
#[test]
fn a_commit_covers_no_edit() {
    let (_dir, path) = temp_db();
    run(async {
        let store = open(&path);
        let lease = begin(&store, "a").await;
        sql(&path, "UPDATE turns SET agent = 'evil'");
        let error = store.commit(lease, vec![StoreWrite::Journal("1".into())]).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "what is stored of turn `a` is damaged: it was changed since it was written, or written without the key of \
             this store; restore the store from a copy, or use another one"
        );
    });
}

#[test]
fn edited_memories_and_titles_are_told() {
    let (_dir, path) = temp_db();
    run(async {
        let store = open(&path);
        fill(&store).await;
        sql(&path, "UPDATE memories SET json = '\"pea\"' WHERE id = 'b'");
        assert!(is_damaged(store.load_memories(MemoryScope::user("ada")).await));
        sql(&path, "UPDATE conversations SET title = 'Shob'");
        assert!(is_damaged(store.titles("t".to_owned(), vec!["talk".to_owned()]).await));
    });
}

#[test]
fn a_database_of_another_key_is_refused() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(async {
        for dir in [&ours, &theirs] {
            let store = SqliteStore::open(dir.path()).unwrap();
            begin(&store, "a").await;
            store.close().await;
        }
        let file = ours.path().join("haft.sqlite");
        std::fs::copy(theirs.path().join("haft.sqlite"), &file).unwrap();
        let before = std::fs::read(&file).unwrap();
        let refused = [
            SqliteStore::open(ours.path()).map(drop),
            SqliteStore::open_read_only(ours.path()).map(drop),
            TurnDir::open(ours.path()).map(drop),
            TurnDir::open_read_only(ours.path()).map(drop),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(StoreError::OtherSecret)), "{refused:?}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), before, "the file stays as it is");
        // Also if it claims to belong to this key.
        let key = std::fs::read(ours.path().join("gate.key")).unwrap();
        let key = haft_core::store::StoreKey::of_secret(key.try_into().unwrap());
        sql(&file, &format!("UPDATE store SET value = '{}'", hex::encode(key.fingerprint())));
        let store = SqliteStore::open(ours.path()).unwrap();
        assert!(lists_damage(&store).await);
        assert!(is_damaged(store.load(turn("a")).await));
        let holder = || LeaseRequest::new("w", Duration::from_secs(1));
        assert!(is_damaged(store.claim(turn("a"), holder()).await));
    });
}

#[test]
fn a_store_without_its_key_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    run(async { SqliteStore::open(dir.path()).unwrap().close().await });
    let key = dir.path().join("gate.key");
    std::fs::remove_file(&key).unwrap();
    for opened in [SqliteStore::open(dir.path()), SqliteStore::open_read_only(dir.path())] {
        let expected = format!(
            "the key `{}` of the store is missing; put it back, or use another store",
            key.display()
        );
        assert_eq!(opened.unwrap_err().to_string(), expected);
    }
    assert!(!key.exists(), "a new key would not help");
}

/// Every byte of a file is flipped, some of them at a time: what is read is what was written, or an error.
#[test]
fn a_flipped_byte_is_never_read_as_something_else() {
    let (dir, path) = temp_db();
    let read = async |store: &SqliteStore| {
        let mut found = Vec::new();
        for name in ["a", "b"] {
            found.push(store.load(turn(name)).await.map(|it| format!("{it:?}")));
            let journal = store.read_journal(turn(name), 0, 10).await;
            found.push(journal.map(|it| format!("{it:?}")));
            let listed = store.turns(TurnQuery::default().id(turn(name))).await;
            found.push(listed.map(|it| format!("{it:?}")));
        }
        let titles = store.titles("t".to_owned(), vec!["talk".to_owned()]).await;
        found.push(titles.map(|it| format!("{it:?}")));
        found
    };
    let expected = run(async {
        let store = open(&path);
        fill(&store).await;
        let expected = read(&store).await;
        store.close().await;
        expected.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    });
    // What the tables have is stored last in each page, and these bytes are the contents of rows.
    let bytes = std::fs::read(&path).unwrap();
    let contents: Vec<usize> = (4096..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let (mut told, mut flips) = (0, 0);
    for at in contents.iter().step_by(contents.len().div_ceil(400)) {
        let mut flipped = bytes.clone();
        flipped[*at] ^= 1 << (at % 8);
        let copy = dir.path().join(format!("{at}.sqlite"));
        std::fs::write(&copy, flipped).unwrap();
        flips += 1;
        let Ok(store) = SqliteStore::open_with(&copy, at_once().secret(KEY)) else {
            told += 1;
            continue;
        };
        let found = run(read(&store));
        for (found, expected) in found.iter().zip(&expected) {
            match found {
                Ok(found) if found == expected => {}
                // A turn or a title that is not found has no row that could say so.
                Ok(found) if found == "None" || found == "[]" || found == "{}" => told += 1,
                Ok(found) if found.contains("status: Damaged") => told += 1,
                Ok(found) => panic!("byte {at} is read as something else: {found} for {expected}"),
                Err(_) => told += 1,
            }
        }
        run(async move { store.close().await });
        std::fs::remove_file(copy).unwrap();
    }
    assert!(flips > 300 && told > flips / 2, "{told} of {flips} were told");
}
