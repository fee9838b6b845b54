use std::io::Write as _;
use std::process::Stdio;

use insta::assert_snapshot;

use super::support::{haft, run_haft, transcript, write_scripted_agent};

#[test]
fn arguments_come_from_a_file_or_from_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let tool = "[tools.command.echo]\ndescription = 'E.'\nargv = ['echo', '{a}']\nargs.a = { type = 'integer' }";
    write_scripted_agent(dir.path(), tool, "steps:\n  - say: Hello.");
    std::fs::write(dir.path().join("args.json"), "{\"a\": 1}").unwrap();
    let typed = run_haft(dir.path(), &["call", "a", "echo", "{\"a\":1}"]);
    assert_eq!(typed, "exit 0\n--- out\n1");
    assert_eq!(run_haft(dir.path(), &["call", "a", "echo", "@args.json"]), typed);
    let mut child = haft(dir.path());
    let child = child.args(["call", "a", "echo", "-"]).stdin(Stdio::piped());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b" {\"a\":1}").unwrap();
    assert_eq!(transcript(&child.wait_with_output().unwrap()), typed);
}

#[test]
fn a_misspelled_command_is_recognised() {
    let dir = tempfile::tempdir().unwrap();
    for (word, meant) in [("rn", "run"), ("caht", "chat"), ("aprove", "approve")] {
        let said = run_haft(dir.path(), &[word]);
        assert!(said.contains(&format!("a similar subcommand exists: '{meant}'")), "{said}");
    }
    // `test` is nearer, but not a command of `haft mcp`.
    let said = run_haft(dir.path(), &["mcp", "lst"]);
    assert!(said.contains("a similar subcommand exists: 'list'"), "{said}");
    // Where no name is similar, all are listed.
    let said = run_haft(dir.path(), &["artifact", "xml", "root", "x.xml"]);
    assert!(said.contains("the commands are: info, read, grep, query"), "{said}");
}

#[test]
fn what_is_wrong_is_said_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert_snapshot!(cli(&["turns"]), @r"
    exit 3
    --- err
    error: there is no store at `.haft`
    hint: set its directory with --store DIR; `haft run` creates a store
    ");
    let said = cli(&["artifact", "read", "nowhere.log"]);
    assert_snapshot!(said.replace(&*dir.path().to_string_lossy(), "DIR"), @r"
    exit 1
    --- err
    error: cannot read `nowhere.log`
      caused by: No such file or directory (os error 2)
    hint: the path is seen from `DIR`
    ");
    assert!(cli(&["trns"]).starts_with("exit 2"));
    assert!(cli(&["artifact", "read", "."]).contains("is no regular file"));
}

#[test]
fn help_has_examples_and_completions_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    let help = run_haft(dir.path(), &["--help"]);
    for word in ["Examples:", "Exit codes:", "haft new hello", "artifact"] {
        assert!(help.contains(word), "{word} is not in {help}");
    }
    assert!(run_haft(dir.path(), &["completions", "bash"]).contains("_haft"));
    assert!(run_haft(dir.path(), &["man"]).contains(".TH haft"));
    assert_eq!(run_haft(dir.path(), &["man", "--dir", "man"]), "exit 0");
    for page in ["haft.1", "haft-run.1", "haft-artifact-query.1"] {
        assert!(dir.path().join("man").join(page).is_file(), "{page}");
    }
}

/// A reader that closes the pipe early knows that, so nothing is printed about it. The exit code is that of programs which
/// the signal of the closed pipe ends.
#[test]
fn output_may_be_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(dir.path().join("long.txt"), lines).unwrap();
    let mut child = haft(dir.path());
    let child =
        child.args(["artifact", "read", "long.txt"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(transcript(&child.wait_with_output().unwrap()), "exit 141");
}

/// The commands can be copied, and nothing reaches the terminal that it would interpret.
#[test]
fn the_name_of_a_new_agent_is_printed_as_a_shell_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    for (name, shown) in [
        ("hello", "hello"),
        ("my agent", "'my agent'"),
        ("red\u{1b}[31m\u{202e}", "$'red\\U0000001b[31m\\U0000202e'"),
    ] {
        let created = run_haft(dir.path(), &["new", name]);
        let expected = format!(
            "exit 0\n--- out\ncreated {shown}; try:\n  haft run {shown}\n  haft check {shown}\n  haft tools {shown}\n  \
             haft chat {shown} --model openai:gpt-5-mini"
        );
        assert_eq!(created, expected);
    }
}

/// The book has the exit codes of the help.
#[test]
fn exit_codes_are_documented() {
    let dir = tempfile::tempdir().unwrap();
    let help = run_haft(dir.path(), &["--help"]);
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let book = std::fs::read_to_string(root.join("../../docs/book/src/inspect.md")).unwrap();
    let codes: Vec<&str> = help.split("Exit codes:\n").nth(1).unwrap().lines().collect();
    assert_eq!(codes.len(), 11, "{codes:?}");
    for line in codes {
        let (code, meaning) = line.trim().split_once(' ').unwrap();
        let row = format!("| {code} | {} |", meaning.trim());
        assert!(book.contains(&row), "the book lacks {row}");
    }
}

/// The help of a command begins with the description that the list of commands has.
#[test]
fn the_help_of_every_command_says_what_the_command_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut checked = 0;
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let help = run_haft(dir.path(), &words);
        let Some((_, list)) = help.split_once("\nCommands:\n") else { continue };
        let list = list.split("\n\n").next().unwrap();
        for line in list.lines().filter(|it| it.starts_with("  ") && !it.starts_with("   ")) {
            let (name, description) = line.trim().split_once(' ').unwrap();
            let description = description.split(" [alias").next().unwrap();
            if name == "help" {
                continue;
            }
            let inner = [command.as_slice(), &[name.to_owned()]].concat();
            let mut words: Vec<&str> = inner.iter().map(String::as_str).collect();
            words.push("--help");
            let help = run_haft(dir.path(), &words);
            let first = help.lines().nth(2).unwrap();
            assert!(first.starts_with(description.trim()), "haft {inner:?} --help says {first:?}");
            checked += 1;
            open.push(inner);
        }
    }
    assert!(checked > 50, "{checked}");
}

/// Every command has a page, with every option that its help has.
#[test]
fn every_command_has_a_manual_page_and_completions() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["man", "--dir", "man"]);
    let help = run_haft(dir.path(), &["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> =
        list.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands.into_iter().filter(|it| *it != "help") {
        let page = dir.path().join(format!("man/haft-{command}.1"));
        let page = std::fs::read_to_string(page).unwrap().replace('\\', "");
        let help = run_haft(dir.path(), &[command, "--help"]);
        let words = help.split_whitespace().filter(|it| it.starts_with("--"));
        for option in words.map(|it| it.trim_end_matches(|c: char| !c.is_alphanumeric())) {
            assert!(page.contains(option), "{option} of haft {command}");
        }
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let completions = run_haft(dir.path(), &["completions", shell]);
            assert!(completions.contains(command), "{command} in {shell}");
        }
    }
}
