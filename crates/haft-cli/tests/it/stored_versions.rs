//! Stores that earlier versions wrote: the current binary opens them and resumes their turns.
//!
//! The fixture `store-0.1` is never changed; each test works on a copy. A store of a newer version is refused, which
//! `stores::a_store_of_a_newer_program_is_left_alone` checks.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::http::{response, serve};
use super::support::{haft, run_haft, transcript};

/// A copy of the fixture: the directories `agents` and `store`.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// The store as killed processes left it, with commits in its write-ahead log.
    fn version_0_1() -> Self {
        let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        copy_dir(&root.join("tests/fixtures/store-0.1"), fixture.path());
        assert!(fixture.path().join("store/haft.sqlite-wal").is_file());
        // Git keeps no permissions; the program gave these to the key.
        let key = fixture.path().join("store/gate.key");
        fs::set_permissions(key, Permissions::from_mode(0o600)).unwrap();
        fixture
    }

    /// The same store after a clean end: everything is in the database, and there is no log.
    fn version_0_1_without_log() -> Self {
        let fixture = Self::version_0_1();
        let database = fixture.path().join("store/haft.sqlite");
        let connection = rusqlite::Connection::open(database).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        connection.close().unwrap();
        assert!(!fixture.path().join("store/haft.sqlite-wal").exists());
        fixture
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs `haft` on the store and returns its exit code and its output as text.
    fn run(&self, words: &[&str]) -> String {
        run_haft(self.path(), &[words, &["--store", "store"]].concat())
    }

    /// The JSON values that a command prints, one per line.
    fn json_lines(&self, words: &[&str]) -> Vec<Value> {
        let output = haft(self.path()).args(words).args(["--json", "--store", "store"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", transcript(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Everything that the store holds of a turn.
    fn show(&self, turn: &str) -> Value {
        let output = haft(self.path()).args(["show", turn, "--json", "--store", "store"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", transcript(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The ids of the turns with a status, newest first.
    fn turns(&self, status: &str) -> Vec<String> {
        let turns = self.json_lines(&["turns"]);
        let turns = turns.iter().filter(|turn| turn["status"] == status);
        turns.map(|turn| text(&turn["id"])).collect()
    }

    /// The turn that waits at the open gate, and the gate.
    fn open_gate(&self) -> (String, String) {
        let gates = self.json_lines(&["gates"]);
        let [gate] = gates.as_slice() else { panic!("one gate is open: {gates:?}") };
        assert_eq!(gate["reason"], "Place this order?");
        let arguments = serde_json::json!({"article": "red pencils", "count": 12});
        assert_eq!(gate["payload"]["arguments"], arguments);
        (text(&gate["turn"]), text(&gate["gate"]))
    }

    /// The turn whose gate was approved and whose call has not run.
    fn approved_turn(&self) -> String {
        let (open, _) = self.open_gate();
        self.turns("waiting").into_iter().find(|turn| *turn != open).unwrap()
    }

    /// Resumes a turn of 0.1 whose gate does not name the definition of its tool: the turn asks again. Approves the new
    /// gate from another process, and returns the exit code and the output of the resume.
    fn resume_and_approve_again(&self, turn: &str, agent: &str) -> String {
        let mut resume = haft(self.path());
        resume.args(["resume", turn, "--agent", agent, "--store", "store", "--gates", "wait"]);
        resume.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut resume = resume.spawn().unwrap();
        let gate = loop {
            let gates = self.json_lines(&["gates"]);
            let again = gates
                .iter()
                .find(|gate| gate["turn"] == turn && gate["argumentSchema"].is_object());
            if let Some(gate) = again {
                break text(&gate["gate"]);
            }
            assert!(resume.try_wait().unwrap().is_none(), "the turn ended without asking again");
            std::thread::sleep(Duration::from_millis(20));
        };
        let of_turn =
            self.json_lines(&["gates"]).into_iter().filter(|it| it["turn"] == turn).count();
        assert_eq!(of_turn, 1, "the old gate is closed");
        let approved = self.run(&["approve", &gate, "--by", "ada"]);
        assert!(approved.starts_with("exit 0"), "{approved}");
        transcript(&resume.wait_with_output().unwrap())
    }

    /// The lines that a program of an agent has written, one for each of its runs.
    fn ledger(&self, agent: &str) -> String {
        let file = self.path().join("agents").join(agent).join("ledger.txt");
        fs::read_to_string(file).unwrap_or_default()
    }
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The record of the call of a tool.
#[track_caller]
fn call_of<'v>(turn: &'v Value, tool: &str) -> &'v Value {
    let records = turn["records"].as_array().unwrap();
    let mut calls = records.iter().map(|it| &it["record"]).filter(|it| it["tool"] == tool);
    calls.next().unwrap_or_else(|| panic!("no call of {tool} in {turn:#}"))
}

#[track_caller]
fn check_listing(fixture: &Fixture) {
    let statuses = |words: &[&str]| -> Vec<String> {
        fixture.json_lines(words).iter().map(|turn| text(&turn["status"])).collect()
    };
    assert_eq!(
        statuses(&["turns"]),
        ["running", "waiting", "waiting", "completed", "completed", "completed"]
    );
    assert_eq!(statuses(&["turns", "--unfinished"]), ["running", "waiting", "waiting"]);
    fixture.open_gate();
    for turn in fixture.json_lines(&["turns"]) {
        let id = text(&turn["id"]);
        assert_eq!(fixture.show(&id)["turn"]["id"], turn["id"]);
        let shown = fixture.run(&["show", &id]);
        assert!(shown.starts_with("exit 0") && shown.contains(&id), "{shown}");
    }
}

#[test]
fn turns_of_0_1_are_listed_with_their_statuses() {
    check_listing(&Fixture::version_0_1());
    check_listing(&Fixture::version_0_1_without_log());
}

#[track_caller]
fn check_approval(fixture: &Fixture) {
    let (turn, _) = fixture.open_gate();
    assert_eq!(fixture.ledger("orders"), "");
    let resumed = fixture.resume_and_approve_again(&turn, "agents/orders");
    assert!(resumed.starts_with("exit 0"), "{resumed}");
    assert!(resumed.contains("Ordered 12 times red pencils."), "{resumed}");
    // The catalogue lies in a spool that the process of version 0.1 wrote before the gate.
    assert!(resumed.contains("0417 article number 417"), "{resumed}");
    fixture.run(&["resume", &turn, "--agent", "agents/orders"]);
    assert_eq!(fixture.ledger("orders"), "red pencils|12\n");
    assert!(fixture.json_lines(&["gates"]).is_empty());
    assert!(fixture.turns("completed").contains(&turn));
}

#[test]
fn an_open_gate_of_0_1_is_asked_again_and_its_turn_resumes() {
    check_approval(&Fixture::version_0_1());
    check_approval(&Fixture::version_0_1_without_log());
}

#[test]
fn an_open_gate_of_0_1_is_denied_and_its_call_does_not_run() {
    let fixture = Fixture::version_0_1();
    let (turn, gate) = fixture.open_gate();
    let denied = fixture.run(&["deny", &gate, "--reason", "too many pencils"]);
    assert!(denied.starts_with("exit 0"), "{denied}");
    let resumed = fixture.run(&["resume", &turn, "--agent", "agents/orders"]);
    assert!(resumed.starts_with("exit 0") && resumed.contains("too many pencils"), "{resumed}");
    assert_eq!(fixture.ledger("orders"), "");
    let shown = fixture.show(&turn);
    assert_eq!(call_of(&shown, "place_order")["error"]["code"], "E_TURN_GATE_REJECTED");
}

#[test]
fn a_gate_settled_in_0_1_is_asked_again_and_its_call_runs_once() {
    let fixture = Fixture::version_0_1();
    let turn = fixture.approved_turn();
    assert_eq!(fixture.ledger("orders"), "");
    let resumed = fixture.resume_and_approve_again(&turn, "agents/orders");
    assert!(resumed.starts_with("exit 0"), "{resumed}");
    assert!(resumed.contains("Ordered 12 times blue ink."), "{resumed}");
    fixture.run(&["resume", &turn, "--agent", "agents/orders"]);
    assert_eq!(fixture.ledger("orders"), "blue ink|12\n");
    let shown = fixture.show(&turn);
    let call = call_of(&shown, "place_order");
    let accepted: Value = serde_json::from_str(&text(&call["accepted"])).unwrap();
    assert_eq!(accepted, serde_json::json!({"article": "blue ink", "count": 12}));
    assert_eq!(
        (&call["state"], &shown["turn"]["status"]),
        (&"succeeded".into(), &"completed".into())
    );
}

#[test]
fn a_call_that_ran_when_0_1_was_killed_is_unknown_and_not_repeated() {
    let fixture = Fixture::version_0_1();
    let turn = fixture.turns("running").pop().unwrap();
    assert_eq!(call_of(&fixture.show(&turn), "pay")["state"], "running");
    let resumed = fixture.run(&["resume", &turn, "--agent", "agents/payments"]);
    assert!(resumed.starts_with("exit 0") && resumed.contains("The payment: "), "{resumed}");
    assert_eq!(fixture.ledger("payments"), "7\n");
    let shown = fixture.show(&turn);
    let call = call_of(&shown, "pay");
    assert_eq!(call["state"], "unknown");
    assert_eq!(call["error"]["code"], "E_TOOL_OUTCOME_UNKNOWN");
    assert_eq!(call["error"]["retryable"], false);
}

#[test]
fn a_conversation_of_0_1_continues_with_its_history() {
    let fixture = Fixture::version_0_1();
    let turns = fixture.json_lines(&["turns"]);
    let conversation = turns.iter().find_map(|turn| turn["conversation"].as_str()).unwrap();
    let listed = fixture.json_lines(&["turns", "--conversation", conversation]);
    assert_eq!(listed.len(), 2);
    let chunk = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Both days."},"finish_reason":"stop"}]}"#;
    let events = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let (port, requests) = serve(response("200 OK\r\ncontent-type: text/event-stream", &events));
    let question = fixture.path().join("question");
    fs::write(&question, "What did I note?\n").unwrap();
    let mut chat = haft(fixture.path());
    chat.args(["chat", "agents/diary", "--model", "openai:m", "--store", "store"]);
    chat.args(["--conversation", conversation]).stdin(File::open(question).unwrap());
    chat.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}"))
        .env("OPENAI_API_KEY", "sk-test");
    let output = transcript(&chat.output().unwrap());
    assert!(output.starts_with("exit 0") && output.contains("Both days."), "{output}");
    // The request to the model has every message of the two earlier turns, in their order.
    let mut request = requests.recv().unwrap();
    let said = [
        "It rained.",
        "Noted: It rained.",
        "The sun came out.",
        "Noted: The sun came out.",
        "What did I note?",
    ];
    for message in said {
        let (_, rest) =
            request.split_once(message).unwrap_or_else(|| panic!("{message}: {request}"));
        request = rest.to_owned();
    }
    assert_eq!(fixture.json_lines(&["turns", "--conversation", conversation]).len(), 3);
}

#[test]
fn memories_of_0_1_become_those_of_their_agent() {
    for fixture in [Fixture::version_0_1(), Fixture::version_0_1_without_log()] {
        assert_eq!(fixture.json_lines(&["turns"]).len(), 6);
        let database = fixture.path().join("store/haft.sqlite");
        let connection = rusqlite::Connection::open(database).unwrap();
        let mut rows = connection
            .prepare("SELECT scope_kind, scope_id, json FROM memories WHERE deleted = 0")
            .unwrap();
        let rows = rows.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        });
        let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
        let [(kind, agent, memory)] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((kind.as_str(), agent.as_str()), ("agent", "/tmp/haft-0.1/agents/reports"));
        assert!(memory.contains("The log has 500 lines."), "{memory}");
        assert!(fixture.path().join("store/haft.sqlite.v1.bak").is_file());
    }
}

/// The files in which the store keeps the large results of a turn.
fn spools_of(fixture: &Fixture, turn: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.path().join("store/spools")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_turn = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().contains(turn);
    paths.filter(of_turn).collect()
}

#[test]
fn spooled_results_of_0_1_can_be_queried_and_are_not_collected() {
    let fixture = Fixture::version_0_1();
    let turn = fixture.turns("completed").pop().unwrap();
    let collected = fixture.run(&["gc"]);
    assert!(
        collected.starts_with("exit 0") && collected.contains("0 stored results removed"),
        "{collected}"
    );
    let files = spools_of(&fixture, &turn);
    assert_eq!(files.len(), 2, "{files:?}");
    let query = |words: &[&str]| {
        let results = files.iter().map(|file| {
            let file = file.to_str().unwrap();
            let words: Vec<&str> =
                words.iter().map(|it| if *it == "FILE" { file } else { it }).collect();
            run_haft(fixture.path(), &words)
        });
        results.collect::<Vec<_>>().join("\n")
    };
    let found = query(&["artifact", "grep", "FILE", "line 0250"]);
    assert!(found.contains("line 0250 of the log: nothing happened"), "{found}");
    let found = query(&["artifact", "json", "get", "FILE", "$[42].value"]);
    assert!(found.contains("1764"), "{found}");
}

#[test]
fn an_ended_turn_of_0_1_keeps_its_records() {
    let fixture = Fixture::version_0_1();
    let turn = fixture.show(&fixture.turns("completed").pop().unwrap());
    let failed = call_of(&turn, "fail");
    assert_eq!(failed["error"]["code"], "E_TOOL_DOWNSTREAM_ERROR");
    assert!(text(&failed["error"]["message"]).contains("the printer is out of paper"));
    assert_eq!(call_of(&turn, "draw")["results"]["media"][0]["mimeType"], "image/png");
    assert!(text(&call_of(&turn, "artifact_json_get")["results"]["text"]).contains("1764"));
    let records = turn["records"].as_array().unwrap();
    let memory = records.iter().find(|it| it["kind"] == "memory").unwrap();
    assert_eq!(memory["record"]["content"], "The log has 500 lines.");
    let message = records.iter().rfind(|it| it["kind"] == "message").unwrap();
    assert!(text(&message["record"]["content"]).starts_with("Value 42 is "));
}
