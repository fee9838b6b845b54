use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use super::support::{haft, json_string, run_haft, write_asking_agent, write_scripted_agent};

/// Starts a turn that waits for approval, and returns its process and its gate.
fn start_waiting_turn(dir: &Path) -> (Child, String) {
    write_asking_agent(dir, "May I make this file?");
    let mut command = haft(dir);
    let mut child = command
        .args(["run", "a", "--json", "--gates", "wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let open = lines.find(|line| line.as_ref().unwrap().contains("turnGateOpen")).unwrap().unwrap();
    let gate = json_string(&open, "gateId").to_owned();
    // The remaining output is read so that the turn can proceed.
    std::thread::spawn(move || lines.for_each(drop));
    (child, gate)
}

#[test]
fn another_process_approves_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, gate) = start_waiting_turn(dir.path());
    let list = run_haft(dir.path(), &["gates"]);
    assert!(list.contains("May I make this file?"), "{list}");
    let json = run_haft(dir.path(), &["gates", "--json"]);
    assert_eq!(json_string(&json, "gate"), gate, "{json}");
    assert!(list.contains(r#"  call     touch {"name":"made"}"#), "{list}");
    assert!(json.contains(r#""payload":{"arguments":{"name":"made"},"tool":"touch"}"#), "{json}");
    let wrong = run_haft(dir.path(), &["approve", &gate, "\"blue\""]);
    assert!(wrong.starts_with("exit 1") && wrong.contains("still open"), "{wrong}");
    assert!(!dir.path().join("a/made").exists());
    let done = run_haft(dir.path(), &["approve", gate.get(..12).unwrap(), "--by", "ada"]);
    assert!(done.starts_with("exit 0"), "{done}");
    assert!(child.wait().unwrap().success());
    assert!(dir.path().join("a/made").exists());
    assert!(run_haft(dir.path(), &["approve", &gate]).starts_with("exit 3"));
}

#[test]
fn another_process_denies_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, gate) = start_waiting_turn(dir.path());
    let twice = run_haft(dir.path(), &["deny", &gate, "not today", "--reason", "never"]);
    assert!(twice.starts_with("exit 2"), "{twice}");
    assert!(run_haft(dir.path(), &["deny", &gate, "not today"]).starts_with("exit 0"));
    assert!(child.wait().unwrap().success());
    assert!(!dir.path().join("a/made").exists());
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let id = json_string(&turns, "id");
    assert!(run_haft(dir.path(), &["show", id]).contains("not today"));
}

/// The process is killed while it waits. The decision counts for the process that resumes the turn.
#[test]
fn a_decision_outlives_the_process_that_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, gate) = start_waiting_turn(dir.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(run_haft(dir.path(), &["approve", &gate]).starts_with("exit 0"));
    let turns = run_haft(dir.path(), &["turns", "--unfinished", "--json"]);
    let id = json_string(&turns, "id");
    let resumed = run_haft(dir.path(), &["resume", id]);
    assert!(resumed.starts_with("exit 0") && resumed.contains("over"), "{resumed}");
    assert!(dir.path().join("a/made").exists());
}

#[test]
fn a_turn_is_parked_at_its_gate() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    write_asking_agent(dir.path(), "May I make this file?");
    let parked = cli(&["run", "a", "--gates", "park"]);
    assert!(parked.starts_with("exit 4") && parked.contains("waits at 1 gate"), "{parked}");
    assert!(
        parked.contains("May I make this file?") && parked.contains("haft approve"),
        "{parked}"
    );
    let turns = cli(&["turns", "--unfinished", "--json"]);
    let id = json_string(&turns, "id");
    assert!(turns.contains(r#""status":"waiting""#), "{turns}");
    assert!(parked.ends_with(&format!("haft resume {id}")), "{parked}");
    // Without a decision it waits again, and says how to go on, however fast the attempt ended.
    for _ in 0..20 {
        let parked = cli(&["resume", id, "--gates", "park"]);
        assert!(parked.starts_with("exit 4") && parked.contains("haft approve"), "{parked}");
    }
    let gates = cli(&["gates", "--json"]);
    // What `haft gates` lists, the id of the turn and the beginning of the id name the gate.
    let gate = json_string(&gates, "gate");
    let turn = json_string(&gates, "turn");
    let short_turn = turn.get(turn.len() - 8..).unwrap();
    let short = format!("{short_turn}/{}", gate.get(turn.len() + 1..turn.len() + 9).unwrap());
    let listed = cli(&["gates"]);
    assert!(listed.contains(&format!("{short}  May I make this file?")), "{listed}");
    assert!(!listed.contains("boolean"), "an approval needs no schema: {listed}");
    assert!(cli(&["approve", &format!("{short_turn}/zz")]).starts_with("exit 3"));
    let shown = cli(&["show", "last"]);
    let decide = format!("decide: haft approve {short}, or haft deny {short} \"REASON\"");
    assert!(
        shown.contains("open gate  May I make this file?") && shown.contains(&decide),
        "{shown}"
    );
    // `last` is the newest turn here, too, and nothing runs it.
    let done = cli(&["approve", "last"]);
    let hint = format!(
        "no process runs the turn; haft resume {short_turn} continues it, unless a worker does"
    );
    assert_eq!(done, format!("exit 0\n--- err\napproved {short}\n{hint}"));
    assert!(cli(&["approve", "last"]).starts_with("exit 3"));
    // Commands that are printed for another store name it.
    let parked = cli(&["run", "a", "--gates", "park", "--store", "other store"]);
    assert!(parked.contains("/1cc5e293 --store 'other store'"), "{parked}");
    let shown = cli(&["show", "last", "--store", "other store"]);
    assert_eq!(shown.matches("--store 'other store'").count(), 2, "{shown}");
    let done = cli(&["approve", "last", "--store", "other store"]);
    assert!(done.contains(" --store 'other store' continues it"), "{done}");
    let resumed = cli(&["resume", id, "--gates", "park"]);
    assert!(resumed.starts_with("exit 0") && resumed.contains("over"), "{resumed}");
    assert!(dir.path().join("a/made").exists());
}

#[test]
fn gates_are_denied_without_asking() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), "May I make this file?");
    let denied = run_haft(dir.path(), &["run", "a", "--gates", "deny"]);
    assert!(denied.starts_with("exit 0") && denied.contains("over"), "{denied}");
    assert!(!dir.path().join("a/made").exists());
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let shown = run_haft(dir.path(), &["show", json_string(&turns, "id")]);
    assert!(shown.contains("this run denies every call that requires approval"), "{shown}");
    let both = run_haft(dir.path(), &["run", "a", "--gates", "deny", "--yes"]);
    assert!(both.starts_with("exit 2"), "{both}");
}

/// A standing approval that is given from elsewhere covers any arguments, and only this definition of the tool.
#[test]
fn another_process_gives_a_standing_approval() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    let (mut child, gate) = start_waiting_turn(dir.path());
    let both = cli(&["approve", &gate, "--always", "agent", "--arguments", "{}"]);
    assert!(both.starts_with("exit 2"), "{both}");
    let alone = cli(&["approve", &gate, "--same-arguments"]);
    assert!(alone.starts_with("exit 2"), "{alone}");
    let done = cli(&["approve", &gate, "--always", "agent", "--expires", "1h"]);
    assert!(done.starts_with("exit 0") && done.contains("approved, with later calls"), "{done}");
    assert!(child.wait().unwrap().success());
    let listed = cli(&["grants", "--json"]);
    assert!(listed.contains(r#""arguments":null"#) && listed.contains(r#""by":"ada""#), "{listed}");
    let script = dir.path().join("a/script.yaml");
    let text = std::fs::read_to_string(&script).unwrap().replace("made", "other");
    std::fs::write(&script, text).unwrap();
    let second = cli(&["run", "a", "--gates", "deny"]);
    assert!(second.starts_with("exit 0") && second.contains("standing approval"), "{second}");
    assert!(dir.path().join("a/other").exists());
    // Another program behind the same name asks again.
    let agent = dir.path().join("a/agent.toml");
    let text = std::fs::read_to_string(&agent).unwrap().replace("[\"touch\",", "[\"mkdir\",");
    std::fs::write(&agent, text).unwrap();
    let third = cli(&["run", "a", "--gates", "park"]);
    assert!(third.starts_with("exit 4"), "{third}");
    assert!(third.contains("the definition of the tool has changed"), "{third}");
}

/// A gate that asks about a change of a file carries the change as a diff, and terminals show it without tricks.
#[test]
fn a_change_is_shown_as_a_diff() {
    let dir = tempfile::tempdir().unwrap();
    let edits = r#"[{ find: "two", replace: "2 \u202ereversed" }]"#;
    let script = format!(
        "steps:\n  - call: {{ edit_file: {{ path: note.txt, edits: {edits} }} }}\n  - say: over\n"
    );
    write_scripted_agent(dir.path(), "prompt = 'Go.'\n[tools.files]\nwrite = true\n", &script);
    std::fs::write(dir.path().join("a/note.txt"), "one\ntwo\nthree\n").unwrap();
    let parked = run_haft(dir.path(), &["run", "a", "--gates", "park"]);
    assert!(parked.starts_with("exit 4"), "{parked}");
    let expected = "
    --- a/note.txt
    +++ b/note.txt
    @@ -1,3 +1,3 @@
     one
    -two
    +2 \\u{202e}reversed
     three
";
    let gates = run_haft(dir.path(), &["gates"]);
    assert!(format!("{gates}\n").contains(expected), "{gates}");
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(format!("{shown}\n").contains(expected), "{shown}");
    let json = run_haft(dir.path(), &["gates", "--json"]);
    assert!(json.contains(r#""preview":{"kind":"diff","text":"--- a/note.txt"#), "{json}");
    // The approval binds the arguments. The file may have changed since the question was asked.
    std::fs::write(dir.path().join("a/note.txt"), "zero\none\ntwo\nthree\n").unwrap();
    let gate = json_string(&json, "gate");
    assert!(run_haft(dir.path(), &["approve", gate]).starts_with("exit 0"));
    let resumed = run_haft(dir.path(), &["resume", "last"]);
    assert!(resumed.starts_with("exit 0"), "{resumed}");
    let text = std::fs::read_to_string(dir.path().join("a/note.txt")).unwrap();
    assert!(text.starts_with("zero\none\n2 "), "{text}");
}

/// It is a variable of a script that was not set.
#[test]
fn an_empty_name_is_short_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), "Make {name}?");
    assert!(run_haft(dir.path(), &["run", "a", "--gates", "park"]).starts_with("exit 4"));
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    for words in [
        &["approve", ""][..],
        &["approve", "/"],
        &["deny", ""],
        &["deny", "/"],
        &["show", ""],
        &["resume", ""],
        &["cancel", ""],
        &["rm", ""],
        &["conversations", "rename", "", "x"],
    ] {
        let said = cli(words);
        assert!(said.starts_with("exit 3"), "{words:?}: {said}");
    }
    let gates = cli(&["gates"]);
    assert!(gates.starts_with("exit 0") && gates.contains("Make"), "{gates}");
    assert!(!dir.path().join("a/made").exists());
}
