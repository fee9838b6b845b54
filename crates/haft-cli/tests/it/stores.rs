//! Stores that cannot be used: the error messages, and that nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::support::run_haft;

#[test]
fn what_is_no_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    fs::write(dir.path().join("file"), "not a folder").unwrap();
    let run = cli(&["run", "hello", "--store", "file"]);
    assert!(
        run.starts_with("exit 1") && run.contains("could not create the directory `file`"),
        "{run}"
    );
    for words in [
        ["turns", "--store", "file"],
        ["gates", "--store", "nowhere"],
        ["gc", "--store", "nowhere"],
    ] {
        let said = cli(&words);
        assert!(said.starts_with("exit 3") && said.contains("hint: set its directory"), "{said}");
    }
    assert!(!dir.path().join("nowhere").exists());
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"not a folder");
}

#[test]
fn a_store_of_a_newer_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    assert!(cli(&["run", "hello"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(dir.path().join(".haft/haft.sqlite")).unwrap();
    base.execute_batch("PRAGMA user_version = 99").unwrap();
    for words in [["turns", "--json"].as_slice(), &["run", "hello"], &["gc"]] {
        let said = cli(words);
        assert!(said.starts_with("exit 1") && said.contains("use a newer program"), "{said}");
    }
    base.execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(cli(&["turns"]).contains("completed"));
}

#[test]
fn a_store_that_is_locked_can_be_read_and_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    assert!(cli(&["run", "hello"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(dir.path().join(".haft/haft.sqlite")).unwrap();
    base.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(cli(&["turns"]).contains("completed"));
    let run = cli(&["run", "hello"]);
    assert!(run.starts_with("exit 1") && run.contains("database is locked"), "{run}");
    base.execute_batch("COMMIT").unwrap();
    assert!(cli(&["run", "hello"]).starts_with("exit 0"));
}

#[test]
fn a_key_that_others_can_use_or_that_is_no_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    assert!(cli(&["run", "hello", "--record", "turn.json"]).starts_with("exit 0"));
    let mode =
        |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".haft"), mode(".haft/spools")), (0o700, 0o700));
    assert_eq!((mode(".haft/haft.sqlite"), mode("turn.json")), (0o600, 0o600));
    let key = dir.path().join(".haft/gate.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o666)).unwrap();
    let turns = cli(&["turns"]);
    assert!(turns.starts_with("exit 1") && turns.contains("run `chmod 600 "), "{turns}");
    fs::remove_file(&key).unwrap();
    std::os::unix::fs::symlink("nowhere", &key).unwrap();
    let turns = cli(&["turns"]);
    assert!(turns.starts_with("exit 1") && turns.contains("it is a symbolic link"), "{turns}");
}
