//! Calls and reasoning in text.

use haft::providers::internals::{ParsedText, ReasoningFilter, ReasoningPiece, TextCallFilter};

/// A text without a call comes back as it is, arguments are objects, and the pieces in which a text
/// arrives make no difference.
///
/// The first byte is the length of the pieces.
pub fn text_calls(data: &[u8]) {
    let Some((len, rest)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let pieces = pieces(text, usize::from(*len).max(1));
    calls_agree(text, &pieces);
    assert_eq!(reasoning(&pieces), reasoning(&[text]));
}

fn calls_agree(text: &str, pieces: &[&str]) {
    let whole = ParsedText::of(text);
    if whole.calls.is_empty() {
        assert_eq!(whole.text, text, "a text without a call was changed");
    }
    for call in &whole.calls {
        assert!(call.arguments.to_value().is_object(), "{call:?}");
    }
    let mut filter = TextCallFilter::new();
    let mut shown: String = pieces.iter().map(|it| filter.feed(it).to_owned()).collect();
    let end = filter.finish();
    shown.push_str(&end.text);
    assert_eq!(end.calls, whole.calls, "other calls are found in pieces");
    let shown = if whole.calls.is_empty() { shown.as_str() } else { shown.trim_start() };
    assert_eq!(shown, whole.text, "another text is shown in pieces");
}

/// All text and all reasoning.
fn reasoning(pieces: &[&str]) -> [String; 2] {
    let mut all = [String::new(), String::new()];
    let mut add = |piece: ReasoningPiece<'_>| match piece {
        ReasoningPiece::Text(text) => all[0].push_str(text),
        ReasoningPiece::Reasoning(text) => all[1].push_str(text),
        _ => {}
    };
    let mut filter = ReasoningFilter::new();
    for piece in pieces {
        filter.feed(piece).into_iter().for_each(&mut add);
    }
    filter.finish().into_iter().for_each(&mut add);
    all
}

/// The text in pieces of about `len` bytes.
fn pieces(mut text: &str, len: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let end = (len..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    pieces
}
