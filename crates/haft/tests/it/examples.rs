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

    call 067ddf6d: 21 degrees Celsius in Paris
    - the code fence was removed
    - a comma before a closing bracket was removed
    - `/units`: the case of letters was changed

    the arguments of `get_weather` were refused:
    - `/town`: this field does not exist; the fields are `city`, `units`
    - `/city`: missing; expected a non-empty string; for example "text"
    mend them and call `get_weather` again
    "##);
}

#[test]
fn builder() {
    insta::assert_snapshot!(run("02_builder"), @r##"
    {"city":"Paris","units":"celsius"}: 21 degrees in Paris
    there is no tool `get_wether`; did you mean `get_weather`? The tools are `get_weather`
    "##);
}

#[test]
fn foreign_schema() {
    insta::assert_snapshot!(run("03_foreign_schema"), @r##"
    moved: {"account":"4711","amount":12.5,"currency":"EUR"}
    - `/amount`: a string became a number
    - `/currency`: the case of letters was changed

    the arguments of `transfer` were refused:
    - `/account`: "47" does not match "^[0-9]{4}$"; expected a value that meets `pattern`
    - `/amount`: -1 is less than or equal to the minimum of 0; expected a value that meets `exclusiveMinimum`
    mend them and call `transfer` again
    "##);
}

#[test]
fn custom_executor() {
    insta::assert_snapshot!(run("04_custom_executor"), @r##"
    19 + 23: The sum is 42.
    hello: failed: the executor failed: no rule for "hello"
    "##);
}

#[cfg(feature = "formats")]
#[test]
fn scripted_turn() {
    insta::assert_snapshot!(run("05_scripted_turn"), @r##"
    May this file be deleted? {"arguments":{"path":"/tmp/old"},"tool":"delete_file"}
    get_log {}: succeeded
    artifact_grep {"callId":"7ea1e3e3","pattern":"ERROR"}: succeeded
    delete_file {"path":"/tmp/old"}: succeeded
    The log says 4712:ERROR disk full. I made room: deleted /tmp/old.
    "##);
}

#[cfg(feature = "formats")]
#[test]
fn own_format() {
    insta::assert_snapshot!(run("06_own_format"), @r##"
    artifact_ini_sections: [server]
    [log]
    artifact_ini_get: `artifact_ini_get` failed: no such section; there are [server] [log]
    artifact_ini_get: 8080
    The port is 8080.
    "##);
}

#[cfg(all(feature = "conformance", feature = "http"))]
#[test]
fn custom_dialect() {
    insta::assert_snapshot!(run("07_custom_dialect"), @r##"
    the dialect conforms
    completed: It is sunny in Zürich. (61 tokens)
    the last request has "system", "user", "assistant", "tool"
    "##);
}

#[test]
fn seeds() {
    insta::assert_snapshot!(run("08_seeds"), @"completed: 21° Celsius in Paris. Conditions: sunny.");
}

#[test]
fn skills() {
    insta::assert_snapshot!(run("09_skills"), @r##"
    refund_order failed: there is no tool `refund_order`; the tools are `load_skill`
    load_skill succeeded
    refund_order succeeded
    You can call refund_order now. order 7 is refunded.
    "##);
}
