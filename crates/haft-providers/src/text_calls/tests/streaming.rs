//! Text that arrives in pieces.

use proptest::prelude::*;

use super::{OFFERED, TextCallFormat};
use crate::text_calls::{ParsedText, TextCallFilter};

/// What is shown piece by piece, and what the end adds.
fn stream<'a>(
    format: TextCallFormat,
    pieces: impl IntoIterator<Item = &'a str>,
) -> (Vec<String>, ParsedText) {
    let mut filter = TextCallFilter::new(format, OFFERED);
    let shown = pieces.into_iter().map(|it| filter.feed(it).to_owned()).collect();
    (shown, filter.finish())
}

#[track_caller]
fn agrees(format: TextCallFormat, pieces: &[&str]) {
    let text = pieces.concat();
    let whole = format.parse(&text, OFFERED);
    let (shown, end) = stream(format, pieces.iter().copied());
    assert_eq!(end.calls, whole.calls, "{format:?} {pieces:?}");
    let all = shown.concat() + &end.text;
    if whole.calls.is_empty() {
        assert_eq!(all, whole.text, "{format:?} {pieces:?}");
    } else {
        assert_eq!(all.trim_start(), whole.text, "{format:?} {pieces:?}");
    }
}

#[test]
fn only_what_may_be_a_call_waits() {
    #[track_caller]
    fn shows(format: TextCallFormat, steps: &[(&str, &str)], end: &str, n_calls: usize) {
        let (shown, last) = stream(format, steps.iter().map(|it| it.0));
        let expect: Vec<&str> = steps.iter().map(|it| it.1).collect();
        assert_eq!(shown, expect);
        assert_eq!((last.text.as_str(), last.calls.len()), (end, n_calls));
    }
    use TextCallFormat::*;
    let hermes = r#"<tool_call>{"name":"a"}</tool_call>"#;
    shows(Hermes, &[("Hello", "Hello"), (" you", " you")], "", 0);
    shows(Hermes, &[("a <", "a"), ("b> <tool_call", " <b>"), ("s>", " <tool_calls>")], "", 0);
    shows(
        Hermes,
        &[("a\n", "a"), ("\n", ""), (hermes, ""), ("\n\nb", "\n\nb"), (" c", " c")],
        "",
        1,
    );
    shows(
        Hermes,
        &[
            ("<tool_call>{\"name\"", ""),
            (":1}</tool_call> b", "<tool_call>{\"name\":1}</tool_call> b"),
        ],
        "",
        0,
    );
    shows(Hermes, &[("<tool_call>{\"name\":\"a\"", "")], "<tool_call>{\"name\":\"a\"", 0);
    // In a fence nothing waits, unless the fence may be the whole.
    shows(Hermes, &[("See:\n```\n", "See:\n```"), ("<tool_call>{", "\n<tool_call>{")], "", 0);
    shows(Hermes, &[("```\n", ""), ("let", "```\nlet"), (" x;", " x;")], "", 0);
    shows(Hermes, &[("```\n", ""), (hermes, ""), ("\n```", "")], "", 1);
    let kept = format!("```\n{hermes}\n```\nso");
    shows(Hermes, &[("```\n", ""), (hermes, ""), ("\n```\n", ""), ("so", kept.as_str())], "", 0);
    shows(Pythonic, &[("So", "So"), (" [f()]", " [f()]")], "", 0);
    shows(Pythonic, &[(" [", ""), ("f(a=", ""), ("1)]", "")], "", 1);
    shows(Pythonic, &[("[", ""), ("link](x)", "[link](x)")], "", 0);
    shows(Llama3Json, &[("{\"name\":\"a\",", ""), ("\"x\":1}", "{\"name\":\"a\",\"x\":1}")], "", 0);
    shows(BarePythonic, &[("the wea", "the"), ("k one", " weak one")], "", 0);
    shows(BarePythonic, &[("the weather", "the"), ("(3) is", " weather(3) is")], "", 0);
    shows(BarePythonic, &[("weather(days=1)", ""), (" ok", "ok")], "", 1);
    shows(LooseKeyed, &[("wea", ""), ("ther\n", ""), ("is nice", "weather\nis nice")], "", 0);
    shows(LooseKeyed, &[("wea", ""), ("ther\n", ""), ("city: x", "")], "", 1);
    shows(Gemma, &[("we ca", "we"), ("ll it", " call it")], "", 0);
    shows(Auto, &[("Paris is", "Paris is"), (" nice", " nice"), (".\n", ".")], "\n", 0);
    shows(Auto, &[("So ", "So"), ("call:f{x:1}", ""), (" ok", "")], "  ok", 1);
    shows(Auto, &[("So ", "So"), (hermes, ""), (" ok", "  ok")], "", 1);
}

/// Parts of calls of all formats, so that random texts have many candidates.
const PARTS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "{\"name\":\"weather\"}",
    "{\"name\":\"weather\",\"arguments\":{\"city\":\"x\"}}",
    "<function=weather>",
    "</function>",
    "<parameter=city>",
    "</parameter>",
    "<|tool_call>",
    "call:",
    "weather",
    "{city:x}",
    "{city:<|\"|>x<|\"|>}",
    "<tool_call|>",
    "<|\"|>",
    "<|channel|>commentary",
    " to=functions.weather",
    "<|message|>",
    "{\"a\":1}",
    "<|call|>",
    "<|start|>assistant",
    "[TOOL_CALLS]",
    "functools",
    "[",
    "]",
    "{",
    "}",
    "(city='x')",
    "(",
    ")",
    "[weather(city='x')]",
    "city: x\n",
    "weather\n",
    "city: ",
    "=",
    ":",
    ",",
    "\"",
    "'",
    "“",
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
    "a:1,",
    ";",
    "{\"name\":\"f\",\"parameters\":{}}",
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
        for format in TextCallFormat::ALL {
            agrees(format, &pieces);
            agrees(format, &single);
        }
    }

    #[test]
    fn a_text_without_a_call_stays_and_one_with_calls_has_objects(
        parts in prop::collection::vec(part(), 0..12),
    ) {
        let text = parts.concat();
        for format in TextCallFormat::ALL {
            let parsed = format.parse(&text, OFFERED);
            if parsed.calls.is_empty() {
                prop_assert_eq!(&parsed.text, &text);
            }
            for call in &parsed.calls {
                prop_assert!(!call.name.is_empty());
                prop_assert!(call.arguments.to_value().is_object(), "{:?} {}", call, text);
            }
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        for format in TextCallFormat::ALL {
            agrees(format, &[text.as_str()]);
        }
    }
}
