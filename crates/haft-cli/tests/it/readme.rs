//! Runs the commands of the README.

use std::path::PathBuf;

use super::support::{haft, transcript};

/// The lines of the README's shell blocks that call a program.
fn commands(program: &str) -> Vec<Vec<String>> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let text = std::fs::read_to_string(root.join("../../README.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap());
    let called = lines.filter_map(|line| line.strip_prefix(program)?.strip_prefix(' '));
    called.map(split_words).collect()
}

/// Splits a line into words. Text in single quotes is one word.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        if n % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_works_as_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let commands = commands("haft");
    assert!(commands.len() > 10, "{commands:?}");
    for words in commands {
        let output = haft(dir.path()).args(&words).env_remove("OPENAI_API_KEY").output().unwrap();
        let run = transcript(&output);
        if words.contains(&"--model".to_owned()) {
            // The error names the missing key.
            assert!(
                run.starts_with("exit 1") && run.contains("OPENAI_API_KEY"),
                "{words:?}: {run}"
            );
        } else {
            assert!(run.starts_with("exit 0"), "{words:?}: {run}");
        }
    }
}

/// The first command is the example that another test runs.
#[test]
fn the_first_command_runs_the_log_detective() {
    let first = commands("cargo").into_iter().next().unwrap();
    assert_eq!(first, ["run", "-p", "haft-cli", "--", "run", "examples/log-detective", "--trust"]);
}
