//! Calls and reasoning in text.

use haft::providers::internals::{
    ReasoningFilter, ReasoningFormat, ReasoningPiece, strip_special_tokens,
};
use haft::providers::internals::{TextCallFilter, TextCallFormat};

/// A text without a call comes back as it is, arguments are objects, and the pieces in which a text
/// arrives make no difference.
///
/// The first byte is the length of the pieces.
pub fn text_calls(data: &[u8]) {
    let Some((len, rest)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let pieces = pieces(text, usize::from(*len).max(1));
    for format in TextCallFormat::ALL {
        calls_agree(format, text, &pieces);
    }
    for format in [
        ReasoningFormat::Auto,
        ReasoningFormat::ThinkTag,
        ReasoningFormat::HarmonyAnalysis,
        ReasoningFormat::GemmaChannel,
    ] {
        assert!(format.split(text).text.len() <= text.len());
        assert_eq!(reasoning(format, &pieces), reasoning(format, &[text]), "{format:?}");
    }
    assert!(strip_special_tokens(text).len() <= text.len());
}

fn calls_agree(format: TextCallFormat, text: &str, pieces: &[&str]) {
    const OFFERED: &[&str] = &["f", "weather"];
    let whole = format.parse(text, OFFERED);
    if whole.calls.is_empty() {
        assert_eq!(whole.text, text, "{format:?} changed a text without a call");
    }
    for call in &whole.calls {
        assert!(call.arguments.to_value().is_object(), "{format:?} gave {call:?}");
    }
    let mut filter = TextCallFilter::new(format, OFFERED);
    let mut shown: String = pieces.iter().map(|it| filter.feed(it).to_owned()).collect();
    let end = filter.finish();
    shown.push_str(&end.text);
    assert_eq!(end.calls, whole.calls, "{format:?} finds other calls in pieces");
    let shown = if whole.calls.is_empty() { shown.as_str() } else { shown.trim_start() };
    assert_eq!(shown, whole.text, "{format:?} shows another text in pieces");
}

/// All text and all reasoning.
fn reasoning(format: ReasoningFormat, pieces: &[&str]) -> [String; 2] {
    let mut all = [String::new(), String::new()];
    let mut add = |piece: ReasoningPiece<'_>| match piece {
        ReasoningPiece::Text(text) => all[0].push_str(text),
        ReasoningPiece::Reasoning(text) => all[1].push_str(text),
        _ => {}
    };
    let mut filter = ReasoningFilter::new(format);
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
