//! `haft test`

use insta::assert_snapshot;

use super::examples::copy_example;
use super::http::{response, serve};
use super::redaction::redact_durations;
use super::support::{haft, run_haft, transcript, write_scripted_agent};

const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"It is <late>."},"finish_reason":"stop"}]}"#;

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
    assert_snapshot!(redact_durations(&cli(&["test", "a", "--yes", "--junit", "out.xml"])), @r#"
    exit 1
    --- out
    ok     script.yaml  DURATION
    ok     tests/recorded.json  DURATION
    failed tests/wrong.yaml  DURATION
      the executor failed: step 2 of the script: `echo` gave something else than expected
      expected: text that contains "ho"
           got: "hi\n"
    --- err
    skipped tests/time.toml: it needs --model
    2 passed, 1 failed
    the tests ran on copies of the directory; --in-place runs them on the directory itself
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

/// An agent that changes its own directory: a file, and one that a link within the directory leads to.
fn write_changing_agent(dir: &std::path::Path) {
    let agent = "prompt = 'Go.'\n[tools.command.change]\ndescription = 'Changes files.'\n\
                 argv = ['sh', '-c', 'echo changed >> notes; echo changed >> linked; echo made > made; cat notes; ls']\n";
    let script = "steps:\n  - call: { change: {} }\n  - expect: { change: { contains: changed } }\n    say: over\n";
    write_scripted_agent(dir, agent, script);
    for (path, text) in [("notes", "first\n"), ("target", "second\n")] {
        std::fs::write(dir.join("a").join(path), text).unwrap();
    }
    std::os::unix::fs::symlink("target", dir.join("a/linked")).unwrap();
}

/// Every file of a directory with its content.
fn read_all(dir: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => drop(all.insert(path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    all
}

#[test]
fn tests_leave_the_directory_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    write_changing_agent(dir.path());
    let agent = dir.path().join("a");
    let before = read_all(&agent);
    for _ in 0..2 {
        let said = run_haft(dir.path(), &["test", "a"]);
        assert!(said.starts_with("exit 0"), "{said}");
        assert_eq!(read_all(&agent), before);
    }
    // The agent may be named by its file, and from within its directory.
    for (from, name) in
        [(dir.path(), "a/agent.toml"), (agent.as_path(), "."), (&agent, "agent.toml")]
    {
        let said = run_haft(from, &["test", name]);
        assert!(said.starts_with("exit 0"), "{name}: {said}");
        let after: Vec<_> =
            before.keys().filter(|path| read_all(&agent)[*path] != before[*path]).collect();
        assert!(after.is_empty(), "{name}: {after:?}");
    }
    assert!(!agent.join("made").exists());
    let said = run_haft(dir.path(), &["test", "a", "--in-place"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(std::fs::read_to_string(agent.join("notes")).unwrap(), "first\nchanged\n");
    assert_eq!(std::fs::read_to_string(agent.join("target")).unwrap(), "second\nchanged\n");
}

/// One test does not see what another has changed, and each begins with the files of `tests/files`.
#[test]
fn tests_begin_with_their_files() {
    let dir = tempfile::tempdir().unwrap();
    write_changing_agent(dir.path());
    let tests = dir.path().join("a/tests");
    std::fs::create_dir_all(tests.join("files/sub")).unwrap();
    std::fs::write(tests.join("files/notes"), "of the tests\n").unwrap();
    std::fs::write(tests.join("files/sub/more"), "").unwrap();
    let expect = r"{ change: { matches: '^of the tests\nchanged\nagent.toml\nlinked\nmade\nnotes\nscript.yaml\nsub\ntarget\ntests\n' } }";
    let script =
        format!("steps:\n  - call: {{ change: {{}} }}\n  - expect: {expect}\n    say: over\n");
    for name in ["one.yaml", "two.yaml"] {
        std::fs::write(tests.join(name), &script).unwrap();
    }
    let said = run_haft(dir.path(), &["test", "a", "tests/"]);
    assert!(said.starts_with("exit 0") && said.contains("2 passed"), "{said}");
}

/// Stores and what leads to a repository of somebody else are not copied, caches are linked, and other links stay.
#[test]
fn what_does_not_belong_to_an_agent_is_not_copied() {
    let dir = tempfile::tempdir().unwrap();
    let agent = "prompt = 'Go.'\nstore = 'state'\n[tools.command.look]\ndescription = 'Lists files.'\n\
                 argv = ['sh', '-c', 'ls -A; cat cache/kept outside']\n";
    let listed = r"'^agent.toml\ncache\noutside\nscript.yaml\nkept\nelsewhere\n$'";
    let script = format!(
        "steps:\n  - call: {{ look: {{}} }}\n  - expect: {{ look: {{ matches: {listed} }} }}\n    say: over\n"
    );
    write_scripted_agent(dir.path(), agent, &script);
    let agent = dir.path().join("a");
    for store in ["state", ".haft"] {
        std::fs::create_dir(agent.join(store)).unwrap();
        std::fs::write(agent.join(store).join("large"), "").unwrap();
    }
    std::fs::write(agent.join(".git"), "gitdir: /somewhere/else\n").unwrap();
    std::fs::create_dir(agent.join("cache")).unwrap();
    std::fs::write(agent.join("cache/CACHEDIR.TAG"), "").unwrap();
    std::fs::write(agent.join("cache/kept"), "kept\n").unwrap();
    std::fs::write(dir.path().join("outside"), "elsewhere\n").unwrap();
    std::os::unix::fs::symlink("../outside", agent.join("outside")).unwrap();
    let said = run_haft(dir.path(), &["test", "a"]);
    assert!(said.starts_with("exit 0"), "{said}");
}
