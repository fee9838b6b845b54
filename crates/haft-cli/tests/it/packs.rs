//! Packs of tools in agent files, and the approval rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use super::support::{haft, run_haft, write_agent, write_script};

/// Writes the agent `a` with a system prompt and a note in its directory `data`.
fn write_agent_with_note(dir: &Path, text: &str) {
    write_agent(dir, format!("system = 'x'\n{text}"));
    std::fs::create_dir_all(dir.join("a/data")).unwrap();
    std::fs::write(dir.join("a/data/note.txt"), "hello\n").unwrap();
}

#[test]
fn packs_bring_their_tools() {
    let dir = tempfile::tempdir().unwrap();
    write_agent_with_note(
        dir.path(),
        "[tools.files]\nroot = 'data'\n[tools.time]\nonly = ['get_current_time']\n[tools.math]\nexcept = ['convert_unit']\n\
         [tools.text]\n[tools.data]\n[tools.memory]\n[tools.web]\nhosts = ['example.org']",
    );
    let list = run_haft(dir.path(), &["tools", "a"]);
    let names: Vec<&str> =
        list.lines().skip(2).filter_map(|it| it.split_once(' ')).map(|it| it.0).collect();
    let names: Vec<&str> =
        names.into_iter().filter(|it| it.contains('_') || *it == "calculate").collect();
    assert_snapshot!(names.join(" "), @"read_file list_files find_files search_files get_current_time calculate text_analyze string_transform text_diff string_extract encode_text text_hash parse_csv parse_json parse_yaml stats_describe stats_histogram group_rows format_table list_memories store_memory update_memory delete_memory web_fetch");
    let call = |tool: &str, args: &str| run_haft(dir.path(), &["call", "a", tool, args]);
    assert_eq!(call("read_file", r#"{"path": "note.txt"}"#), "exit 0\n--- out\nhello");
    assert_eq!(call("calculate", r#"{"expression": "2^10"}"#).lines().next(), Some("exit 0"));
    for path in ["../agent.toml", "/etc/passwd", "x/../../agent.toml"] {
        let escaped = call("read_file", &format!(r#"{{"path": "{path}"}}"#));
        assert!(escaped.contains("is not a path below the folder"), "{escaped}");
    }
    let refused = call("web_fetch", r#"{"url": "https://127.0.0.1/"}"#);
    assert!(refused.starts_with("exit 1") && refused.contains("is refused"), "{refused}");
    assert!(call("write_file", r#"{"path": "x", "content": ""}"#).contains("has no tool"));
}

#[test]
fn mistakes_in_packs_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        write_agent_with_note(dir.path(), text);
        run_haft(dir.path(), &["check", "a"])
    };
    assert_snapshot!(check("[tools.files]\nroot = 'nowhere'"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: `tools.files.root`: cannot open the directory `nowhere`
    hint: use an existing directory, relative to the agent's directory
    ");
    assert_snapshot!(check("[tools.files]\nroot = 'data'\nwrit = true"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: unknown field `writ`
    hint: did you mean `write`?
    ");
    assert_snapshot!(check("[tools.files]\nroot = 'data'\nonly = ['read_files']"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.files.only`: the pack `files` has no tool `read_files`
    hint: did you mean `read_file`?
    ");
    assert_snapshot!(check("[tools.files]\nonly = ['write_file']"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: `tools.files.only`: `write_file` requires write access
    hint: set `write = true`
    ");
    assert_snapshot!(check("[tools.tme]"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: unknown field `tme`
    hint: did you mean `time`?
    ");
    assert_snapshot!(check("[tools.web]"), @r#"
    exit 1
    --- err
    error: a/agent.toml:2: `tools.web`: missing field `hosts`
    hint: add it to the table: hosts = ["example.org"]
    "#);
    assert_snapshot!(check("[tools.web]\nhosts = []"), @r#"
    exit 1
    --- err
    error: a/agent.toml:3: `tools.web.hosts`: `hosts` is empty
    hint: list the allowed hosts: hosts = ["example.org", "*.example.org"]
    "#);
    assert_snapshot!(check("[tools.web]\nhosts = ['https://example.org/']"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: `tools.web.hosts`: `https://example.org/` is not a host name
    hint: omit `https://` and the path
    ");
    assert_snapshot!(
        check("[tools.time]\n[tools.command.get_current_time]\ndescription = 'T.'\nargv = ['date']"),
        @r"
    exit 1
    --- err
    error: a/agent.toml:3: `tools.command.get_current_time`: `tools.time` already defines a tool `get_current_time`
    hint: rename it, or exclude the other one with `except`
    "
    );
    let asking = "[tools.text]\nexcept = ['text_hash']\n[approvals]\nrequire = ['encode_text']";
    assert!(check(asking).starts_with("exit 0"), "{}", check(asking));
    assert_snapshot!(check("[tools.math]\n[approvals]\nrequire = ['calculat']"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `approvals.require`: there is no tool `calculat`
    hint: did you mean `calculate`?
    ");
    assert_snapshot!(
        check("[tools.files]\nwrite = true\n[approvals]\nrequire = ['write_file']\nnever = ['write_file']"),
        @r"
    exit 1
    --- err
    error: a/agent.toml:6: `approvals.never`: `write_file` is also in `require`
    hint: keep it in one of the lists
    "
    );
    assert_snapshot!(
        check("approvals.never = ['d']\n[tools.command.d]\ndescription = 'D.'\nargv = ['date']\napproval = 'May I?'"),
        @r"
    exit 1
    --- err
    error: a/agent.toml:2: `approvals.never`: `d` sets its own `approval`
    hint: remove one of the two
    "
    );
}

/// Runs a turn with `--yes` and returns the questions that it asked.
fn run_and_list_questions(dir: &Path, text: &str, script: &str) -> String {
    write_agent_with_note(dir, &format!("prompt = 'Go.'\nscript = 'script.yaml'\n{text}"));
    write_script(dir, script);
    let events = run_haft(dir, &["run", "a", "--json", "--yes"]);
    assert!(events.starts_with("exit 0"), "{events}");
    let reasons = events.lines().filter(|line| line.contains("\"turnGateOpen\""));
    let reasons = reasons.map(|line| line.split("\"reason\":\"").nth(1).unwrap());
    let mut reasons: Vec<_> = reasons.map(|it| it.split('"').next().unwrap()).collect();
    // The calls of one step ask concurrently.
    reasons.sort_unstable();
    reasons.join("\n")
}

const WRITES: &str = "steps:\n  - call:\n      - read_file: { path: note.txt }\n      - write_file: { path: new.txt, content: new }\n  - say: over\n";

#[test]
fn the_approval_rules_decide_which_tools_ask() {
    let dir = tempfile::tempdir().unwrap();
    let files = "[tools.files]\nroot = 'data'\nwrite = true\n";
    let asked = |rest: &str| run_and_list_questions(dir.path(), &format!("{files}{rest}"), WRITES);
    assert_eq!(asked(""), "May this file be written?");
    assert_eq!(std::fs::read_to_string(dir.path().join("a/data/new.txt")).unwrap(), "new");
    assert_eq!(asked("[approvals]\nnever = ['write_file']"), "");
    let both = asked("[approvals]\nrequire = ['read_file', 'write_file']");
    assert_eq!(both, "May `read_file` be called?\nMay `write_file` be called?");
    let command =
        "[tools.command.d]\ndescription = 'D.'\nargv = ['true']\n[approvals]\nrequire = ['d']";
    let script = "steps:\n  - call: { d: {} }\n  - say: over\n";
    assert_eq!(run_and_list_questions(dir.path(), command, script), "May `d` be called?");
    let own = command.replacen("[approvals]", "approval = 'Really?'\n[approvals]", 1);
    assert_eq!(run_and_list_questions(dir.path(), &own, script), "Really?");
    // Tools that only compute can require approval as well.
    let math = "[tools.math]\n[approvals]\nrequire = ['calculate']";
    let script = "steps:\n  - call: { calculate: { expression: 1 + 1 } }\n  - say: over\n";
    assert_eq!(run_and_list_questions(dir.path(), math, script), "May `calculate` be called?");
}

#[test]
fn memories_last_from_turn_to_turn_in_the_store_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let text = "prompt = 'Go.'\nscript = 'script.yaml'\nstore = 'state'\n[tools.memory]";
    write_agent_with_note(dir.path(), text);
    let script = |text: &str| write_script(dir.path(), text);
    script(
        "steps:\n  - call: { store_memory: { id: drink, content: The user likes tea. } }\n  - say: noted\n",
    );
    assert!(run_haft(dir.path(), &["run", "a"]).starts_with("exit 0"));
    script("steps:\n  - call: { list_memories: {} }\n  - say: \"{{ last.list_memories }}\"\n");
    for _ in 0..2 {
        let said = run_haft(dir.path(), &["run", "a"]);
        assert!(said.contains("The user likes tea."), "{said}");
    }
    assert!(dir.path().join("a/state").is_dir() && !dir.path().join(".haft").exists());
    // `--store .haft` overrides the store of the file.
    assert!(!run_haft(dir.path(), &["run", "a", "--store", ".haft"]).contains("tea"));
    assert!(dir.path().join(".haft").is_dir());
    assert!(run_haft(dir.path(), &["turns"]).contains("completed"));
    // Each store has its own memories.
    let said = run_haft(dir.path(), &["run", "a", "--store", "other"]);
    assert!(said.starts_with("exit 0") && !said.contains("tea"), "{said}");
}

/// Memories belong to the agent: turns of other agents do not hide them, and turns that run at once do not lose them.
#[test]
fn memories_of_turns_at_once_and_of_many_turns_ago_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "prompt = 'Go.'\nscript = 'script.yaml'\n[tools.memory]";
    write_agent_with_note(dir.path(), text);
    write_script(
        dir.path(),
        "steps:\n  - call: { store_memory: { content: \"Noted: {{ user }}\" } }\n  - say: noted\n",
    );
    let mut runs: Vec<_> = (0..4)
        .map(|n| {
            let mut run = haft(dir.path());
            run.args(["run", "a", &format!("fact {n}")]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for run in &mut runs {
        assert!(run.wait().unwrap().success());
    }
    write_script(
        dir.path(),
        "steps:\n  - call: { list_memories: {} }\n  - say: \"{{ last.list_memories }}\"\n",
    );
    let said = run_haft(dir.path(), &["run", "a"]);
    for n in 0..4 {
        assert!(said.contains(&format!("Noted: fact {n}")), "{said}");
    }
}

/// The list of the built-in tools in the documentation is complete, and has their arguments.
#[test]
fn the_documented_tools_are_those_that_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let packs = "system = 'x'\n[tools.files]\nwrite = true\n[tools.time]\n[tools.math]\n[tools.text]\n[tools.data]\n\
                 [tools.memory]\n[tools.web]\nhosts = ['example.org']\n";
    write_agent(dir.path(), packs);
    let listed = run_haft(dir.path(), &["tools", "a", "--all", "--json"]);
    let expected: BTreeSet<String> =
        listed.lines().filter(|it| it.starts_with('{')).map(row).collect();
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let text = std::fs::read_to_string(root.join("docs/tools.md")).unwrap();
    let rows = text.lines().filter(|it| it.starts_with("| `"));
    let found = rows.map(|row| row.rsplitn(2, " | ").last().unwrap().to_owned());
    assert_eq!(found.collect::<BTreeSet<String>>(), expected);
}

/// The name and the arguments of a tool, as a row of the documentation has them.
fn row(line: &str) -> String {
    let tool: Value = serde_json::from_str(line).unwrap();
    let schema = &tool["inputSchema"];
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let names = schema["properties"].as_object().map(|it| it.keys()).into_iter().flatten();
    let arguments = names.map(|name| {
        let mark = if required.contains(&name.as_str().into()) { "" } else { "?" };
        format!("`{name}`{mark}")
    });
    let arguments: Vec<String> = arguments.collect();
    let arguments = if arguments.is_empty() { "none".to_owned() } else { arguments.join(", ") };
    format!("| `{}` | {arguments}", tool["name"].as_str().unwrap())
}
