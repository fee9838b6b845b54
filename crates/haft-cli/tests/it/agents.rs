use insta::assert_snapshot;
use serde_json::Value;

use super::support::{json_string, run_haft, write_agent, write_scripted_agent};

#[test]
fn a_new_agent_runs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["new", "hello"]).starts_with("exit 0"));
    assert_snapshot!(cli(&["check", "hello"]), @r"
    exit 0
    --- out
    ok: hello has 2 tools and a script of 2 steps
    its programs run with all your rights
    each request has 6 tools, 656 tokens: current_time 40, list_files 59, artifact_info 96, artifact_read 149, artifact_grep 144, artifact_query 168
    ");
    let run = cli(&["run", "hello"]);
    assert!(run.starts_with("exit 0") && run.contains("agent.toml\nscript.yaml"), "{run}");
    assert!(run.contains("→ list_files") && run.contains("completed: 2 steps, 2 calls"), "{run}");
    let events = cli(&["run", "hello", "--json"]);
    let lines = events.lines().filter(|line| line.starts_with('{')).count();
    assert!(lines > 10 && events.contains("\"event\":\"turnEnd\""), "{events}");
    let turns = cli(&["turns", "--json"]);
    let id = json_string(&turns, "id");
    let shown = cli(&["show", id]);
    assert!(shown.contains("What time is it") && shown.contains("succeeded"), "{shown}");
    assert_eq!(cli(&["resume", id]).lines().next(), Some("exit 0"));
    assert!(cli(&["new", "hello"]).contains("already exists"));
    assert_eq!(cli(&["gc"]), "exit 0\n--- out\n0 stored results removed");
}

#[test]
fn mistakes_in_an_agent_file_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        write_agent(dir.path(), text);
        run_haft(dir.path(), &["check", "a"])
    };
    assert_snapshot!(check("system = 'x'\n\ncolour = 'y'"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: unknown field `colour`
    hint: valid names: name, system, system_file, instructions, content_notice, preview_tokens, prompt, model, options, script, store, prepare, sandbox, limits, approvals, tools
    ");
    assert_snapshot!(check("sistem = 'x'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: unknown field `sistem`
    hint: did you mean `system`?
    ");
    assert_snapshot!(check("name = 'x'"), @r#"
    exit 1
    --- err
    error: a/agent.toml: the agent has no system prompt
    hint: add `system = "You …"` or `system_file = "prompt.md"`
    "#);
    let tool = |argv: &str| {
        format!(
            "system = 'x'\n[tools.command.t]\ndescription = 'T.'\nargv = {argv}\nargs.n.type = 'integer'"
        )
    };
    assert!(check(&tool("['echo', '{m}']")).contains("which is not in `args`"));
    assert!(check(&tool("['{n}']")).contains("must start with a fixed program name"));
    assert!(check(&tool("['echo', '{n']")).contains("without a matching `}`"));
    assert!(check("system = 'x'\n[limits]\niterations = -1").contains("a/agent.toml:3:"));
    std::fs::write(dir.path().join("a/agent.toml"), vec![b'#'; 3 << 20]).unwrap();
    assert!(run_haft(dir.path(), &["check", "a"]).contains("is this the right file?"));
    assert!(run_haft(dir.path(), &["check", "nowhere"]).contains("`haft new NAME` creates one"));
}

/// A value stays one argument of the command: no shell interprets it, and it cannot become an option.
#[test]
fn a_value_is_one_word_and_no_option() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(
        dir.path(),
        r#"
        system = "x"
        [tools.command.say]
        description = "Says."
        argv = ["printf", "%s|", "{text}", "pre-{text}", "{many}", "{flag}"]
        effect = "read-only"
        args.text.required = true
        args.many.type = "list"
        args.flag.allow_dash = true
        [tools.command.fail]
        description = "Fails."
        argv = ["sh", "-c", "echo no >&2; exit 3"]
        [tools.command.secret]
        description = "Shows a variable."
        argv = ["sh", "-c", "echo \"[$USER]\""]
        "#,
    );
    let call = |tool: &str, args: &str| run_haft(dir.path(), &["call", "a", tool, args]);
    let hostile = r#"{"text": "$(id); `id` && x > y", "many": ["a b", "c"], "flag": "-n"}"#;
    assert_eq!(
        call("say", hostile),
        "exit 0\n--- out\n$(id); `id` && x > y|pre-$(id); `id` && x > y|a b|c|-n|"
    );
    assert_eq!(call("say", r#"{"text": "x"}"#), "exit 0\n--- out\nx|pre-x|");
    assert!(call("say", r#"{"text": "--output=/tmp/x"}"#).contains("must not begin with `-`"));
    assert!(call("say", r#"{"text": "x", "many": ["-rf"]}"#).contains("must not begin with `-`"));
    assert!(call("say", r#"{"text": "a\u0000b"}"#).contains("NUL"));
    assert!(call("say", "{}").contains("`/text`"));
    let failed = call("fail", "{}");
    assert!(failed.contains("exit status: 3") && failed.contains("no"), "{failed}");
    assert_eq!(call("secret", "{}"), "exit 0\n--- out\n[]");
    assert!(call("nothing", "{}").contains("its tools: fail, say, secret"));
}

#[test]
fn every_template_is_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    for (template, tool) in [
        ("hello", "list_files"),
        ("data", "group_rows"),
        ("git", "git_tag"),
        ("http", "get_repository"),
    ] {
        let made = cli(&["new", template, "--template", template]);
        assert!(made.starts_with("exit 0") && made.contains("haft run"), "{made}");
        assert!(cli(&["tools", template]).contains(tool));
        assert!(cli(&["check", template]).starts_with("exit 0"), "{template}");
    }
    let run = cli(&["run", "data"]);
    assert!(run.starts_with("exit 0") && run.contains("The south sold the most"), "{run}");
}

/// Also in an empty directory, with no repository around it and nothing on the network.
#[test]
fn every_template_runs_at_once() {
    for (template, says) in [
        ("hello", "agent.toml"),
        ("data", "The south sold the most"),
        ("git", "Begin with the files of `haft new`"),
        ("http", "This script stays offline."),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let cli = |words: &[&str]| run_haft(dir.path(), words);
        let made = cli(&["new", "it", "--template", template]);
        assert!(made.starts_with("exit 0"), "{template}: {made}");
        // Every command that is printed works as it stands, except for the one with a model.
        for line in made.lines().filter(|it| it.starts_with("  haft ") && !it.contains("--model")) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            let said = cli(&words);
            assert!(said.starts_with("exit 0"), "{line}: {said}");
        }
        assert!(cli(&["run", "it"]).contains(says), "{template}");
        let tested = cli(&["test", "it"]);
        assert!(tested.starts_with("exit 0"), "{template}: {tested}");
    }
}

/// A repository around the directory is the one that the agent is about.
#[test]
fn an_agent_in_a_repository_gets_none_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("repository")).unwrap();
    let dir = dir.path().join("repository");
    assert!(run_haft(&dir, &["new", "first", "--template", "git"]).contains("got one of its own"));
    let inner = run_haft(&dir.join("first"), &["new", "second", "--template", "git"]);
    assert!(inner.starts_with("exit 0") && !inner.contains("got one of its own"), "{inner}");
    assert!(!dir.join("first/second/.git").exists());
}

/// The calls of a step run in parallel, and their events are printed in the order of their numbers.
#[test]
fn events_are_printed_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let calls: String =
        (0..8).map(|n| format!("      - calculate: {{expression: '{n}+1'}}\n")).collect();
    let script = format!("steps:\n{}  - say: done\n", format!("  - call:\n{calls}").repeat(5));
    write_scripted_agent(dir.path(), "prompt = 'Go.'\n[tools.math]", &script);
    let printed = run_haft(dir.path(), &["run", "a", "--json"]);
    let events = printed.lines().filter(|line| line.starts_with('{'));
    let numbers =
        events.map(|line| serde_json::from_str::<Value>(line).unwrap()["sequence"].clone());
    let numbers: Vec<u64> = numbers.map(|it| it.as_u64().unwrap()).collect();
    assert!(numbers.len() > 150, "{printed}");
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
