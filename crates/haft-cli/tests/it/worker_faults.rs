//! Workers on one PostgreSQL server that are killed and stopped while the server is restarted. A ledger that the tool's
//! command writes judges: nothing is lost, nothing is done twice, and what is uncertain is reported.
//!
//! `cargo xtask soak` makes it large (`HAFT_TURNS`, `HAFT_CALLS`, `HAFT_SEED`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use haft::Agent;
use haft::executors::ScriptExecutor;
use haft::stores::{OpenStores, RowKind, StoreOptions, StoredTurn, TurnId, TurnQuery, TurnStatus};
use haft_testkit::PostgresServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::support::{haft, write_scripted_agent};
use super::sweeps::{Random, number};

const WORKERS: usize = 4;
const SECRET: [u8; 32] = [0x5a; 32];
const LEASE: Duration = Duration::from_secs(2);

/// Writes an agent that calls `charge` so many times, one call in a step.
fn write_charging_agent(dir: &Path, calls: u64) -> String {
    let text = r#"
        [limits]
        iterations = 1000
        tool_calls = 1000
        [tools.command.charge]
        description = "Charges."
        argv = ["sh", "-c", "echo $0 $1 >> ledger; sleep 0.05", "{turn}", "{n}"]
        args.turn.required = true
        args.n.required = true
        effect = "once"
    "#;
    let call = |n| format!("  - call: {{ charge: {{ turn: '{{{{ user }}}}', n: 'n{n}' }} }}\n");
    let calls: String = (0..calls).map(call).collect();
    let script = format!("steps:\n{calls}  - say: over\n");
    write_scripted_agent(dir, text, &script);
    script
}

/// The processes of the test, and what they share.
struct Cluster {
    dir: PathBuf,
    url: String,
    workers: Vec<Child>,
    started: usize,
}

impl Cluster {
    fn start(dir: &Path, url: String) -> Self {
        let mut cluster = Self { dir: dir.to_owned(), url, workers: Vec::new(), started: 0 };
        for _ in 0..WORKERS {
            let worker = cluster.start_worker();
            cluster.workers.push(worker);
        }
        cluster
    }

    fn start_worker(&mut self) -> Child {
        self.started += 1;
        let secret: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut command = haft(&self.dir);
        command.args(["worker", "--quiet", "--agents", "a", "--concurrency", "4", "--lease", "2s"]);
        command.args(["--name", &format!("worker-{}", self.started)]);
        command.env("HAFT_STORE", &self.url).env("HAFT_SPOOL", self.dir.join("results"));
        command.env("HAFT_STORE_SECRET", secret);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Kills a worker and starts another one in its place.
    fn replace(&mut self, at: usize) {
        let new = self.start_worker();
        let mut killed = std::mem::replace(&mut self.workers[at], new);
        killed.kill().unwrap();
        killed.wait().unwrap();
    }

    fn signal(&self, at: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.workers[at]), signal).unwrap();
    }

    /// Asks all workers to end.
    fn stop(mut self) {
        (0..WORKERS).for_each(|at| self.signal(at, Signal::TERM));
        for worker in &mut self.workers {
            let status = worker.wait().unwrap();
            // One that has just been started may not listen to signals yet.
            let is_new = status.signal() == Some(Signal::TERM.as_raw());
            assert!(status.success() || is_new, "a drained worker ends well: {status}");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // Only fails if it has ended.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// The store as the test sees it. Operations that fail while the server is away are repeated.
struct Judge {
    runtime: Runtime,
    stores: OpenStores,
}

impl Judge {
    fn open(dir: &Path, url: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let spools = format!("dir:{}", dir.join("results").display()).parse().unwrap();
        let options = StoreOptions::default().spools(spools).secret(SECRET);
        let url = url.parse().unwrap();
        let stores = runtime.block_on(OpenStores::open(&url, options)).unwrap();
        Self { runtime, stores }
    }

    fn submit(&self, script: &str, turns: u64) {
        let script = ScriptExecutor::parse(script).unwrap();
        let agent = Agent::builder(script).name("a").stores(&self.stores).build().unwrap();
        for n in 0..turns {
            let turn = agent.turn(format!("t{n}"));
            // Some of them are turns of a conversation, which wait for each other.
            let turn = if n % 4 == 0 { turn.conversation(format!("c{}", n % 16)) } else { turn };
            self.runtime.block_on(turn.submit()).unwrap();
        }
    }

    fn unfinished(&self) -> usize {
        let query = TurnQuery::default().unfinished().limit(10_000);
        loop {
            match self.runtime.block_on(self.stores.turns().turns(query.clone())) {
                Ok(turns) => return turns.len(),
                Err(error) => {
                    println!("the store does not respond: {error}");
                    sleep(Duration::from_millis(100));
                }
            }
        }
    }

    fn load_all(&self) -> Vec<StoredTurn> {
        let mut all = Vec::new();
        let mut query = TurnQuery::default().limit(1000);
        loop {
            let page = self.runtime.block_on(self.stores.turns().turns(query.clone())).unwrap();
            let Some(last) = page.last() else { return all };
            query.before = Some(last.id.clone());
            let ids: Vec<TurnId> = page.into_iter().map(|it| it.id).collect();
            for id in ids {
                all.extend(self.runtime.block_on(self.stores.turns().load(id)).unwrap());
            }
        }
    }
}

/// Compares the records of the turns with the ledger. Returns how many calls are reported as unknown.
fn check_ledger(dir: &Path, turns: &[StoredTurn], calls: u64) -> usize {
    let mut ledger: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(dir.join("a/ledger")).unwrap().lines() {
        *ledger.entry(line.to_owned()).or_default() += 1;
    }
    let doubled: Vec<_> = ledger.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "calls that ran twice: {doubled:?}");
    let mut unknown = 0;
    for turn in turns {
        let id = &turn.summary.id;
        assert_eq!(turn.summary.status, TurnStatus::Completed, "{id}: {:?}", turn.journal.last());
        let rows = turn.rows.iter().filter(|row| row.kind == RowKind::ToolCall);
        let records: Vec<Value> =
            rows.map(|row| serde_json::from_str(&row.json).unwrap()).collect();
        assert_eq!(records.len() as u64, calls, "a call of {id} is missing or doubled");
        for record in records {
            let args: Value = serde_json::from_str(record["raw"].as_str().unwrap()).unwrap();
            let line =
                format!("{} {}", args["turn"].as_str().unwrap(), args["n"].as_str().unwrap());
            let ran = ledger.remove(&line).is_some();
            match record["state"].as_str().unwrap() {
                "succeeded" => assert!(ran, "`{line}` is said to have run: {record:#}"),
                "unknown" => unknown += 1,
                state => panic!("`{line}` is {state}: {record:#}"),
            }
        }
    }
    assert!(ledger.is_empty(), "calls that no record tells of: {ledger:?}");
    unknown
}

#[test]
fn killed_workers_lose_and_double_nothing() {
    let Some(mut server) = PostgresServer::start() else { return };
    let turns = number("HAFT_TURNS", 40);
    let calls = number("HAFT_CALLS", 5);
    let pause = Duration::from_millis(if turns > 200 { 2_000 } else { 500 });
    let dir = tempfile::tempdir().unwrap();
    let script = write_charging_agent(dir.path(), calls);
    let judge = Judge::open(dir.path(), &server.url());
    judge.submit(&script, turns);
    let mut random = Random::new();
    let mut cluster = Cluster::start(dir.path(), server.url());
    let mut kills = 0;
    let mut rounds = 0;
    // The faults happen also if the turns are done sooner.
    while judge.unfinished() > 0 || rounds < 8 {
        rounds += 1;
        sleep(pause);
        match rounds {
            3 | 6 => server.restart(),
            4 => {
                cluster.signal(0, Signal::STOP);
                for _ in 0..2 {
                    sleep(LEASE);
                    cluster.replace(1 + random.below(WORKERS as u64 - 1) as usize);
                    kills += 1;
                }
                cluster.signal(0, Signal::CONT);
            }
            _ => {
                cluster.replace(random.below(WORKERS as u64) as usize);
                kills += 1;
            }
        }
    }
    let started = cluster.started;
    cluster.stop();
    let stored = judge.load_all();
    assert_eq!(stored.len() as u64, turns, "turns are lost");
    let unknown = check_ledger(dir.path(), &stored, calls);
    println!(
        "{turns} turns of {calls} calls, {started} workers, {kills} killed, 1 stopped, server restarted twice: 0 lost, \
         0 doubled, {unknown} reported as unknown"
    );
}
