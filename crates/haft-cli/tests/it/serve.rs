//! `haft serve`

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// How often a test looks whether a turn has ended.
const MAX_LOOKS: usize = 1200;

/// A service that is killed at the end of its test.
struct ServeProcess {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    address: String,
}

impl ServeProcess {
    fn start(dir: &Path, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_haft"))
            .arg("serve")
            .arg(dir.join("hello"))
            .args(["--port", "0", "--store"])
            .arg(dir.join("store"))
            .arg("--tokens")
            .arg(dir.join("tokens.json"))
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let line = read_line(&mut output);
        let address = line.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap().to_owned();
        Self { child, output, address }
    }

    /// Sends a request and returns the status and the body.
    fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = if method == "GET" { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} /v1{path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Waits until a turn has ended.
    fn await_end(&self, turn: &str, token: &str) -> Value {
        for _ in 0..MAX_LOOKS {
            let (status, detail) = self.send("GET", &format!("/turns/{turn}"), token, &Value::Null);
            assert_eq!(status, 200, "{detail}");
            if detail["turn"]["state"] == "completed" {
                return detail;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the turn `{turn}` does not end");
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_line(output: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim().to_owned()
}

fn haft(args: &[&str], dir: &Path) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_haft")).args(args).current_dir(dir).output().unwrap()
}

fn create_token(dir: &Path, tenant: &str) -> String {
    let args = ["serve", "token", "create", "--tenant", tenant, "--tokens", "tokens.json"];
    let output = haft(&args, dir);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn one_command_is_a_service_that_runs_turns() {
    let dir = tempfile::tempdir().unwrap();
    assert!(haft(&["new", "hello"], dir.path()).status.success());
    let mut service = ServeProcess::start(dir.path(), &[]);
    let token = read_line(&mut service.output);
    let body = json!({"agent": "hello", "message": "Hi!"});
    let (status, submitted) = service.send("POST", "/turns", &token, &body);
    assert_eq!(status, 200, "{submitted}");
    let turn = submitted["turn"].as_str().unwrap();
    service.await_end(turn, &token);
    let request = format!("/turns/{turn}/steps/{}/request", u32::MAX);
    let (status, refused) = service.send("GET", &request, &token, &Value::Null);
    assert_eq!((status, &refused["code"]), (404, &json!("E_API_NOT_FOUND")), "{refused}");
    assert_eq!(service.send("POST", "/turns", "haft_0_0", &body).0, 401);
    let (status, agents) = service.send("GET", "/agents", &token, &Value::Null);
    assert_eq!((status, &agents[0]["name"]), (200, &json!("hello")), "{agents}");
}

#[test]
fn tenants_have_their_own_turns_and_conversations() {
    let dir = tempfile::tempdir().unwrap();
    assert!(haft(&["new", "hello"], dir.path()).status.success());
    let shop = create_token(dir.path(), "shop");
    let bank = create_token(dir.path(), "bank");
    let service = ServeProcess::start(dir.path(), &["--run", "2"]);
    let body = json!({"agent": "hello", "message": "Hi!", "conversation": "talk"});
    let (_, submitted) = service.send("POST", "/turns", &shop, &body);
    let turn = submitted["turn"].as_str().unwrap();
    service.await_end(turn, &shop);
    assert_eq!(service.send("GET", &format!("/turns/{turn}"), &bank, &Value::Null).0, 404);
    // The first turn of the bank's conversation of the same name sees nothing of the shop's.
    let (_, submitted) = service.send("POST", "/turns", &bank, &body);
    let detail = service.await_end(submitted["turn"].as_str().unwrap(), &bank);
    assert_eq!(detail["earlierTurns"], 0, "{detail}");
    let (_, submitted) = service.send("POST", "/turns", &shop, &body);
    let detail = service.await_end(submitted["turn"].as_str().unwrap(), &shop);
    assert_eq!(detail["earlierTurns"], 1, "{detail}");
    drop(service);
    let listed = haft(&["serve", "token", "list", "--json", "--tokens", "tokens.json"], dir.path());
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let id = serde_json::from_str::<Value>(listed.lines().next().unwrap()).unwrap();
    let id = id["id"].as_str().unwrap();
    let revoke = ["serve", "token", "revoke", id, "--tokens", "tokens.json"];
    assert!(haft(&revoke, dir.path()).status.success());
    assert_eq!(haft(&revoke, dir.path()).status.code(), Some(3), "it is revoked");
}

#[test]
fn an_address_that_others_reach_needs_tokens() {
    let dir = tempfile::tempdir().unwrap();
    assert!(haft(&["new", "hello"], dir.path()).status.success());
    let args = ["serve", "hello", "--address", "0.0.0.0", "--port", "0", "--tokens", "tokens.json"];
    let output = haft(&args, dir.path());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("haft serve token create"), "{text}");
}

#[test]
fn a_signal_ends_the_service() {
    let dir = tempfile::tempdir().unwrap();
    assert!(haft(&["new", "hello"], dir.path()).status.success());
    let mut service = ServeProcess::start(dir.path(), &[]);
    read_line(&mut service.output);
    let pid = service.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
}

/// An independent client generates requests from the OpenAPI document, valid and invalid ones, and checks the responses. Its seed is
/// fixed.
#[test]
fn a_client_that_knows_only_the_document_is_answered_as_it_says() {
    let Some(servers) = haft_testkit::server("schemathesis", "python/schemathesis/__init__.py")
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    assert!(haft(&["new", "hello"], dir.path()).status.success());
    let desk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data-desk");
    let mut service = ServeProcess::start(dir.path(), &[desk.to_str().unwrap(), "--trust"]);
    let token = read_line(&mut service.output);
    let body = json!({"agent": "data-desk", "message": "Which orders are open?"});
    let (_, submitted) = service.send("POST", "/turns", &token, &body);
    let turn = submitted["turn"].as_str().unwrap();
    service.await_end(turn, &token);
    let path = format!("/turns/{turn}/artifacts");
    let (_, artifacts) = service.send("GET", &path, &token, &Value::Null);
    let handle = artifacts[0]["handle"].as_str().unwrap();

    let config = format!(
        "[parameters]\n\"path.turn\" = \"{turn}\"\n\"path.handle\" = \"{handle}\"\n\"path.agent\" = \"data-desk\"\n"
    );
    std::fs::write(dir.path().join("client.toml"), config).unwrap();
    let mut client = Command::new("python3");
    client.args(["-m", "schemathesis.cli", "--config-file", "client.toml", "run"]);
    client.arg(format!("http://{}/v1/openapi.json", service.address));
    client.args(["--header", &format!("Authorization: Bearer {token}")]);
    client.args(["--seed", "1", "--generation-deterministic", "--max-examples", "8"]);
    client.args(["--phases", "coverage,fuzzing", "--continue-on-failure", "--no-color"]);
    // Streams of events do not end by themselves, and a cancelled turn is another one than the client knows.
    client.args(["--exclude-path-regex", "(events|cancel)$"]);
    // What the document cannot say, such as which tools an artifact has, is refused although the document allows it. And the
    // client takes an id for invalid that the configuration has replaced by a valid one.
    client.args(["--exclude-checks", "positive_data_acceptance,negative_data_rejection"]);
    client.env("PYTHONPATH", servers.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = client.current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn an_empty_name_revokes_no_token() {
    let dir = tempfile::tempdir().unwrap();
    create_token(dir.path(), "shop");
    let token = |words: &[&str]| {
        haft(&[&["serve", "token"], words, &["--tokens", "tokens.json"]].concat(), dir.path())
    };
    assert_eq!(token(&["revoke", ""]).status.code(), Some(3));
    assert!(String::from_utf8_lossy(&token(&["list"]).stdout).contains("shop"));
}
