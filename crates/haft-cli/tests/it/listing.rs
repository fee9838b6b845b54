//! Finding turns and conversations again.

use std::fs::File;
use std::path::Path;

use serde_json::Value;

use super::support::{haft, run_haft, transcript, write_scripted_agent};

fn chat(dir: &Path, words: &[&str], said: &str) -> String {
    let input = dir.join("input");
    std::fs::write(&input, format!("{said}\n")).unwrap();
    let mut command = haft(dir);
    command.args(["chat", "a"]).args(words).stdin(File::open(input).unwrap());
    transcript(&command.output().unwrap())
}

#[test]
fn turns_are_found_by_words_agent_and_the_end_of_their_id() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: The sea is blue.\n");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["run", "a", "What color is the sea?"]).starts_with("exit 0"));
    assert!(cli(&["run", "a", "Another question"]).starts_with("exit 0"));
    let listed = cli(&["turns"]);
    let lines: Vec<&str> = listed.lines().skip(2).collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0].contains("Another question") && lines[0].contains("script"), "{listed}");
    let id = lines[1].split(' ').next().unwrap();
    assert_eq!(id.len(), 8);
    assert!(cli(&["show", id]).contains("What color is the sea?"));
    assert!(cli(&["show", "last"]).contains("Another question"));
    assert_eq!(cli(&["turns", "--search", "COLOR is"]).lines().count(), 3);
    assert_eq!(
        cli(&["turns", "--search", "sea is blue", "--all-messages", "--agent", "a"])
            .lines()
            .count(),
        4
    );
    assert!(cli(&["turns", "--search", "green"]).starts_with("exit 3"));
    assert!(cli(&["turns", "--tool", "touch"]).starts_with("exit 3"));
    assert!(cli(&["turns", "--min-tokens", "1"]).starts_with("exit 3"));
    assert!(cli(&["turns", "--agent", "b"]).starts_with("exit 3"));
    let json = cli(&["turns", "--json", "--limit", "1"]);
    let line: Value = serde_json::from_str(json.lines().nth(2).unwrap()).unwrap();
    assert_eq!(
        (&line["firstWords"], &line["model"]),
        (&"Another question".into(), &"script".into())
    );
    // The store is found from below, and stays out of repositories.
    std::fs::create_dir(dir.path().join("deep")).unwrap();
    assert!(run_haft(&dir.path().join("deep"), &["turns"]).contains(id));
    assert!(std::fs::read_to_string(dir.path().join(".haft/.gitignore")).unwrap().ends_with("*\n"));
}

#[test]
fn conversations_are_listed_renamed_continued_and_exported() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(chat(dir.path(), &["--continue"], "x").starts_with("exit 3"));
    assert!(chat(dir.path(), &[], "first").starts_with("exit 0"));
    assert!(chat(dir.path(), &["--continue"], "second").starts_with("exit 0"));
    let json = cli(&["conversations", "--json"]);
    let line: Value = serde_json::from_str(json.lines().nth(2).unwrap()).unwrap();
    assert_eq!((&line["turns"], &line["title"]), (&2.into(), &"first".into()));
    let id = line["conversation"].as_str().unwrap();
    let prefix = id.get(..10).unwrap();
    assert_eq!(cli(&["turns", "--conversation", prefix]).lines().count(), 4);
    // The short id of the list, with and without `chat-`, names the conversation.
    let short = id.get(..13).unwrap();
    let renamed = cli(&["conversations", "rename", short.trim_start_matches("chat-"), "Notes"]);
    assert_eq!(renamed, format!("exit 0\n--- err\nrenamed {short}: Notes"));
    let listed = cli(&["conversations"]);
    assert!(
        listed.contains(&format!("\n{short}  ")) && listed.contains("2 turns  Notes"),
        "{listed}"
    );
    assert!(cli(&["turns"]).contains(&format!("  {short}")));
    let untitled = cli(&["conversations", "rename", short, ""]);
    assert_eq!(untitled, format!("exit 0\n--- err\nremoved the title of {short}"));
    cli(&["conversations", "rename", short, "Notes"]);
    let exported = cli(&["conversations", "export", "last"]);
    let turns = exported.lines().filter(|line| line.starts_with("<!-- turn ")).count();
    assert_eq!(turns, 2);
    let text: Vec<&str> =
        exported.lines().filter(|it| !it.is_empty() && !it.starts_with("<!--")).collect();
    assert_eq!(
        text,
        [
            "exit 0",
            "--- out",
            "# Notes",
            "**User**",
            "first",
            "**Assistant**",
            "Noted.",
            "**User**",
            "second",
            "**Assistant**",
            "Noted.",
        ]
    );
    let exported = cli(&["conversations", "export", prefix, "--format", "json"]);
    let exported: Value = serde_json::from_str(exported.split_once("out\n").unwrap().1).unwrap();
    assert_eq!(exported["turns"].as_array().unwrap().len(), 2);
    assert!(cli(&["conversations", "export", "nope"]).starts_with("exit 3"));
    assert!(cli(&["run", "a", "alone"]).starts_with("exit 0"));
    let removed = cli(&["conversations", "remove", prefix]);
    assert!(removed.starts_with("exit 0") && removed.contains(": 2 turns"), "{removed}");
    assert!(cli(&["conversations"]).starts_with("exit 3"));
    assert!(cli(&["turns"]).contains("alone"));
}

/// The columns are as wide as the listed turns and conversations need.
#[test]
fn lists_have_aligned_columns() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    std::fs::create_dir(dir.path().join("b")).unwrap();
    std::fs::rename(dir.path().join("a"), dir.path().join("b/longer-name")).unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["run", "b/longer-name", "One."]).starts_with("exit 0"));
    write_scripted_agent(
        dir.path(),
        "",
        "steps:\n  - say: Noted.\n    usage: { prompt: 1200, completion: 34 }\n",
    );
    assert!(cli(&["run", "a", "Two."]).starts_with("exit 0"));
    let listed = cli(&["turns"]);
    let after_age = |line: &str| line.split_once(" s  ").unwrap().1.to_owned();
    let lines: Vec<String> = listed.lines().skip(2).map(after_age).collect();
    assert_eq!(
        lines,
        ["a            script  1,234 tok  Two.", "longer-name  script             One."],
        "{listed}"
    );
    // A column that is empty everywhere takes no room.
    assert!(cli(&["turns", "--search", "One"]).ends_with("s  longer-name  script  One."));
    for text in ["x\n".repeat(9), "y".to_owned()] {
        assert!(chat(dir.path(), &[], &text).starts_with("exit 0"));
    }
    let listed = cli(&["conversations"]);
    let ends: Vec<&str> =
        listed.lines().filter_map(|line| Some(line.split_once(" s  ")?.1)).collect();
    assert_eq!(ends, ["1 turn   y", "9 turns  x"], "{listed}");
}

#[test]
fn a_message_that_cannot_be_read_is_not_left_out_of_an_export() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    assert!(chat(dir.path(), &[], "hello").starts_with("exit 0"));
    let base = rusqlite::Connection::open(dir.path().join(".haft/haft.sqlite")).unwrap();
    let damage = "UPDATE records SET json = '{' WHERE json LIKE '%hello%'";
    assert_eq!(base.execute(damage, []).unwrap(), 1);
    drop(base);
    for format in ["markdown", "json"] {
        let export = ["conversations", "export", "last", "--format", format];
        let said = run_haft(dir.path(), &export);
        assert!(said.starts_with("exit 1") && said.contains("is damaged"), "{said}");
    }
}

/// The list is made from summaries: a record that is damaged would fail the turn that is loaded.
#[test]
fn a_list_of_turns_loads_none_of_them() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    assert!(run_haft(dir.path(), &["run", "a", "a question"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(dir.path().join(".haft/haft.sqlite")).unwrap();
    base.execute("UPDATE records SET json = '{}'", []).unwrap();
    drop(base);
    let listed = run_haft(dir.path(), &["turns"]);
    assert!(listed.starts_with("exit 0") && listed.contains("a question"), "{listed}");
    assert!(run_haft(dir.path(), &["show", "last"]).contains("is damaged"));
}

#[test]
fn conversations_have_the_titles_that_they_were_given() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    for said in ["hello", "goodbye"] {
        assert!(chat(dir.path(), &[], said).starts_with("exit 0"));
    }
    let json = cli(&["conversations", "--json"]);
    let id = |line: usize| {
        let line: Value = serde_json::from_str(json.lines().nth(line).unwrap()).unwrap();
        line["conversation"].as_str().unwrap().to_owned()
    };
    let two = id(2);
    let one = id(3);
    assert!(cli(&["conversations", "rename", &one, "First"]).starts_with("exit 0"));
    let listed = cli(&["conversations"]);
    assert!(listed.contains("1 turn  First") && listed.contains("1 turn  goodbye"), "{listed}");
    assert!(cli(&["conversations", "export", &one]).contains("# First"));
    assert!(cli(&["conversations", "rename", &two, "Second"]).starts_with("exit 0"));
    assert!(cli(&["conversations", "rename", &one, ""]).starts_with("exit 0"));
    let listed = cli(&["conversations"]);
    assert!(listed.contains("1 turn  Second") && listed.contains("1 turn  hello"), "{listed}");
    let too_long = "x".repeat(501);
    let refused = cli(&["conversations", "rename", &two, &too_long]);
    assert!(refused.contains("more than 500 characters"), "{refused}");
}
