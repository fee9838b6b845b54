//! What every command prints: in a pipe, and at a terminal of 120 columns.

use std::path::Path;

use insta::assert_snapshot;
use rustix::process::Signal;

use super::screens::{OutputKind, Session, check_session, redact};
use super::support::{TOUCH_TOOL, haft, json_string, run_haft, transcript, write_scripted_agent};

/// An agent with a call of every kind: one that needs approval, one with a large result, one with a picture, one that is
/// coerced, one that is refused.
fn write_agent(dir: &Path) {
    let tools = r#"
        prompt = "Do everything."
        [tools.math]
        [tools.command.list]
        description = "Lists many numbers."
        argv = ["seq", "1", "2000"]
        effect = "read-only"
        [tools.command.draw]
        description = "Draws a dot."
        argv = ["printf", "%s", "<svg xmlns='http://www.w3.org/2000/svg'/>"]
        effect = "read-only"
        media = "image/svg+xml"
    "#;
    let script = r#"
steps:
  - think: I begin.
    call: { list: {} }
    usage: { prompt: 1200, completion: 30 }
  - call: { draw: {} }
  - call: { convert_unit: { value: "3", from: km, to: m } }
  - call: { calculate: { expresion: "1+1" } }
  - call: { touch: { name: made } }
  - say: "All is **done**."
"#;
    let question = "approval = 'May I make {name}?'";
    write_scripted_agent(dir, &format!("{tools}{TOUCH_TOOL}{question}"), script);
}

/// Compares the output of commands that change nothing, in a pipe and at a terminal.
#[track_caller]
fn check(dir: &Path, name: &str, words: &[&str]) {
    // Not every machine that runs the tests can confine programs.
    let start = || {
        let mut command = haft(dir);
        command.env("HAFT_NO_SANDBOX", "1").args(words);
        command
    };
    let piped = redact(&transcript(&start().output().unwrap()), dir);
    let shown = redact(&Session::start(start(), OutputKind::Terminal).finish(), dir);
    let command = words.join(" ");
    assert_snapshot!(name, format!("$ haft {command} | cat\n{piped}\n\n$ haft {command}\n{shown}"));
}

#[test]
fn commands_print_the_same_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let dir = dir.as_path();
    write_agent(dir);
    std::fs::write(dir.join("sales.csv"), "region,sold\nnorth,1\nsouth,2\nnorth,3\n").unwrap();
    let parked = run_haft(dir, &["run", "a", "--gates", "park"]);
    assert_snapshot!("run_parked", redact(&parked, dir));
    check(dir, "gates", &["gates"]);
    check(dir, "turns_waiting", &["turns"]);
    check(dir, "show_waiting", &["show", "last"]);
    let gate = run_haft(dir, &["gates", "--json"]);
    let gate = json_string(&gate, "gate");
    let approve = &["approve", gate, "--by", "ada", "--always", "turn"];
    assert_snapshot!("approve", redact(&run_haft(dir, approve), dir));
    assert_snapshot!("resume", redact(&run_haft(dir, &["resume", "last"]), dir));
    check(dir, "grants_given", &["grants"]);
    for (name, words) in [
        ("turns", &["turns"][..]),
        ("show", &["show", "last"]),
        ("response", &["show", "last", "--response", "1"]),
        ("resume_ended", &["resume", "last"]),
        ("watch_ended", &["watch", "last"]),
        ("tools", &["tools", "a", "--all"]),
        ("describe", &["describe", "a", "touch"]),
        ("check", &["check", "a"]),
        ("artifact_list", &["artifact", "info"]),
        ("artifact_info", &["artifact", "info", "sales.csv"]),
        (
            "artifact_query",
            &[
                "artifact",
                "query",
                "sales.csv",
                "SELECT region, count(*), sum(sold) FROM data GROUP BY region ORDER BY sum(sold) DESC",
            ],
        ),
        ("media_list", &["media", "list", "last"]),
        ("media_show", &["media", "show", "last"]),
        ("media_save", &["media", "save", "last", "draw.svg", "-o", "-"]),
        ("doctor", &["doctor"]),
        ("doctor_failed", &["doctor", "--model", "groq:m"]),
        ("conversations", &["conversations"]),
        ("models", &["models"]),
        ("config", &["config"]),
        ("call", &["call", "a", "calculate", r#"{"expression": "1+1"}"#]),
        ("mcp_list", &["mcp", "list", "a"]),
        ("no_such_turn", &["show", "ffffffff"]),
    ] {
        check(dir, name, words);
    }
    assert_snapshot!("submit", redact(&run_haft(dir, &["submit", "a"]), dir));
    assert_snapshot!("cancel", redact(&run_haft(dir, &["cancel", "last"]), dir));
    assert_snapshot!("rm", redact(&run_haft(dir, &["rm", "last"]), dir));
    assert_snapshot!("gc", redact(&run_haft(dir, &["gc"]), dir));
}

#[test]
fn a_chat_prints_the_same_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let dir = dir.as_path();
    write_scripted_agent(dir, "", "steps:\n  - say: 'You said **{{ user }}**.'\n");
    let start = |options: &[&str]| {
        let mut command = haft(dir);
        command.args(["chat", "a"]).args(options);
        command
    };
    check_session(
        dir,
        "chat",
        "haft chat a",
        || start(&[]),
        |session| {
            session.wait_for_prompt(1);
            session.type_keys("Hi\n");
            session.wait_for("completed: 1 step", 1);
            session.wait_for_prompt(2);
            session.type_keys("/quit\n");
        },
    );
    check(dir, "conversations_listed", &["conversations"]);
    let renamed = run_haft(dir, &["conversations", "rename", "last", "Greetings"]);
    assert_snapshot!("conversations_renamed", redact(&renamed, dir));
    // The newest conversation is that of the terminal.
    check_session(
        dir,
        "chat_continued",
        "haft chat a --continue",
        || start(&["--continue"]),
        |session| {
            session.wait_for_prompt(1);
            session.type_keys("/quit\n");
        },
    );
}

/// The commands that run until they are stopped.
#[test]
fn services_print_the_same_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let dir = dir.as_path();
    write_scripted_agent(dir, "prompt = 'Go.'", "steps:\n  - say: Hello.\n");
    let start = |words: &[&str]| {
        let mut command = haft(dir);
        command.args(words);
        command
    };
    let submit_and_start = || {
        assert!(run_haft(dir, &["submit", "a"]).starts_with("exit 0"));
        start(&["worker"])
    };
    check_session(dir, "worker", "haft worker", submit_and_start, |session| {
        session.wait_for("completed", 1);
        session.send(Signal::TERM);
    });
    let words = ["serve", "a", "--port", "0", "--tokens", "tokens.json"];
    check_session(
        dir,
        "serve",
        "haft serve a",
        || start(&words),
        |session| {
            session.wait_for("Ctrl-C", 1);
            session.send(Signal::TERM);
        },
    );
    check_session(
        dir,
        "web",
        "haft web --no-open",
        || start(&["web", "--no-open"]),
        |session| {
            session.wait_for("Ctrl-C", 1);
            session.send(Signal::INT);
        },
    );
}
