//! When the output has colours.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use haft_testkit::attach_terminal;

use super::support::{haft, run_haft, transcript};

/// A command with styled output, in an environment that sets nothing about colours.
fn check_command(dir: &Path, options: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = haft(dir);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.args(["check", "hello"]).args(options).env("TERM", "xterm");
    command.envs(env.iter().copied());
    command
}

/// Whether the output is styled when it goes to a pipe.
fn is_styled_in_pipe(dir: &Path, options: &[&str], env: &[(&str, &str)]) -> bool {
    let text = transcript(&check_command(dir, options, env).output().unwrap());
    assert!(text.starts_with("exit 0"), "{text}");
    text.contains('\u{1b}')
}

/// Whether the output is styled when it goes to a terminal.
fn is_styled_on_terminal(dir: &Path, options: &[&str], env: &[(&str, &str)]) -> bool {
    let mut command = check_command(dir, options, env);
    let mut screen = attach_terminal(&mut command).unwrap();
    let mut child = command.spawn().unwrap();
    // The terminal reports its end only when no process has it open.
    drop(command);
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = screen.read(&mut buffer) {
        text.extend_from_slice(buffer.get(..n).unwrap());
    }
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("ok"), "{text}");
    text.contains('\u{1b}')
}

#[test]
fn a_terminal_gets_colours_unless_the_environment_forbids_them() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["new", "hello"]);
    let styled =
        |options: &[&str], env: &[(&str, &str)]| is_styled_on_terminal(dir.path(), options, env);
    assert!(styled(&[], &[]));
    assert!(!styled(&[], &[("TERM", "dumb")]));
    assert!(!styled(&[], &[("NO_COLOR", "1")]));
    assert!(!styled(&[], &[("CLICOLOR", "0")]));
    assert!(styled(&[], &[("CLICOLOR", "1")]));
    assert!(!styled(&["--color", "never"], &[]));
    assert!(styled(&["--color", "always"], &[("TERM", "dumb"), ("NO_COLOR", "1")]));
}

#[test]
fn a_pipe_gets_colours_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["new", "hello"]);
    let styled =
        |options: &[&str], env: &[(&str, &str)]| is_styled_in_pipe(dir.path(), options, env);
    assert!(!styled(&[], &[]));
    assert!(!styled(&[], &[("CLICOLOR", "1")]));
    assert!(styled(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!styled(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!styled(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(styled(&["--color", "always"], &[]));
}

/// Colours are ours; escape sequences of an agent file stay harmless whatever the colour setting is.
#[test]
fn escape_sequences_of_others_are_neutralised() {
    let dir = tempfile::tempdir().unwrap();
    let text = "system = 'x'\nname = \"\\u001b[2Jx\"\n[tools.time]\n[tools.command.t]\ndescription = \"\\u001b[31mT.\"\nargv = ['ls']";
    super::support::write_agent(dir.path(), text);
    for words in [["check", "a"], ["tools", "a"]] {
        let shown = run_haft(dir.path(), &[words.as_slice(), &["--color", "always"]].concat());
        assert!(shown.starts_with("exit 0"), "{shown}");
        assert!(!shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}[31mT."), "{shown}");
        assert!(shown.contains("\u{fffd}["), "{shown}");
    }
}
