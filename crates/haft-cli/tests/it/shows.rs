//! `haft show`, and the content that a turn has stored.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use super::http::{response, serve_all};
use super::redaction::{is_recent_time, redact_durations};
use super::screens::{OutputKind, Session};
use super::support::{haft, json_string, run_haft, transcript, write_agent, write_scripted_agent};

const CALL: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"book","arguments":"{\"day\":\"Friday\",\"seats\":\"4\"}"}},{"id":"c2","type":"function","function":{"name":"book","arguments":"{\"dya\":\"friday\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1200,"completion_tokens":30}}"#;
const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Booked."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1300,"completion_tokens":3}}"#;

fn redact(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| match word {
            it if it.len() == 36 && it.starts_with("01a") => "TURN",
            it if is_recent_time(it) => "TIME",
            it if it.starts_with('/') => "PATH",
            it => it,
        });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    redact_envelopes(&redact_durations(&lines.join("\n")))
}

/// Replaces the names of envelopes.
fn redact_envelopes(text: &str) -> String {
    let envelopes = text.split("untrusted_content_").enumerate().map(|(n, part)| match n {
        0 => part.to_owned(),
        _ => format!("ID{}", part.trim_start_matches(|it: char| it.is_ascii_digit())),
    });
    envelopes.collect::<Vec<_>>().join("untrusted_content_")
}

fn write_booking_agent(dir: &Path) {
    write_agent(
        dir,
        r#"
system = "x"
prompt = "Book a room."
options = { temperature = 0 }
[tools.command.book]
description = "Books."
argv = ["printf", "booked for %s", "{day}"]
effect = "read-only"
args.day = { required = true, values = ["friday", "monday"] }
args.seats = { type = "integer" }
"#,
    );
}

#[test]
fn a_turn_is_shown_with_everything_that_the_model_saw() {
    let dir = tempfile::tempdir().unwrap();
    write_booking_agent(dir.path());
    std::fs::create_dir_all(dir.path().join(".config/haft")).unwrap();
    let prices = "[prices.\"openai:m\"]\ninput = 1.0\noutput = 10\n";
    std::fs::write(dir.path().join(".config/haft/config.toml"), prices).unwrap();
    let json = |body| response("200 OK\r\ncontent-type: application/json", body);
    let port = serve_all(vec![json(CALL), json(ANSWER)]);
    let mut run = haft(dir.path());
    run.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    let ran = transcript(&run.args(["run", "a", "--model", "openai:m"]).output().unwrap());
    assert!(ran.starts_with("exit 0\n--- out\nBooked."), "{ran}");
    // The reason of the failure is said.
    assert!(ran.contains("`/dya`: this field does not exist"), "{ran}");
    assert!(ran.contains("2 steps, 2 calls, 2,533 tokens, "), "{ran}");
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let turn = json_string(&turns, "id");
    let shown = run_haft(dir.path(), &["show", turn]).replace(&format!(":{port}"), ":PORT");
    assert_snapshot!(redact(&shown), @r#"
    exit 0
    --- out
    TURN  completed  TIME
    agent      PATH
    model      openai:m at http://127.0.0.1:PORT/v1
    options    {"temperature":0}
    offered    5 tools: book, and 4 that query artifacts
    usage      2 steps, 2 calls, 2,500 prompt + 33 completion tokens, $0.0028, DURATION
    time       waiting for the model DURATION, model writing DURATION, tools DURATION, storing DURATION
    user       Book a room.
    ── step 1 · 1,200 prompt + 30 completion tokens · $0.0015 · DURATION · first word after DURATION · request of 2,841 bytes
    call       book {"day":"Friday","seats":"4"}  DURATION
                 coerced `/day`: the case of letters was changed
                 coerced `/seats`: a string became a number
                 accepted {"day":"friday","seats":4}
                 succeeded
                 <untrusted_content_ID>
                 booked for friday
                 </untrusted_content_ID>
    call       book {"dya":"friday"}
                 failed
                 E_INVALID_TOOL_ARGS: the arguments of `book` were refused:
                 - `/dya`: this field does not exist; the fields are `day`, `seats`
                 - `/day`: missing; expected one of "friday", "monday"; for example "friday"
                 correct them and call `book` again
    ── step 2 · 1,300 prompt + 3 completion tokens · $0.0013 · DURATION · first word after DURATION · request of 3,589 bytes, 71 % as before
    assistant  Booked.
    "#);
    let shown = run_haft(dir.path(), &["show", turn, "--json"]);
    let shown: Value = serde_json::from_str(shown.split_once("out\n").unwrap().1).unwrap();
    assert_eq!(
        (&shown["usage"]["promptTokens"], &shown["steps"][0]["step"]),
        (&2500.into(), &1.into())
    );
    assert!((shown["cost"].as_f64().unwrap() - 0.00283).abs() < 1e-9, "{}", shown["cost"]);
    assert!(shown["steps"][1]["milliseconds"].is_u64());
    let call = shown["steps"][0]["calls"][0].as_str().unwrap();
    assert!(shown["seenResults"][call].as_str().unwrap().contains("booked for friday"));
}

#[test]
fn artifacts_and_media_of_a_turn_can_be_opened() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(
        dir.path(),
        r#"
system = "x"
prompt = "Go."
script = "script.yaml"
[tools.command.sales]
description = "Sales."
argv = ["awk", "-f", "sales.awk"]
artifact = "csv"
[tools.command.draw]
description = "Draws."
argv = ["printf", "<svg/>"]
media = "image/svg+xml"
"#,
    );
    let awk = "BEGIN { print \"region,sold\"; for (i = 0; i < 4000; i++) print (i % 2 ? \"north\" : \"south\") \",\" i }";
    std::fs::write(dir.path().join("a/sales.awk"), awk).unwrap();
    let script = "steps:\n  - call: { sales: {}, draw: {} }\n  - say: over\n";
    std::fs::write(dir.path().join("a/script.yaml"), script).unwrap();
    let ran = run_haft(dir.path(), &["run", "a"]);
    assert!(ran.starts_with("exit 0"), "{ran}");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    let listed = cli(&["artifact", "info", "--turn", "last", "--json"]);
    let handle = json_string(&listed, "handle").to_owned();
    assert!(listed.contains(r#""kind":"csv""#), "{listed}");
    let shown = cli(&["show", "last"]);
    assert!(shown.contains(&format!("open an artifact: haft artifact read {handle}")), "{shown}");
    let head = cli(&["artifact", "read", &handle, "--end", "2", "--turn", "last"]);
    assert_eq!(head, "exit 0\n--- out\nregion,sold\nsouth,0");
    let sql = |query| cli(&["artifact", "query", &handle, query, "--turn", "last"]);
    let stats = sql("SELECT count(*), sum(sold) FROM data");
    assert_eq!(stats, "exit 0\n--- out\ncount(*),sum(sold)\n4000,7998000");
    let groups = sql("SELECT region FROM data GROUP BY region ORDER BY sum(sold) DESC");
    assert!(groups.find("north").unwrap() < groups.find("south").unwrap(), "{groups}");
    assert!(cli(&["artifact", "info"]).contains(&handle), "the newest turn");

    assert_snapshot!(cli(&["media", "list", "last"]), @r"
    exit 0
    --- out
    1  draw.svg  image/svg+xml  6 bytes
    ");
    assert_snapshot!(cli(&["media", "save", "last", "1", "-o", "-"]), @r"
    exit 0
    --- out
    <svg/>
    ");
    assert_snapshot!(cli(&["media", "save", "last"]), @r"
    exit 0
    --- err
    saved draw.svg
    ");
    assert_eq!(std::fs::read_to_string(dir.path().join("draw.svg")).unwrap(), "<svg/>");
    assert!(cli(&["media", "save", "last"]).contains("already exists"));
    assert!(cli(&["media", "show", "last"]).contains("cannot show image/svg+xml"));
    assert!(cli(&["media", "save", "last", "nope"]).starts_with("exit 3"));
}

/// A terminal that announces itself gets the picture, a pipe gets an error.
#[test]
fn a_picture_is_shown_at_a_terminal_that_can() {
    let dir = tempfile::tempdir().unwrap();
    let agent = r#"
prompt = "Go."
[tools.command.draw]
description = "Draws."
argv = ["printf", '\211PNG\r\n\032\n']
media = "image/png"
"#;
    write_scripted_agent(dir.path(), agent, "steps:\n  - call: { draw: {} }\n  - say: over\n");
    assert!(run_haft(dir.path(), &["run", "a"]).starts_with("exit 0"));
    let start = |kind| {
        let mut command = haft(dir.path());
        command.args(["media", "show", "last"]).env("TERM_PROGRAM", "iTerm.app");
        Session::start(command, kind)
    };
    let mut terminal = start(OutputKind::Terminal);
    terminal.wait_for("\u{1b}]1337;File=inline=1;size=8:iVBORw0KGgo=\u{7}", 1);
    assert_eq!(terminal.finish(), "exit 0");
    let piped = start(OutputKind::Pipe).finish();
    assert!(piped.starts_with("exit 1\n--- err\nerror: this terminal cannot show"), "{piped}");
}

#[test]
fn yaml_and_xml_files_are_queried() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    std::fs::write(dir.path().join("d.yaml"), "items:\n  - name: a\n  - name: b\n").unwrap();
    std::fs::write(dir.path().join("d.xml"), "<r><i n='1'>x</i><i n='2'>y</i></r>").unwrap();
    assert_eq!(cli(&["artifact", "query", "d.yaml", "$.items[1].name"]), "exit 0\n--- out\nb");
    let info = cli(&["artifact", "info", "d.yaml"]);
    assert!(info.contains("one document\nkeys: items"), "{info}");
    let found = cli(&["artifact", "query", "d.xml", "$.r.i[1]"]);
    assert!(found.contains("\"#text\": \"y\""), "{found}");
    std::fs::write(dir.path().join("d.md"), "# T\n\n```rust\nlet x;\n```\n").unwrap();
    assert_eq!(cli(&["artifact", "query", "d.md", "code"]), "exit 0\n--- out\n3-5: rust");
    let wrong = cli(&["artifact", "query", "d.md", "$.a"]);
    assert!(wrong.starts_with("exit 1") && wrong.contains("takes `headings`"), "{wrong}");
}

#[test]
fn query_tools_are_listed_and_described() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["new", "hello"]);
    assert!(!run_haft(dir.path(), &["tools", "hello"]).contains("artifact_grep"));
    let all = run_haft(dir.path(), &["tools", "hello", "--all"]);
    assert!(all.contains("list_files") && all.contains("artifact_grep"), "{all}");
    let described = run_haft(dir.path(), &["describe", "hello", "artifact_query"]);
    assert!(described.contains("\"callId\""), "{described}");
}

/// A replayed turn says what it is, and that no request was sent.
#[test]
fn a_replayed_turn_is_listed_as_such_and_has_no_requests() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "prompt = 'Go.'", "steps:\n  - say: Hello.\n");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["run", "a", "--record", "r.json"]).starts_with("exit 0"));
    assert!(cli(&["run", "a", "--replay", "r.json"]).starts_with("exit 0"));
    let listed = cli(&["turns", "--limit", "1"]);
    assert!(listed.contains("  replay  "), "{listed}");
    assert_snapshot!(cli(&["show", "last", "--request", "1"]), @r"
    exit 3
    --- err
    error: step 1 has no request: a custom executor `replay` sends none
    hint: --response 1 shows what it did; a turn with a model has requests: haft run AGENT --model PROVIDER:MODEL
    ");
}
