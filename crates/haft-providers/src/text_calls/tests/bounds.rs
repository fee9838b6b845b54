//! Hostile text: these tests end quickly only if the work is linear.

use serde_json::json;

use super::ParsedText;
use crate::text_calls::TextCallFilter;

/// Pieces that make many candidates when they are repeated.
const PIECES: &[&str] = &[
    "<tool_call>",
    "<tool_call>{",
    "<tool_call>{\"",
    "<tool_call>{\"a\":\"",
    "<tool_call>{\"a\":'\"",
    "<tool_call>{\"name\":\"a\"}",
    "<tool_call>{\"name\":\"a\"}</tool_call>",
    "<tool_call>{\"a\":",
    "<tool_call><function=a>",
    "<tool_call><function=a><parameter=b>",
    "<tool_call><function=a><parameter=b></parameter>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{\"",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{\"a\":'\"",
    "<|tool_call_begin|>a:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"a\">",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"a\"><｜DSML｜parameter name=\"b\" string=\"true\">",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"a\"><｜DSML｜parameter name=\"b\" string=\"false\"></｜DSML｜parameter>",
    "```\n",
    "```json\n{",
    "<",
    "\n",
    " ",
    "\"",
    "'\"",
    "\\",
];

#[test]
fn repeated_markers_are_no_burden() {
    for piece in PIECES {
        let text = piece.repeat(30_000 / piece.len());
        assert!(ParsedText::of(&text).text.len() <= text.len());
    }
}

#[test]
fn a_hundred_thousand_markers_are_no_burden() {
    for piece in [
        "<tool_call>",
        "<tool_call>{\"a\":\"",
        "<tool_call><function=a><parameter=b>",
        "<|tool_calls_section_begin|><|tool_call_begin|>a:0<|tool_call_argument_begin|>{\"",
        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"a\"><｜DSML｜parameter name=\"b\" string=\"true\">",
    ] {
        let text = piece.repeat(100_000);
        let parsed = ParsedText::of(&text);
        assert!(parsed.calls.is_empty() && parsed.text == text);
    }
}

#[test]
fn many_candidates_before_one_long_list_are_no_burden() {
    for end in ["!", ""] {
        let text = "<tool_call><function=a><parameter=b>".repeat(10_000)
            + &"</parameter><parameter=c>".repeat(20_000)
            + end;
        assert!(ParsedText::of(&text).calls.is_empty());
        let open = "<｜DSML｜parameter name=\"b\" string=\"true\">";
        let text = format!("<｜DSML｜tool_calls><｜DSML｜invoke name=\"a\">{open}").repeat(10_000)
            + &format!("</｜DSML｜parameter>{open}").repeat(20_000)
            + end;
        assert!(ParsedText::of(&text).calls.is_empty());
    }
}

#[test]
fn small_pieces_are_no_burden() {
    for piece in PIECES {
        let text = piece.repeat(1_000 / piece.len());
        let mut filter = TextCallFilter::new();
        for piece in text.split_inclusive(|_| true) {
            filter.feed(piece);
        }
        assert_eq!(filter.text(), text);
    }
}

#[test]
fn a_long_call_in_small_pieces_is_no_burden() {
    let mut filter = TextCallFilter::new();
    filter.feed("<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"");
    for _ in 0..100_000 {
        assert_eq!(filter.feed("x"), "");
    }
    filter.feed("\"}}</tool_call>");
    assert_eq!(filter.finish().calls.len(), 1);
}

#[test]
fn nesting_is_bounded() {
    for depth in [126, 127, 128, 129, 100_000] {
        let list = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        for (most, text) in [
            (
                126,
                format!(
                    "<tool_call>{{\"name\":\"weather\",\"arguments\":{{\"a\":{list}}}}}</tool_call>"
                ),
            ),
            (
                127,
                format!(
                    "<|tool_calls_section_begin|><|tool_call_begin|>weather:0<|tool_call_argument_begin|>{{\"a\":{list}}}<|tool_call_end|><|tool_calls_section_end|>"
                ),
            ),
        ] {
            let parsed = ParsedText::of(&text);
            assert_eq!(parsed.calls.len(), usize::from(depth <= most), "{depth}");
            assert!(parsed.calls.iter().all(|it| it.arguments.document().is_some()));
        }
        // What cannot be JSON is text.
        let text = format!(
            "<｜DSML｜tool_calls><｜DSML｜invoke name=\"weather\"><｜DSML｜parameter name=\"a\" string=\"false\">{list}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"
        );
        let parsed = ParsedText::of(&text);
        assert!(parsed.calls.iter().all(|it| it.arguments.document().is_some()));
    }
}

#[test]
fn large_arguments_are_fine() {
    let value = "é\"<tool_call>{[(\\\n".repeat(2_000);
    let quoted = serde_json::to_string(&value).unwrap();
    let expect = json!([["weather", { "city": value.trim() }]]);
    for text in [
        format!(
            "<tool_call>{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}</tool_call>"
        ),
        format!(
            "<tool_call><function=weather><parameter=city>{value}</parameter></function></tool_call>"
        ),
        format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>weather:0<|tool_call_argument_begin|>{{\"city\":{quoted}}}<|tool_call_end|><|tool_calls_section_end|>"
        ),
        format!(
            "<｜DSML｜tool_calls><｜DSML｜invoke name=\"weather\"><｜DSML｜parameter name=\"city\" string=\"true\">{value}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"
        ),
    ] {
        let parsed = ParsedText::of(&text);
        let mut found = super::calls(&parsed);
        if let Some(serde_json::Value::String(city)) = found.pointer_mut("/0/1/city") {
            *city = city.trim().to_owned();
        }
        assert_eq!(found, expect);
        assert_eq!(parsed.text, "");
    }
}
