//! Agents with a model, against a mock server. `cargo xtask setup` installs it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::screens::check_session;
use super::support::{haft, run_haft, transcript};

const RESPONSES: &str = r#"{"fixtures": [
    {"match": {"hasToolResult": false}, "response": {"toolCalls": [{"name": "current_time", "arguments": {}}]}},
    {"match": {"hasToolResult": true}, "response": {"content": "It is late."}}
]}"#;

/// What the server says to the checks of `haft doctor`.
const CHECKUP: &str = r#"{"fixtures": [
    {"match": {"userMessage": "Reply with the word"}, "response": {"content": "ok"}},
    {"match": {"userMessage": "report_number", "hasToolResult": false},
     "response": {"toolCalls": [{"name": "report_number", "arguments": {"number": 7}}]}},
    {"match": {"hasToolResult": true}, "response": {"content": "done"}}
]}"#;

/// Starts aimock, a third-party mock of model providers, with these responses. Returns its process and its address.
fn start_server(dir: &Path, responses: &str) -> Option<(Child, String)> {
    let server = "node_modules/@copilotkit/aimock/dist/cli.js";
    let server = haft_testkit::server("aimock", server)?.join(server);
    std::fs::create_dir(dir.join("answers")).unwrap();
    std::fs::write(dir.join("answers/a.json"), responses).unwrap();
    let mut double = Command::new("node");
    double.arg(server).args(["--port", "0", "--fixtures"]).arg(dir.join("answers"));
    let mut double = double.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(double.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        line.unwrap().split_once("http://").map(|(_, rest)| format!("http://{}", rest.trim()))
    });
    std::thread::spawn(move || lines.for_each(drop));
    Some((double, address.unwrap()))
}

#[test]
fn the_doctor_examines_every_provider() {
    let dir = tempfile::tempdir().unwrap();
    let Some((mut double, address)) = start_server(dir.path(), CHECKUP) else { return };
    for model in ["openai:m", "openai-responses:m", "anthropic:m", "ollama:m"] {
        let mut command = command_with_server(dir.path(), &address);
        let found = transcript(&command.args(["doctor", "--model", model]).output().unwrap());
        assert!(found.starts_with("exit 0"), "{model}: {found}");
        assert!(found.contains("ok      reachable    http://127.0.0.1"), "{model}: {found}");
        assert!(found.contains("ok      response     \"ok\" in "), "{model}: {found}");
        assert!(found.contains("report_number {\"number\":7} in "), "{model}: {found}");
        assert!(!found.contains("sk-hidden"), "{model}: {found}");
    }
    double.kill().unwrap();
    double.wait().unwrap();
}

/// What the checks print, against a server that is not ours.
#[test]
fn the_doctor_prints_the_same_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let Some((mut double, address)) = start_server(&dir, CHECKUP) else { return };
    let start = || {
        let mut command = command_with_server(&dir, &address);
        command.env("HAFT_NO_SANDBOX", "1").args(["doctor", "--model", "openai:gpt-4o"]);
        command
    };
    let title = "haft doctor --model openai:gpt-4o";
    check_session(&dir, "doctor", title, start, |_| {});
    double.kill().unwrap();
    double.wait().unwrap();
}

#[test]
fn every_provider_runs_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    let Some((mut double, address)) = start_server(dir.path(), RESPONSES) else { return };
    run_haft(dir.path(), &["new", "hello"]);
    // With the version in the base URL, and without it. The API of Ollama has no version.
    for base in [format!("{address}/v1"), address.clone()] {
        for model in ["openai:m", "openai-responses:m", "anthropic:m", "ollama:m"] {
            let base = if model == "ollama:m" { &address } else { &base };
            let said = run_with_model(dir.path(), model, base);
            assert!(said.starts_with("exit 0\n--- out\nIt is late."), "{model}: {said}");
            assert!(said.contains("→ current_time") && !said.contains("sk-hidden"), "{said}");
        }
    }
    double.kill().unwrap();
    double.wait().unwrap();
}

/// The command `haft` with a server for every provider.
fn command_with_server(dir: &Path, base: &str) -> Command {
    let mut command = haft(dir);
    for provider in ["OPENAI", "ANTHROPIC", "OLLAMA"] {
        command.env(format!("{provider}_BASE_URL"), base);
        command.env(format!("{provider}_API_KEY"), "sk-hidden");
    }
    command
}

fn run_with_model(dir: &Path, model: &str, base: &str) -> String {
    let mut command = command_with_server(dir, base);
    transcript(&command.args(["run", "hello", "--model", model]).output().unwrap())
}

#[test]
fn a_model_that_cannot_be_reached_is_said() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["new", "hello"]);
    let run = |model: &str| run_haft(dir.path(), &["run", "hello", "--model", model]);
    for (name, missing) in [("gpt", "provider"), (":gpt", "provider"), ("openai:", "model")] {
        let said = run(name);
        assert!(said.contains(&format!("error: `{name}` names no {missing}")), "{said}");
        assert!(said.contains("hint: write PROVIDER:MODEL"), "{said}");
    }
    assert!(
        run("nope:x")
            .contains("hint: known providers: openai, openai-responses, anthropic, ollama")
    );
    let unreachable = run_with_model(dir.path(), "openai:m", "http://127.0.0.1:1");
    assert!(
        unreachable.starts_with("exit 1") && unreachable.contains("no connection"),
        "{unreachable}"
    );
    assert!(!unreachable.contains("sk-hidden"));
    let hint = "hint: haft doctor --model openai:m checks the provider";
    assert!(unreachable.ends_with(hint), "{unreachable}");
    let plain = run_with_model(dir.path(), "openai:m", "http://192.0.2.1");
    assert!(plain.starts_with("exit 1") && plain.contains("or --plain-http"), "{plain}");
}
