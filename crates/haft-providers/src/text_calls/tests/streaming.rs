//! Text that arrives in pieces.

use proptest::prelude::*;

use super::ParsedText;
use crate::text_calls::TextCallFilter;

/// What is shown piece by piece, and what the end adds.
fn stream<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (Vec<String>, ParsedText) {
    let mut filter = TextCallFilter::new();
    let shown = pieces.into_iter().map(|it| filter.feed(it).to_owned()).collect();
    (shown, filter.finish())
}

#[track_caller]
fn agrees(pieces: &[&str]) {
    let text = pieces.concat();
    let whole = ParsedText::of(&text);
    let (shown, end) = stream(pieces.iter().copied());
    assert_eq!(end.calls, whole.calls, "{pieces:?}");
    let all = shown.concat() + &end.text;
    if whole.calls.is_empty() {
        assert_eq!(all, whole.text, "{pieces:?}");
    } else {
        assert_eq!(all.trim_start(), whole.text, "{pieces:?}");
    }
}

#[test]
fn only_what_may_be_a_call_waits() {
    #[track_caller]
    fn shows(steps: &[(&str, &str)], end: &str, n_calls: usize) {
        let (shown, last) = stream(steps.iter().map(|it| it.0));
        let expect: Vec<&str> = steps.iter().map(|it| it.1).collect();
        assert_eq!(shown, expect);
        assert_eq!((last.text.as_str(), last.calls.len()), (end, n_calls));
    }
    let hermes = r#"<tool_call>{"name":"a"}</tool_call>"#;
    shows(&[("Hello", "Hello"), (" you", " you")], "", 0);
    shows(&[("Paris is", "Paris is"), (" nice", " nice"), (".\n", ".")], "\n", 0);
    shows(&[("a <", "a"), ("b> <tool_call", " <b>"), ("s>", " <tool_calls>")], "", 0);
    shows(&[("a <｜DS", "a"), ("ML> <|tool_", " <｜DSML>"), ("s|>", " <|tool_s|>")], "", 0);
    shows(&[("a\n", "a"), ("\n", ""), (hermes, ""), ("\n\nb", "\n\nb"), (" c", " c")], "", 1);
    shows(&[("So ", "So"), (hermes, ""), (" ok", "  ok")], "", 1);
    let broken = "<tool_call>{\"name\":1}</tool_call> b";
    shows(&[("<tool_call>{\"name\"", ""), (":1}</tool_call> b", broken)], "", 0);
    shows(&[("<tool_call>{\"name\":\"a\"", "")], "<tool_call>{\"name\":\"a\"", 0);
    // In a fence nothing waits.
    shows(&[("See:\n```\n", "See:\n```"), ("<tool_call>{", "\n<tool_call>{")], "", 0);
    shows(&[("```\n", "```"), ("let", "\nlet"), (" x;", " x;")], "", 0);
}

/// Parts of calls of all forms, so that random texts have many candidates.
const PARTS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "{\"name\":\"weather\"}",
    "{\"name\":\"weather\",\"arguments\":{\"city\":\"x\"}}",
    "<function=weather>",
    "</function>",
    "<parameter=city>",
    "</parameter>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.weather:0",
    "<|tool_call_argument_begin|>",
    "{\"a\":1}",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜invoke name=\"weather\">",
    "<｜DSML｜parameter name=\"city\" string=\"true\">",
    "<｜DSML｜parameter name=\"days\" string=\"false\">",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "\"",
    "'",
    "\\",
    "\n",
    "\n\n",
    " ",
    "```\n",
    "\n```\n",
    "```json\n",
    "~~~\n",
    "    ",
    "text",
    "é",
    "1",
    "true",
];

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(PARTS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => (prop::sample::select(PARTS), 0..20_usize).prop_map(|(it, len)| it.chars().take(len).collect()),
    ]
}

fn pieces_of(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut ends: Vec<usize> = cuts.iter().map(|it| it.index(chars.len() + 1)).collect();
    ends.push(chars.len());
    ends.sort_unstable();
    let mut from = 0;
    ends.into_iter()
        .map(|end| chars[std::mem::replace(&mut from, end)..end].iter().collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_make_no_difference(
        parts in prop::collection::vec(part(), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let text = parts.concat();
        let pieces = pieces_of(&text, &cuts);
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let single: Vec<&str> = text.split_inclusive(|_| true).collect();
        agrees(&pieces);
        agrees(&single);
    }

    #[test]
    fn a_text_without_a_call_stays_and_one_with_calls_has_objects(
        parts in prop::collection::vec(part(), 0..12),
    ) {
        let text = parts.concat();
        let parsed = ParsedText::of(&text);
        if parsed.calls.is_empty() {
            prop_assert_eq!(&parsed.text, &text);
        }
        for call in &parsed.calls {
            prop_assert!(!call.name.is_empty());
            prop_assert!(call.arguments.to_value().is_object(), "{:?} {}", call, text);
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        agrees(&[text.as_str()]);
    }
}
