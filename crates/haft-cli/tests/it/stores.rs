//! Stores that cannot be used: the error messages, and that nothing is lost.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::support::{haft, json_string, run_haft, transcript, write_scripted_agent};

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
    for store in ["file", "file/state", "file/a/b"] {
        let run = cli(&["run", "hello", "--store", store]);
        let cause = "caused by: `file` is a file and not a directory";
        assert!(run.contains(cause) && run.contains("with --store DIR"), "{run}");
    }
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
    let version: i64 = base.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    base.execute_batch("PRAGMA user_version = 99").unwrap();
    for words in [["turns", "--json"].as_slice(), &["run", "hello"], &["gc"]] {
        let said = cli(words);
        assert!(said.starts_with("exit 1") && said.contains("use a newer program"), "{said}");
    }
    base.execute_batch("PRAGMA user_version = 3").unwrap();
    let said = cli(&["turns"]);
    assert!(said.starts_with("exit 1") && said.contains("use the program that wrote it"), "{said}");
    base.pragma_update(None, "user_version", version).unwrap();
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

/// A copy of the one file and the key has all turns.
#[test]
fn a_database_is_complete_without_its_log_after_each_command() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    for words in [["run", "hello"].as_slice(), &["turns"], &["gates"], &["gc"]] {
        let said = cli(words);
        assert!(said.starts_with("exit 0"), "{said}");
        assert!(!dir.path().join(".haft/haft.sqlite-wal").exists(), "{words:?}");
    }
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    // The rows are read with the key that has marked them.
    for name in ["haft.sqlite", "gate.key"] {
        fs::copy(dir.path().join(".haft").join(name), copy.join(name)).unwrap();
    }
    // As JSON: the age of a turn, which the list shows, can change between the two.
    assert_eq!(cli(&["turns", "--json", "--store", "copy"]), cli(&["turns", "--json"]));
}

/// A limit on the size of files stands for the full disk. Its signal is ignored, so that writes fail.
#[test]
fn turns_on_a_full_disk_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "prompt = 'Go.'", "steps:\n  - say: done\n");
    assert!(run_haft(dir.path(), &["run", "a"]).starts_with("exit 0"));
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let id = json_string(&turns, "id");
    let on_full_disk = |words: &str| {
        let command = haft(dir.path());
        let mut limited = Command::new("sh");
        limited.current_dir(dir.path()).stdin(Stdio::null());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let script = format!("trap '' XFSZ; ulimit -f 0; exec \"$0\" {words}");
        let output = limited.args(["-c", &script]).arg(command.get_program()).output().unwrap();
        transcript(&output)
    };
    assert!(on_full_disk("turns").contains("completed"), "{}", on_full_disk("turns"));
    let shown = on_full_disk(&format!("show {id}"));
    assert!(shown.starts_with("exit 0") && shown.contains("done"), "{shown}");
    let run = on_full_disk("run a");
    assert!(run.starts_with("exit 1") && run.contains("could not open the store"), "{run}");
}

#[test]
fn a_store_with_a_trigger_of_another_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    assert!(cli(&["run", "hello"]).starts_with("exit 0"));
    let base = rusqlite::Connection::open(dir.path().join(".haft/haft.sqlite")).unwrap();
    base.execute_batch("CREATE TRIGGER t AFTER INSERT ON gates BEGIN DELETE FROM gates; END")
        .unwrap();
    for words in [["turns"].as_slice(), &["run", "hello"], &["resume", "x"]] {
        let said = cli(words);
        assert!(said.starts_with("exit 1") && said.contains("a trigger `t`"), "{said}");
    }
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

/// A turn of a conversation is killed while a call runs that must not be repeated. The conversation resumes it first.
#[test]
fn a_conversation_resumes_its_interrupted_turn_first() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        [tools.command.pay]
        description = "Pays."
        argv = ["sh", "-c", "echo paid >> ledger; exec sleep 60"]
        effect = "once"
    "#;
    write_scripted_agent(
        dir.path(),
        text,
        "steps:\n  - call: { pay: {} }\n  - say: \"{{ last.pay }}\"\n",
    );
    let question = dir.path().join("question");
    fs::write(&question, "Pay.\n").unwrap();
    let mut chat = haft(dir.path());
    chat.args(["chat", "a"]).stdin(File::open(&question).unwrap());
    let mut chat = chat.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ledger = dir.path().join("a/ledger");
    while fs::read_to_string(&ledger).unwrap_or_default().is_empty() {
        assert!(chat.try_wait().unwrap().is_none(), "the conversation ended before its call ran");
        std::thread::sleep(Duration::from_millis(20));
    }
    chat.kill().unwrap();
    chat.wait().unwrap();
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    assert!(turns.contains(r#""status":"running""#), "{turns}");
    let conversation = json_string(&turns, "conversation");
    let resumed = run_haft(dir.path(), &["chat", "a", "--conversation", conversation]);
    assert!(resumed.starts_with("exit 0"), "{resumed}");
    assert!(resumed.contains("resuming the interrupted turn"), "{resumed}");
    assert!(resumed.contains("what it did is not known"), "{resumed}");
    assert_eq!(fs::read_to_string(&ledger).unwrap(), "paid\n");
    assert!(run_haft(dir.path(), &["turns"]).contains("completed"));
}

/// The store is in the directory that the tools for files serve, and its name has no directory in front.
#[test]
fn a_store_that_is_named_without_a_directory_is_not_served_by_tools() {
    for (store, key) in [("sqlite:haft.sqlite", "gate.key"), ("turns", "turns/gate.key")] {
        let dir = tempfile::tempdir().unwrap();
        let reads = |path: &str| {
            format!(
                "  - call: {{ read_file: {{ path: {path} }} }}\n  - expect: {{ read_file: {{ error: true }} }}\n"
            )
        };
        // What is next to the store is not part of it.
        let other =
            "  - call: { read_file: { path: notes.txt } }\n  - say: \"{{ last.read_file }}\"\n";
        let script = format!("steps:\n{}{}{other}", reads(key), reads("results/earlier"));
        write_scripted_agent(dir.path(), "[tools]\nfiles = {}\n", &script);
        fs::create_dir(dir.path().join("a/results")).unwrap();
        fs::write(dir.path().join("a/results/earlier"), "a large result").unwrap();
        fs::write(dir.path().join("a/notes.txt"), "a note").unwrap();
        let agent = dir.path().join("a");
        let cli = |words: &[&str]| {
            run_haft(&agent, &[words, &["--store", store, "--spool", "results"]].concat())
        };
        let run = cli(&["run", ".", "Go."]);
        assert!(run.starts_with("exit 0\n--- out\na note\n"), "{run}");
        assert!(agent.join(key).is_file());
        assert!(cli(&["turns"]).contains("completed"));
    }
}
