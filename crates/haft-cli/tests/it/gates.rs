use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use super::{asking_agent, haft, ran};

/// A turn that waits for leave to make a file, and the gate it waits at.
fn waiting(folder: &Path) -> (Child, String) {
    asking_agent(folder, "May I make this file?");
    let mut command = haft(folder);
    let mut child = command.args(["run", "a", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let open = lines.find(|line| line.as_ref().unwrap().contains("turnGateOpen")).unwrap().unwrap();
    let gate = open.split("\"gateId\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    // The rest is read so that the turn can go on.
    std::thread::spawn(move || lines.for_each(drop));
    (child, gate)
}

#[test]
fn another_process_lets_a_call_run() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, gate) = waiting(folder.path());
    let list = ran(folder.path(), &["gates"]);
    assert!(list.contains(&gate) && list.contains("May I make this file?"), "{list}");
    assert!(list.contains(r#""arguments":{"name":"made"}"#), "{list}");
    let wrong = ran(folder.path(), &["approve", &gate, "\"blue\""]);
    assert!(wrong.starts_with("exit 1") && wrong.contains("still open"), "{wrong}");
    assert!(!folder.path().join("a/made").exists());
    let done = ran(folder.path(), &["approve", gate.get(..12).unwrap(), "--by", "ada"]);
    assert!(done.starts_with("exit 0"), "{done}");
    assert!(child.wait().unwrap().success());
    assert!(folder.path().join("a/made").exists());
    assert!(ran(folder.path(), &["approve", &gate]).starts_with("exit 3"));
}

#[test]
fn another_process_forbids_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, gate) = waiting(folder.path());
    assert!(ran(folder.path(), &["deny", &gate, "--reason", "not today"]).starts_with("exit 0"));
    assert!(child.wait().unwrap().success());
    assert!(!folder.path().join("a/made").exists());
    let turns = ran(folder.path(), &["turns", "--json"]);
    let id = turns.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(ran(folder.path(), &["show", id]).contains("not today"));
}

/// Killed while it waits: the answer counts for the process that goes on with the turn.
#[test]
fn an_answer_outlives_the_process_that_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, gate) = waiting(folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ran(folder.path(), &["approve", &gate]).starts_with("exit 0"));
    let turns = ran(folder.path(), &["turns", "--unfinished", "--json"]);
    let id = turns.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let resumed = ran(folder.path(), &["resume", id]);
    assert!(resumed.starts_with("exit 0") && resumed.contains("over"), "{resumed}");
    assert!(folder.path().join("a/made").exists());
}
