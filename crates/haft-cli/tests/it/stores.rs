//! Stores that cannot be used: what is said, and that nothing is lost.

use super::ran;

#[test]
fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| ran(folder.path(), words);
    ran(&["new", "hello"]);
    std::fs::write(folder.path().join("file"), "not a folder").unwrap();
    let run = ran(&["run", "hello", "--store", "file"]);
    assert!(
        run.starts_with("exit 1") && run.contains("could not create the folder `file`"),
        "{run}"
    );
    for words in [
        ["turns", "--store", "file"],
        ["gates", "--store", "nowhere"],
        ["gc", "--store", "nowhere"],
    ] {
        let said = ran(&words);
        assert!(said.starts_with("exit 3") && said.contains("hint: name its folder"), "{said}");
    }
    assert!(!folder.path().join("nowhere").exists());
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), b"not a folder");
}

#[test]
fn a_store_of_a_newer_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| ran(folder.path(), words);
    ran(&["new", "hello"]);
    assert!(ran(&["run", "hello"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(folder.path().join(".haft/haft.sqlite")).unwrap();
    base.execute_batch("PRAGMA user_version = 99").unwrap();
    for words in [["turns", "--json"].as_slice(), &["run", "hello"], &["gc"]] {
        let said = ran(words);
        assert!(said.starts_with("exit 1") && said.contains("use a newer program"), "{said}");
    }
    base.execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(ran(&["turns"]).contains("completed"));
}

#[test]
fn a_store_that_is_locked_can_be_read_and_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| ran(folder.path(), words);
    ran(&["new", "hello"]);
    assert!(ran(&["run", "hello"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(folder.path().join(".haft/haft.sqlite")).unwrap();
    base.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(ran(&["turns"]).contains("completed"));
    let run = ran(&["run", "hello"]);
    assert!(run.starts_with("exit 1") && run.contains("database is locked"), "{run}");
    base.execute_batch("COMMIT").unwrap();
    assert!(ran(&["run", "hello"]).starts_with("exit 0"));
}
