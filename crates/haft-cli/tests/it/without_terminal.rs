//! Gates where standard input is no terminal: nothing waits for somebody who is not there, and what is printed can be
//! typed.

use std::path::Path;
use std::process::Stdio;

use super::support::{haft, run_haft, transcript, write_asking_agent};

/// The commands in a transcript that stand on lines of their own, or after a colon.
fn command<'t>(said: &'t str, name: &'t str) -> Vec<&'t str> {
    let (_, rest) = said.split_once(&format!("haft {name} ")).unwrap_or_else(|| panic!("{said}"));
    let line = rest.lines().next().unwrap();
    std::iter::once(name).chain(line.split_whitespace()).collect()
}

fn run(dir: &Path, words: &[&str], input: &str) -> String {
    std::fs::write(dir.join("input"), input).unwrap();
    let input = std::fs::File::open(dir.join("input")).unwrap();
    transcript(&haft(dir).args(words).stdin(Stdio::from(input)).output().unwrap())
}

#[test]
fn a_turn_is_left_at_its_gate_and_the_printed_commands_continue_it() {
    for (decision, made) in [("approve", true), ("deny", false)] {
        for words in [&["run", "a"][..], &["run", "a", "-q"], &["run", "a", "--json"]] {
            let dir = tempfile::tempdir().unwrap();
            write_asking_agent(dir.path(), "May I make this file?");
            let parked = run_haft(dir.path(), words);
            assert!(parked.starts_with("exit 4"), "{words:?}: {parked}");
            assert!(parked.contains("May I make this file?"), "{words:?}: {parked}");
            // Without a decision it is left there again.
            let again = run_haft(dir.path(), &command(&parked, "resume"));
            assert!(again.starts_with("exit 4"), "{again}");
            let decided = run_haft(dir.path(), &command(&parked, decision));
            assert!(decided.starts_with("exit 0"), "{decided}");
            let resumed = run_haft(dir.path(), &command(&parked, "resume"));
            assert!(resumed.starts_with("exit 0") && resumed.contains("over"), "{resumed}");
            assert_eq!(dir.path().join("a/made").exists(), made);
        }
    }
}

/// The messages that follow in the input are not taken for decisions, and do not overtake the turn.
#[test]
fn a_conversation_ends_at_a_gate() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), "May I make this file?");
    let parked = run(dir.path(), &["chat", "a"], "hello\ny\n");
    assert!(parked.starts_with("exit 4"), "{parked}");
    assert!(!dir.path().join("a/made").exists());
    let again = run(dir.path(), &["chat", "a", "--continue"], "y\n");
    assert!(again.starts_with("exit 4"), "{again}");
    assert!(run_haft(dir.path(), &command(&parked, "approve")).starts_with("exit 0"));
    // The waiting turn goes on first, and the next one comes to its own gate.
    let next = run(dir.path(), &["chat", "a", "--continue"], "hello\n");
    assert!(next.starts_with("exit 4") && next.contains("over"), "{next}");
    assert!(dir.path().join("a/made").exists());
}

#[test]
fn the_end_of_the_input_ends_a_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let script = "steps:\n  - say: over\n";
    super::support::write_scripted_agent(dir.path(), "", script);
    for (input, answers) in [("", 0), ("hello", 1), ("hello\n\nhello\n", 2)] {
        let said = run(dir.path(), &["chat", "a"], input);
        assert!(said.starts_with("exit 0"), "{said}");
        assert_eq!(said.matches("over").count(), answers, "{said}");
    }
}
