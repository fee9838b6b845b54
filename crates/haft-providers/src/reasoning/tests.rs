use proptest::prelude::*;

use super::{ReasoningFilter, ReasoningFormat, ReasoningPiece, UnpairedTags, strip_special_tokens};

#[track_caller]
fn check(format: ReasoningFormat, text: &str, reasoning: Option<&str>, rest: &str) {
    let split = format.split(text);
    assert_eq!((split.reasoning.as_deref(), split.text.as_str()), (reasoning, rest), "{text}");
}

#[track_caller]
fn strict(format: ReasoningFormat, text: &str, reasoning: Option<&str>, rest: &str) {
    let split = format.split_with(text, UnpairedTags::Keep);
    assert_eq!((split.reasoning.as_deref(), split.text.as_str()), (reasoning, rest), "{text}");
}

#[test]
fn think_tags() {
    use ReasoningFormat::ThinkTag;
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        let check = |text: &str, reasoning, rest: &str| {
            let text = text.replace("(", open).replace(")", close);
            let rest = rest.replace("(", open).replace(")", close);
            check(ThinkTag, &text, reasoning, &rest);
        };
        check("(a)b", Some("a"), "b");
        check("x\n\n(\na\n)\n\n\n(b) y", Some("a\n\nb"), "x\n\n y");
        check("(\n\n)\n\nb", None, "b");
        // Unpaired tags.
        check("a)b", Some("a"), "b");
        check("a)b)c", Some("a\n\nb"), "c");
        check("x(a", Some("a"), "x");
        check("x(a(b)c)d", Some("a(b\n\nc".replace('(', open).as_str()), "xd");
        let strict = |text: &str, reasoning, rest: &str| {
            let text = text.replace("(", open).replace(")", close);
            let rest = rest.replace("(", open).replace(")", close);
            strict(ThinkTag, &text, reasoning, &rest);
        };
        strict("(a)b", Some("a"), "b");
        strict(" a)b ", None, " a)b ");
        strict(" x(a ", None, " x(a ");
        strict("a)x(b)c(", Some("b"), "a)xc(");
    }
    check(ThinkTag, "<think>a</thinking>b</think>c", Some("a</thinking>b"), "c");
    check(ThinkTag, "<thinking>a</thinking><think>b</think>c", Some("a\n\nb"), "c");
    check(ThinkTag, " <Think>a</Think>\n\n\n\n", None, " <Think>a</Think>\n\n\n\n");
    check(ThinkTag, "", None, "");
}

#[test]
fn other_formats() {
    use ReasoningFormat::{GemmaChannel, HarmonyAnalysis};
    check(
        HarmonyAnalysis,
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|end|>",
        Some("a"),
        "<|start|>assistant<|channel|>final<|message|>b<|end|>",
    );
    check(HarmonyAnalysis, "a<|end|>b", Some("a"), "b");
    check(HarmonyAnalysis, "<|channel|>analysis<|message|>a", Some("a"), "");
    check(HarmonyAnalysis, "<think>a</think>b", None, "<think>a</think>b");
    check(GemmaChannel, "<|channel>thought\na\n<channel|>b", Some("a"), "b");
    check(GemmaChannel, "a<channel|>b", Some("a"), "b");
    check(GemmaChannel, "x<|channel>thought\na", Some("a"), "x");
}

#[test]
fn auto_takes_the_first_that_finds_something() {
    use ReasoningFormat::Auto;
    check(Auto, "<think>a</think>b", Some("a"), "b");
    check(Auto, "<|channel|>analysis<|message|>a<|end|>b", Some("a"), "b");
    check(Auto, "<|channel>thought\na<channel|>b", Some("a"), "b");
    check(Auto, "<channel|><think></think>b", None, "<channel|>b");
    check(Auto, " plain\n", None, " plain\n");
    let names: Vec<ReasoningFormat> =
        serde_json::from_str(r#"["auto", "think_tag", "harmony_analysis", "gemma_channel"]"#)
            .unwrap();
    assert_eq!(
        names,
        [
            Auto,
            ReasoningFormat::ThinkTag,
            ReasoningFormat::HarmonyAnalysis,
            ReasoningFormat::GemmaChannel
        ]
    );
}

#[test]
fn many_tags_are_no_burden() {
    for piece in [
        "<think>",
        "</think>",
        "<think></think>",
        "<|end|>",
        "<|channel|>analysis<|message|>",
        "<",
        "<think",
    ] {
        let text = piece.repeat(10_000);
        for unpaired in [UnpairedTags::Recover, UnpairedTags::Keep] {
            let split = ReasoningFormat::Auto.split_with(&text, unpaired);
            assert!(split.text.len() <= text.len());
        }
        assert!(strip_special_tokens(&text).len() <= text.len());
    }
}

/// All text and all reasoning that a filter gives.
fn stream<'a>(
    mut filter: ReasoningFilter,
    pieces: impl IntoIterator<Item = &'a str>,
) -> (String, String, bool) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut add = |piece: ReasoningPiece<'_>| match piece {
        ReasoningPiece::Text(it) => text.push_str(it),
        ReasoningPiece::Reasoning(it) => reasoning.push_str(it),
    };
    for piece in pieces {
        filter.feed(piece).into_iter().for_each(&mut add);
    }
    filter.finish().into_iter().for_each(&mut add);
    (text, reasoning, filter.has_lone_close())
}

#[test]
fn only_the_beginning_of_a_tag_waits() {
    let mut filter = ReasoningFilter::new(ReasoningFormat::Auto);
    assert_eq!(filter.feed("a <thi"), [ReasoningPiece::Text("a ")]);
    assert_eq!(filter.feed("s> <"), [ReasoningPiece::Text("<this> ")]);
    assert_eq!(filter.feed("think>b</"), [ReasoningPiece::Reasoning("b")]);
    assert_eq!(
        filter.feed("b></think>c<|end"),
        [ReasoningPiece::Reasoning("</b>"), ReasoningPiece::Text("c<|end")]
    );
    assert_eq!(filter.feed("|></thinking"), [ReasoningPiece::Text("|>")]);
    assert_eq!(filter.finish(), Some(ReasoningPiece::Text("</thinking")));
    assert!(!filter.has_lone_close());
}

#[test]
fn orphans_in_a_stream() {
    let new = || ReasoningFilter::new(ReasoningFormat::ThinkTag);
    let all = |text: &str, reasoning: &str, lone| (text.to_owned(), reasoning.to_owned(), lone);
    assert_eq!(stream(new(), ["a</think>b"]), all("ab", "", true));
    assert_eq!(stream(new(), ["a<think>b"]), all("a", "b", false));
    let opened = ReasoningFilter::inside_reasoning(ReasoningFormat::Auto);
    assert_eq!(stream(opened, ["a</think>b"]), all("b", "a", false));
}

#[test]
fn special_tokens_go_and_markers_stay() {
    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(strip_special_tokens(text), expect);
    }
    check(
        "<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|>",
        "\n\nHi",
    );
    check("<|python_tag|>{\"name\":\"f\"}<|eom_id|>", "{\"name\":\"f\"}");
    check("<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>users like it", "Hi\nusers like it");
    check("<bos><start_of_turn>model\nHi<end_of_turn><eos><pad><pad>", "Hi");
    check("<|turn>model\nHi<turn|><|tool_response>x<tool_response|>", "Hix");
    check(" <s>Hi</s>\n", "Hi");
    check("<s>Hi</s><eos>", "Hi");
    check("no <s>tokens</s> here", "no <s>tokens</s> here");
    for kept in [
        "<tool_call>{}</tool_call>",
        "<|tool_call>call:f{x:<|\"|>y<|\"|>}<tool_call|>",
        "<|channel|>analysis<|message|>a<|end|>",
        "<|channel|>commentary to=functions.f<|message|>{}<|call|>",
        "<|channel>thought\na<channel|>",
        "[TOOL_CALLS][] <think></think> a < b",
    ] {
        check(kept, kept);
    }
}

const PARTS: &[&str] = &[
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<|channel|>",
    "analysis",
    "<|message|>",
    "<|end|>",
    "<|channel|>analysis<|message|>",
    "<|channel>thought",
    "<channel|>",
    "<",
    "</",
    "th",
    "ink>",
    "\n",
    "a",
    "é",
    "<|im_end|>",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_make_no_difference(parts in prop::collection::vec(prop::sample::select(PARTS), 0..12), any in any::<String>()) {
        use ReasoningFormat::{Auto, GemmaChannel, HarmonyAnalysis, ThinkTag};
        let text = parts.concat() + &any;
        let single: Vec<&str> = text.split_inclusive(|_| true).collect();
        for format in [Auto, ThinkTag, HarmonyAnalysis, GemmaChannel] {
            let whole = stream(ReasoningFilter::new(format), [text.as_str()]);
            prop_assert_eq!(&stream(ReasoningFilter::new(format), parts.iter().copied().chain([any.as_str()])), &whole);
            prop_assert_eq!(&stream(ReasoningFilter::new(format), single.iter().copied()), &whole);
            // Without unpaired before, it is what the whole text gives.
            if format != Auto && !whole.2 {
                let split = format.split(&text);
                let inked = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(inked(&split.text), inked(&whole.0));
                prop_assert_eq!(inked(&split.reasoning.unwrap_or_default()), inked(&whole.1));
            }
        }
        prop_assert!(strip_special_tokens(&text).len() <= text.len());
    }
}
