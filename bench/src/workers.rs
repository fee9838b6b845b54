//! Workers on a PostgreSQL server that this program starts: how soon a decision wakes a worker, how long a claim takes, commits
//! per second compared with plain inserts, turns per second by the number of processes, and large results in object storage.
//!
//! Each figure is printed with its aim. The server syncs every commit to disk, as SQLite does.

mod object_spool;
mod plain_queue;
mod worker_process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::executors::ScriptExecutor;
use haft::stores::{
    ClaimFilter, LeaseRequest, NewTurn, OpenStores, Row as StoredRow, RowKind, SqliteStore,
    StoreOptions, StoreWrite, TurnQuery, TurnStatus, TurnStore, TurnStoreExt as _,
};
use haft::turn::{Cancellation, GatePolicy};
use haft::worker::Worker;
use haft::{Agent, Tool, Turn};
use haft_testkit::PostgresServer;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

pub(crate) use self::object_spool::{COMMAND as SPOOL, run_job as spool_job};
pub(crate) use self::worker_process::{COMMAND as PROCESS, run_job as process_job};
use crate::Sink;
use crate::measure::median;
use crate::report::{Entry, FLOOR, OURS, Row};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Turns of a throughput row, and decisions and claims in proportion.
    pub(crate) turns: usize,
    /// Turns that wait while others are claimed.
    pub(crate) waiting: usize,
    /// The size of the large result.
    pub(crate) bytes: u64,
}

/// Measures everything; what needs a server that is not installed is left out with a note.
///
/// # Errors
///
/// When a turn does not end as it should, or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    let Some(server) = PostgresServer::start_durable() else {
        crate::note("workers: there is no PostgreSQL; `cargo xtask setup` installs it");
        return Ok(());
    };
    let runtime = Runtime::new().map_err(text)?;
    let url = server.url();
    crate::note("workers: decisions");
    print(&runtime.block_on(measure_wakes(&url, options.turns / 10))?)?;
    crate::note(&format!("workers: claims among {} turns", options.waiting));
    print(&runtime.block_on(measure_claims(&url, options))?)?;
    crate::note("workers: commits");
    print(&runtime.block_on(measure_commits(&url, options.turns * 4))?)?;
    crate::note("workers: throughput");
    print(&runtime.block_on(worker_process::measure_throughput(&url, options.turns))?)?;
    match object_spool::measure(options.bytes)? {
        Some(row) => print(&row),
        None => {
            crate::note("workers: there is no S3 server; `cargo xtask setup` installs it");
            Ok(())
        }
    }
}

/// Opens the store in a schema of its own.
async fn open(url: &str, schema: &str) -> Result<OpenStores, String> {
    let url = format!("{url}&schema={schema}").parse().map_err(text)?;
    let options = StoreOptions::default().spools("memory:".parse().map_err(text)?).secret([7; 32]);
    OpenStores::open(&url, options).await.map_err(text)
}

/// The time from a decision by another connection until the worker has continued and ended the turn, and that of the claim
/// alone.
async fn measure_wakes(url: &str, rounds: usize) -> Result<Row, String> {
    let (stores, elsewhere) = (open(url, "wakes").await?, open(url, "wakes").await?);
    let agent = |stores: &OpenStores| {
        let ask = Tool::builder("ask").description("Asks.").requires_approval("May I?");
        let script = r#"{"steps": [{"call": {"ask": {}}}, {"say": "done"}]}"#;
        let builder = Agent::builder(ScriptExecutor::parse(script).map_err(text)?);
        let builder = builder.stores(stores).gate_policy(GatePolicy::Suspend);
        builder.tool(ask.handler(|| "yes").build().map_err(text)?).build().map_err(text)
    };
    let (worker, stop) = start_worker(&stores, agent(&stores)?);
    let decider = agent(&elsewhere)?;
    let mut times = Vec::new();
    for _ in 0..rounds.max(5) {
        let turn = decider.turn([]).system("Ask.").submit().await.map_err(text)?;
        let gate = loop {
            let open = decider.gates().open_gates(Some(turn.clone())).await.map_err(text)?;
            let summary = elsewhere.turns().summary(turn.clone()).await.map_err(text)?;
            // It waits only when its worker has left it.
            let has_left = summary.is_some_and(|it| it.held_until.is_none());
            if let Some(gate) = open.into_iter().next().filter(|_| has_left) {
                break gate;
            }
        };
        let began = now();
        decider.gates().resolve(&gate.id, true.into(), "bench").await.map_err(text)?;
        loop {
            let summary = elsewhere.turns().summary(turn.clone()).await.map_err(text)?;
            if summary.is_some_and(|it| it.status != TurnStatus::Waiting) {
                break;
            }
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    stop_worker(worker, &stop).await?;
    Ok(Row {
        name: "workers/a decision elsewhere until a worker has claimed the turn".to_owned(),
        unit: "ms, median",
        entries: vec![entry(OURS, median(times.into_iter()), None), entry("aim", 100.0, None)],
    })
}

fn start_worker(stores: &OpenStores, agent: Agent) -> (JoinSet<Result<(), String>>, Cancellation) {
    let stop = Cancellation::new();
    let worker = Worker::builder(Arc::clone(stores.turns()), agent).build();
    let mut task = JoinSet::new();
    let until = stop.clone();
    task.spawn(async move { worker.run_until(until.cancelled()).await.map(|_| ()).map_err(text) });
    (task, stop)
}

async fn stop_worker(
    mut task: JoinSet<Result<(), String>>,
    stop: &Cancellation,
) -> Result<(), String> {
    stop.cancel("measured");
    task.join_next().await.ok_or("there is no worker")?.map_err(text)?
}

/// The time of a claim while many turns can be claimed.
async fn measure_claims(url: &str, options: Options) -> Result<Row, String> {
    let stores = open(url, "claims").await?;
    let mut tasks = JoinSet::new();
    for part in 0..8 {
        let store = Arc::clone(stores.turns());
        tasks.spawn(async move {
            for n in 0..options.waiting / 8 {
                let id = format!("turn-{part}-{n}").parse().map_err(text)?;
                store.enqueue(NewTurn::new(id).agent("bench")).await.map_err(text)?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(text)??;
    }
    let mut times = Vec::new();
    for _ in 0..options.turns.min(options.waiting) {
        let holder = LeaseRequest::new("bench", Duration::from_secs(600));
        let began = now();
        let claimed = stores.turns().claim_next(ClaimFilter::default(), holder).await;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        claimed.map_err(text)?.ok_or("there is no turn to claim")?;
    }
    Ok(Row {
        name: format!("workers/claim_next among {} turns", options.waiting),
        unit: "ms, median",
        entries: vec![entry(OURS, median(times.into_iter()), None), entry("aim", 5.0, None)],
    })
}

/// How many turns commit at the same time.
const AT_ONCE: usize = 8;

/// Commits of a record and a journal entry, compared with transactions of the same two inserts and with SQLite.
async fn measure_commits(url: &str, commits: usize) -> Result<Row, String> {
    let stores = open(url, "commits").await?;
    let postgres = commit_rate(stores.turns(), commits).await?;
    let dir = tempfile::tempdir().map_err(text)?;
    let file: Arc<dyn TurnStore> = Arc::new(SqliteStore::open(dir.path()).map_err(text)?);
    let sqlite = commit_rate(&file, commits).await?;
    let raw = insert_rate(url, commits).await?;
    Ok(Row {
        name: format!("workers/commits of {AT_ONCE} turns at once"),
        unit: "commits/s",
        entries: vec![
            entry(OURS, postgres, Some(postgres / raw)),
            entry(FLOOR, raw, None),
            entry("haft, sqlite", sqlite, Some(sqlite / raw)),
            entry("haft, postgres to sqlite", postgres / sqlite, None),
        ],
    })
}

async fn commit_rate(store: &Arc<dyn TurnStore>, commits: usize) -> Result<f64, String> {
    let mut leases = Vec::new();
    for n in 0..AT_ONCE {
        let id = format!("turn-{n}").parse().map_err(text)?;
        let holder = LeaseRequest::new("bench", Duration::from_secs(600));
        leases.push(store.create(NewTurn::new(id), holder).await.map_err(text)?);
    }
    let (mut tasks, began) = (JoinSet::new(), now());
    for lease in leases {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            for n in 0..commits / AT_ONCE {
                let row = StoredRow::new(RowKind::Message, format!("message-{n}"), RECORD);
                let writes = vec![StoreWrite::Put(row), StoreWrite::Journal(ENTRY.into())];
                store.commit(lease.clone(), writes).await.map_err(text)?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(text)??;
    }
    Ok(commits as f64 / began.elapsed().as_secs_f64())
}

/// Transactions that insert two rows of the same size into a table, by as many connections.
async fn insert_rate(url: &str, commits: usize) -> Result<f64, String> {
    let (mut clients, mut connections) = (Vec::new(), JoinSet::new());
    for _ in 0..AT_ONCE {
        let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.map_err(text)?;
        connections.spawn(connection);
        clients.push(client);
    }
    let first = clients.first().ok_or("no connection")?;
    let create =
        "CREATE TABLE bench (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, json text)";
    first.batch_execute(create).await.map_err(text)?;
    let (mut tasks, began) = (JoinSet::new(), now());
    for mut client in clients {
        tasks.spawn(async move {
            let insert =
                client.prepare("INSERT INTO bench (json) VALUES ($1)").await.map_err(text)?;
            for _ in 0..commits / AT_ONCE {
                let transaction = client.transaction().await.map_err(text)?;
                for json in [RECORD, ENTRY] {
                    transaction.execute(&insert, &[&json]).await.map_err(text)?;
                }
                transaction.commit().await.map_err(text)?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(text)??;
    }
    Ok(commits as f64 / began.elapsed().as_secs_f64())
}

/// Waits until all turns of a store have ended. It looks seldom enough to cost nothing.
async fn await_ends(stores: &OpenStores) -> Result<(), String> {
    let query = TurnQuery::default().unfinished().limit(1);
    while !stores.turns().turns(query.clone()).await.map_err(text)?.is_empty() {
        pause().await;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this measures time")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

/// A record and an entry of usual size.
const RECORD: &str = r#"{"role":"assistant","content":"The order left the warehouse this morning and arrives tomorrow. You can follow it with the number in the mail that we sent you.","created_at":"2026-11-17T12:00:00Z"}"#;
const ENTRY: &str = r#"{"entry":"step","iteration":0,"messages":["message-1"],"calls":[],"then":"continue","usage":{"prompt":1200,"completion":80,"total":1280}}"#;

const fn entry(name: &'static str, value: f64, ratio: Option<f64>) -> Entry {
    Entry { name, value, ratio }
}

#[expect(clippy::disallowed_methods, reason = "this measures time")]
fn now() -> Instant {
    Instant::now()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
