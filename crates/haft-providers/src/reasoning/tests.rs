use proptest::prelude::*;

use super::{ReasoningFilter, ReasoningPiece};

/// All text and all reasoning that a filter gives.
fn stream<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut add = |piece: ReasoningPiece<'_>| match piece {
        ReasoningPiece::Text(it) => text.push_str(it),
        ReasoningPiece::Reasoning(it) => reasoning.push_str(it),
    };
    let mut filter = ReasoningFilter::new();
    for piece in pieces {
        filter.feed(piece).into_iter().for_each(&mut add);
    }
    filter.finish().into_iter().for_each(&mut add);
    (text, reasoning)
}

#[track_caller]
fn check(text: &str, reasoning: &str, rest: &str) {
    assert_eq!(stream([text]), (rest.to_owned(), reasoning.to_owned()), "{text}");
}

#[test]
fn think_tags() {
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        let check = |text: &str, reasoning: &str, rest: &str| {
            let written = |text: &str| text.replace('(', open).replace(')', close);
            check(&written(text), &written(reasoning), &written(rest));
        };
        check("(a)b", "a", "b");
        check("x\n\n(\na\n)\n(b) y", "\na\nb", "x\n\n\n y");
        check("(a(b)c)d", "a(b", "cd");
        check("x(a", "a", "x");
        check("a)b", "", "ab");
    }
    check("<think>a</thinking>b</think>c", "a</thinking>b", "c");
    check("<thinking>a</thinking><think>b</think>c", "ab", "c");
    check(" <Think>a</Think>\n\n\n\n", "", " <Think>a</Think>\n\n\n\n");
    check("", "", "");
}

#[test]
fn only_the_beginning_of_a_tag_waits() {
    let mut filter = ReasoningFilter::new();
    assert_eq!(filter.feed("a <thi"), [ReasoningPiece::Text("a ")]);
    assert_eq!(filter.feed("s> <"), [ReasoningPiece::Text("<this> ")]);
    assert_eq!(filter.feed("think>b</"), [ReasoningPiece::Reasoning("b")]);
    assert_eq!(
        filter.feed("b></think>c<|end"),
        [ReasoningPiece::Reasoning("</b>"), ReasoningPiece::Text("c<|end")]
    );
    assert_eq!(filter.feed("|></thinking"), [ReasoningPiece::Text("|>")]);
    assert_eq!(filter.finish(), Some(ReasoningPiece::Text("</thinking")));
}

#[test]
fn many_tags_are_no_burden() {
    for piece in ["<think>", "</think>", "<think></think>", "<", "<think"] {
        let text = piece.repeat(10_000);
        let (shown, reasoning) = stream([text.as_str()]);
        assert!(shown.len() + reasoning.len() <= text.len());
    }
}

const PARTS: &[&str] = &[
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
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
        let text = parts.concat() + &any;
        let whole = stream([text.as_str()]);
        prop_assert_eq!(&stream(parts.iter().copied().chain([any.as_str()])), &whole);
        prop_assert_eq!(&stream(text.split_inclusive(|_| true)), &whole);
    }
}
