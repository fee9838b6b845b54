//! Programs of agents that are confined, and those that are not.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use haft_testkit::record_skip;

use super::support::{haft, json_string, run_haft, transcript, write_agent, write_scripted_agent};

/// Whether this machine can confine programs. Records a skip if it cannot.
fn can_confine() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let checked = run_haft(dir.path(), &["doctor"]);
    let works = checked.contains("programs can be confined");
    if !works {
        record_skip("kernel:sandbox", &checked);
    }
    works
}

/// An agent whose only tool runs a shell script.
fn write_shell_agent(dir: &Path, tables: &str, script: &str) {
    let tool = "[tools.command.t]\ndescription = 'T.'\nargv = ['/bin/sh', '-c', '''";
    write_agent(dir, format!("system = 'x'\n{tables}\n{tool}{script}''']\n"));
}

/// Runs a script as the tool of an agent with these tables.
fn run_script(dir: &Path, tables: &str, script: &str) -> String {
    write_shell_agent(dir, tables, script);
    run_haft(dir, &["call", "a", "t"])
}

#[test]
fn a_confined_command_writes_and_reads_what_the_table_says() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir_all(dir.join("a/secrets")).unwrap();
    fs::write(dir.join("a/.env"), "CANARY").unwrap();
    fs::write(dir.join("a/secrets/key"), "CANARY").unwrap();
    let script = "cat .env secrets/key; echo a > b; echo c >> agent.toml; echo d > ../e; mkdir .haft/f; ls -A; true";
    let output = run_script(dir, "[sandbox]\nhide = ['secrets']", script);
    assert!(output.starts_with("exit 0"), "{output}");
    assert!(!output.contains("CANARY") && !output.contains("\nf\n"), "{output}");
    assert_eq!(fs::read_to_string(dir.join("a/b")).unwrap(), "a\n");
    assert!(!fs::read_to_string(dir.join("a/agent.toml")).unwrap().ends_with("c\n"));
    assert!(
        !dir.join("e").exists() && !dir.join("a/.haft").exists() && !dir.join("a/.git").exists()
    );
}

#[test]
fn a_program_overrides_the_table() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let output = run_script(dir, "[sandbox]\nwrite = ['out']", "echo a > out/b; echo c > d");
    assert!(output.contains("Read-only file system"), "{output}");
    assert!(dir.join("a/out/b").exists() && !dir.join("a/d").exists());
    let free = "system = 'x'\n[sandbox]\n[tools.command.t]\nsandbox = false\ndescription = 'T.'\nargv = ['sh', '-c', 'echo c > ../e']\n";
    write_agent(dir, free);
    assert!(run_haft(dir, &["call", "a", "t"]).starts_with("exit 0"));
    assert!(dir.join("e").exists());
    let table = "system = 'x'\n[tools.command.t]\nsandbox = { write = ['out'] }\ndescription = 'T.'\nargv = ['sh', '-c', 'echo c > ../g']\n";
    write_agent(dir, table);
    run_haft(dir, &["call", "a", "t"]);
    assert!(!dir.join("g").exists());
}

#[test]
fn what_cannot_be_confined_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_shell_agent(dir, "[sandbox]", "echo started > b");
    let run = |words: &[&str]| {
        let mut command = haft(dir);
        transcript(&command.env("HAFT_NO_SANDBOX", "1").args(words).output().unwrap())
    };
    let called = run(&["call", "a", "t"]);
    assert!(
        called.contains("`/bin/sh` cannot be run: it is confined, and HAFT_NO_SANDBOX is set"),
        "{called}"
    );
    assert!(!dir.join("a/b").exists());
    let checked = run(&["check", "a"]);
    assert!(checked.contains("`sandbox`: nothing can be confined"), "{checked}");
    // Without the table nothing has changed.
    write_shell_agent(dir, "", "echo started > b");
    assert!(run(&["call", "a", "t"]).starts_with("exit 0"));
    assert!(dir.join("a/b").exists());
}

#[test]
fn a_confined_program_finds_no_key_of_haft() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let search =
        "for it in /proc/[0-9]*; do cat $it/environ $it/cmdline; done 2>/dev/null; echo searched";
    let run = |tables: &str| {
        write_shell_agent(dir, tables, search);
        let mut command = haft(dir);
        transcript(
            &command.env("CANARY_API_KEY", "sk-canary").args(["call", "a", "t"]).output().unwrap(),
        )
    };
    let confined = run("[sandbox]");
    assert!(confined.contains("searched") && !confined.contains("sk-canary"), "{confined}");
}

#[test]
fn a_confined_server_and_a_confined_preparation_write_only_what_they_may() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let server = "system = 'x'\n[sandbox]\n[[prepare]]\nfile = 'made'\nargv = ['sh', '-c', 'echo made; echo p > ../p']\n\
        [tools.mcp.s]\noptional = true\nargv = ['sh', '-c', 'echo s > inside; echo s > ../s']\n";
    write_agent(dir, server);
    let output = run_haft(dir, &["mcp", "list", "a", "--trust"]);
    assert_eq!(fs::read_to_string(dir.join("a/inside")).unwrap_or_default(), "s\n", "{output}");
    assert!(!dir.join("p").exists() && !dir.join("s").exists(), "{output}");
}

#[test]
fn the_death_of_haft_kills_confined_programs() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let seconds = format!("600.{}", std::process::id());
    let nap = format!("setsid sleep {seconds} & sleep {seconds}");
    let tool =
        format!("[sandbox]\n[tools.command.t]\ndescription = 'T.'\nargv = ['sh', '-c', '{nap}']\n");
    write_scripted_agent(
        dir,
        &format!("prompt = 'Go.'\n{tool}"),
        "steps:\n  - call: { t: {} }\n  - say: over\n",
    );
    let mut command = haft(dir);
    let mut child =
        command.args(["run", "a"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| count_processes(&["sleep", &seconds]) == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| count_processes(&["sleep", &seconds]) == 0);
}

#[test]
fn a_variable_changes_nothing_outside_of_the_sandbox() {
    if !can_confine() || !haft_testkit::has_program("gcc") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(dir.join("a")).unwrap();
    let mark = |name: &str| format!("fopen(\"{}\", \"w\");", dir.join(name).display());
    let marks = [mark("a/inside"), mark("outside")].concat();
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void f(void) {{ {marks} }}\n"
    );
    fs::write(dir.join("a/x.c"), code).unwrap();
    let library = dir.join("a/x.so");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(dir.join("a/x.c"));
    assert!(gcc.status().unwrap().success());
    let server = format!(
        "system = 'x'\n[sandbox]\n[tools.mcp.s]\noptional = true\nargv = ['/bin/true']\nenv = {{ LD_PRELOAD = '{}' }}\n",
        library.display()
    );
    write_agent(&dir, server);
    let output = run_haft(&dir, &["mcp", "list", "a", "--trust"]);
    assert!(dir.join("a/inside").exists() && !dir.join("outside").exists(), "{output}");
}

#[test]
fn a_signal_in_a_sandbox_is_a_signal() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let killed = run_script(dir.path(), "[sandbox]", "kill -9 $$");
    assert!(killed.contains("signal: 9 (SIGKILL)"), "{killed}");
    let failed = run_script(dir.path(), "[sandbox]", "exit 7");
    assert!(failed.contains("exit status: 7"), "{failed}");
    let missing = "system = 'x'\n[sandbox]\n[tools.command.t]\ndescription = 'T.'\nargv = ['no-such-program']\n";
    write_agent(dir.path(), missing);
    let missing = run_haft(dir.path(), &["call", "a", "t"]);
    assert!(missing.contains("cannot be run: No such file"), "{missing}");
}

#[test]
fn the_check_says_what_is_confined() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let checked = |text: &str| {
        write_agent(dir, format!("system = 'x'\nmodel = 'openai:m'\n{text}"));
        run_haft(dir, &["check", "a"])
    };
    let home = dir.join("home");
    fs::create_dir_all(home.join("agents/a")).unwrap();
    fs::write(
        home.join("agent.toml"),
        "system = 'x'\n[sandbox]\n[tools.command.t]\ndescription = 'T.'\nargv = ['ls']\n",
    )
    .unwrap();
    let mut command = haft(dir);
    let refused = transcript(&command.env("HOME", &home).args(["check", "home"]).output().unwrap());
    assert!(refused.contains("contains your home directory"), "{refused}");
    let tool = "[tools.command.t]\ndescription = 'T.'\nargv = ['ls']\n";
    assert!(checked(tool).contains("\nits programs run with all your rights\n"));
    assert!(!checked("[tools.math]").contains("programs"));
    if can_confine() {
        let sandbox = format!("{tool}[sandbox]\n");
        assert!(checked(&sandbox).contains("\nits programs run in a sandbox\n"));
        let both =
            format!("{tool}[tools.command.u]\nsandbox = true\ndescription = 'U.'\nargv = ['ls']\n");
        let line = "\nits programs run in a sandbox, but `t` with all your rights\n";
        assert!(checked(&both).contains(line));
    }
}

/// Calls a tool of an agent with a shell.
fn call_shell(dir: &Path, tables: &str, tool: &str, args: &str) -> String {
    write_agent(dir, format!("system = 'x'\n{tables}\n"));
    run_haft(dir, &["call", "a", tool, args])
}

#[test]
fn the_shell_runs_commands_in_the_sandbox() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let run = |args: &str| call_shell(dir, "[tools.shell]", "run_command", args);
    let ran = run(r#"{"command": "echo a | tee b; echo c >&2; echo d > ../e; exit 3"}"#);
    assert!(ran.starts_with("exit 0") && ran.contains("a\nc\n"), "{ran}");
    assert!(ran.contains("\n[exit status 3, in the sandbox]"), "{ran}");
    assert!(dir.join("a/b").exists() && !dir.join("e").exists());
    let stopped = run(r#"{"command": "echo begun; sleep 600", "seconds": 1}"#);
    assert!(stopped.contains("begun\n") && stopped.contains("[stopped after 1 s]"), "{stopped}");
    let outside = run(r#"{"command": "echo a", "folder": ".."}"#);
    assert!(outside.contains("is not a folder below"), "{outside}");
    let never = "[tools.shell]\noutside = 'never'";
    let refused =
        call_shell(dir, never, "run_command", r#"{"command": "echo x > ../e", "outside": true}"#);
    assert!(refused.contains("leaves the sandbox"), "{refused}");
    assert!(!dir.join("e").exists());
}

#[test]
fn a_command_outside_of_the_sandbox_waits_for_approval() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let script = "steps:\n  - call:\n      - run_command: { command: 'echo in > in' }\n      - run_command: { command: 'echo out > ../out', outside: true }\n  - say: over\n";
    write_scripted_agent(dir, "prompt = 'Go.'\n[tools.shell]\n", script);
    let parked = run_haft(dir, &["run", "a", "--gates", "park"]);
    assert!(parked.contains("outside of the sandbox"), "{parked}");
    assert!(dir.join("a/in").exists() && !dir.join("out").exists(), "{parked}");
    let gates = run_haft(dir, &["gates"]);
    assert!(gates.contains("echo out > ../out"), "{gates}");
    let listed = run_haft(dir, &["gates", "--json"]);
    let gate = json_string(&listed, "gate");
    assert!(run_haft(dir, &["approve", gate]).starts_with("exit 0"));
    let resumed = run_haft(dir, &["resume", "last"]);
    assert!(dir.join("out").exists(), "{resumed}");
}

#[test]
fn a_patch_changes_what_the_shell_may_write() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir_all(dir.join("a/src")).unwrap();
    fs::write(dir.join("a/src/x"), "one\n").unwrap();
    let patch = |path: &str| {
        let args = format!(
            r#"{{"patch": "*** Begin Patch\n*** Update File: {path}\n-one\n+two\n*** End Patch"}}"#
        );
        call_shell(dir, "[tools.shell]\nwrite = ['src']", "apply_patch", &args)
    };
    let changed = patch("src/x");
    assert!(changed.contains("changed src/x"), "{changed}");
    assert_eq!(fs::read_to_string(dir.join("a/src/x")).unwrap(), "two\n");
    assert!(patch("agent.toml").contains("not in a folder that you may write"));
    assert!(patch("../x").contains("not a path below"));
}

/// Counts the processes of this machine with these words as their command line.
fn count_processes(words: &[&str]) -> usize {
    let output = Command::new("ps").args(["-eo", "stat=,args="]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_one =
        |line: &&str| line.trim_end().ends_with(&words.join(" ")) && !line.starts_with('Z');
    let sleeps = |line: &&str| line.split_whitespace().nth(1) == words.first().copied();
    text.lines().filter(is_one).filter(sleeps).count()
}

/// Nothing here is measured in time; the limit only ends a broken test.
#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("it did not happen");
}
