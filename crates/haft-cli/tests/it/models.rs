//! Agents with a model, which a server of others plays. `cargo xtask setup` installs it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{haft, ran, shown};

const ANSWERS: &str = r#"{"fixtures": [
    {"match": {"hasToolResult": false}, "response": {"toolCalls": [{"name": "current_time", "arguments": {}}]}},
    {"match": {"hasToolResult": true}, "response": {"content": "It is late."}}
]}"#;

#[test]
fn every_provider_runs_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let server = "node_modules/@copilotkit/aimock/dist/cli.js";
    let Some(servers) = haft_testkit::server("aimock", server) else { return };
    let server = servers.join(server);
    std::fs::create_dir(folder.path().join("answers")).unwrap();
    std::fs::write(folder.path().join("answers/a.json"), ANSWERS).unwrap();
    let mut double = Command::new("node");
    double.arg(server).args(["--port", "0", "--fixtures"]).arg(folder.path().join("answers"));
    let mut double = double.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(double.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        line.unwrap().split_once("http://").map(|(_, rest)| format!("http://{}", rest.trim()))
    });
    let address = address.unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    ran(folder.path(), &["new", "hello"]);
    // With the version in the address, and without it.
    for base in [format!("{address}/v1"), address] {
        for model in ["openai:m", "openai-responses:m", "anthropic:m", "ollama:m"] {
            let said = with_model(folder.path(), model, &base);
            assert!(said.starts_with("exit 0\n--- out\nIt is late."), "{model}: {said}");
            assert!(said.contains("→ current_time") && !said.contains("sk-hidden"), "{said}");
        }
    }
    double.kill().unwrap();
    double.wait().unwrap();
}

fn with_model(folder: &Path, model: &str, base: &str) -> String {
    let mut command = haft(folder);
    for provider in ["OPENAI", "ANTHROPIC", "OLLAMA"] {
        command.env(format!("{provider}_BASE_URL"), base);
        command.env(format!("{provider}_API_KEY"), "sk-hidden");
    }
    shown(&command.args(["run", "hello", "--model", model]).output().unwrap())
}

#[test]
fn a_model_that_cannot_be_reached_is_said() {
    let folder = tempfile::tempdir().unwrap();
    ran(folder.path(), &["new", "hello"]);
    let run = |model: &str| ran(folder.path(), &["run", "hello", "--model", model]);
    assert!(run("gpt").contains("hint: write PROVIDER:MODEL"));
    assert!(
        run("nope:x").contains("hint: known are openai, openai-responses, anthropic and ollama")
    );
    let unreachable = with_model(folder.path(), "openai:m", "http://127.0.0.1:1");
    assert!(
        unreachable.starts_with("exit 1") && unreachable.contains("no connection"),
        "{unreachable}"
    );
    assert!(!unreachable.contains("sk-hidden"));
    let plain = with_model(folder.path(), "openai:m", "http://192.0.2.1");
    assert!(plain.starts_with("exit 1") && plain.contains("or --plain-http"), "{plain}");
}
