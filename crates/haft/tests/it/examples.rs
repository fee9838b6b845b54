//! Every example runs, offline, and says what it should.

#[cfg(feature = "http")]
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
#[cfg(feature = "http")]
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;

/// The path of an example, which cargo has built beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name)
}

/// Runs an example.
fn run(name: &str) -> String {
    let output = Command::new(example(name)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The program of the README, with a server on this machine in the place of the provider.
#[cfg(feature = "http")]
#[test]
fn turn_with_model() {
    let call = r#"{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}"#;
    let bodies = [
        format!(r#"{{"choices":[{{"index":0,"message":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#),
        r#"{"choices":[{"index":0,"message":{"content":"Yes, 21 degrees."},"finish_reason":"stop"}]}"#.to_owned(),
    ];
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || bodies.map(|body| respond(&listener, &body)));
    let mut program = Command::new(example("10_turn_with_model"));
    let output = program.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "k").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "Yes, 21 degrees. (1 calls)\n");
    let [first, second] = server.join().unwrap();
    assert!(first.contains("\"enum\":[\"celsius\",\"fahrenheit\"]"), "{first}");
    assert!(second.contains("21 degrees Celsius in Paris"), "{second}");
}

/// Reads a request and sends a response. Returns the body of the request.
#[cfg(feature = "http")]
fn respond(listener: &TcpListener, body: &str) -> String {
    let (connection, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(count) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
    }
    let mut request = vec![0; length];
    reader.read_exact(&mut request).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    reader.into_inner().write_all(response.as_bytes()).unwrap();
    String::from_utf8(request).unwrap()
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
    correct them and call `get_weather` again
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
    correct them and call `transfer` again
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
    insta::assert_snapshot!(run("06_own_format"), @"
    artifact_info: 256a713d: ini, 57 bytes (about 15 tokens), 6 lines
    [server]
    [log]
    artifact_grep takes a regular expression, artifact_read takes line numbers
    artifact_ini_get: `artifact_ini_get` failed: no such section; there are [server] [log]
    artifact_ini_get: 8080
    The port is 8080.
    ");
}

#[cfg(feature = "http")]
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
    insta::assert_snapshot!(run("09_skills"), @"
    refund_order failed: there is no tool `refund_order`; the tools are `artifact_grep`, `artifact_info`, `artifact_query`, `artifact_read` and `load_skill`
    load_skill succeeded
    refund_order succeeded
    You can call refund_order now. order 7 is refunded.
    ");
}

#[test]
fn conversation() {
    insta::assert_snapshot!(run("12_conversation"), @r##"
    > My name is Ada.
    I see 1 messages.
    > What is my name?
    I see 3 messages.
    2 turns
    "##);
}

#[test]
fn own_spool_store() {
    insta::assert_snapshot!(run("11_own_spool_store"), @r##"
    the contract holds
    the content of `b` is larger than the limit of 4 bytes
    "##);
}
