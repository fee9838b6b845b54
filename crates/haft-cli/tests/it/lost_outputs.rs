//! Standard output that cannot be written: no command takes that for a success.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::support::{haft, run_haft, transcript, write_scripted_agent};

/// What a command does with standard output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Prints {
    /// What the user asked for.
    Results,
    /// Nothing: what it says goes to standard error.
    Nothing,
    /// It was asked for something that is not there, and says so.
    Error,
    /// Not run here.
    Skipped,
}
use Prints::{Error, Nothing, Results, Skipped};

/// Every command, in an order in which each has what it needs.
const COMMANDS: &[(&[&str], Prints)] = &[
    (&["new", "made"], Results),
    (&["check", "a"], Results),
    (&["test", "a"], Results),
    (&["schema"], Results),
    (&["tools", "a"], Results),
    (&["describe", "a", "list"], Results),
    (&["call", "a", "list"], Results),
    (&["completions", "bash"], Results),
    (&["man"], Results),
    (&["models"], Results),
    (&["doctor"], Results),
    (&["config", "path"], Results),
    (&["config", "set", "model", "ollama:m"], Nothing),
    (&["config"], Results),
    (&["config", "get", "model"], Results),
    (&["config", "unset", "model"], Nothing),
    (&["artifact", "read", "lines.txt"], Results),
    (&["artifact", "info", "lines.txt"], Results),
    (&["artifact", "info", "lines.txt", "--tokens", "o200k_base"], Results),
    (&["artifact", "query", "t.csv", "SELECT * FROM t"], Results),
    (&["artifact", "query", "t.yaml", "$.a"], Results),
    (&["artifact", "query", "t.xml", "$.a"], Results),
    (&["artifact", "query", "t.md", "headings"], Results),
    (&["artifact", "read", "t.md", "--section", "One"], Results),
    (&["artifact", "grep", "lines.txt", "7"], Results),
    (&["artifact", "query", "t.json", "$.*"], Results),
    (&["run", "a"], Results),
    (&["chat", "a"], Results),
    (&["resume", "last"], Results),
    (&["watch", "last"], Results),
    (&["show", "last"], Results),
    (&["artifact", "info", "--turn", "last"], Results),
    (&["turns"], Results),
    (&["conversations"], Results),
    (&["conversations", "export", "last"], Results),
    (&["conversations", "rename", "last", "x"], Nothing),
    (&["media", "list", "last"], Error),
    (&["media", "save", "last", "-o", "-"], Nothing),
    // It needs a terminal that shows images.
    (&["media", "show", "last"], Error),
    (&["conversations", "remove", "last"], Nothing),
    (&["run", "b", "--gates", "park"], Nothing),
    (&["gates"], Results),
    (&["approve", "last", "--always", "agent"], Nothing),
    (&["resume", "last"], Results),
    (&["grants"], Results),
    (&["grants", "revoke", "nothing"], Error),
    (&["deny", "nothing"], Error),
    (&["submit", "a"], Results),
    (&["cancel", "last"], Nothing),
    (&["rm", "last"], Nothing),
    (&["gc"], Results),
    (&["web", "--no-open"], Results),
    (&["serve", "a", "--port", "0"], Results),
    (&["serve", "token", "create", "--tenant", "t"], Results),
    (&["serve", "token", "list"], Results),
    (&["serve", "token", "revoke", "nothing"], Error),
    (&["mcp", "list", "a"], Error),
    (&["mcp", "pin", "a"], Error),
    (&["mcp", "logout", "a", "nothing"], Error),
    // They serve until a signal or the end of their input, or need a server.
    (&["worker"], Skipped),
    (&["mcp", "serve"], Skipped),
    (&["mcp", "proxy"], Skipped),
    (&["mcp", "login"], Skipped),
];

fn write_files(dir: &Path) {
    let tool = "[tools.command.list]\ndescription = 'Lists.'\nargv = ['seq', '3000']\neffect = 'read-only'\n";
    let script = "steps:\n  - call: { list: {} }\n  - say: over\n";
    write_scripted_agent(dir, &format!("prompt = 'Go.'\n{tool}"), script);
    fs::create_dir(dir.join("b")).unwrap();
    let agent =
        format!("system = 'x'\nprompt = 'Go.'\nscript = 's.yaml'\n{tool}approval = 'May I?'\n");
    fs::write(dir.join("b/agent.toml"), agent).unwrap();
    fs::write(dir.join("b/s.yaml"), script).unwrap();
    for (name, text) in [
        ("lines.txt", (0..100).map(|line| format!("{line}\n")).collect::<String>()),
        ("t.csv", "a,b\n1,2\n3,4\n".to_owned()),
        ("t.json", r#"{"a": [1, 2]}"#.to_owned()),
        ("t.yaml", "a: [1, 2]\n".to_owned()),
        ("t.xml", "<a><c b='1'>x</c><c b='2'>y</c></a>".to_owned()),
        ("t.md", "# One\n[two](three)\n".to_owned()),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
}

fn full() -> Stdio {
    Stdio::from(File::options().write(true).open("/dev/full").unwrap())
}

/// The pipe whose reader is gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(writer)
}

fn run(dir: &Path, words: &[&str], out: Stdio) -> Output {
    let mut command: Command = haft(dir);
    if words.first() == Some(&"chat") {
        fs::write(dir.join("said"), "hello\nhello\n").unwrap();
        command.stdin(File::open(dir.join("said")).unwrap());
    }
    command.args(words).stdout(out).stderr(Stdio::piped()).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_command_succeeds_when_its_output_is_lost() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    dirs.iter().for_each(|dir| write_files(dir.path()));
    let [full_dir, closed_dir] = dirs.each_ref().map(tempfile::TempDir::path);
    for (words, prints) in COMMANDS {
        if *prints == Skipped {
            continue;
        }
        let said = transcript(&run(full_dir, words, full()));
        let is_told = said.contains("cannot write to standard output: No space left on device");
        match prints {
            Nothing => assert!(
                said.starts_with("exit 0") || said.starts_with("exit 4"),
                "{words:?}: {said}"
            ),
            Error => assert!(!said.starts_with("exit 0"), "{words:?}: {said}"),
            _ => assert!(said.starts_with("exit 1") && is_told, "{words:?}: {said}"),
        }
        let said = transcript(&run(closed_dir, words, closed()));
        if *prints == Results {
            assert!(said.starts_with("exit 141"), "{words:?}: {said}");
            assert!(!said.contains("error"), "{words:?}: {said}");
        }
    }
}

/// The manual has a page for every command, so a new one that is missing above is found.
#[test]
fn every_command_is_tried() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run_haft(dir.path(), &["man", "--dir", "man"]), "exit 0");
    let pages: BTreeSet<String> = fs::read_dir(dir.path().join("man"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .map(|page| page.trim_start_matches("haft").trim_end_matches(".1").to_owned())
        .collect();
    let is_group = |page: &str| pages.iter().any(|it| it.starts_with(&format!("{page}-")));
    for page in pages.iter().filter(|page| !is_group(page)) {
        let is_tried = COMMANDS.iter().any(|(words, _)| {
            (1..=words.len()).any(|count| format!("-{}", words[..count].join("-")) == *page)
        });
        assert!(is_tried, "`haft{}` is not tried", page.replace('-', " "));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_help_that_is_lost_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    for words in [&["--help"][..], &["--version"], &["run", "--help"], &["help", "artifact"]] {
        let said = transcript(&run(dir.path(), words, full()));
        assert!(said.starts_with("exit 1"), "{words:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{words:?}: {said}");
    }
}

/// The turn is completed and stored, and the message says how to read the lost answer.
#[cfg(target_os = "linux")]
#[test]
fn a_lost_answer_can_be_read_afterwards() {
    for words in [&["run", "a"][..], &["run", "a", "-q"], &["run", "a", "--json"]] {
        let dir = tempfile::tempdir().unwrap();
        write_files(dir.path());
        let said = transcript(&run(dir.path(), words, full()));
        assert!(said.starts_with("exit 1"), "{words:?}: {said}");
        let (_, command) = said.split_once("read its answer with: haft ").unwrap();
        let command: Vec<&str> = command.split_whitespace().collect();
        let shown = run_haft(dir.path(), &command);
        assert!(shown.starts_with("exit 0") && shown.contains("over"), "{shown}");
        let turns = run_haft(dir.path(), &["turns", "--json"]);
        assert!(turns.contains(r#""status":"completed""#), "{turns}");
    }
}
