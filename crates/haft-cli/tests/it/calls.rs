//! `haft call` takes the same path as the call of a model.

use std::fs;

use super::support::{run_haft, write_agent};

const AGENT: &str = r#"
    system = 'x'
    [tools.command.stamp]
    description = "Makes a file."
    argv = ["touch", "made"]
    approval = "May I make this file?"
    [tools.command.slow]
    description = "Takes too long."
    argv = ["sleep", "600"]
    timeout = 1
    [tools.command.key]
    description = "Prints its environment."
    argv = ["env"]
    effect = "idempotent"
    [tools.command.no_key]
    description = "Prints its environment."
    argv = ["env"]
    [tools.command.show]
    description = "Prints numbers and words."
    argv = ["printf", "%s %s", "{n}", "{s}"]
    args.n.type = "number"
    args.s.type = "string"
"#;

#[test]
fn a_call_that_requires_approval_needs_a_terminal_or_yes() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), AGENT);
    let refused = run_haft(dir.path(), &["call", "a", "stamp"]);
    assert!(refused.starts_with("exit 1") && refused.contains("pass --yes"), "{refused}");
    assert!(!dir.path().join("a/made").exists());
    let approved = run_haft(dir.path(), &["call", "a", "stamp", "--yes"]);
    assert!(approved.starts_with("exit 0"), "{approved}");
    assert!(dir.path().join("a/made").exists());
    assert!(!dir.path().join(".haft").exists(), "the turn of a call is not stored");
}

#[test]
fn a_call_obeys_the_timeout_of_its_tool() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), AGENT);
    let slow = run_haft(dir.path(), &["call", "a", "slow"]);
    assert!(slow.starts_with("exit 1"), "{slow}");
    let record = run_haft(dir.path(), &["call", "a", "slow", "--json"]);
    assert!(record.contains(r#""state": "unknown""#), "{record}");
}

#[test]
fn idempotent_commands_receive_their_key() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), AGENT);
    let with_key = run_haft(dir.path(), &["call", "a", "key"]);
    assert!(with_key.contains("\nHAFT_IDEMPOTENCY_KEY="), "{with_key}");
    let without = run_haft(dir.path(), &["call", "a", "no_key"]);
    assert!(without.starts_with("exit 0") && !without.contains("HAFT_"), "{without}");
}

#[test]
fn only_numbers_may_begin_with_a_dash() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), AGENT);
    let show = |args: &str| run_haft(dir.path(), &["call", "a", "show", args]);
    assert!(show(r#"{"n": -1.5, "s": "x"}"#).contains("-1.5 x"));
    for value in ["-1", "-9", "-1e5", "-inf", "-nan", "-x"] {
        let refused = show(&format!(r#"{{"n": 1, "s": "{value}"}}"#));
        assert!(refused.contains("`s` must not begin with `-`"), "{refused}");
    }
}

#[test]
fn an_agent_file_is_named_without_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), AGENT);
    let shown = run_haft(&dir.path().join("a"), &["call", "agent.toml", "show", r#"{"s": "x"}"#]);
    assert!(shown.starts_with("exit 0"), "{shown}");
}

#[test]
fn programs_of_an_unknown_agent_run_only_when_it_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let agent = "system = 'x'\nprompt = 'Go.'\nscript = 'script.yaml'\n\
                 [[prepare]]\nfile = 'made'\nargv = ['echo', 'x']\n";
    write_agent(dir.path(), agent);
    super::support::write_script(dir.path(), "steps:\n  - say: over\n");
    let made = dir.path().join("a/made");
    let run = |words: &[&str]| run_haft(dir.path(), &[&["run", "a"], words].concat());
    let refused = run(&[]);
    assert!(refused.starts_with("exit 1") && refused.contains("pass --trust"), "{refused}");
    assert!(refused.contains("`echo x`") && !made.exists(), "{refused}");
    assert!(run(&["--trust"]).starts_with("exit 0"));
    // It is remembered for this file in this directory.
    fs::remove_file(&made).unwrap();
    assert!(run(&[]).starts_with("exit 0") && made.exists());
    fs::remove_file(&made).unwrap();
    write_agent(dir.path(), agent.replace("'x'\nprompt", "'y'\nprompt"));
    assert!(run(&[]).starts_with("exit 1") && !made.exists());
    // Nothing is asked if nothing has to run.
    fs::write(&made, "").unwrap();
    assert!(run(&[]).starts_with("exit 0"));
}
