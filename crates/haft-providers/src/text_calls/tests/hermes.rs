//! Calls that are JSON between tags.

use serde_json::json;

use super::{ParsedText, check, declines};

#[test]
fn hermes() {
    check(
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
        json!([["weather", { "city": "Paris" }]]),
        "",
    );
    check(
        r#"A <tool_call>{"name":"a","arguments":{}}</tool_call><tool_call> {"arguments":{"n":1},"name":"b"} </tool_call> B"#,
        json!([["a", {}], ["b", { "n": 1 }]]),
        "A  B",
    );
    // Markers and brackets in strings.
    check(
        r#"<tool_call>{"name":"a","arguments":{"x":"</tool_call><tool_call>{\"","y":"}}]"}}</tool_call>"#,
        json!([["a", { "x": "</tool_call><tool_call>{\"", "y": "}}]" }]]),
        "",
    );
    // Arguments that are none, and an object in a string.
    check(r#"<tool_call>{"name":"a"}</tool_call>"#, json!([["a", {}]]), "");
    check(r#"<tool_call>{"name":"a","arguments":[1]}</tool_call>"#, json!([["a", {}]]), "");
    check(r#"<tool_call>{"name":"a","arguments":"x"}</tool_call>"#, json!([["a", {}]]), "");
    check(
        r#"<tool_call>{"name":"a","arguments":"{\"n\": 1}"}</tool_call>"#,
        json!([["a", { "n": 1 }]]),
        "",
    );
    // What has only one reading is mended.
    check(
        "<tool_call>{'name': 'a', 'arguments': {'b': True, 'c': \"x\ny\",},}</tool_call>",
        json!([["a", { "b": true, "c": "x\ny" }]]),
        "",
    );
    // A bad candidate does not hide a good one, not even one inside of it.
    let call = r#"<tool_call>{"name":"a"}</tool_call>"#;
    for bad in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>{\"x\":\"",
        "<tool_call>{\"name\":1}</tool_call>",
    ] {
        check(&format!("{bad}\n{call}"), json!([["a", {}]]), bad);
    }
    declines(r#"<tool_call>{"name":"a","arguments":{}}"#);
    declines(r#"<tool_call>{"name":"a","arguments":{}</tool_call>"#);
    declines(r#"<tool_call>{"name":"a"}</tool_call"#);
    declines(r#"<tool_call>{"name":"a"} and </tool_call>"#);
    declines(r#"<tool_call>{"name":""}</tool_call>"#);
    declines(r#"<tool_call>{"name":"a","name":"b"}</tool_call>"#);
    declines(r#"<tool_call>{"arguments":{}}</tool_call>"#);
    declines(r#"<tool_call>[{"name":"a"}]</tool_call>"#);
    declines(r#"<TOOL_CALL>{"name":"a"}</TOOL_CALL>"#);
    declines(r#"<tool_call>{"name":"a"}</Tool_Call>"#);
    declines(r#"{"name":"a"}"#);
}

#[test]
fn integers_keep_their_digits() {
    let text =
        r#"<tool_call>{"name":"a","arguments":{"n":123456789012345678901234567890}}</tool_call>"#;
    let parsed = ParsedText::of(text);
    assert_eq!(parsed.calls[0].arguments.to_text(), r#"{"n":123456789012345678901234567890}"#);
}
