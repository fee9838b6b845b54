//! `haft check` and the published JSON Schema.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{run_haft, write_agent, write_script, write_scripted_agent};

#[test]
fn what_cannot_work_is_found_without_a_model() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str, script: &str| {
        write_scripted_agent(dir.path(), text, script);
        run_haft(dir.path(), &["check", "a"])
    };
    let say = "steps:\n  - say: over\n";
    let program = |name: &str| format!("[tools.command.t]\ndescription = 'T.'\nargv = ['{name}']");
    assert_snapshot!(check(&program("no-such-program"), say), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.argv`: there is no program `no-such-program` in PATH
    hint: install it, or use another program
    ");
    assert_snapshot!(check(&program("./no-such-file"), say), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.argv`: `a/./no-such-file` is not an executable file
    hint: install it, or use another program
    ");
    let made = check("prepare = [{ file = 'x', argv = ['no-such-program'] }]", say);
    assert!(
        made.starts_with("exit 1") && made.contains("`prepare`: there is no program"),
        "{made}"
    );
    let calls = |calls: &str| format!("steps:\n  - call:\n{calls}\n  - say: over\n");
    let files = "[tools.files]";
    assert_snapshot!(check(files, &calls("      - red_file: { path: x }")), @r"
    exit 1
    --- err
    error: a/script.yaml:3: `step 1`: the agent has no tool `red_file`
    hint: did you mean `read_file`?
    ");
    assert_snapshot!(check(files, &calls("      - read_file: { file: x }")), @r#"
    exit 1
    --- err
    error: a/script.yaml:3: `step 1`: `read_file` does not accept these arguments: - `/file`: this field does not exist; the fields are `path`
    - `/path`: missing; expected a string of 1 to 4096 characters; for example "notes/todo.md"
    "#);
    // Arguments that are known only at run time, calls that are meant to fail, and artifact queries.
    let fine = "steps:\n  - call:\n      - list_files: {}\n      - read_file: 7\n  - expect:\n      read_file: { error: true }\n    \
                call:\n      - read_file: { path: '{{ last.list_files }}' }\n      - artifact_info: {}\n      - artifact_grep: { callId: '{{ handle.list_files }}', pattern: x }\n  - say: over\n";
    assert_snapshot!(check(files, fine), @r"
    exit 0
    --- out
    ok: a has 4 tools and a script of 3 steps
    each request has 8 tools, 1183 tokens: read_file 89, list_files 189, find_files 158, search_files 190, artifact_info 96, artifact_read 149, artifact_grep 144, artifact_query 168
    ");
    assert_snapshot!(check("model = 'openai:m'\noptions.temperatur = 1", say), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `options.temperatur`: the options of `openai-chat-completions` were refused: there is no option `temperatur`; did you mean `temperature`?
    ");
    assert_snapshot!(check("[tools.command.'look.up']\ndescription = 'T.'\nargv = ['ls']", say), @r"
    exit 0
    --- out
    ok: a has 1 tool and a script of 1 step
    its programs run with all your rights
    each request has 5 tools, 589 tokens: look.up 32, artifact_info 96, artifact_read 149, artifact_grep 144, artifact_query 168
    --- err
    warning: tool `look.up` is sent to models as `look_up_c2199496`: providers accept names of at most 64 letters, digits, `_` and `-`
    ");
    let long = format!("[tools.command.t]\ndescription = '{}'\nargv = ['ls']", "long ".repeat(300));
    assert_snapshot!(check(&long, say), @r"
    exit 0
    --- out
    ok: a has 1 tool and a script of 1 step
    its programs run with all your rights
    each request has 5 tools, 887 tokens: t 330, artifact_info 96, artifact_read 149, artifact_grep 144, artifact_query 168
    --- err
    warning: tool `t` has a description of 1500 characters; OpenAI accepts at most 1024
    ");
}

/// One run lists everything that is wrong with one tool, one pack and the options, each at its own line.
#[test]
fn all_errors_of_one_table_are_listed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(
        dir.path(),
        r#"
system = "x"
model = "openai:m"
[options]
temprature = 3
max_tokns = 1
[approvals]
require = ["tagg", "get", "list_files"]
[tools.files]
only = ["read_fil", "list_files", "write_file"]
[tools.command.tag]
description = ""
argv = ["echo", "{nam}", "{oth}"]
timeout = 0
artifact = "txt"
[tools.command.tag.args]
name = { required = true }
n = { type = "integer", pattern = "x" }
v = { values = ["a"], min = 1 }
[tools.command.list]
description = ""
argv = ["echo"]
[tools.command.list.args]
p = { pattern = "(" }
[tools.http.get]
description = "Gets."
url = "https://example.org/{city}"
timeout = 0
query = { a = "{b}" }
headers = { A = "{env.KEY}" }
args.town = {}
"#,
    );
    assert_snapshot!(run_haft(dir.path(), &["check", "a"]), @r#"
    exit 1
    --- err
    error: a/agent.toml:5: `options.temprature`: the options of `openai-chat-completions` were refused: there is no option `temprature`; did you mean `temperature`?
    error: a/agent.toml:6: `options.max_tokns`: the options of `openai-chat-completions` were refused: there is no option `max_tokns`; did you mean `max_tokens`?
    error: a/agent.toml:8: `approvals.require`: there is no tool `tagg`
    hint: did you mean `tag`?
    error: a/agent.toml:10: `tools.files.only`: the pack `files` has no tool `read_fil`
    hint: did you mean `read_file`?
    error: a/agent.toml:10: `tools.files.only`: `write_file` requires write access
    hint: set `write = true`
    error: a/agent.toml:13: `tools.command.tag.argv`: `{nam}` uses `nam`, which is not in `args`
    hint: did you mean `name`?
    error: a/agent.toml:13: `tools.command.tag.argv`: `{oth}` uses `oth`, which is not in `args`
    hint: valid names: n, name, v
    error: a/agent.toml:14: `tools.command.tag.timeout`: the timeout must not be 0
    hint: set it to a number of seconds
    error: a/agent.toml:15: `tools.command.tag.artifact`: unknown artifact kind `txt`
    hint: did you mean `text`?
    error: a/agent.toml:18: `tools.command.tag.args.n.pattern`: `pattern` applies only to strings
    error: a/agent.toml:19: `tools.command.tag.args.v.values`: `values` excludes `min`, `max`, `multiple_of` and `pattern`
    hint: keep only `values`
    error: a/agent.toml:21: `tools.command.list.description`: a tool needs a description: the model chooses by it
    error: a/agent.toml:24: `tools.command.list.args.p`: the pattern `(` cannot be used: unclosed group, at character 1
    error: a/agent.toml:27: `tools.http.get.url`: `{city}` uses `city`, which is not in `args`
    hint: valid names: town
    error: a/agent.toml:28: `tools.http.get.timeout`: the timeout must not be 0
    hint: set it to a number of seconds
    error: a/agent.toml:29: `tools.http.get.query.a`: `{b}` uses `b`, which is not in `args`
    hint: valid names: town
    error: a/agent.toml:30: `tools.http.get.headers.A`: the variable `KEY` is not listed in `env`
    hint: add it: env = ["KEY"]
    17 errors
    "#);
}

/// One run lists everything, in the order of the file, and says where it is.
#[test]
fn all_errors_are_listed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(
        dir.path(),
        r#"
colour = "red"
system = "x"
model = "opnai:gpt-5-mini"
script = "script.yaml"

[limits]
iterations = 0
tokens = "many"

[tools.command.tag]
description = "Tags."
argv = ["echo", "{nmae}"]
approval = "Set the tag {nam}?"
args.name.required = true

[tools.command.list]
description = "Lists."

[tools.time]
only = ["curent_time"]
"#,
    );
    write_script(dir.path(), "steps:\n  - sya: hello\n  - say: '{{ last.tag }}'\n    then: stop\n");
    assert_snapshot!(run_haft(dir.path(), &["check", "a"]), @r#"
    exit 1
    --- err
    warning: a/agent.toml:14: `tools.command.tag.approval`: `Set the tag {nam}?` uses `nam`, which is not in `args`
    hint: did you mean `name`?
    error: a/agent.toml:2: unknown field `colour`
    hint: valid names: name, system, system_file, instructions, content_notice, preview_tokens, prompt, model, options, script, store, prepare, sandbox, limits, approvals, tools
    error: a/agent.toml:4: `model`: unknown provider `opnai`
    hint: did you mean `openai`? Or: the agent has a script, which needs no model: --model script
    error: a/agent.toml:8: `limits.iterations`: the limit must not be 0
    hint: remove the key to use the default
    error: a/agent.toml:9: `limits.tokens`: invalid type: string "many", expected an integer
    hint: write a number without quotes: 12
    error: a/agent.toml:13: `tools.command.tag.argv`: `{nmae}` uses `nmae`, which is not in `args`
    hint: did you mean `name`?
    error: a/agent.toml:17: `tools.command.list`: missing field `argv`
    hint: add it to the table: argv = ["program", "argument"]
    error: a/agent.toml:21: `tools.time.only`: the pack `time` has no tool `curent_time`
    hint: did you mean `convert_time`?
    error: a/script.yaml:2: `/steps/0/sya`: this field does not exist; the fields are `expect`, `stall`, `think`, `say`, `stream`, `call`, `usage`, `then`, `nack`, `fail`
    error: a/script.yaml:4: `/steps/1/then`: expected one of "continue", "done", got the string "stop"; for example "continue"
    9 errors
    "#);
    let json = run_haft(dir.path(), &["check", "a", "--json"]);
    let line = json.lines().find(|line| line.starts_with('{')).unwrap();
    let report: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&report["ok"], &report["errors"].as_array().unwrap().len()), (&json!(false), &9));
    let model = report["errors"].as_array().unwrap().iter().find(|it| it["key"] == "model");
    assert_eq!(model.unwrap()["line"], 4);
    write_agent(dir.path(), "system = \n\nname = 'x\nprompt = 'y'");
    assert_snapshot!(run_haft(dir.path(), &["check", "a"]), @r#"
    exit 1
    --- err
    error: a/agent.toml:1: string values must be quoted, expected literal string
    error: a/agent.toml:3: invalid literal string, expected `'`
    hint: a text stands in quotes on one line, "text"; three quotes on each side allow several lines
    2 errors
    "#);
    write_agent(dir.path(), "system = 'x'\nmodel = 'openai:m'");
    assert_snapshot!(run_haft(dir.path(), &["check", "a"]), @r"
    exit 0
    --- out
    ok: a has 0 tools and no script
    --- err
    warning: a/agent.toml:2: `model`: no API key: OPENAI_API_KEY is not set
    hint: set it to your key; for a server that needs no key, set OPENAI_BASE_URL
    ");
    assert_snapshot!(run_haft(dir.path(), &["check", "a", "--model", "ollama"]), @r"
    exit 1
    --- err
    error: `ollama` names no provider
    hint: write PROVIDER:MODEL, such as openai:gpt-5-mini
    ");
    write_agent(dir.path(), "system = 'x'");
    let good = run_haft(dir.path(), &["check", "a", "--json"]);
    assert!(good.starts_with("exit 0") && good.contains(r#""ok":true"#), "{good}");
}

fn published_schema() -> Value {
    serde_json::from_str(include_str!("../../agent.schema.json")).unwrap()
}

#[test]
fn the_published_schema_is_the_one_that_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let printed = run_haft(dir.path(), &["schema"]);
    let committed = include_str!("../../agent.schema.json").trim_end();
    let same = printed == format!("exit 0\n--- out\n{committed}");
    assert!(same, "regenerate it: cargo xtask schemas");
}

/// Finds the agent files below a directory.
fn find_agent_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            find_agent_files(&path, found);
        } else if name == "agent.toml" {
            found.push(path);
        }
    }
}

#[test]
fn every_agent_of_the_repository_follows_the_schema() {
    let schema = jsonschema::validator_for(&published_schema()).unwrap();
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut found = Vec::new();
    find_agent_files(&root, &mut found);
    assert!(!found.is_empty());
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let value: Value = toml::from_str(&text).unwrap();
        let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

/// The examples of the guide are valid agents, and the guide names every key.
#[test]
fn the_reference_names_every_key() {
    let text = include_str!("../../docs/agent-file.md");
    let schema = jsonschema::validator_for(&published_schema()).unwrap();
    let examples: Vec<&str> = text.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let example = example.split("```").next().unwrap();
        let mut value: Value = toml::from_str(example).unwrap();
        if value.get("system_file").is_none() {
            value.as_object_mut().unwrap().entry("system").or_insert(json!("x"));
        }
        let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{example}: {errors:?}");
    }
    let published = published_schema();
    let tables = published["$defs"].as_object().unwrap().values().chain([&published]);
    for table in tables {
        let Some(keys) = table["properties"].as_object() else { continue };
        for (key, rules) in keys {
            assert!(text.contains(&format!("`{key}`")), "the reference does not name `{key}`");
            assert!(rules.get("description").is_some(), "`{key}` is not described");
        }
    }
}

/// The schema and the program reject the same files, as far as a schema can express the rules.
#[test]
fn the_schema_and_the_program_agree() {
    let dir = tempfile::tempdir().unwrap();
    let schema = jsonschema::validator_for(&published_schema()).unwrap();
    let tool = "[tools.command.t]\ndescription = 'T.'\nargv = ['ls']\n";
    let args = |args: &str| {
        format!("system = 'x'\n[tools.command.t]\ndescription = 'T.'\nargv = ['ls']\nargs.{args}")
    };
    let http = "[tools.http.t]\ndescription = 'T.'\nurl = 'https://example.org/'\n";
    let cases = [
        ("system = 'x'", true),
        ("name = 'x'", false),
        ("system = 'x'\nsystem_file = 'y'", false),
        ("system = 7", false),
        ("system = 'x'\ncolour = 1", false),
        ("system = 'x'\n[limits]\niterations = -1", false),
        ("system = 'x'\n[limits]\niterations = 4", true),
        ("system = 'x'\n[tools.files]\nwrite = 'yes'", false),
        ("system = 'x'\n[tools.files]\nwrite = true", true),
        ("system = 'x'\n[tools.time]\nonly = ['get_current_time']", true),
        ("system = 'x'\n[tools.time]\nroot = '.'", false),
        ("system = 'x'\ntools = []", false),
        ("system = 'x'\nlimits = [4, 5, 6, 7, 8]", false),
        ("system = 'x'\napprovals = [[], []]", false),
        ("system = 'x'\n[tools]\ntime = [[], []]", false),
        ("system = 'x'\n[tools]\nfiles = ['.', false, [], []]", false),
        (
            "system = 'x'\n[tools.command]\nargv = ['T.', ['ls'], {}, '.', [], 9, 'once', 'text', 'May I?']",
            false,
        ),
        ("system = 'x'\noptions.stop = ['x']", true),
        ("system = 'x'\nprepare = [{ file = 'x', argv = ['true'] }]", true),
        ("system = 'x'\nprepare = [['x', ['true'], 1]]", false),
        ("system = 'x'\n[tools.web]", false),
        ("system = 'x'\n[tools.web]\nhosts = []", false),
        ("system = 'x'\n[tools.web]\nhosts = ['example.org']", true),
        ("system = 'x'\n[approvals]\nrequires = []", false),
        (&format!("system = 'x'\n{tool}"), true),
        (&format!("system = 'x'\n{tool}effect = 'once'"), true),
        (&format!("system = 'x'\n{tool}effect = 'twice'"), false),
        (&format!("system = 'x'\n{tool}args.n = {{ type = 'integer', min = 1 }}"), true),
        (&format!("system = 'x'\n{tool}args.n = {{ kind = 'integer' }}"), false),
        ("system = 'x'\n[tools.command.t]\ndescription = 'T.'", false),
        (&format!("system = 'x'\n{http}"), true),
        (&format!("system = 'x'\n{http}method = 'POST'\nbody = {{ a = 1 }}"), true),
        (&format!("system = 'x'\n{http}method = 'put'"), false),
        (&format!("system = 'x'\n{http}method = 'PUT'\nbody = {{ a = [[1]] }}"), true),
        (&format!("system = 'x'\n{http}method = 'TRACE'"), false),
        (&args("n = { type = 'number', min = 0.5, max = 2, default = 1 }"), true),
        (&args("n = { type = 'number', min = 'a' }"), false),
        (&args("n = { type = 'number', values = [0.5, 2] }"), true),
        (&args("n = { type = 'integer', multiple_of = -5 }"), false),
        (&args("n = { type = 'integer', multiple_of = 5, values = [[1]] }"), false),
        (
            &args("n = { type = 'list', min_items = 1, items = { type = 'integer', min = -3 } }"),
            true,
        ),
        (&args("n = { type = 'list', items = 'string' }"), false),
        (&args("n = { type = 'list', items = { kind = 'string' } }"), false),
        (
            &args("n = { type = 'object', properties = { a = {}, items = { required = true } } }"),
            true,
        ),
        (
            &args(
                "n = { type = 'object', properties = { a = { type = 'list', default = ['x'] } } }",
            ),
            true,
        ),
        (&args("n = { type = 'object', properties = { values = ['x'] } }"), false),
        (&args("n = { type = 'object', properties = [{}] }"), false),
        ("system = 'x'\nlimits.cost = 1", true),
        ("system = 'x'\nlimits.cost = 0.25", true),
        ("system = 'x'\nlimits.cost = '1'", false),
    ];
    for (text, good) in cases {
        let value: Value = toml::from_str(text).unwrap();
        assert_eq!(schema.is_valid(&value), good, "the schema about {text}");
        write_agent(dir.path(), text);
        let said = run_haft(dir.path(), &["check", "a"]);
        assert_eq!(said.starts_with("exit 0"), good, "the program about {text}: {said}");
    }
}

/// A program in the agent's directory runs from any current directory.
#[test]
fn a_program_of_the_agent_is_found() {
    use std::os::unix::fs::PermissionsExt as _;

    let dir = tempfile::tempdir().unwrap();
    let tool = "[tools.command.t]\ndescription = 'T.'\nargv = ['./own.sh']\nfolder = 'sub'";
    let file = "prepare = [{ file = 'made', argv = ['./own.sh'] }]";
    write_scripted_agent(
        dir.path(),
        &format!("prompt = 'Go.'\n{file}\n{tool}"),
        "steps:\n  - say: over\n",
    );
    std::fs::create_dir(dir.path().join("a/sub")).unwrap();
    let own = dir.path().join("a/own.sh");
    std::fs::write(&own, "#!/bin/sh\necho own\n").unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(run_haft(dir.path(), &["check", "a"]).starts_with("exit 0"));
    assert_eq!(run_haft(dir.path(), &["call", "a", "t", "--trust"]), "exit 0\n--- out\nown");
    assert!(run_haft(dir.path(), &["run", "a"]).starts_with("exit 0"));
    assert_eq!(std::fs::read_to_string(dir.path().join("a/made")).unwrap(), "own\n");
}

/// No file is created outside, wherever on the path the link is. A link that stays inside is fine.
#[test]
fn a_link_does_not_lead_out_of_the_agents_directory() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let (inner, outer) = (dir.path().join("a"), dir.path().join("elsewhere"));
    std::fs::create_dir_all(&outer).unwrap();
    std::fs::create_dir_all(inner.join("real")).unwrap();
    symlink(&outer, inner.join("away")).unwrap();
    symlink("../elsewhere", inner.join("real/away")).unwrap();
    symlink("../../elsewhere", inner.join("real/up")).unwrap();
    symlink("real", inner.join("near")).unwrap();
    symlink(outer.join("made"), inner.join("file")).unwrap();
    let made = |file: &str| {
        let text =
            format!("prompt = 'Go.'\nprepare = [{{ file = '{file}', argv = ['echo', 'x'] }}]");
        write_scripted_agent(dir.path(), &text, "steps:\n  - say: over\n");
        (run_haft(dir.path(), &["check", "a"]), run_haft(dir.path(), &["run", "a", "--trust"]))
    };
    for file in ["away/made", "away/deep/er/made", "real/up/made", "near/up/deep/made"] {
        let (checked, run) = made(file);
        for said in [checked, run] {
            assert!(said.starts_with("exit 1"), "{file}: {said}");
            assert!(said.contains("out of the agent's directory"), "{said}");
        }
    }
    // A dangling link is not a directory.
    assert!(made("real/away/made").1.starts_with("exit 1"));
    // A link in place of the file itself is replaced by the file.
    for file in ["near/made", "near/deep/made", "file"] {
        let (checked, run) = made(file);
        assert!(checked.starts_with("exit 0") && run.starts_with("exit 0"), "{file}: {run}");
        assert_eq!(std::fs::read_to_string(inner.join(file)).unwrap(), "x\n");
    }
    assert!(inner.join("real/deep/made").is_file());
    assert_eq!(std::fs::read_dir(&outer).unwrap().count(), 0);
}

/// Rules that fit neither the type nor each other are found before a call.
#[test]
fn mistakes_in_arguments_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let check = |rules: &str| {
        let text = "system = 'x'\n[tools.command.t]\ndescription = 'T.'\nargv = ['ls']\nargs.n = ";
        write_agent(dir.path(), format!("{text}{rules}"));
        let said = run_haft(dir.path(), &["check", "a"]);
        let said =
            said.replace("exit 1\n--- err\nerror: a/agent.toml:5: `tools.command.t.args.n", "");
        said.replace("\nhint: ", " / ")
    };
    for (rules, expected) in [
        (
            "{ type = 'boolean', min = 1 }",
            ".min`: `min` applies only to strings and integers and numbers",
        ),
        (
            "{ type = 'number', multiple_of = 2 }",
            ".multiple_of`: `multiple_of` applies only to integers",
        ),
        ("{ items = {} }", ".items`: `items` applies only to lists"),
        ("{ properties = {} }", ".properties`: `properties` applies only to objects"),
        (
            "{ type = 'list', max = 3, items = {} }",
            ".max`: `max` applies only to strings and integers and numbers / set it in `items`",
        ),
        ("{ type = 'integer', min = 0.5 }", ".min`: a bound of an integer must be an integer"),
        ("{ max = 1.5 }", ".max`: the length of a string must be an integer"),
        ("{ min = -1 }", ".min`: the length of a string cannot be negative"),
        ("{ type = 'integer', values = [1, 1.5] }", ".values`: `1.5` is not one of the integers"),
        ("{ values = [1] }", ".values`: `1` is not one of the strings"),
        ("{ type = 'integer', default = 1.5 }", "`: the default 1.5 is not accepted: "),
        (
            "{ type = 'list', items = { required = true } }",
            ".items.required`: `required` does not apply to the elements of a list",
        ),
        (
            "{ type = 'object', properties = { a = { type = 'list', items = { min = 0.5 } } } }",
            ".properties.a.items.min`: the length of a string must be an integer",
        ),
        (
            "{ type = 'object', properties = { a = { allow_dash = true } } }",
            ".properties.a.allow_dash`: `allow_dash` applies only to whole arguments",
        ),
        (
            "{ type = 'object', properties = { a = { type = 'integer', min = 3, max = 1 } } }",
            "`: `input.n.a`: ",
        ),
        ("{ type = 'number', min = 'a' }", ".min`: invalid type: string \"a\", expected a number"),
    ] {
        let said = check(rules);
        assert!(said.starts_with(expected), "{rules}: {said}");
    }
    for rules in ["{ type = 'integer', min = 2.0 }", "{ type = 'number', min = 0.5, max = 3 }"] {
        assert!(check(rules).starts_with("exit 0"), "{rules}");
    }
}
