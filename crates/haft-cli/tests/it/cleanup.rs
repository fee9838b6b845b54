//! `haft cancel`, `haft rm`, `haft gc`: what they remove, and what they never touch.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::support::{haft, json_string, run_haft, write_asking_agent, write_scripted_agent};

/// Runs a turn whose result is an artifact.
fn run_large_turn(dir: &Path) {
    let text = "prompt = 'Go.'\n[tools.command.many]\ndescription = 'Counts.'\nargv = ['seq', '1', '60000']\n";
    write_scripted_agent(dir, text, "steps:\n  - call: { many: {} }\n  - say: over\n");
    let run = run_haft(dir, &["run", "a"]);
    assert!(run.starts_with("exit 0"), "{run}");
    assert!(content_count(dir) > 0);
}

/// The number of files of stored content.
fn content_count(dir: &Path) -> usize {
    fs::read_dir(dir.join(".haft/spools")).unwrap().count()
}

/// The id of the newest turn.
fn newest_turn(dir: &Path) -> String {
    json_string(&run_haft(dir, &["turns", "--json"]), "id").to_owned()
}

/// Starts a turn that waits for approval.
fn start_waiting_turn(dir: &Path) -> Child {
    write_asking_agent(dir, "May I?");
    let mut command = haft(dir);
    command.args(["run", "a", "--gates", "wait"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !(dir.join(".haft/haft.sqlite").exists() && run_haft(dir, &["gates"]).contains("May I?"))
    {
        assert!(child.try_wait().unwrap().is_none(), "the turn ended before it asked");
        sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn content_of_turns_that_the_database_does_not_know_stays() {
    let dir = tempfile::tempdir().unwrap();
    run_large_turn(dir.path());
    let before = content_count(dir.path());
    fs::remove_file(dir.path().join(".haft/haft.sqlite")).unwrap();
    let said = run_haft(dir.path(), &["gc"]);
    assert!(said.starts_with("exit 0\n--- out\n0 stored results removed\n"), "{said}");
    assert!(said.contains("1 result of turns that are not in this database"), "{said}");
    assert_eq!(content_count(dir.path()), before);
    assert_eq!(
        run_haft(dir.path(), &["gc", "--force"]),
        "exit 0\n--- out\n1 stored result removed"
    );
    assert_eq!(content_count(dir.path()), 0);
}

#[test]
fn what_dead_writers_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    run_large_turn(dir.path());
    let before = content_count(dir.path());
    fs::write(dir.path().join(".haft/spools/.writing-1-1.tmp"), "half").unwrap();
    assert_eq!(run_haft(dir.path(), &["gc"]), "exit 0\n--- out\n1 stored result removed");
    assert_eq!(content_count(dir.path()), before);
}

#[test]
fn turns_are_removed_by_id_and_by_age() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    run_large_turn(dir.path());
    assert_eq!(
        cli(&["gc", "--older-than", "1d"]),
        "exit 0\n--- out\n0 turns removed\n0 stored results removed"
    );
    assert_eq!(
        cli(&["gc", "--older-than", "0s"]),
        "exit 0\n--- out\n1 turn removed\n1 stored result removed"
    );
    assert_eq!(content_count(dir.path()), 0);
    run_large_turn(dir.path());
    let id = newest_turn(dir.path());
    assert!(cli(&["rm", &id]).starts_with("exit 0"));
    assert!(cli(&["rm", &id]).starts_with("exit 3"));
    assert_eq!(content_count(dir.path()), 0);
    assert!(cli(&["turns"]).contains("no turns"));
    for age in ["", "d", "5", "5y", "-1d", "99999999999999999999d"] {
        let said = cli(&["gc", &format!("--older-than={age}")]);
        assert!(said.starts_with("exit 2"), "{age}: {said}");
    }
}

#[test]
fn a_turn_that_runs_is_not_touched_and_one_whose_process_died_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    let mut child = start_waiting_turn(dir.path());
    let id = newest_turn(dir.path());
    for words in [["rm", &id], ["cancel", &id]] {
        let said = cli(&words);
        assert!(said.starts_with("exit 1") && said.contains("is run by"), "{said}");
    }
    assert_eq!(
        cli(&["gc", "--older-than", "0s"]),
        "exit 0\n--- out\n0 turns removed\n0 stored results removed"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    // The lease of the dead process ends after a few seconds.
    while cli(&["cancel", &id]).contains("is run by") {
        sleep(Duration::from_millis(200));
    }
    let turns = cli(&["turns", "--json"]);
    assert!(turns.contains(r#""status":"cancelled""#), "{turns}");
    assert!(cli(&["gates"]).contains("no open gates"));
    assert!(cli(&["cancel", &id]).starts_with("exit 0"), "it is cancelled already");
    assert!(cli(&["rm", &id]).starts_with("exit 0"));
    assert!(cli(&["cancel", &id]).starts_with("exit 3"));
}

/// A turn whose artifact is gone can be removed, whatever its state.
#[test]
fn a_turn_with_a_lost_artifact_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    run_large_turn(dir.path());
    fs::remove_dir_all(dir.path().join(".haft/spools")).unwrap();
    let id = newest_turn(dir.path());
    let said = run_haft(dir.path(), &["rm", &id]);
    assert!(said.starts_with("exit 0"), "{said}");
}
