//! Strings that break programs, from a suite outside the project.

use serde_json::json;

use super::{OFFERED, TextCallFormat, calls};

#[test]
fn naughty_strings_are_values_like_any_other() {
    let Some(file) = haft_testkit::suite("naughty-strings.json") else { return };
    let strings: Vec<String> =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(strings.len() > 400);
    for text in &strings {
        for format in TextCallFormat::ALL {
            let parsed = format.parse(text, OFFERED);
            assert_eq!(
                (parsed.calls.len(), parsed.text.as_str()),
                (0, text.as_str()),
                "{format:?}"
            );
        }
        let quoted = serde_json::to_string(text).unwrap();
        let expect = json!([["weather", { "city": text }]]);
        let object = format!("{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}");
        for (format, text) in [
            (TextCallFormat::Hermes, format!("<tool_call>{object}</tool_call>")),
            (TextCallFormat::Mistral, format!("[TOOL_CALLS][{object}]")),
            (TextCallFormat::Phi, format!("functools[{object}]")),
            (TextCallFormat::Llama3Json, object.clone()),
            (
                TextCallFormat::GptOss,
                format!(
                    "<|channel|>commentary to=functions.weather<|message|>{{\"city\":{quoted}}}<|call|>"
                ),
            ),
        ] {
            assert_eq!(calls(&format.parse(&text, OFFERED)), expect, "{format:?} {text}");
        }
        let expect = json!([["weather", { "city": text.trim() }]]);
        let qwen = format!(
            "<tool_call><function=weather><parameter=city>{text}</parameter></function></tool_call>"
        );
        assert_eq!(calls(&TextCallFormat::Qwen3Coder.parse(&qwen, OFFERED)), expect);
        if !text.contains("<|\"|>") && !text.is_empty() {
            let gemma = format!("<|tool_call>call:weather{{city:<|\"|>{text}<|\"|>}}<tool_call|>");
            let found = calls(&TextCallFormat::Gemma.parse(&gemma, OFFERED));
            assert!(found.pointer("/0/1/city").is_some(), "{gemma}");
        }
    }
}
