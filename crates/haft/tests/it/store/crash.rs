//! A process that is killed while it commits.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use haft::stores::{NewTurn, Row, RowKind, StoreWrite, TurnStore, TurnStoreExt as _};
use haft::stores::{SqliteOptions, SqliteStore, Synchronous};

use super::{brief_holder, entry, holder, run, turn};

const FOLDER: &str = "HAFT_TEST_STORE_FOLDER";
const TURNS: usize = 8;

/// What the killed process does: turns commit side by side, and each says when a commit is done. It
/// does nothing as a test.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let options = if std::path::Path::new(&folder).join("normal").exists() {
        SqliteOptions::default().synchronous(Synchronous::Normal)
    } else {
        SqliteOptions::default()
    };
    let store = Arc::new(SqliteStore::open_with(folder, options).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..TURNS {
            tasks.spawn(commit_for_ever(Arc::clone(&store), number));
        }
        tasks.join_all().await;
    });
}

async fn commit_for_ever(store: Arc<SqliteStore>, number: usize) {
    // The lease of a process that is killed has run out for the next one.
    let new = NewTurn::new(turn(&number.to_string()));
    let lease = store.create(new, brief_holder("a")).await.unwrap();
    for step in 0_usize.. {
        // Every step changes two places and must never be seen in one of them alone.
        let row = Row::new(RowKind::Message, "step", step.to_string());
        store
            .commit(lease.clone(), vec![entry(step.to_string()), StoreWrite::Put(row)])
            .await
            .unwrap();
        let mut output = std::io::stdout().lock();
        writeln!(output, "\ndone {number} {step}").unwrap();
        output.flush().unwrap();
    }
}

fn check(synchronous: Synchronous, enough: usize) {
    let folder = tempfile::tempdir().unwrap();
    if synchronous == Synchronous::Normal {
        std::fs::write(folder.path().join("normal"), "").unwrap();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["store::crash::the_process_that_is_killed", "--exact", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = [None; TURNS];
    let mut count = 0;
    let mut killed = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(done) = line.strip_prefix("done ")
            && let Some((number, step)) = done.split_once(' ')
            && let (Ok(number), Ok(step)) = (number.parse::<usize>(), step.parse::<usize>())
        {
            acknowledged[number] = Some(step);
            count += 1;
        }
        if count >= enough && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    assert!(killed, "the process ended by itself after {count} commits");

    run(async {
        let store = SqliteStore::open(folder.path()).unwrap();
        for (number, acknowledged) in acknowledged.into_iter().enumerate() {
            let Some(turn) = store.load(turn(&number.to_string())).await.unwrap() else {
                assert_eq!(acknowledged, None, "turn {number} is lost");
                continue;
            };
            let steps = turn.journal.len();
            let expected: Vec<_> = (0..steps).map(|step| step.to_string()).collect();
            assert_eq!(turn.journal, expected);
            assert!(
                acknowledged.is_none_or(|step| step < steps),
                "turn {number} has {steps} steps, but step {acknowledged:?} was acknowledged"
            );
            let row = turn.rows.first().map(|row| row.json.to_string());
            assert_eq!(row, expected.last().cloned(), "turn {number} has a half of a commit");
            // Life goes on.
            let lease = store.claim(turn.summary.id.clone(), holder("b")).await.unwrap();
            store.commit(lease.clone(), vec![entry("new")]).await.unwrap();
            store.release(lease).await.unwrap();
            assert!(store.remove(turn.summary.id).await.unwrap());
        }
    });
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for enough in [1, 50, 333] {
        check(Synchronous::Full, enough);
        check(Synchronous::Normal, enough);
    }
}
