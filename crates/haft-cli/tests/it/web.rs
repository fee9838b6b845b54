//! `haft web`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Sends a request and returns the response.
fn request(address: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")
        .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn the_printed_address_opens_the_page_and_its_token_the_api() {
    let dir = tempfile::tempdir().unwrap();
    let mut haft = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["web", "--no-open", "--store"])
        .arg(dir.path().join("store"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(haft.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, token) =
        line.trim().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let page = request(address, "/", "");
    let refused = request(address, "/api/turns", "");
    let allowed = request(address, "/api/turns", &format!("Authorization: Bearer {token}\r\n"));
    haft.kill().unwrap();
    haft.wait().unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<haft-app>"), "{page}");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(allowed.starts_with("HTTP/1.1 200") && allowed.contains("\"turns\":[]"), "{allowed}");
}

#[test]
fn other_addresses_than_loopback_are_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["web", "--no-open", "--address", "0.0.0.0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("loopback only"));
}
