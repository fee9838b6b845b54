//! Runs the examples of the repository.

use std::path::{Path, PathBuf};

use super::http::{response, serve_all};
use super::support::{haft, run_haft, transcript};

/// Copies an example without its generated files.
pub(super) fn copy_example(dir: &Path, name: &str) {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    copy_dir(&root.join("../../examples").join(name), &dir.join(name));
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &to.join(&name));
        } else if !name.contains(".generated.") && !name.ends_with(".log") {
            std::fs::copy(entry.path(), to.join(&name)).unwrap();
        }
    }
}

/// Checks an example, runs it twice (the second time with its generated files), and returns the first transcript.
#[track_caller]
fn run_example(dir: &Path, name: &str, expected: &[&str]) -> String {
    copy_example(dir, name);
    let checked = run_haft(dir, &["check", name]);
    assert!(checked.starts_with("exit 0"), "{checked}");
    let first = run_haft(dir, &["run", name, "--trust"]);
    let again = run_haft(dir, &["run", name, "--trust"]);
    for text in expected {
        assert!(first.contains(text), "no `{text}` in {first}");
    }
    let answer = |run: &str| run.split("--- err").next().unwrap().to_owned();
    assert!(first.starts_with("exit 0"), "{first}");
    assert_eq!(answer(&first), answer(&again));
    first
}

#[test]
fn the_log_detective_finds_the_cause_in_200_mb() {
    let dir = tempfile::tempdir().unwrap();
    let expected = ["text ", "203158043 bytes", "set payment.pool_size from 64 to 6", "920417:"];
    copy_example(dir.path(), "log-detective");
    assert!(run_haft(dir.path(), &["check", "log-detective"]).starts_with("exit 0"));
    let run = run_haft(dir.path(), &["run", "log-detective", "--trust"]);
    assert!(run.starts_with("exit 0"), "{run}");
    for text in expected {
        assert!(run.contains(text), "no `{text}` in {run}");
    }
    // The log stays outside the prompt: the queries return only a few lines of it.
    let bytes = run.lines().filter(|line| line.starts_with("← artifact_"));
    let bytes = bytes.map(|line| line.rsplit(", ").next().unwrap().split(' ').next().unwrap());
    let bytes: usize = bytes.map(|it| it.parse::<usize>().unwrap()).sum();
    assert!((1..4096).contains(&bytes), "{bytes}: {run}");
    // A second time, with its log, as the test that it is.
    let tested = run_haft(dir.path(), &["test", "log-detective", "--trust"]);
    assert!(tested.starts_with("exit 0"), "{tested}");
}

#[test]
fn the_document_reader_finds_its_sections() {
    let dir = tempfile::tempdir().unwrap();
    let expected = ["artifact_query", "only an electrician may"];
    run_example(dir.path(), "document-reader", &expected);
}

#[test]
fn the_data_desk_computes_with_tools() {
    let dir = tempfile::tempdir().unwrap();
    let expected = ["read_file json", "artifact_query", "9 orders above 1400 euros"];
    run_example(dir.path(), "data-desk", &expected);
}

#[test]
fn the_media_maker_draws() {
    let dir = tempfile::tempdir().unwrap();
    run_example(dir.path(), "media-maker", &["draw_chart", "most fell on the sixth day"]);
    let call = |args: &str| {
        transcript(
            &haft(dir.path()).args(["call", "media-maker", "draw_chart", args]).output().unwrap(),
        )
    };
    let chart = call(r#"{"title": "a < b & c", "values": "1 2.5"}"#);
    assert!(chart.contains("<svg") && chart.contains("a &lt; b &amp; c"), "{chart}");
    assert!(call(r#"{"title": "x", "values": "1;2"}"#).starts_with("exit 1"));
    // No model reads SVG. The turn goes on, and `haft show` has what the model saw of the picture.
    let json = |body| response("200 OK\r\ncontent-type: application/json", body);
    let port = serve_all(vec![json(DRAW), json(DRAWN)]);
    let mut run = haft(dir.path());
    run.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    let ran =
        transcript(&run.args(["run", "media-maker", "--model", "openai:m"]).output().unwrap());
    assert!(ran.starts_with("exit 0\n--- out\nDrawn."), "{ran}");
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(shown.contains("[media: draw_chart.svg, image/svg+xml, 413 B]"), "{shown}");
    assert!(shown.contains("save an image or a document: haft media save "), "{shown}");
}

const DRAW: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"draw_chart","arguments":"{\"title\":\"T\",\"values\":\"1 2\"}"}}]},"finish_reason":"tool_calls"}]}"#;

const DRAWN: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Drawn."},"finish_reason":"stop"}]}"#;

#[test]
fn the_approval_flow_writes_only_what_was_allowed() {
    let dir = tempfile::tempdir().unwrap();
    copy_example(dir.path(), "approval-flow");
    let list = dir.path().join("approval-flow/data/list.generated.md");
    let allowed = run_haft(dir.path(), &["run", "approval-flow", "--yes", "--trust"]);
    assert!(allowed.starts_with("exit 0") && allowed.contains("wrote 47 bytes"), "{allowed}");
    assert!(std::fs::read_to_string(&list).unwrap().contains("coffee"));
}
