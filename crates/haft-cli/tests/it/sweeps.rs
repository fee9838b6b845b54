//! Faults at many moments: stopped processes that outlive their lease, disks that are full at any write, SIGTERM at
//! random, and many processes on one store. Nothing is lost, nothing is done twice, and every turn ends as completed.
//!
//! Each sweep is small here; `cargo xtask soak` makes it large (`HAFT_SWEEP`, `HAFT_PROCESSES`, `HAFT_SEED`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{haft, json_string, run_haft, transcript, write_scripted_agent};

/// How many tool calls a turn makes that must not be repeated.
const CALLS: usize = 4;

/// Writes an agent whose turn calls `charge` and `look` several times. Both note in a ledger that they begin and end, and
/// write more than fits into a record.
fn write_charging_agent(dir: &Path) {
    let command = |name: &str| {
        format!(
            "echo begin {name} $0 >> ledger; seq -f '{name} %06g' 1 3000; echo end {name} $0 >> ledger"
        )
    };
    let text = format!(
        r#"
        prompt = "Go."
        [tools.command.charge]
        description = "Charges."
        argv = ["sh", "-c", """{}""", "{{n}}"]
        args.n.required = true
        effect = "once"
        [tools.command.look]
        description = "Looks."
        argv = ["sh", "-c", """{}""", "{{n}}"]
        args.n.required = true
        effect = "read-only"
        "#,
        command("charge"),
        command("look"),
    );
    let call = |n: usize| {
        format!("  - call:\n      - charge: {{ n: 'n{n}' }}\n      - look: {{ n: 'n{n}' }}\n")
    };
    let calls: String = (0..CALLS).map(call).collect();
    write_scripted_agent(dir, &text, &format!("steps:\n{calls}  - say: over\n"));
}

/// A number of the environment.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var_os(name).and_then(|it| it.into_string().ok());
    value.and_then(|it| it.parse().ok()).unwrap_or(otherwise)
}

/// A linear congruential generator, which is random enough for moments.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        let seed = number("HAFT_SEED", 20_260_711);
        println!("HAFT_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

fn start(dir: &Path, words: &[&str]) -> Child {
    let mut command = haft(dir);
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A process that does not outlive its test, also if it is stopped when the test fails.
struct Sleeper(Child);

impl Sleeper {
    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // Only fails if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The id of the only turn, once there is one.
fn turn_id(dir: &Path) -> Option<String> {
    let turns = run_haft(dir, &["turns", "--json"]);
    turns.contains("\"id\":\"").then(|| json_string(&turns, "id").to_owned())
}

/// Resumes the only turn, and returns the transcript. If the process was stopped before the turn was stored, nothing has
/// happened, and the turn is run.
fn resume_turn(dir: &Path) -> String {
    match turn_id(dir) {
        None => run_haft(dir, &["run", "a"]),
        Some(id) => run_haft(dir, &["resume", &id]),
    }
}

/// Resumes the only turn to its end.
#[track_caller]
fn resume_to_end(dir: &Path) {
    let resumed = resume_turn(dir);
    assert!(resumed.starts_with("exit 0") || resumed.starts_with("exit 5"), "{resumed}");
}

/// Checks the only turn against the ledger: each call that must not be repeated began once at most, and what the record
/// says about it is true; each other call succeeded; every artifact has the whole output of its call.
#[track_caller]
fn check_turn(dir: &Path) {
    let id = turn_id(dir).unwrap();
    let shown = haft(dir).args(["show", &id, "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["turn"]["status"], "completed", "{shown:#}");
    let mut ledger: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(dir.join("a/ledger")).unwrap_or_default().lines() {
        *ledger.entry(line.to_owned()).or_default() += 1;
    }
    let records = shown["records"].as_array().unwrap().iter();
    let calls: Vec<&Value> =
        records.filter(|it| it["kind"] == "tool-call").map(|it| &it["record"]).collect();
    assert_eq!(calls.len(), 2 * CALLS, "a call is missing or doubled: {shown:#}");
    for call in calls {
        let tool = call["tool"].as_str().unwrap();
        let state = call["state"].as_str().unwrap();
        let raw: Value = serde_json::from_str(call["raw"].as_str().unwrap()).unwrap();
        let name = format!("{tool} {}", raw["n"].as_str().unwrap());
        let count = |what: &str| ledger.get(&format!("{what} {name}")).copied().unwrap_or(0);
        match (tool, state) {
            ("charge", "succeeded") => assert_eq!((count("begin"), count("end")), (1, 1), "{name}"),
            ("charge", "unknown") => assert!(count("begin") <= 1, "{name} began twice"),
            ("look", "succeeded") => assert!(count("end") >= 1, "{name}"),
            _ => panic!("{name} is {state}: {call:#}"),
        }
        if state == "succeeded" {
            check_artifact(dir, &id, tool, call);
        }
    }
}

/// The artifact of a call has the whole output of one run.
#[track_caller]
fn check_artifact(dir: &Path, turn: &str, tool: &str, call: &Value) {
    let handle = call["id"].as_str().unwrap().get(..8).unwrap();
    let output =
        haft(dir).args(["artifact", "read", handle, "--start", "-1", "--turn", turn]).output();
    let said = transcript(&output.unwrap());
    assert!(said.contains(&format!("{tool} 003000")), "{said}");
}

/// A process that is stopped for longer than its lease wakes up when another one has taken its turn over, and changes
/// nothing any more.
#[test]
fn a_sweep_of_processes_that_sleep_longer_than_their_lease() {
    let mut random = Random::new();
    for _ in 0..number("HAFT_SWEEP", 1) {
        let dir = tempfile::tempdir().unwrap();
        write_charging_agent(dir.path());
        let mut sleeper = Sleeper(start(dir.path(), &["run", "a"]));
        // Somewhere in the turn: the ledger has a line for each beginning and each end.
        let lines = random.below(4 * CALLS as u64 - 2);
        let ledger = dir.path().join("a/ledger");
        while sleeper.is_running()
            && (fs::read_to_string(&ledger).unwrap_or_default().lines().count() as u64) < lines
        {
            sleep(Duration::from_millis(1));
        }
        loop {
            sleep(Duration::from_micros(random.below(20_000)));
            if sleeper.is_running() {
                send(&sleeper.0, Signal::STOP);
            }
            // Before its turn is stored there is nothing that another process could take over.
            if turn_id(dir.path()).is_none() {
                send(&sleeper.0, Signal::CONT);
                continue;
            }
            let resumed = resume_turn(dir.path());
            // A process that sleeps in the middle of a write keeps the database locked. It is woken up, and stopped again.
            if !resumed.contains("database is locked") {
                assert!(resumed.starts_with("exit 0"), "{resumed}");
                break;
            }
            send(&sleeper.0, Signal::CONT);
        }
        let before = fs::read_to_string(&ledger).unwrap();
        if sleeper.is_running() {
            send(&sleeper.0, Signal::CONT);
        }
        // What it had started goes on for a moment and ends with it.
        sleeper.0.wait().unwrap();
        let after = fs::read_to_string(&ledger).unwrap();
        let begun = |text: &str| text.lines().filter(|it| it.starts_with("begin charge")).count();
        // It may have been stopped right before it begins a call that it has stored as running. Such a call is unknown to the
        // process that has the turn, and `check_turn` sees that it began once at most.
        assert!(begun(&after) <= begun(&before) + 1, "the process that had slept went on");
        check_turn(dir.path());
    }
}

/// In which moments are counted.
const STEP: Duration = Duration::from_micros(500);

/// SIGTERM at random moments, again and again, until the turn has ended.
#[test]
fn a_sweep_of_terminations_at_random_moments() {
    let mut random = Random::new();
    let mut left = number("HAFT_SWEEP", 2);
    // The first turn is left alone, and shows how long one takes.
    let whole = {
        let dir = tempfile::tempdir().unwrap();
        write_charging_agent(dir.path());
        let mut child = start(dir.path(), &["run", "a"]);
        let mut steps = 1;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => sleep(STEP),
            }
            steps += 1;
        };
        assert!(status.success());
        check_turn(dir.path());
        steps
    };
    while left > 0 {
        let dir = tempfile::tempdir().unwrap();
        write_charging_agent(dir.path());
        for _ in 0..left.min(2) {
            let id = turn_id(dir.path());
            let words = id.as_deref().map_or(vec!["run", "a"], |id| vec!["resume", id]);
            let mut child = start(dir.path(), &words);
            sleep(STEP * u32::try_from(random.below(whole)).unwrap());
            if child.try_wait().unwrap().is_none() {
                send(&child, Signal::TERM);
            }
            let status = child.wait().unwrap();
            // The signal may come before the first line of the program. A shell shows the same code for both.
            let code = status.code().or(status.signal().map(|it| 128 + it));
            assert!(matches!(code, Some(0 | 143)), "{status:?}");
            left -= 1;
            if code == Some(0) {
                break;
            }
        }
        resume_to_end(dir.path());
        check_turn(dir.path());
    }
}

/// Files cannot grow beyond a limit, which is another one each time: writes to the database, its log and the spools fail at
/// each place. When there is room again, the turn goes on.
#[test]
fn a_sweep_of_full_disks() {
    let steps = number("HAFT_SWEEP", 6);
    // Blocks of 512 bytes: from less than an empty database to more than everything.
    for blocks in (0..steps).map(|step| 8 + step * 640 / steps) {
        let dir = tempfile::tempdir().unwrap();
        write_charging_agent(dir.path());
        let command = haft(dir.path());
        let mut limited = Command::new("sh");
        limited.current_dir(dir.path()).stdin(Stdio::null());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // The signal of the limit is ignored, so that writes fail instead.
        let limits = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" run a");
        let output = limited.args(["-c", &limits]).arg(command.get_program()).output().unwrap();
        let said = transcript(&output);
        let code = output.status.code().unwrap();
        assert!(matches!(code, 0 | 1 | 5), "{blocks} blocks: {said}");
        if code == 1 {
            // What could not be done, why, and what helps.
            for part in ["error: could not ", "caused by: ", "hint: files may not grow beyond "] {
                assert!(said.contains(part), "{blocks} blocks: {said}");
            }
            resume_to_end(dir.path());
        }
        check_turn(dir.path());
    }
}

/// Many processes begin turns in one store at once. None fails.
#[test]
fn a_sweep_of_processes_on_one_store() {
    let count = number("HAFT_PROCESSES", 24);
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "prompt = 'Go.'", "steps:\n  - say: one\n");
    let run = |_| {
        let mut command = haft(dir.path());
        command.args(["run", "a"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..count).map(run).collect();
    for child in children {
        let said = transcript(&child.wait_with_output().unwrap());
        assert!(said.starts_with("exit 0") && said.contains("one"), "{said}");
    }
    let turns = haft(dir.path()).args(["turns", "--json", "--limit", "1000"]).output().unwrap();
    let turns = String::from_utf8(turns.stdout).unwrap();
    assert_eq!(turns.matches("\"status\":\"completed\"").count() as u64, count);
}
