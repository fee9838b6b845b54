use insta::assert_snapshot;

use super::{haft, ran, shown};

#[test]
fn a_tool_is_shown_as_a_model_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| ran(folder.path(), words);
    ran(&["new", "hello"]);
    assert_snapshot!(ran(&["describe", "hello", "current_time"]), @r#"
    exit 0
    --- out
    current_time: Returns the date and the time, in UTC.
    effect: read-only
    arguments: {
      "additionalProperties": false,
      "properties": {},
      "type": "object"
    }
    "#);
    for (form, path) in [
        ("json-schema", "/properties/folder/default"),
        ("chat-completions", "/function/parameters/properties/folder/default"),
        ("responses", "/parameters/properties/folder/default"),
        ("anthropic", "/input_schema/properties/folder/default"),
    ] {
        let shown = ran(&["describe", "hello", "list_files", "--as", form]);
        let json = shown.strip_prefix("exit 0\n--- out\n").unwrap();
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json.pointer(path).unwrap(), ".", "{form}");
        assert!(!shown.contains("cache_control"), "{shown}");
    }
    assert!(ran(&["describe", "hello", "list"]).starts_with("exit 3"));
    assert!(ran(&["describe", "hello", "list_files", "--as", "soap"]).starts_with("exit 2"));
}

#[test]
fn a_recorded_turn_needs_neither_model_nor_tools() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| ran(folder.path(), words);
    ran(&["new", "hello"]);
    let recorded = ran(&["run", "hello", "--record", "turn.json"]);
    let answer = |run: &str| run.split("--- err").next().unwrap().to_owned();
    // Another file would be listed by the tool, if it ran.
    std::fs::write(folder.path().join("hello/another"), "").unwrap();
    let replayed = ran(&["run", "hello", "--replay", "turn.json"]);
    assert!(recorded.starts_with("exit 0\n--- out\nIt is"), "{recorded}");
    assert_eq!(answer(&recorded), answer(&replayed));
    assert!(ran(&["run", "hello"]).contains("another"));
    // A model that the environment names is not asked either.
    let mut named = haft(folder.path());
    named.args(["run", "hello", "--replay", "turn.json"]).env("HAFT_MODEL", "openai:m");
    assert_eq!(answer(&shown(&named.output().unwrap())), answer(&recorded));
    // No turn runs for a recording that cannot be kept, and what was kept stays until there is another.
    let turns = ran(&["turns", "--json"]);
    let nowhere = ran(&["run", "hello", "--record", "nowhere/turn.json"]);
    assert!(nowhere.starts_with("exit 1") && nowhere.contains("cannot write"), "{nowhere}");
    assert!(ran(&["run", "hello", "--record", "turn.json", "--model", "x"]).starts_with("exit 1"));
    assert_eq!(ran(&["turns", "--json"]), turns);
    assert_eq!(answer(&ran(&["run", "hello", "--replay", "turn.json"])), answer(&recorded));
    let agent = folder.path().join("hello/agent.toml");
    let changed = std::fs::read_to_string(&agent).unwrap().replace("args.folder", "args.dir");
    std::fs::write(&agent, changed.replace("{folder}", "{dir}")).unwrap();
    let changed = ran(&["run", "hello", "--replay", "turn.json"]);
    assert!(changed.contains("its input schema has changed"), "{changed}");
    std::fs::write(folder.path().join("broken.json"), "{}").unwrap();
    assert!(ran(&["run", "hello", "--replay", "broken.json"]).contains("not a recording"));
    assert!(ran(&["run", "hello", "--replay", "x", "--record", "y"]).starts_with("exit 2"));
}
