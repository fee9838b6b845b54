//! A provider that is away for a while, and turns that are over.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use super::support::{haft, json_string, run_haft, transcript, write_agent};

/// Serves these responses, one for each connection, and returns the base URL.
fn serve(responses: Vec<(u16, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (status, body) in responses {
            let (mut connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            let head = format!("HTTP/1.1 {status} x\r\ncontent-type: application/x-ndjson\r\n");
            let length = body.len();
            let rest = format!("content-length: {length}\r\nconnection: close\r\n\r\n{body}");
            connection.write_all((head + &rest).as_bytes()).unwrap();
        }
    });
    url
}

fn haft_at(dir: &Path, url: &str, words: &[&str]) -> String {
    transcript(&haft(dir).env("OLLAMA_BASE_URL", url).args(words).output().unwrap())
}

#[test]
fn a_turn_whose_provider_is_away_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(
        dir.path(),
        "name = \"a\"\nsystem = \"You help.\"\nmodel = \"ollama:m\"\n\
         [options]\nretry = { baseDelayMs = 1, maxDelayMs = 1 }\n",
    );
    let answer = r#"{"message":{"content":"It is late."},"done":true,"done_reason":"stop"}"#;
    let away = || (503, "away".to_owned());
    let cut = (200, "{\"message\":{\"content\":\"It\"},\"done\":false}\n".to_owned());
    // With the path that the OpenAI endpoint has.
    let url = format!("{}/v1", serve(vec![away(), cut, away(), (200, format!("{answer}\n"))]));
    let run = haft_at(dir.path(), &url, &["run", "a", "What time is it?", "--store", "s"]);
    assert!(run.starts_with("exit 1"), "{run}");
    assert!(
        run.contains("status 503; the request is sent again in 0.0 s (attempt 2 of 3)"),
        "{run}"
    );
    assert!(run.contains("the answer broke off before its end"), "{run}");
    assert!(run.contains("interrupted: 0 steps") && run.contains("haft resume "), "{run}");
    let turns = run_haft(dir.path(), &["turns", "--json", "--store", "s"]);
    let id = json_string(&turns, "id").to_owned();
    let resumed = haft_at(dir.path(), &url, &["resume", &id, "--store", "s"]);
    assert!(resumed.starts_with("exit 0\n--- out\nIt is late."), "{resumed}");

    // The turn is over now: its answer is printed again, without the agent and its model.
    std::fs::remove_dir_all(dir.path().join("a")).unwrap();
    let over = run_haft(dir.path(), &["resume", &id, "--store", "s"]);
    assert!(over.starts_with("exit 0\n--- out\nIt is late.\n--- err\n"), "{over}");
    assert!(over.contains("is over and was not resumed: completed"), "{over}");
    let json = run_haft(dir.path(), &["resume", &id, "--store", "s", "--json"]);
    assert!(json.contains("\"status\":\"completed\"") && json.contains("It is late."), "{json}");
}
