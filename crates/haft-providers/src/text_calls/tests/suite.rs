//! Strings that break programs, from a suite outside the project.

use serde_json::json;

use super::{ParsedText, calls, declines};

#[test]
fn naughty_strings_are_values_like_any_other() {
    let Some(file) = haft_testkit::suite("naughty-strings.json") else { return };
    let strings: Vec<String> =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(strings.len() > 400);
    for text in &strings {
        declines(text);
        let quoted = serde_json::to_string(text).unwrap();
        let expect = json!([["weather", { "city": text }]]);
        for written in [
            format!(
                "<tool_call>{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}</tool_call>"
            ),
            format!(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{{\"city\":{quoted}}}<|tool_call_end|><|tool_calls_section_end|>"
            ),
            format!(
                "<｜DSML｜tool_calls><｜DSML｜invoke name=\"weather\"><｜DSML｜parameter name=\"city\" string=\"true\">{text}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"
            ),
        ] {
            assert_eq!(calls(&ParsedText::of(&written)), expect, "{written}");
        }
        let expect = json!([["weather", { "city": text.trim() }]]);
        let qwen = format!(
            "<tool_call><function=weather><parameter=city>{text}</parameter></function></tool_call>"
        );
        assert_eq!(calls(&ParsedText::of(&qwen)), expect);
    }
}
