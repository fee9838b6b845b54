//! Hostile text: these tests end quickly only if the work is linear.

use serde_json::json;

use super::{OFFERED, TextCallFormat};
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
    "<|tool_call>call:f{",
    "<|tool_call>call:f{a:\"x<tool_call|>",
    "<|tool_call>call:f{a:<|\"|>x<tool_call|>",
    "<|tool_call>call:f{a:'x<tool_call|>",
    "<|tool_call>call:f{\"",
    "call:f{",
    "call:f{a:{",
    "call:f{a:[",
    "call:f{a:\"",
    "call:f{a:1,",
    "call:f{a:x\n",
    "weather{",
    "weather{a:[{",
    "weather(",
    "weather(city='",
    "weather(city=\"'",
    "weather(city=[",
    "weather",
    "[TOOL_CALLS][",
    "[TOOL_CALLS][{\"a\":\"",
    "functools[",
    "functools[[",
    "<|channel|>commentary to=functions.a",
    "<|channel|>commentary to=functions.a<|message|>{\"",
    "<|start|>assistant",
    "[weather(city=[",
    "{\"name\":\"a\",\"parameters\":{}}",
    "{\"a\":",
    "[[",
    "weather\ncity: ",
    "```\n",
    "```json\n{",
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
        for format in TextCallFormat::ALL {
            let parsed = format.parse(&text, OFFERED);
            assert!(parsed.text.len() <= text.len());
        }
    }
}

#[test]
fn a_hundred_thousand_markers_are_no_burden() {
    for (format, piece) in [
        (TextCallFormat::Hermes, "<tool_call>"),
        (TextCallFormat::Hermes, "<tool_call>{\"a\":\""),
        (TextCallFormat::Qwen3Coder, "<tool_call><function=a><parameter=b>"),
        (TextCallFormat::Auto, "<tool_call>"),
    ] {
        let text = piece.repeat(100_000);
        let parsed = format.parse(&text, OFFERED);
        assert!(parsed.calls.is_empty() && parsed.text == text);
    }
}

#[test]
fn many_candidates_before_one_long_list_are_no_burden() {
    let text = "<tool_call><function=a><parameter=b>".repeat(10_000)
        + &"</parameter><parameter=c>".repeat(20_000)
        + "!";
    assert!(TextCallFormat::Qwen3Coder.parse(&text, OFFERED).calls.is_empty());
    let text = "call:f{a:\"".repeat(20_000) + &"<tool_call|>".repeat(20_000);
    assert!(!TextCallFormat::Gemma.parse(&text, OFFERED).calls.is_empty());
}

#[test]
fn small_pieces_are_no_burden() {
    for piece in PIECES {
        let text = piece.repeat(1_000 / piece.len());
        let mut filter = TextCallFilter::new(TextCallFormat::Auto, OFFERED);
        for piece in text.split_inclusive(|_| true) {
            filter.feed(piece);
        }
        assert_eq!(filter.text(), text);
    }
}

#[test]
fn a_long_call_in_small_pieces_is_no_burden() {
    let mut filter = TextCallFilter::new(TextCallFormat::Hermes, OFFERED);
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
        let expect = usize::from(depth <= 126);
        for (format, text) in [
            (
                TextCallFormat::Hermes,
                format!(
                    "<tool_call>{{\"name\":\"weather\",\"arguments\":{{\"a\":{list}}}}}</tool_call>"
                ),
            ),
            (TextCallFormat::Pythonic, format!("[weather(a={list})]")),
            (TextCallFormat::BarePythonic, format!("weather(a={list})")),
            (TextCallFormat::Gemma, format!("call:weather{{a:{list}}}")),
        ] {
            let parsed = format.parse(&text, OFFERED);
            if depth != 127 {
                assert_eq!(parsed.calls.len(), expect, "{format:?} {depth}");
            }
            assert!(parsed.calls.iter().all(|it| it.arguments.document().is_some()), "{format:?}");
        }
    }
}

#[test]
fn large_arguments_are_fine() {
    let value = "é\"<tool_call>{[(\\\n".repeat(2_000);
    let quoted = serde_json::to_string(&value).unwrap();
    let expect = json!([["weather", { "city": value.trim() }]]);
    for (format, text) in [
        (
            TextCallFormat::Hermes,
            format!(
                "<tool_call>{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}</tool_call>"
            ),
        ),
        (TextCallFormat::Gemma, format!("call:weather{{city:{quoted}}}")),
        (
            TextCallFormat::GptOss,
            format!(
                "<|channel|>commentary to=functions.weather<|message|>{{\"city\":{quoted}}}<|call|>"
            ),
        ),
        (TextCallFormat::Pythonic, format!("[weather(city={quoted})]")),
        (TextCallFormat::BarePythonic, format!("weather(city={quoted})")),
        (
            TextCallFormat::Llama3Json,
            format!("{{\"name\":\"weather\",\"parameters\":{{\"city\":{quoted}}}}}"),
        ),
        (
            TextCallFormat::Mistral,
            format!("[TOOL_CALLS][{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}]"),
        ),
        (
            TextCallFormat::Phi,
            format!("functools[{{\"name\":\"weather\",\"arguments\":{{\"city\":{quoted}}}}}]"),
        ),
        (
            TextCallFormat::Qwen3Coder,
            format!(
                "<tool_call><function=weather><parameter=city>{value}</parameter></function></tool_call>"
            ),
        ),
    ] {
        let parsed = format.parse(&text, OFFERED);
        let mut found = super::calls(&parsed);
        if let Some(serde_json::Value::String(city)) = found.pointer_mut("/0/1/city") {
            *city = city.trim().to_owned();
        }
        assert_eq!(found, expect, "{format:?}");
        assert_eq!(parsed.text, "");
    }
}
