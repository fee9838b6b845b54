//! `haft run --schema` and `haft run --attach`

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::http::{response, serve_all};
use super::redaction::redact_durations;
use super::support::{haft, run_haft, transcript, write_scripted_agent};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}"#;

/// Writes an agent that says these texts, one after the other.
fn write_talker(dir: &Path, texts: &[&str]) {
    let steps: Vec<Value> = texts.iter().map(|text| json!({"say": text})).collect();
    let script = json!({"steps": steps}).to_string();
    write_scripted_agent(dir, "prompt = 'Count.'\n", &script);
    std::fs::write(dir.join("schema.json"), SCHEMA).unwrap();
}

/// Runs the agent with a model that gives these answers, one after the other.
fn run_with_model(dir: &Path, texts: &[&str]) -> String {
    let responses = texts.iter().map(|text| {
        let message = json!({"role": "assistant", "content": text});
        let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
        let body = json!({"id": "c", "model": "m", "choices": choices}).to_string();
        response("200 OK\r\ncontent-type: application/json", &body)
    });
    let port = serve_all(responses.collect());
    let mut command = haft(dir);
    command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    command.args(["run", "a", "--model", "openai:m", "--schema", "schema.json"]);
    transcript(&command.output().unwrap())
}

/// Replaces ids and plausible durations.
fn redact(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("turn ") {
        Some((start, rest)) if rest.contains(": ") => {
            let (_, outcome) = rest.split_once(' ').unwrap();
            format!("{start}turn ID {outcome}")
        }
        _ => line.to_owned(),
    });
    redact_durations(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_answer_is_printed_as_json_and_near_misses_are_coerced() {
    let dir = tempfile::tempdir().unwrap();
    write_talker(dir.path(), &["{\"total\": 4}"]);
    let texts = ["It is three.", "```json\n{\"total\": \"3\"}\n```"];
    let printed = run_with_model(dir.path(), &texts);
    assert_snapshot!(redact(&printed), @r#"
    exit 0
    --- out
    {"total":3}
    --- err
    the answer does not fit its schema (attempt 1 of 3); the model is asked again
    turn ID completed: 2 steps, 0 calls, DURATION
    "#);
    // A turn that has ended is shown with its answer.
    let printed = run_haft(dir.path(), &["resume", "last"]);
    assert!(printed.starts_with("exit 0\n--- out\n{\"total\":3}\n--- err"), "{printed}");
    // A script can stand in for the model.
    let printed = run_haft(dir.path(), &["run", "a", "--schema", "schema.json", "--json"]);
    let last = printed.lines().rfind(|line| line.starts_with('{')).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["event"], &last["answer"]["total"]), (&"answer".into(), &4.into()));
}

#[test]
fn no_valid_answer_has_an_exit_code_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    write_talker(dir.path(), &["unused"]);
    let texts = ["Three.", "3", "{\"total\": \"three\"}", "never asked"];
    let printed = run_with_model(dir.path(), &texts);
    assert_snapshot!(redact(&printed), @r#"
    exit 6
    --- err
    the answer does not fit its schema (attempt 1 of 3); the model is asked again
    the answer does not fit its schema (attempt 2 of 3); the model is asked again
    error: no valid answer in 3 attempts:
    - `/total`: "three" is not of type "integer"; expected a value that meets `type`
    turn ID failed: 3 steps, 0 calls, DURATION
    "#);
}

#[test]
fn a_wrong_schema_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    write_talker(dir.path(), &["Three."]);
    std::fs::write(dir.path().join("broken.json"), "{\n\"type\": }").unwrap();
    std::fs::write(dir.path().join("list.json"), r#"{"type": "array"}"#).unwrap();
    let run = |file: &str| run_haft(dir.path(), &["run", "a", "--schema", file]);
    let said = [run("broken.json"), run("list.json"), run("none.json")].join("\n");
    assert_snapshot!(said.replace(&*dir.path().to_string_lossy(), "DIR"), @r#"
    exit 1
    --- err
    error: broken.json:2: the schema is not JSON: expected value at line 2 column 9
    exit 1
    --- err
    error: list.json: the answer must be an object: the schema has `"type": "array"`
    hint: put a list into a field: {"type": "object", "properties": {"items": …}}
    exit 1
    --- err
    error: cannot read the schema `none.json`
      caused by: No such file or directory (os error 2)
    hint: the path is seen from `DIR`
    "#);
    assert!(!dir.path().join(".haft").exists());
}

#[test]
fn attachments_are_media_text_or_artifacts_by_their_content() {
    let dir = tempfile::tempdir().unwrap();
    write_talker(dir.path(), &["Nice."]);
    let long: String = (0..4000).map(|n| format!("{n},item {n}\n")).collect();
    std::fs::write(dir.path().join("photo.txt"), b"\x89PNG\r\n\x1a\n rest").unwrap();
    std::fs::write(dir.path().join("note.md"), "# Buy bread\n").unwrap();
    std::fs::write(dir.path().join("items.csv"), format!("id,name\n{long}")).unwrap();
    let words = ["run", "a", "What is this?"];
    let files = ["--attach", "photo.txt", "--attach", "note.md", "--attach", "items.csv"];
    let printed = run_haft(dir.path(), &[&words[..], &files[..]].concat());
    assert_snapshot!(redact(&printed), @r#"
    exit 0
    --- out
    Nice.
    --- err
    attached photo.txt: image/png, 13 bytes (untrusted: third-party-private)
    attached note.md: markdown, 12 bytes, shown in full (untrusted: third-party-private)
    attached items.csv: csv, 57,788 bytes, an artifact (untrusted: third-party-private)
    turn ID completed: 1 step, 0 calls, DURATION
    "#);
    let media = run_haft(dir.path(), &["media", "list", "last"]);
    assert!(media.contains("photo.txt") && media.contains("image/png"), "{media}");

    let model = ["--dry-run", "--json", "--model", "openai:m"];
    let printed = run_haft(dir.path(), &[&words[..], &files[..], &model[..]].concat());
    let shown: Value = serde_json::from_str(printed.lines().nth(2).unwrap()).unwrap();
    let messages = shown["body"]["messages"].to_string();
    assert!(messages.contains("data:image/png;base64,"), "{messages}");
    assert!(messages.contains("Buy bread") && messages.contains("third-party-private"));
    assert!(!messages.contains("item 3999"), "a long text stays outside of the prompt");
    assert!(shown["tools"].to_string().contains("artifact_query"), "{}", shown["tools"]);
}

#[test]
fn files_that_cannot_be_attached_are_named() {
    let dir = tempfile::tempdir().unwrap();
    write_talker(dir.path(), &["Nice."]);
    std::fs::write(dir.path().join("data.bin"), b"\x00\x01\x02\xff").unwrap();
    std::fs::write(dir.path().join("empty.txt"), "").unwrap();
    let large = std::fs::File::create(dir.path().join("large.txt")).unwrap();
    large.set_len(40 * 1024 * 1024).unwrap();
    let attach = |file: &str| {
        transcript(&haft(dir.path()).args(["run", "a", "--attach", file]).output().unwrap())
    };
    let files = ["data.bin", "empty.txt", "large.txt", "a", "none.txt"];
    let said = files.map(attach).join("\n");
    assert_snapshot!(said.replace(&*dir.path().to_string_lossy(), "DIR"), @r#"
    exit 1
    --- err
    error: `data.bin` is neither UTF-8 text nor media
    hint: known media are PNG, JPEG, GIF, WebP, TIFF, HEIC and AVIF images, WAV, MP3, OGG, FLAC and M4A audio, MP4 and WebM video, and PDF documents
    exit 1
    --- err
    error: `empty.txt` is empty
    exit 1
    --- err
    error: cannot attach `large.txt`: it has more than 33,554,432 bytes
    hint: a tool can read files of any size: `[tools.files]` in the agent file
    exit 1
    --- err
    error: cannot attach `a`: it is not a file
    hint: attach its files one by one: --attach FILE --attach FILE
    exit 1
    --- err
    error: cannot attach `none.txt`
      caused by: No such file or directory (os error 2)
    hint: the path is seen from `DIR`
    "#);
    assert!(!dir.path().join(".haft").exists());
}
