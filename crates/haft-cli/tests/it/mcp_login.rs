//! `haft mcp login` at a server that is protected by OAuth: the server and the authorization server of the Python SDK.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::mcp_serving::Running;
use crate::support::{haft, run_haft, transcript, write_scripted_agent};

const SDK: &str = "python/mcp/__init__.py";

/// Starts the server, and returns its port; nothing, and a recorded skip, if it is not installed.
fn start_server(words: &[&str]) -> Option<(Running, u16)> {
    let servers = haft_testkit::server("python-mcp", SDK)?;
    if !haft_testkit::has_program("python3") {
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oauth_server.py");
    let mut command = Command::new("python3");
    command.arg(program).arg(port.to_string()).args(words);
    command.env("PYTHONPATH", servers.join("python"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let running = Running(child);
    let mut seen = String::new();
    let mut line = String::new();
    while !line.contains("Uvicorn running") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{seen}");
        seen.push_str(&line);
    }
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    Some((running, port))
}

fn write_agent(dir: &Path, port: u16) {
    let text = format!(
        "prompt = 'Go.'\n[tools.mcp.tracker]\nurl = 'http://127.0.0.1:{port}/mcp'\noauth = {{ scopes = ['read'] }}\n"
    );
    write_scripted_agent(dir, &text, "steps:\n  - say: over\n");
}

/// Opens a page as a browser does, and follows it from address to address.
fn open_page(address: &str) -> String {
    let mut address = address.to_owned();
    loop {
        let (host, path) = address.trim_start_matches("http://").split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let location = text.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("location").then(|| value.to_owned())
        });
        match location {
            Some(next) => address = next,
            None => return text,
        }
    }
}

/// Logs in, and returns the page that the user sees last and what the program says.
fn log_in(dir: &Path) -> (String, String) {
    let mut command = haft(dir);
    command.args(["mcp", "login", "a", "tracker"]).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let mut line = String::new();
    while !line.starts_with("http://") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{said}");
        said.push_str(&line);
    }
    let page = open_page(line.trim());
    lines.read_to_string(&mut said).unwrap();
    said.push_str(&format!("exit {}", child.wait().unwrap().code().unwrap()));
    (page, said)
}

#[test]
fn a_user_logs_in_once_and_the_tokens_are_refreshed() {
    let Some((_server, port)) = start_server(&[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), port);
    let refused = run_haft(dir.path(), &["call", "a", "refreshes"]);
    assert!(
        refused.starts_with("exit 1") && refused.contains("the user has to log in"),
        "{refused}"
    );
    assert!(refused.contains("hint: log in: haft mcp login a tracker"), "{refused}");

    let (page, said) = log_in(dir.path());
    assert!(page.contains("You can close this page"), "{page}");
    assert!(said.ends_with("logged in at `tracker`\nexit 0"), "{said}");
    let tokens = dir.path().join(".state/haft/mcp-tokens");
    let files: Vec<_> = fs::read_dir(&tokens).unwrap().map(|it| it.unwrap().path()).collect();
    for file in files.iter().chain([&tokens]) {
        let mode = fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", file.display());
    }

    // Access ends at once, and a refresh token is good for one refresh: also if several processes need it.
    for _ in 0..2 {
        let called = run_haft(dir.path(), &["call", "a", "refreshes"]);
        assert!(called.starts_with("exit 0") && !called.contains("\n0 refreshes"), "{called}");
    }
    let start = || {
        let mut command = haft(dir.path());
        command.args(["call", "a", "refreshes"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    for child in [start(), start(), start()] {
        let called = transcript(&child.wait_with_output().unwrap());
        assert!(called.starts_with("exit 0") && called.contains("refreshes"), "{called}");
    }

    // The tokens belong to this address.
    write_agent(dir.path(), 1);
    let other = run_haft(dir.path(), &["call", "a", "refreshes"]);
    assert!(other.starts_with("exit 1"), "{other}");
    write_agent(dir.path(), port);
    let removed = run_haft(dir.path(), &["mcp", "logout", "a", "tracker"]);
    assert!(removed.contains("removed the tokens of `tracker`"), "{removed}");
    assert!(run_haft(dir.path(), &["call", "a", "refreshes"]).contains("the user has to log in"));
}

#[test]
fn a_login_that_the_user_refuses_stores_nothing() {
    let Some((_server, port)) = start_server(&["refuse"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), port);
    let (_, said) = log_in(dir.path());
    assert!(
        said.contains("access was refused: access_denied") && said.ends_with("exit 1"),
        "{said}"
    );
    let tokens = fs::read_dir(dir.path().join(".state/haft/mcp-tokens"));
    assert_eq!(tokens.map_or(0, Iterator::count), 0);
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (table, message) in [
        ("argv = ['x']\noauth = {}", "a program is not reached by OAuth"),
        ("url = 'https://x.example'\ntoken_env = 'PATH'\noauth = {}", "exclude each other"),
        ("url = 'http://x.example'\noauth = {}", "unencrypted"),
        (
            "url = 'https://x.example'\noauth = { flow = 'client-credentials' }",
            "`client_secret_env`",
        ),
        (
            "url = 'https://x.example'\noauth = { client_secret_env = 'PATH' }",
            "`client_id` is missing",
        ),
        ("url = 'https://x.example'\noauth = { secret = 'x' }", "unknown field"),
    ] {
        let text = format!("prompt = 'Go.'\n[tools.mcp.tracker]\n{table}\n");
        write_scripted_agent(dir.path(), &text, "steps:\n  - say: over\n");
        let said = run_haft(dir.path(), &["run", "a", "--trust"]);
        assert!(said.starts_with("exit 1") && said.contains(message), "{table}: {said}");
    }
    let login = run_haft(dir.path(), &["mcp", "login", "a", "tracker"]);
    assert!(login.starts_with("exit 1"), "{login}");
    let text = "prompt = 'Go.'\n[tools.mcp.tracker]\nurl = 'https://x.example'\n";
    write_scripted_agent(dir.path(), text, "steps:\n  - say: over\n");
    let login = run_haft(dir.path(), &["mcp", "login", "a", "tracker"]);
    assert!(login.contains("there is no login at this server"), "{login}");
    let login = run_haft(dir.path(), &["mcp", "login", "a", "other"]);
    assert!(
        login.contains("no MCP server `other`") && login.contains("it has: tracker"),
        "{login}"
    );
}
