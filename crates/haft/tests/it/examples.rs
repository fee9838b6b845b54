//! Every example runs, offline, and says what it should.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, which cargo has built beside the tests.
fn run(name: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let examples: PathBuf = tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let output = Command::new(examples.join(name)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn one_tool() {
    insta::assert_snapshot!(run("01_one_tool"), @r##"
    the model sees {"type":"object","properties":{"city":{"type":"string","minLength":1,"description":"The city name"},"units":{"type":"string","enum":["celsius","fahrenheit"],"description":"Unit of the answer","default":"celsius"}},"required":["city"],"additionalProperties":false}

    call 067ddf6d3ab9064dc0f213026296ca16cf54586c6213f2ebfa00d6248de1e352
    Text("21 degrees Celsius in Paris")
    changed: [Change { pointer: "", kind: Repaired(CodeFence) }, Change { pointer: "", kind: Repaired(TrailingComma) }, Change { pointer: "/units", kind: Case }]

    the arguments of `get_weather` were refused:
    - `/town`: this field does not exist; the fields are `city`, `units`
    - `/city`: missing; expected a non-empty string; for example "text"
    mend them and call `get_weather` again
    "##);
}

#[test]
fn builder() {
    insta::assert_snapshot!(run("02_builder"), @r##"
    Text("21 degrees in Paris") with {"city":"Paris","units":"celsius"}
    there is no tool `get_wether`; did you mean `get_weather`?
    "##);
}

#[test]
fn foreign_schema() {
    insta::assert_snapshot!(run("03_foreign_schema"), @r##"
    Text("moved: {\"account\":\"4711\",\"amount\":12.5,\"currency\":\"EUR\"}")
    changed: [Change { pointer: "/amount", kind: Number }, Change { pointer: "/currency", kind: Case }]

    the arguments of `transfer` were refused:
    - `/account`: "47" does not match "^[0-9]{4}$"; expected a value that meets `pattern`
    - `/amount`: -1 is less than or equal to the minimum of 0; expected a value that meets `exclusiveMinimum`
    mend them and call `transfer` again
    "##);
}

#[test]
fn custom_executor() {
    insta::assert_snapshot!(run("04_custom_executor"), @r##"
    Completed after 2 iterations: The tool says Some(Text("42"))
    Failed after 1 iterations: the executor failed: no rule for "hello"
    "##);
}

#[cfg(feature = "formats")]
#[test]
fn scripted_turn() {
    insta::assert_snapshot!(run("05_scripted_turn"), @r##"
    May this file be deleted? {"arguments":{"path":"/tmp/old"},"tool":"delete_file"}
    get_log {} Succeeded
    artifact_grep {"callId":"7ea1e3e3","pattern":"ERROR"} Succeeded
    delete_file {"path":"/tmp/old"} Succeeded
    The log says 4711:ERROR disk full. I made room: deleted /tmp/old.
    "##);
}

#[cfg(feature = "formats")]
#[test]
fn own_format() {
    insta::assert_snapshot!(run("06_own_format"), @r##"
    artifact_ini_sections: Some(Text("[server]\n[log]")) None
    artifact_ini_get: None Some("`artifact_ini_get` failed: no such section; there are [server] [log]")
    artifact_ini_get: Some(Text("8080")) None
    The port is 8080.
    "##);
}

#[cfg(all(feature = "conformance", feature = "http"))]
#[test]
fn custom_dialect() {
    insta::assert_snapshot!(run("07_custom_dialect"), @r##"
    the dialect conforms
    Completed: It is sunny in Zürich. (61 tokens)
    the last request has "system", "user", "assistant", "tool"
    "##);
}
