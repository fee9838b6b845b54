use std::path::Path;

use insta::assert_snapshot;

use super::support::run_haft;

fn write_log(dir: &Path) {
    let text = "start\nwarn: low\nok\nERROR: full\nok\nok\nwarn: again\nend\n";
    std::fs::write(dir.join("app.log"), text).unwrap();
}

#[test]
fn lines_of_a_text() {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path());
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    let info = cli(&["artifact", "info", "app.log"]);
    assert!(info.starts_with("exit 0\n--- out\napp.log: text, 53 bytes"), "{info}");
    assert_eq!(
        cli(&["artifact", "read", "app.log", "--end", "2"]),
        "exit 0\n--- out\nstart\nwarn: low"
    );
    assert_eq!(
        cli(&["artifact", "read", "app.log", "--start", "-2"]),
        "exit 0\n--- out\nwarn: again\nend"
    );
    let range = ["artifact", "read", "app.log", "--start", "3", "--end", "4"];
    assert_eq!(cli(&range), "exit 0\n--- out\nok\nERROR: full");
    let tokens = |encoding| cli(&["artifact", "info", "app.log", "--tokens", encoding]);
    assert!(tokens("o200k_base").starts_with("exit 0\n--- out\n"));
    assert!(tokens("nope").contains("hint: known encodings"));
}

#[test]
fn lines_that_match() {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path());
    let grep = |words: &[&str]| {
        let mut all = vec!["artifact", "grep", "app.log"];
        all.extend(words);
        run_haft(dir.path(), &all)
    };
    assert_eq!(grep(&["warn"]), "exit 0\n--- out\n2:warn: low\n7:warn: again");
    assert_eq!(grep(&["warn", "--count"]), "exit 0\n--- out\n2");
    assert_eq!(grep(&["warn", "--limit", "1"]), "exit 0\n--- out\n2:warn: low");
    assert_eq!(grep(&["error", "-i"]), "exit 0\n--- out\n4:ERROR: full");
    assert_eq!(grep(&["nothing"]), "exit 3");
    assert_eq!(grep(&["nothing", "--count"]), "exit 0\n--- out\n0");
    assert_snapshot!(grep(&["warn", "-C", "1"]), @r"
    exit 0
    --- out
    1-start
    2:warn: low
    3-ok
    --
    6-ok
    7:warn: again
    8-end
    ");
    assert_snapshot!(grep(&["full", "--json", "--context", "1"]), @r#"
    exit 0
    --- out
    {"context":true,"line":3,"text":"ok"}
    {"line":4,"text":"ERROR: full"}
    {"context":true,"line":5,"text":"ok"}
    "#);
    assert!(grep(&["("]).starts_with("exit 1\n--- err\nerror: "), "{}", grep(&["("]));
}

#[test]
fn json_and_markdown() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    std::fs::write(dir.path().join("d.json"), r#"{"items": [{"name": "a"}, {"name": "b"}]}"#)
        .unwrap();
    std::fs::write(dir.path().join("d.jsonl"), "{\"n\":1}\n{\"n\":2}\n").unwrap();
    let query = |file, query| cli(&["artifact", "query", file, query]);
    assert_eq!(query("d.json", "$.items[1].name"), "exit 0\n--- out\nb");
    assert_eq!(query("d.json", "SELECT name FROM $.items"), "exit 0\n--- out\nname\na\nb");
    let info = cli(&["artifact", "info", "d.json"]);
    assert!(info.contains("one object\nkeys: items (list of 2)"), "{info}");
    assert!(cli(&["artifact", "info", "d.jsonl"]).contains("2 records, one per line"));
    let found = query("d.jsonl", "$[?@.n > 1]");
    assert!(found.contains("\"n\": 2") && !found.contains("\"n\": 1"), "{found}");
    assert!(query("d.json", "$.[").starts_with("exit 1"));

    let text = "# Title\n\nSee [one](a.md).\n\n## Part\n\nbody\n\n## Other\n";
    std::fs::write(dir.path().join("d.md"), text).unwrap();
    assert_eq!(query("d.md", "headings"), "exit 0\n--- out\n1: # Title\n5: ## Part\n9: ## Other");
    assert_eq!(
        cli(&["artifact", "read", "d.md", "--section", "part"]),
        "exit 0\n--- out\n## Part\n\nbody"
    );
    assert_eq!(query("d.md", "links"), "exit 0\n--- out\n3: [one](a.md)");
    let missing = cli(&["artifact", "read", "d.md", "--section", "oth"]);
    assert!(
        missing.starts_with("exit 1") && missing.contains("the headings are: Title; Part; Other"),
        "{missing}"
    );
}

/// A line far longer than a page is printed completely.
#[test]
fn a_handle_needs_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let asked = run_haft(dir.path(), &["artifact", "read", "2124fadf"]);
    assert_eq!(
        asked,
        "exit 1\n--- err\nerror: there is no file `2124fadf`\nhint: a handle needs its turn: 2124fadf --turn last"
    );
    let asked = run_haft(dir.path(), &["artifact", "read", "no-file"]);
    assert!(asked.contains("error: cannot read `no-file`"), "{asked}");
    assert!(!asked.contains("handle") && asked.contains("hint: the path is seen from"), "{asked}");
}

/// A change that keeps the length and sets the time of modification back is noticed all the same.
#[test]
fn the_stored_line_index_fits_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.txt");
    let lines: String = (1..=300_000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(&path, &lines).unwrap();
    let last = || run_haft(dir.path(), &["artifact", "grep", "long.txt", "line 300000"]);
    assert_eq!(last(), "exit 0\n--- out\n300000:line 300000");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, lines.replacen('\n', " ", 1)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(last(), "exit 0\n--- out\n299999:line 300000");
    let start = ["artifact", "read", "long.txt", "--start", "299998"];
    assert_eq!(run_haft(dir.path(), &start), "exit 0\n--- out\nline 299999\nline 300000");
}

#[test]
fn long_lines_are_whole() {
    let dir = tempfile::tempdir().unwrap();
    let long = "é".repeat(3_000_000);
    std::fs::write(dir.path().join("long.txt"), format!("{long}\nend\n")).unwrap();
    assert_eq!(
        run_haft(dir.path(), &["artifact", "read", "long.txt", "--end", "2"]),
        format!("exit 0\n--- out\n{long}\nend")
    );
}

/// Windows writes logs like this, in which no pattern matches: the answer would be "nothing" without a word.
#[test]
fn text_in_utf_16_is_not_searched_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let text: Vec<u8> = "\u{FEFF}ERROR one\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(dir.path().join("app.log"), text).unwrap();
    let mark = "the content begins with the mark of UTF-16 or UTF-32 and is read as UTF-8";
    let found = run_haft(dir.path(), &["artifact", "grep", "app.log", "ERROR", "--count"]);
    assert!(found.starts_with("exit 0\n--- out\n0\n--- err") && found.contains(mark), "{found}");
    std::fs::write(dir.path().join("app.log"), "\u{FEFF}ERROR one\n").unwrap();
    let found = run_haft(dir.path(), &["artifact", "grep", "app.log", "ERROR", "--count"]);
    assert_eq!(found, "exit 0\n--- out\n1");
}
