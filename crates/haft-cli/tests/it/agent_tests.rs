//! `haft test`

use insta::assert_snapshot;

use super::examples::copy_example;
use super::http::{response, serve};
use super::support::{haft, run_haft, transcript, write_scripted_agent};

const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"It is <late>."},"finish_reason":"stop"}]}"#;

/// Removes the durations at the ends of lines.
fn redact(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once("  ") {
        Some((start, time)) if time.ends_with('s') && !start.is_empty() => start,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn scripts_recordings_and_prompts_are_run() {
    let dir = tempfile::tempdir().unwrap();
    let tool = "prompt = 'Go.'\n[tools.command.echo]\ndescription = 'E.'\nargv = ['echo', '{text}']\nargs.text.required = true\napproval = 'May I?'";
    let script = "steps:\n  - call: { echo: { text: hi } }\n  - expect: { echo: { contains: hi } }\n    say: over\n";
    write_scripted_agent(dir.path(), tool, script);
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["run", "a", "--yes", "--record", "turn.json"]).starts_with("exit 0"));
    let tests = dir.path().join("a/tests");
    std::fs::create_dir(&tests).unwrap();
    std::fs::copy(dir.path().join("turn.json"), tests.join("recorded.json")).unwrap();
    std::fs::write(tests.join("wrong.yaml"), script.replace("contains: hi", "contains: ho"))
        .unwrap();
    let prompt =
        "prompt = 'What time is it?'\nexpect = { contains = ['LATE'], never_calls = ['echo'] }\n";
    std::fs::write(tests.join("time.toml"), prompt).unwrap();
    assert_snapshot!(redact(&cli(&["test", "a", "--yes", "--junit", "out.xml"])), @r#"
    exit 1
    --- out
    ok     script.yaml
    ok     tests/recorded.json
    failed tests/wrong.yaml
      the executor failed: step 2 of the script: `echo` gave something else than expected
      expected: text that contains "ho"
           got: "hi\n"
    --- err
    skipped tests/time.toml: it needs --model
    2 passed, 1 failed
    "#);
    let xml = std::fs::read_to_string(dir.path().join("out.xml")).unwrap();
    assert!(
        xml.contains("tests=\"3\" failures=\"1\"") && xml.contains("<failure message="),
        "{xml}"
    );
    let none = cli(&["test", "a", "nothing"]);
    assert!(none.starts_with("exit 3") && none.contains("no test whose name contains"), "{none}");
    assert!(!none.contains("skipped"), "{none}");
    // Without --yes nothing is approved.
    assert!(cli(&["test", "a", "script.yaml"]).starts_with("exit 1"));
    let (port, _requests) = serve(response("200 OK\r\ncontent-type: application/json", ANSWER));
    let with_model = |expect: &str| {
        std::fs::write(tests.join("time.toml"), format!("prompt = 'x'\nexpect = {{ {expect} }}\n"))
            .unwrap();
        let mut command = haft(dir.path());
        command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
        command.args(["test", "a", "time", "--model", "openai:m", "--json"]);
        transcript(&command.output().unwrap())
    };
    assert!(with_model("contains = ['late']").starts_with("exit 0"));
    let failed = with_model("calls = ['echo'], max_steps = 0, lacks = ['late']");
    assert!(failed.starts_with("exit 1") && failed.contains("`echo` was not called"), "{failed}");
    assert!(with_model("contians = []").contains("time.toml:2: unknown field"));
}

#[test]
fn the_examples_pass_their_tests() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["approval-flow", "data-desk", "document-reader", "media-maker"] {
        copy_example(dir.path(), name);
        let baseline = dir.path().join(name).join("tests/baselines/script.yaml.json");
        assert!(baseline.exists(), "{name} has no baseline");
        let tested = run_haft(dir.path(), &["test", name, "--yes", "--trust"]);
        assert!(tested.starts_with("exit 0"), "{name}: {tested}");
    }
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let examples = std::fs::read_dir(root.join("../../examples")).unwrap();
    let agents = examples.filter(|it| it.as_ref().unwrap().path().join("agent.toml").exists());
    // The fifth one, which makes a log of 200 MB, is tested where it is run.
    assert_eq!(agents.count(), 5, "an example is not tested");
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(empty.join("agent.toml"), "system = 'x'").unwrap();
    assert!(run_haft(dir.path(), &["test", "empty"]).starts_with("exit 3"));
}

#[test]
fn tests_are_compared_with_their_baselines() {
    let dir = tempfile::tempdir().unwrap();
    let tool = "prompt = 'Go.'\n[tools.command.echo]\ndescription = 'E.'\nargv = ['echo', '{text}']\nargs.text.required = true";
    let script = "steps:\n  - call: { echo: { text: hi } }\n  - say: over\n";
    write_scripted_agent(dir.path(), tool, script);
    let cli = |words: &[&str]| redact(&run_haft(dir.path(), words));
    assert!(cli(&["test", "a", "--save-baselines"]).starts_with("exit 0"));
    let file = dir.path().join("a/tests/baselines/script.yaml.json");
    let baseline = std::fs::read_to_string(&file).unwrap();
    assert!(baseline.contains("\"tool\": \"echo\""), "{baseline}");
    assert!(cli(&["test", "a"]).starts_with("exit 0"));
    // Other arguments are another call.
    let changed = script.replace("hi", "ho");
    std::fs::write(dir.path().join("a/script.yaml"), &changed).unwrap();
    assert_snapshot!(cli(&["test", "a"]), @r#"
    exit 1
    --- out
    failed script.yaml
      differs from its baseline:
      call `echo` a6a73372 (succeeded) is not made any more
      call `echo` 4a7f39fb (succeeded) is new
      `haft test AGENT --save-baselines` accepts the difference
    --- err
    0 passed, 1 failed
    "#);
    assert!(cli(&["test", "a", "--save-baselines"]).starts_with("exit 0"));
    assert!(cli(&["test", "a"]).starts_with("exit 0"));
    std::fs::write(&file, "{\"version\": 2}").unwrap();
    assert!(cli(&["test", "a"]).contains("script.yaml.json:1: no baseline"));
}
