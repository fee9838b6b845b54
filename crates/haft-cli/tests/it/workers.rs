//! `haft worker`, `haft submit` and `haft watch`, and the addresses of stores.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{
    haft, json_string, run_haft, transcript, write_asking_agent, write_scripted_agent,
};

/// A worker that does not outlive its test.
pub(crate) struct WorkerProcess {
    child: Child,
    output: BufReader<ChildStderr>,
}

impl WorkerProcess {
    /// Starts a worker, and waits until it claims turns.
    fn start(dir: &Path, words: &[&str]) -> (Self, String) {
        let mut command = haft(dir);
        command.arg("worker").args(words);
        Self::start_command(command)
    }

    pub(crate) fn start_command(mut command: Command) -> (Self, String) {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("claiming turns") {
            let length = output.read_line(&mut said).unwrap();
            assert!(length > 0, "the worker has ended: {said}");
        }
        (Self { child, output }, said)
    }

    /// Lets the worker end, and returns its exit code and what it has printed.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Only fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn submit(dir: &Path, words: &[&str]) -> String {
    let output = haft(dir).arg("submit").args(words).output().unwrap();
    assert!(output.status.success(), "{}", transcript(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn write_greeting_agent(dir: &Path) {
    write_scripted_agent(dir, "", "steps:\n  - say: 'Hello, {{ user }}!'\n");
}

/// Gets a page of the worker's status, with its status line.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn a_worker_runs_what_was_submitted_and_others_watch() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_greeting_agent(dir);
    let queued = submit(dir, &["a", "Ada", "--conversation", "c", "--priority", "3", "--json"]);
    assert!(queued.contains(r#""status":"queued""#), "{queued}");
    let first = json_string(&queued, "turn").to_owned();
    assert!(run_haft(dir, &["turns", "--json"]).contains(r#""status":"queued""#));
    let (worker, said) = WorkerProcess::start(dir, &["--listen", "0", "--concurrency", "2"]);
    let watched = run_haft(dir, &["watch", &first]);
    assert!(watched.starts_with("exit 0\n--- out\nHello, Ada!\n"), "{watched}");
    assert!(watched.contains(&format!("turn {first} completed: 1 step")), "{watched}");
    // It is woken for a turn that comes later, and a turn that has ended can be watched as well.
    let second = submit(dir, &["a", "Grace", "--id", "request-7"]);
    assert_eq!(second, "request-7");
    for _ in 0..2 {
        let watched = run_haft(dir, &["watch", "last", "--json"]);
        let kinds = ["turnStart", "message", "turnEnd"];
        assert!(kinds.iter().all(|kind| watched.contains(kind)), "{watched}");
        assert!(watched.contains("Hello, Grace!") && watched.starts_with("exit 0"), "{watched}");
    }
    let refused = run_haft(dir, &["submit", "a", "Grace", "--id", "request-7"]);
    assert!(refused.contains("there is a turn `request-7` already"), "{refused}");
    let (_, rest) = said.split_once("http://").unwrap();
    let address = rest.split('/').next().unwrap();
    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(address, "/readyz").starts_with("HTTP/1.1 200"));
    let metrics = get(address, "/metrics");
    assert!(metrics.contains("\nhaft_worker_claimed_turns_total 2\n"), "{metrics}");
    assert!(
        metrics.contains("\nhaft_worker_attempts_total{outcome=\"completed\"} 2\n"),
        "{metrics}"
    );
    assert!(metrics.contains("\nhaft_worker_claimable_turns 0\n"), "{metrics}");
    assert!(metrics.contains("\nhaft_worker_claim_seconds_bucket{le=\"+Inf\"}"), "{metrics}");
    let (code, said) = worker.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("claimed 2: 2 completed, 0 failed"), "{said}");
}

#[test]
fn a_gate_is_decided_elsewhere_while_a_worker_runs_other_turns() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_asking_agent(dir, "May I?");
    let (worker, _) = WorkerProcess::start(dir, &["--agents", "a", "--concurrency", "1"]);
    let turns = [submit(dir, &["a"]), submit(dir, &["a"])];
    for turn in &turns {
        let waits = run_haft(dir, &["watch", turn]);
        assert!(waits.starts_with("exit 4") && waits.contains("haft approve "), "{waits}");
        let (_, rest) = waits.split_once("haft approve ").unwrap();
        let gate = rest.split_whitespace().next().unwrap();
        let approved = run_haft(dir, &["approve", gate]);
        assert!(approved.starts_with("exit 0"), "{approved}");
    }
    for turn in &turns {
        // Until the worker has claimed it, it still waits at a gate that is settled.
        let watched = run_haft(dir, &["watch", turn]);
        assert!(watched.starts_with("exit 0\n--- out\nover"), "{watched}");
    }
    assert!(dir.join("a/made").exists());
    let (code, said) = worker.stop();
    assert!(code == Some(0) && said.contains("2 completed"), "{said}");
}

#[test]
fn a_turn_that_a_worker_runs_is_cancelled_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let text = "[tools.command.sleep]\ndescription = 'Sleeps.'\nargv = ['sleep', '1000']\n";
    write_scripted_agent(dir, text, "steps:\n  - call: { sleep: {} }\n  - say: over\n");
    let (worker, _) = WorkerProcess::start(dir, &["--lease", "3s"]);
    let turn = submit(dir, &["a", "Go."]);
    while !run_haft(dir, &["show", &turn]).contains("running") {}
    let refused = run_haft(dir, &["cancel", &turn]);
    assert!(refused.starts_with("exit 1") && refused.contains("--running"), "{refused}");
    let cancelled = run_haft(dir, &["cancel", &turn, "--running", "--reason", "not needed"]);
    assert!(cancelled.starts_with("exit 0"), "{cancelled}");
    let watched = run_haft(dir, &["watch", &turn]);
    assert!(watched.starts_with("exit 130"), "{watched}");
    assert!(watched.contains("cancelled: not needed (asked for by ada)"), "{watched}");
    assert_eq!(worker.stop().0, Some(0));
}

#[test]
fn a_worker_knows_agents_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_greeting_agent(dir);
    for name in ["agents/one", "agents/two", "more/one"] {
        let agent = dir.join(name);
        std::fs::create_dir_all(agent.join("empty")).unwrap();
        for file in ["agent.toml", "script.yaml"] {
            std::fs::copy(dir.join("a").join(file), agent.join(file)).unwrap();
        }
    }
    let other = submit(dir, &["a", "Ada"]);
    let own = submit(dir, &["agents/two/agent.toml", "Ada"]);
    let (worker, said) = WorkerProcess::start(dir, &["--agents", "agents"]);
    assert!(said.contains(": one, two"), "{said}");
    assert!(run_haft(dir, &["watch", &own]).starts_with("exit 0"));
    worker.stop();
    let shown = run_haft(dir, &["show", &other]);
    assert!(shown.contains("queued"), "{shown}");
    let same = run_haft(dir, &["worker", "--agents", "agents", "more/one"]);
    assert!(same.contains("two agents have the name `one`"), "{same}");
    let none = run_haft(dir, &["worker", "--agents", "more/one/empty"]);
    assert!(none.contains("there is no agent in `more/one/empty`"), "{none}");
}

#[cfg(feature = "cluster")]
#[test]
fn a_shared_store_needs_a_secret_a_store_of_results_and_named_agents() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_greeting_agent(dir);
    let url = "postgres://ada:hidden@127.0.0.1:1/haft";
    let no_spool = run_haft(dir, &["turns", "--store", url]);
    assert!(no_spool.contains("a server stores no large results"), "{no_spool}");
    assert!(no_spool.contains("hint: name a store that all machines reach"), "{no_spool}");
    let no_secret = run_haft(dir, &["turns", "--store", url, "--spool", "results"]);
    assert!(no_secret.contains("is shared, and there is no secret"), "{no_secret}");
    assert!(no_secret.contains("hint: give all processes the same one"), "{no_secret}");
    let no_agents = run_haft(dir, &["worker", "--store", url, "--spool", "results"]);
    assert!(no_agents.contains("hint: name the agents of this worker"), "{no_agents}");
    let mut short = haft(dir);
    short.args(["turns", "--store", url, "--spool", "results"]).env("HAFT_STORE_SECRET", "abc");
    let short = transcript(&short.output().unwrap());
    assert!(short.contains("has not 64 hexadecimal digits"), "{short}");
    for said in [no_spool, no_secret, no_agents, short] {
        assert!(said.starts_with("exit 1") && !said.contains("hidden"), "{said}");
    }
    let unknown = run_haft(dir, &["turns", "--store", "mysql://db"]);
    assert!(
        unknown.starts_with("exit 2") && unknown.contains("a store is `dir:PATH`"),
        "{unknown}"
    );
}

#[test]
fn the_command_line_comes_before_the_environment_and_that_before_the_agent_file() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let agent = "prompt = 'Ada'\n[store]\nurl = 'sqlite:own/turns.sqlite'\nspool = 'own/results'\n";
    write_scripted_agent(dir, agent, "steps:\n  - say: Hello!\n");
    let run = |words: &[&str], variable: Option<&str>| {
        let mut command = haft(dir);
        command.arg("run").arg("a").args(words);
        if let Some(value) = variable {
            command.env("HAFT_STORE", value).env("HAFT_SPOOL", "env-results");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", transcript(&output));
    };
    run(&[], None);
    assert!(dir.join("a/own/turns.sqlite").exists() && dir.join("a/own/results").exists());
    run(&[], Some("env-turns"));
    assert!(dir.join("env-turns").is_dir() && dir.join("env-results").is_dir());
    run(&["--store", "dir:line-turns"], Some("unused"));
    assert!(dir.join("line-turns").is_dir() && !dir.join("unused").exists());
    let listed = run_haft(dir, &["turns", "--store", "sqlite:a/own/turns.sqlite"]);
    assert!(listed.starts_with("exit 0") && listed.contains("completed"), "{listed}");
    let agent = "prompt = 'Ada'\nstore = 'mysql://db'\n";
    write_scripted_agent(dir, agent, "steps:\n  - say: Hello!\n");
    let refused = run_haft(dir, &["run", "a"]);
    assert!(refused.contains("agent.toml:4: `store`: `mysql://db` is no address"), "{refused}");
}

/// The worker would claim turns without end and run none.
#[test]
fn a_lease_of_no_time_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let said = run_haft(dir.path(), &["worker", "--lease", "0s"]);
    assert!(said.starts_with("exit 2") && said.contains("one second at least"), "{said}");
}
