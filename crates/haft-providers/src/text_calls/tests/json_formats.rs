//! Formats whose calls are JSON.

use serde_json::json;

use super::{TextCallFormat, check, declines};

#[test]
fn hermes() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value, rest: &str) {
        check(TextCallFormat::Hermes, text, expect, rest);
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::Hermes, text);
    }
    good(
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
        json!([["weather", { "city": "Paris" }]]),
        "",
    );
    good(
        r#"A <tool_call>{"name":"a","arguments":{}}</tool_call><tool_call> {"arguments":{"n":1},"name":"b"} </tool_call> B"#,
        json!([["a", {}], ["b", { "n": 1 }]]),
        "A  B",
    );
    // Markers and brackets in strings.
    good(
        r#"<tool_call>{"name":"a","arguments":{"x":"</tool_call><tool_call>{\"","y":"}}]"}}</tool_call>"#,
        json!([["a", { "x": "</tool_call><tool_call>{\"", "y": "}}]" }]]),
        "",
    );
    // Arguments that are none, and an object in a string.
    good(r#"<tool_call>{"name":"a"}</tool_call>"#, json!([["a", {}]]), "");
    good(r#"<tool_call>{"name":"a","arguments":[1]}</tool_call>"#, json!([["a", {}]]), "");
    good(r#"<tool_call>{"name":"a","arguments":"x"}</tool_call>"#, json!([["a", {}]]), "");
    good(
        r#"<tool_call>{"name":"a","arguments":"{\"n\": 1}"}</tool_call>"#,
        json!([["a", { "n": 1 }]]),
        "",
    );
    // What has only one reading is mended.
    good(
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
        good(&format!("{bad}\n{call}"), json!([["a", {}]]), bad);
    }
    bad(r#"<tool_call>{"name":"a","arguments":{}}"#);
    bad(r#"<tool_call>{"name":"a","arguments":{}</tool_call>"#);
    bad(r#"<tool_call>{"name":"a"}</tool_call"#);
    bad(r#"<tool_call>{"name":"a"} and </tool_call>"#);
    bad(r#"<tool_call>{"name":""}</tool_call>"#);
    bad(r#"<tool_call>{"name":"a","name":"b"}</tool_call>"#);
    bad(r#"<tool_call>{"arguments":{}}</tool_call>"#);
    bad(r#"<tool_call>[{"name":"a"}]</tool_call>"#);
    bad(r#"<TOOL_CALL>{"name":"a"}</TOOL_CALL>"#);
    bad(r#"<tool_call>{"name":"a"}</Tool_Call>"#);
    bad(r#"{"name":"a"}"#);
}

#[test]
fn integers_keep_their_digits() {
    let text =
        r#"<tool_call>{"name":"a","arguments":{"n":123456789012345678901234567890}}</tool_call>"#;
    let parsed = super::parse(TextCallFormat::Hermes, text);
    assert_eq!(parsed.calls[0].arguments.to_text(), r#"{"n":123456789012345678901234567890}"#);
}

#[test]
fn gpt_oss() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value, rest: &str) {
        check(TextCallFormat::GptOss, text, expect, rest);
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::GptOss, text);
    }
    good(
        r#"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>"#,
        json!([["weather", { "city": "Paris" }]]),
        "",
    );
    good(
        r#"So.<|start|>assistant<|channel|>commentary to=functions.a json<|message|>{}<|call|> <|start|>assistant to=functions.b<|channel|>commentary<|message|> {"x":"<|call|>"} <|call|>"#,
        json!([["a", {}], ["b", { "x": "<|call|>" }]]),
        "So.",
    );
    good(
        "<|start|>assistant<|channel|>final<|message|>Hi <|channel|>commentary to=functions.a<|message|>{}<|call|>",
        json!([["a", {}]]),
        "<|start|>assistant<|channel|>final<|message|>Hi",
    );
    good(
        "<|channel|>commentary to=functions.a<|channel|>commentary to=functions.b<|message|>{}<|call|>",
        json!([["b", {}]]),
        "<|channel|>commentary to=functions.a",
    );
    bad(r#"<|channel|>commentary to=functions.a<|message|>{"x":1}"#);
    bad(r#"<|channel|>commentary to=functions.a<|message|>{"x":1}<|end|>"#);
    bad(r#"<|channel|>commentary to=functions.a<|message|>{"x":1<|call|>"#);
    bad(r#"<|channel|>commentary to=functions.a<|message|>[]<|call|>"#);
    bad(r#"<|channel|>commentary to=functions.<|message|>{}<|call|>"#);
    bad(r#"<|channel|>commentary<|message|>{}<|call|>"#);
    bad(r#"<|channel|>commentary to=browser.a<|message|>{}<|call|>"#);
    bad(r#"<|channel|>Commentary to=functions.a<|message|>{}<|call|>"#);
    bad(r#"<|channel|>analysis to=functions.a<|message|>{}<|call|>"#);
}

#[test]
fn mistral_and_phi() {
    for (format, mark) in
        [(TextCallFormat::Mistral, "[TOOL_CALLS]"), (TextCallFormat::Phi, "functools")]
    {
        let good =
            |text: &str, expect, rest: &str| check(format, &text.replace('@', mark), expect, rest);
        let bad = |text: &str| declines(format, &text.replace('@', mark));
        good(r#"@[{"name":"a","arguments":{"x":1}}]"#, json!([["a", { "x": 1 }]]), "");
        good(
            "Look: @ [{\"name\":\"a\"},\n{\"name\":\"b\",\"arguments\":{\"x\":\"]@[\"}}] there",
            json!([["a", {}], ["b", { "x": format!("]{mark}[") }]]),
            "Look:  there",
        );
        good(r#"@[@[{"name":"a"}]"#, json!([["a", {}]]), &format!("{mark}["));
        good(r#"@[{"name":"a"}] @[{"name":"b"}]"#, json!([["a", {}], ["b", {}]]), "");
        bad(r#"@[{"name":"a","arguments":{"x":1}}"#);
        bad(r#"@[{"name":"a"},{"x":1}]"#);
        bad(r#"@[{"name":"a"},1]"#);
        bad("@[]");
        bad("@");
        bad(r#"@{"name":"a"}"#);
        bad(r#"x [{"name":"a"}]"#);
    }
    declines(TextCallFormat::Mistral, r#"[tool_calls][{"name":"a"}]"#);
    declines(TextCallFormat::Phi, r#"Functools[{"name":"a"}]"#);
    declines(TextCallFormat::Phi, r#"my_functools[{"name":"a"}]"#);
    check(
        TextCallFormat::Phi,
        r#"functools[{"name":"a","parameters":{"x":1}}]"#,
        json!([["a", { "x": 1 }]]),
        "",
    );
}

#[test]
fn llama3_json() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value) {
        check(TextCallFormat::Llama3Json, text, expect, "");
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::Llama3Json, text);
    }
    good(r#" {"name":"a","parameters":{"x":1}} "#, json!([["a", { "x": 1 }]]));
    good(
        r#"{"type":"function","name":"a","arguments":{"x":"};{"}}"#,
        json!([["a", { "x": "};{" }]]),
    );
    let three = json!([["a", {}], ["b", { "n": 1 }], ["c", {}]]);
    for gap in [",", ";", " ", "\n", " ; ", ""] {
        let parts = [
            r#"{"name":"a","parameters":{}}"#,
            r#"{"name":"b","parameters":{"n":1}}"#,
            r#"{"name":"c","arguments":[]}"#,
        ];
        good(&parts.join(gap), three.clone());
    }
    good("```json\n{\"name\":\"a\",\"parameters\":{\"x\":1}}\n```", json!([["a", { "x": 1 }]]));
    // Without arguments only what is offered, and nothing else in it.
    good(r#"{"name":"weather"}"#, json!([["weather", {}]]));
    bad(r#"{"name":"Alice"}"#);
    bad(r#"{"name":"weather","age":3}"#);
    bad(r#"{"name":"a","parameters":{"x":1}"#);
    bad(r#"{"name":"a","parameters":{}} {"#);
    bad(r#"{"name":"a","parameters":{}} done"#);
    bad(r#"Sure: {"name":"a","parameters":{}}"#);
    bad(r#"{"name":1,"parameters":{}}"#);
    bad(r#"{"Name":"a","parameters":{}}"#);
    bad(r#"{"name":"a","parameters":{}} {"x":1}"#);
    bad(r#"[{"name":"a","parameters":{}}]"#);
    bad("{}");
    bad("```json\n{\"name\":\"a\",\"parameters\":{}}");
    bad("```json\n{\"name\":\"a\",\"parameters\":{}}\n```\nThere.");
}
