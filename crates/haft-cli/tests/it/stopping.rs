//! Turns that are stopped from outside: by signals, by a closed output, by the death of the process.
//!
//! A program of these agents reports its process id through a file and then sleeps. It must not outlive its call.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use haft_testkit::attach_terminal;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::support::{haft, json_string, run_haft, transcript, write_scripted_agent};

/// Writes an agent whose first call never ends by itself.
fn write_sleeping_agent(dir: &Path, command: &str) {
    let text = format!(
        r#"
        prompt = "Go."
        [tools.command.nap]
        description = "Sleeps."
        argv = ["sh", "-c", '''{command}''']
        [tools.command.note]
        description = "Notes that it ran."
        argv = ["sh", "-c", "echo noted | tee -a notes"]
        "#
    );
    write_scripted_agent(dir, &text, "steps:\n  - call: { nap: {} }\n  - say: over\n");
}

/// Sleeps in a child, and reports its own process id and that of the child.
const NAP: &str = "sleep 600 & echo $$ $! > pids.new; mv pids.new pids; wait";
/// Sleeps in a daemon with a session of its own.
const DAEMON_NAP: &str = "setsid sh -c 'echo $$ > pids.new; mv pids.new pids; exec sleep 600' > /dev/null 2>&1 & sleep 600";

/// Waits for the process ids that the agent's program reports.
fn wait_for_pids(dir: &Path) -> Vec<Pid> {
    let file = dir.join("a/pids");
    let text = retry(|| fs::read_to_string(&file).ok());
    text.split_whitespace().map(|it| Pid::from_raw(it.parse().unwrap()).unwrap()).collect()
}

/// Tries until there is a value. Nothing here is measured in time; the limit only ends a broken test.
#[track_caller]
fn retry<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(value) = attempt() {
            return value;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("it did not happen");
}

/// Waits until the processes are gone.
#[track_caller]
fn wait_for_end(pids: &[Pid]) {
    for pid in pids {
        retry(|| is_gone(*pid).then_some(()));
    }
}

/// Whether a process has ended, or only waits to be reaped.
fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    test_kill_process(pid).is_err() || stat.contains(") Z ")
}

fn start(dir: &Path, words: &[&str]) -> Child {
    let mut command = haft(dir);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The status of the only turn.
fn turn_status(dir: &Path) -> String {
    json_string(&run_haft(dir, &["turns", "--json"]), "status").to_owned()
}

#[test]
fn signals_stop_the_tools_and_leave_the_turn_resumable() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let dir = tempfile::tempdir().unwrap();
        write_sleeping_agent(dir.path(), NAP);
        let child = start(dir.path(), &["run", "a"]);
        let pids = wait_for_pids(dir.path());
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let said = transcript(&output);
        assert!(said.starts_with(&format!("exit {code}")), "{said}");
        assert!(said.contains("resume the turn: haft resume "), "{said}");
        wait_for_end(&pids);
        assert!(!dir.path().join(".haft/haft.sqlite-wal").exists(), "the store was not closed");
        assert_eq!(turn_status(dir.path()), "interrupted");
        let turns = run_haft(dir.path(), &["turns", "--json"]);
        let id = json_string(&turns, "id");
        let resumed = run_haft(dir.path(), &["resume", id]);
        assert!(resumed.starts_with("exit 0") && resumed.contains("over"), "{resumed}");
        // The call must not be repeated, so its outcome is unknown.
        assert!(run_haft(dir.path(), &["show", id, "--json"]).contains("E_TOOL_OUTCOME_UNKNOWN"));
    }
}

#[test]
fn ctrl_c_cancels_the_turn_and_stops_its_tools() {
    let dir = tempfile::tempdir().unwrap();
    write_sleeping_agent(dir.path(), NAP);
    let child = start(dir.path(), &["run", "a"]);
    let pids = wait_for_pids(dir.path());
    send(&child, Signal::INT);
    let said = transcript(&child.wait_with_output().unwrap());
    assert!(said.starts_with("exit 130") && said.contains("cancelled"), "{said}");
    wait_for_end(&pids);
    assert_eq!(turn_status(dir.path()), "cancelled");
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    write_sleeping_agent(
        dir.path(),
        "echo $$ > pids.new; mv pids.new pids; until test -e go; do sleep 0.01; done",
    );
    let mut command = Command::new("nohup");
    let run = haft(dir.path());
    command.arg(run.get_program()).args(["run", "a"]).current_dir(dir.path());
    command.env("XDG_STATE_HOME", dir.path().join(".state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_pids(dir.path());
    send(&child, Signal::HUP);
    fs::write(dir.path().join("a/go"), "").unwrap();
    let said = transcript(&child.wait_with_output().unwrap());
    assert!(said.starts_with("exit 0") && said.contains("over"), "{said}");
}

#[test]
fn programs_die_with_the_process_that_started_them() {
    let dir = tempfile::tempdir().unwrap();
    write_sleeping_agent(dir.path(), NAP);
    let mut child = start(dir.path(), &["run", "a"]);
    let pids = wait_for_pids(dir.path());
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    wait_for_end(&pids);
}

#[cfg(target_os = "linux")]
#[test]
fn daemons_die_with_the_process_that_started_them() {
    let dir = tempfile::tempdir().unwrap();
    write_sleeping_agent(dir.path(), DAEMON_NAP);
    let mut child = start(dir.path(), &["run", "a"]);
    let pids = wait_for_pids(dir.path());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for_end(&pids);
}

#[cfg(target_os = "linux")]
#[test]
fn daemons_die_with_their_call() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = DAEMON_NAP.replace("& sleep 600", "& until test -e pids; do sleep 0.01; done");
    write_sleeping_agent(dir.path(), &daemon);
    let run = run_haft(dir.path(), &["run", "a"]);
    assert!(run.starts_with("exit 0") && run.contains("over"), "{run}");
    wait_for_end(&wait_for_pids(dir.path()));
}

/// A script of two calls, whose second one comes after the reader of the output is gone.
fn write_noting_agent(dir: &Path) {
    write_sleeping_agent(dir, "until test -e go; do sleep 0.01; done");
    let script =
        "steps:\n  - say: first\n    call: { nap: {} }\n  - call: { note: {} }\n  - say: over\n";
    fs::write(dir.join("a/script.yaml"), script).unwrap();
}

#[test]
fn a_closed_output_does_not_stop_a_turn() {
    for json in [false, true] {
        for closes_stderr in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            write_noting_agent(dir.path());
            let words: &[&str] = if json { &["run", "a", "--json"] } else { &["run", "a"] };
            let mut child = start(dir.path(), words);
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert!(!line.is_empty());
            if closes_stderr {
                drop(child.stderr.take());
            }
            fs::write(dir.path().join("a/go"), "").unwrap();
            let output = child.wait_with_output().unwrap();
            // The code of a program that the closed pipe ends, and nothing more is said about it.
            assert_eq!(output.status.code(), Some(141), "{}", transcript(&output));
            assert!(!transcript(&output).contains("error"), "{}", transcript(&output));
            assert_eq!(fs::read_to_string(dir.path().join("a/notes")).unwrap(), "noted\n");
            assert_eq!(turn_status(dir.path()), "completed");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_does_not_stop_a_turn() {
    let dir = tempfile::tempdir().unwrap();
    write_noting_agent(dir.path());
    fs::write(dir.path().join("a/go"), "").unwrap();
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let status = haft(dir.path()).args(["run", "a"]).stdout(full()).stderr(full()).status();
    assert_eq!(status.unwrap().code(), Some(1));
    assert_eq!(turn_status(dir.path()), "completed");
    assert_eq!(fs::read_to_string(dir.path().join("a/notes")).unwrap(), "noted\n");
}

#[test]
fn a_closed_terminal_leaves_the_gate_open_and_the_turn_resumable() {
    let dir = tempfile::tempdir().unwrap();
    super::support::write_asking_agent(dir.path(), "May I make this file?");
    let mut command = haft(dir.path());
    command.args(["run", "a"]);
    let terminal = attach_terminal(&mut command).unwrap();
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut screen = BufReader::new(terminal);
    let mut seen = Vec::new();
    while !seen.ends_with(b"[y/N] ") {
        let byte = screen.fill_buf().unwrap().first().copied().unwrap();
        seen.push(byte);
        screen.consume(1);
    }
    drop(screen);
    assert_eq!(child.wait().unwrap().code(), Some(129));
    assert_eq!(turn_status(dir.path()), "waiting");
    let gates = run_haft(dir.path(), &["gates", "--json"]);
    assert!(run_haft(dir.path(), &["approve", json_string(&gates, "gate")]).starts_with("exit 0"));
    assert!(!dir.path().join("a/made").exists());
}

#[test]
fn a_program_that_writes_too_much_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        prompt = "Go."
        [tools.command.flood]
        description = "Never stops."
        argv = ["yes"]
        max_bytes = 100000
    "#;
    let script = "steps:\n  - call: { flood: {} }\n  - say: over\n";
    write_scripted_agent(dir.path(), text, script);
    let run = run_haft(dir.path(), &["run", "a"]);
    assert!(run.starts_with("exit 0") && run.contains("← flood failed"), "{run}");
    let call = run_haft(dir.path(), &["call", "a", "flood"]);
    assert!(call.starts_with("exit 1") && call.contains("more than 100000 bytes"), "{call}");
}

/// A program that was ended by others has not said how far it came, and one whose supervisor has ended cannot.
#[test]
fn the_outcome_of_a_program_is_unknown_unless_it_exits() {
    let programs = [
        ("exits", "exit 3", "E_TOOL_DOWNSTREAM_ERROR"),
        ("killed", "kill -9 $$", "E_TOOL_OUTCOME_UNKNOWN"),
        ("flood", "yes", "E_TOOL_OUTCOME_UNKNOWN"),
        ("orphan", "kill -9 $PPID", "E_TOOL_OUTCOME_UNKNOWN"),
    ];
    for (effect, doubt) in [("once", true), ("read-only", false)] {
        let dir = tempfile::tempdir().unwrap();
        let mut text = "prompt = 'Go.'\n".to_owned();
        let mut script = "steps:\n".to_owned();
        for (name, program, _) in programs {
            text.push_str(&format!(
                "[tools.command.{name}]\ndescription = 'x'\nargv = ['sh', '-c', '{program}']\n\
                 max_bytes = 100000\neffect = '{effect}'\n"
            ));
            script.push_str(&format!("  - call: {{ {name}: {{}} }}\n"));
        }
        script.push_str("  - say: over\n");
        write_scripted_agent(dir.path(), &text, &script);
        let run = run_haft(dir.path(), &["run", "a"]);
        assert!(run.starts_with("exit 0"), "{run}");
        for (name, _, code) in programs {
            let code = if doubt { code } else { "E_TOOL_DOWNSTREAM_ERROR" };
            assert!(run.contains(&format!("← {name} failed: {code}")), "{effect}: {run}");
        }
    }
}

#[test]
fn a_signal_ends_the_program_while_it_waits_for_its_input() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let dir = tempfile::tempdir().unwrap();
        write_sleeping_agent(dir.path(), NAP);
        let mut command = haft(dir.path());
        command.args(["run", "a", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let mut child = command.spawn().unwrap();
        // Until the handlers are installed, the signal has its default effect.
        let handled = PathBuf::from(format!("/proc/{}/status", child.id()));
        retry(|| {
            let status = fs::read_to_string(&handled).ok()?;
            let mask = status.lines().find_map(|it| it.strip_prefix("SigCgt:"))?;
            let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
            (mask & (1 << 14) != 0).then_some(())
        });
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

/// The disk is full while a program that must not be repeated writes. It is not killed in the middle of its work, its
/// outcome is unknown, and the operator reads why.
#[test]
fn a_program_works_to_its_end_when_its_output_cannot_be_stored() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        prompt = "Go."
        [tools.command.charge]
        description = "Charges."
        argv = ["sh", "-c", "echo begun >> charges; head -c 20000000 /dev/zero | tr '\\0' x; echo done >> charges"]
    "#;
    let script = "steps:\n  - call: { charge: {} }\n  - say: over\n";
    write_scripted_agent(dir.path(), text, script);
    // A limit on the size of files stands for the full disk. Its signal is ignored, so that writes fail.
    let command = haft(dir.path());
    let mut limited = Command::new("sh");
    limited.current_dir(dir.path()).stdin(Stdio::null());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let limits = "trap '' XFSZ; ulimit -f 8000; exec \"$0\" run a";
    let output = limited.args(["-c", limits]).arg(command.get_program()).output().unwrap();
    let said = transcript(&output);
    assert!(said.starts_with("exit 5") && said.contains("over"), "{said}");
    assert!(said.contains("the result of `charge` could not be stored"), "{said}");
    assert!(said.contains("File too large"), "{said}");
    let charges = fs::read_to_string(dir.path().join("a/charges")).unwrap();
    assert_eq!(charges, "begun\ndone\n", "{said}");
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let shown = run_haft(dir.path(), &["show", json_string(&turns, "id"), "--json"]);
    assert!(
        shown.contains("E_TOOL_OUTCOME_UNKNOWN") && shown.contains("File too large"),
        "{shown}"
    );
}
