use insta::assert_snapshot;

use super::support::{haft, run_haft, transcript};

#[test]
fn a_tool_is_shown_as_a_model_sees_it() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    assert_snapshot!(cli(&["describe", "hello", "current_time"]), @r#"
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
    assert!(cli(&["describe", "hello", "list"]).starts_with("exit 3"));
}

#[test]
fn a_recorded_turn_needs_neither_model_nor_tools() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    cli(&["new", "hello"]);
    let recorded = cli(&["run", "hello", "--record", "turn.json"]);
    let answer = |run: &str| run.split("--- err").next().unwrap().to_owned();
    // The tool would list this file if it ran.
    std::fs::write(dir.path().join("hello/another"), "").unwrap();
    let replayed = cli(&["run", "hello", "--replay", "turn.json"]);
    assert!(recorded.starts_with("exit 0\n--- out\nIt is"), "{recorded}");
    assert_eq!(answer(&recorded), answer(&replayed));
    assert!(cli(&["run", "hello"]).contains("another"));
    // A model from the environment is not called either.
    let mut named = haft(dir.path());
    named.args(["run", "hello", "--replay", "turn.json"]).env("HAFT_MODEL", "openai:m");
    assert_eq!(answer(&transcript(&named.output().unwrap())), answer(&recorded));
    // No turn runs if its recording cannot be written, and the old recording stays until a new one is complete.
    let turns = cli(&["turns", "--json"]);
    let nowhere = cli(&["run", "hello", "--record", "nowhere/turn.json"]);
    assert!(nowhere.starts_with("exit 1") && nowhere.contains("cannot write"), "{nowhere}");
    assert!(cli(&["run", "hello", "--record", "turn.json", "--model", "x"]).starts_with("exit 1"));
    assert_eq!(cli(&["turns", "--json"]), turns);
    assert_eq!(answer(&cli(&["run", "hello", "--replay", "turn.json"])), answer(&recorded));
    let agent = dir.path().join("hello/agent.toml");
    let changed = std::fs::read_to_string(&agent).unwrap().replace("args.folder", "args.dir");
    std::fs::write(&agent, changed.replace("{folder}", "{dir}")).unwrap();
    let changed = cli(&["run", "hello", "--replay", "turn.json"]);
    assert!(changed.contains("its input schema has changed"), "{changed}");
    std::fs::write(dir.path().join("broken.json"), "{}").unwrap();
    assert!(cli(&["run", "hello", "--replay", "broken.json"]).contains("not a recording"));
    assert!(cli(&["run", "hello", "--replay", "x", "--record", "y"]).starts_with("exit 2"));
}
