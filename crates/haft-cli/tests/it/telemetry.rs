//! Traces and metrics that arrive at a collector.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use super::support::{haft, write_scripted_agent};

/// A collector on loopback: takes one request a connection, and hands out what arrived.
fn start_collector() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let request = read_request(&mut connection);
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            connection.write_all(answer.as_bytes()).unwrap();
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (url, received)
}

/// The request as text: protobuf has names and texts as they are.
fn read_request(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let head = loop {
        let mut more = [0; 4096];
        let read = connection.read(&mut more).unwrap();
        assert!(read > 0, "the connection closed early");
        bytes.extend(&more[..read]);
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap();
    let (read, length) = (bytes.len(), head + length.parse::<usize>().unwrap());
    bytes.resize(length.max(read), 0);
    connection.read_exact(&mut bytes[read..]).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_run_arrives_at_the_collector_that_the_environment_names() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "prompt = 'Go.'\n", "steps:\n  - say: Secret words.\n");
    let (url, received) = start_collector();
    let run = |url: &str| {
        let mut command = haft(dir.path());
        command.args(["run", "a", "-q"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        command.env("OTEL_SERVICE_NAME", "night-shift").output().unwrap()
    };
    assert_eq!(run(&url).status.code(), Some(0));
    let mut requests: Vec<_> = (0..2).map(|_| received.recv().unwrap()).collect();
    requests.sort();
    let [metrics, traces] = &requests[..] else { unreachable!() };
    assert!(metrics.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{metrics}");
    assert!(metrics.contains("gen_ai.client.operation.duration"), "{metrics}");
    assert!(traces.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{traces}");
    for part in ["night-shift", "invoke_agent a", "chat", "gen_ai.operation.name"] {
        assert!(traces.contains(part), "{part}: {traces}");
    }
    assert!(!traces.contains("Secret words"), "{traces}");

    // Without a collector everything else is as always.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let alone = run(&format!("http://127.0.0.1:{port}"));
    assert_eq!((alone.status.code(), &*alone.stdout), (Some(0), &b"Secret words.\n"[..]));
    assert_eq!(String::from_utf8_lossy(&alone.stderr), "");
}
