//! A process that is killed while it runs a turn: at every point at which it writes, and at random ones.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::stores::SpoolStore as _;
use haft::stores::TurnStore;
use haft::stores::{DirSpoolStore, SqliteOptions, SqliteStore, Synchronous};
use haft::turn::GateKey;
use haft::turn::{Gatekeeper, TurnOutcome};
use haft::turn::{ManualClock, Timestamp};
use serde_json::json;

use super::errand::{self, Errand, Ledger};
use super::points::{Fate, Guarded, Judge, Moment, Side};

/// Where the process works; the number of the process, the point at which it stops to be killed, whether
/// it answers its gates, and how long the turn is.
const FOLDER: &str = "HAFT_TEST_TURN_FOLDER";
const PLAN: &str = "HAFT_TEST_TURN_PLAN";

/// What the killed process does. It does nothing as a test.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let plan = std::env::var_os(PLAN).unwrap().into_string().unwrap();
    let plan = Plan::parse(&plan);
    let world = World { folder: folder.into(), rounds: plan.rounds };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (doors, observer) = errand::doors();
        let judge = plan.judge();
        let store = Guarded::new(Arc::new(world.store(plan.clock())), Arc::clone(&judge));
        let spools = Guarded::new(Arc::new(world.spools()), judge);
        let agent = world.errand().agent(store, spools, plan.clock());
        // Without the one who answers, the turn waits.
        let agent = if plan.answers { agent.observer(observer) } else { agent };
        let report = errand::run(&agent.build().unwrap(), doors).await.unwrap();
        say(&match report.outcome {
            TurnOutcome::Completed => "over".to_owned(),
            other => format!("{other:?}: {:?}", report.error),
        });
    });
}

/// Says something on a line of its own, whatever else is said.
fn say(line: &str) {
    println!("\n> {line}");
}

struct Plan {
    process: u64,
    stop: Option<(Side, usize)>,
    answers: bool,
    rounds: u32,
}

impl Plan {
    fn new(process: u64) -> Self {
        Self { process, stop: None, answers: true, rounds: 1 }
    }

    fn write(&self) -> String {
        let stop = match self.stop {
            None => "-".to_owned(),
            Some((Side::Before, point)) => format!("before:{point}"),
            Some((Side::After, point)) => format!("after:{point}"),
        };
        format!("{} {stop} {} {}", self.process, self.answers, self.rounds)
    }

    fn parse(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let stop = words[1].split_once(':').map(|(side, point)| {
            let side = if side == "before" { Side::Before } else { Side::After };
            (side, point.parse().unwrap())
        });
        let rounds = words[3].parse().unwrap();
        Self { process: words[0].parse().unwrap(), stop, answers: words[2] == "true", rounds }
    }

    /// Stops everything at the point, for the parent to kill it there.
    fn judge(&self) -> Judge {
        let (stop, met) = (self.stop, AtomicUsize::new(0));
        Arc::new(move |moment: Moment| {
            if let Some((side, point)) = stop
                && moment.writes
                && (moment.side == side || moment.what == "piece")
                && met.fetch_add(1, Ordering::SeqCst) == point
            {
                say(&format!("point {}", moment.what));
                loop {
                    std::thread::park();
                }
            }
            Fate::Pass
        })
    }

    /// Every process lives in an hour of its own, after the leases of those before it.
    fn clock(&self) -> Arc<ManualClock> {
        let since = Duration::from_secs(3600 * self.process);
        Arc::new(ManualClock::new(Timestamp::EPOCH.saturating_add(since)))
    }
}

struct World {
    folder: PathBuf,
    rounds: u32,
}

impl World {
    fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), rounds: 1 }
    }

    fn errand(&self) -> Errand {
        let mut errand = Errand::new(Ledger::File(self.folder.join("ledger")));
        errand.rounds = self.rounds;
        errand
    }

    fn store(&self, clock: Arc<ManualClock>) -> SqliteStore {
        // A kill leaves to the system what was written: nothing needs to be on the disk.
        let options = SqliteOptions::default().synchronous(Synchronous::Normal);
        SqliteStore::open_with(&self.folder, options).unwrap().with_clock(clock)
    }

    fn spools(&self) -> DirSpoolStore {
        DirSpoolStore::open(self.folder.join("spools")).unwrap()
    }

    fn start(&self, plan: &Plan) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["turn::crash::the_process_that_is_killed", "--exact", "--nocapture"])
            .arg("--test-threads=1")
            .env(FOLDER, &self.folder)
            .env(PLAN, plan.write())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Process { child, output }
    }

    /// Runs a process until it stops at its point, where it is killed, or until the turn is over. Gives
    /// the point.
    fn run(&self, plan: &Plan) -> Option<String> {
        let mut process = self.start(plan);
        let said = process.listen();
        match said.strip_prefix("point ") {
            Some(point) => {
                process.kill();
                Some(point.to_owned())
            }
            None => {
                assert_eq!(said, "over");
                assert!(process.child.wait().unwrap().success());
                None
            }
        }
    }

    /// What must not happen again: steps and calls that are on record, as the outside has seen them.
    fn settled(&self) -> Vec<(String, usize)> {
        super::block_on(async {
            let store = self.store(Plan::new(9999).clock());
            let Some(stored) = store.load(Errand::id()).await.unwrap() else { return Vec::new() };
            let asked = errand::steps(&stored).into_iter().map(|n| format!("ask {n}"));
            let ended = errand::calls(&stored).into_iter().filter(|(_, _, state)| {
                ["succeeded", "failed", "cancelled", "unknown"].contains(&state.as_str())
            });
            let lines = self.errand().ledger.lines();
            let tries = ended.flat_map(|(place, tool, _)| {
                let start = format!("try {tool} {}:{}:", errand::TURN, place.replace('.', ":"));
                lines.iter().filter(|line| line.starts_with(&start)).cloned().collect::<Vec<_>>()
            });
            let ledger = self.errand().ledger;
            asked.chain(tries).map(|line| (line.clone(), ledger.count(&line))).collect()
        })
    }

    fn check(&self) {
        super::block_on(async {
            let (store, spools) =
                (Arc::new(self.store(Plan::new(9999).clock())), Arc::new(self.spools()));
            let errand = self.errand();
            let clock = Plan::new(9999).clock();
            let agent = errand.agent(Arc::clone(&store) as _, Arc::clone(&spools), clock);
            let agent = agent.build().unwrap();
            spools.remove_orphans().await.unwrap();
            errand::check_over(&errand, &agent, &*store, &*spools).await;
            let names = std::fs::read_dir(self.folder.join("spools")).unwrap();
            let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
            let data = names.filter(|name| name.ends_with(".spool")).count();
            assert_eq!(data, spools.list().await.unwrap().len());
        });
    }
}

struct Process {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Process {
    /// The next thing that it says.
    fn listen(&mut self) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the process ended by itself: {all}");
            if let Some(said) = line.trim_end().strip_prefix("> ") {
                return said.to_owned();
            }
            all += &line;
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a process does that can be interrupted.
const KINDS: [&str; 6] = ["create", "commit", "spool", "piece", "settle", "release"];

/// Kills a process at every point on one side of its writes, and lets another one go on. Which write has which
/// number depends on what runs side by side, so that one sweep can pass over an answer to a gate.
fn kill_everywhere(side: Side) {
    let mut met = Vec::new();
    let missing =
        |met: &[String]| KINDS.iter().find(|kind| !met.iter().any(|it| it == *kind)).copied();
    for _ in 0..5 {
        sweep(side, &mut met);
        if missing(&met).is_none() {
            break;
        }
    }
    assert_eq!(missing(&met), None, "{met:?}");
}

fn sweep(side: Side, met: &mut Vec<String>) {
    for point in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let world = World::at(folder.path());
        let killed = world.run(&Plan { stop: Some((side, point)), ..Plan::new(0) });
        let settled = world.settled();
        if killed.is_some() {
            assert_eq!(world.run(&Plan::new(1)), None, "{side:?} {point}");
        }
        for (line, count) in settled {
            assert_eq!(world.errand().ledger.count(&line), count, "{side:?} {point}: {line}");
        }
        world.check();
        match killed {
            Some(what) => met.push(what),
            None => {
                assert!(point > 20, "{side:?}: {point} points, {met:?}");
                break;
            }
        }
    }
}

#[test]
fn a_turn_survives_a_kill_before_every_write() {
    kill_everywhere(Side::Before);
}

#[test]
fn a_turn_survives_a_kill_after_every_write() {
    kill_everywhere(Side::After);
}

/// Every process gets only so far; the turn gets to its end.
#[test]
fn a_turn_survives_one_kill_after_the_other() {
    for stop in [8, 11, 15] {
        let folder = tempfile::tempdir().unwrap();
        let world = World::at(folder.path());
        let mut process = 0;
        loop {
            let plan = Plan { stop: Some((Side::After, stop)), ..Plan::new(process) };
            if world.run(&plan).is_none() {
                break;
            }
            process += 1;
            assert!(process < 60, "it does not get on");
        }
        assert!(process > 0);
        world.check();
    }
}

/// The answer comes while nobody runs the turn.
#[test]
fn a_gate_can_be_answered_while_its_process_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::at(folder.path());
    let mut process = world.start(&Plan { answers: false, ..Plan::new(0) });
    let clock = Plan::new(1).clock();
    super::block_on(async {
        let store: Arc<dyn TurnStore> = Arc::new(world.store(Arc::clone(&clock)));
        let keeper = Gatekeeper::new(store, GateKey::from_bytes([7; 32]), clock);
        let gate = loop {
            if let Some(gate) = keeper.open_gates(None).await.unwrap().pop() {
                break gate;
            }
            std::thread::yield_now();
            assert_eq!(process.child.try_wait().unwrap(), None);
        };
        process.kill();
        keeper.resolve(&gate.id, json!(true), "ada").await.unwrap();
    });
    assert_eq!(world.run(&Plan { answers: false, ..Plan::new(2) }), None);
    world.check();
}

/// Kills at random moments; more of them if the environment says so.
#[test]
fn a_turn_survives_kills_at_random_moments() {
    let number = |name: &str, otherwise: u64| {
        let value = std::env::var_os(name).and_then(|it| it.into_string().ok());
        value.and_then(|it| it.parse().ok()).unwrap_or(otherwise)
    };
    let (kills, seed) = (number("HAFT_KILLS", 10), number("HAFT_SEED", 20_260_605));
    println!("{kills} kills, seed {seed}");
    let mut random = seed;
    let (mut killed, mut turns, mut whole) = (0, 0, 0);
    while killed < kills || turns == 0 {
        let folder = tempfile::tempdir().unwrap();
        let world = World { folder: folder.path().to_owned(), rounds: 4 };
        let mut settled = Vec::new();
        for process in 0.. {
            let mut child = world.start(&Plan { rounds: 4, ..Plan::new(process) });
            // A linear congruential generator is random enough for this.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The first turn is left alone, and shows how long one takes.
            let spare = whole == 0 || killed == kills;
            let patience = if spare { u64::MAX } else { (random >> 33) % whole };
            if let Some(took) = wait(&mut child.child, patience) {
                assert_eq!(child.listen(), "over");
                if whole == 0 {
                    whole = took;
                }
                break;
            }
            child.kill();
            settled.extend(world.settled());
            killed += 1;
        }
        for (line, count) in settled {
            assert_eq!(world.errand().ledger.count(&line), count, "{line}");
        }
        world.check();
        turns += 1;
    }
    println!("{turns} turns survived {killed} kills");
}

/// Waits for a process, so many steps of half a millisecond at most, and says after how many it ended.
fn wait(child: &mut Child, patience: u64) -> Option<u64> {
    for step in 0..patience {
        if child.try_wait().unwrap().is_some() {
            return Some(step.max(1));
        }
        std::thread::park_timeout(Duration::from_micros(500));
    }
    None
}
