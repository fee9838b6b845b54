//! Control tokens of chat templates, made inert in content.
//!
//! Servers of local models put messages as text into a template, and some of them then read control tokens wherever they
//! stand. A space behind the first character is enough to make another text of a token, for every tokenizer.
//!
//! Every model has tokens of its own, so that they are recognised by their shape: a name in angle brackets with
//! words of chat templates, such as `<end_of_turn>` or `<seed:bos>`, a name in capitals in square brackets, and what no
//! prose has, such as `<|`. Names of one word are listed, because `<b>` and `[ERROR]` stand in many texts.

use std::borrow::Cow;

use crate::invariant::OrReport as _;

/// Returns the text with a space in every control token. It takes linear time, and changes nothing the second time.
pub(super) fn neutralize_tokens(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices(['<', '[', ']']) {
        let rest = text.get(at..).or_report_default(AT_CHARACTER);
        if begins_token(rest) {
            let behind = at + 1;
            out.push_str(text.get(kept..behind).or_report_default(AT_CHARACTER));
            out.push(' ');
            kept = behind;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).or_report_default(AT_CHARACTER));
    Cow::Owned(out)
}

/// Why a slice of the text exists.
const AT_CHARACTER: &str = "a character that was found begins and ends at a boundary";

fn begins_token(text: &str) -> bool {
    if PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return true;
    }
    let (open, close) = match text.chars().next() {
        Some('<') => ('<', '>'),
        Some('[') => ('[', ']'),
        _ => return false,
    };
    let Some(name) = name_between(text, open, close) else { return false };
    let (name, is_end) = match name.strip_prefix('/') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if open == '<' { is_angle_name(name) } else { is_square_name(name, is_end) }
}

/// The text between two brackets, if it is short and has no others.
fn name_between(text: &str, open: char, close: char) -> Option<&str> {
    let inner = text.strip_prefix(open)?;
    let end = inner.char_indices().take(MAX_NAME).find(|(_, ch)| *ch == close || *ch == open)?;
    if end.1 == open { None } else { inner.get(..end.0) }
}

/// The longest name of a token, in characters.
const MAX_NAME: usize = 64;

/// Whether a name in angle brackets is a token: a listed one, or one of several words of which one belongs to chat
/// templates or two to conversations.
fn is_angle_name(name: &str) -> bool {
    let bare = name.strip_suffix('|').unwrap_or(name);
    if SINGLE.iter().any(|it| bare.eq_ignore_ascii_case(it)) {
        return true;
    }
    let (mut words, mut templates, mut conversations) = (0, 0, 0);
    for word in bare.split(['_', ':', '|', '-', '.']).filter(|it| !it.is_empty()) {
        if !word.bytes().all(|it| it.is_ascii_alphanumeric()) {
            return false;
        }
        let is_among = |list: &[&str]| list.iter().any(|it| word.eq_ignore_ascii_case(it));
        words += 1;
        templates += usize::from(is_among(&TEMPLATE_WORDS));
        conversations += usize::from(is_among(&CONVERSATION_WORDS));
    }
    let is_marked = words > 0 && bare.len() < name.len();
    is_marked || (words > 1 && (templates > 0 || conversations > 1))
}

/// Whether a name in square brackets is a token: a listed one, or one in capitals that has several words or ends something.
fn is_square_name(name: &str, is_end: bool) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
    };
    let has_capital = name.bytes().any(|it| it.is_ascii_uppercase());
    let is_shaped = has_capital && name.split('_').all(is_word);
    (is_shaped && (is_end || name.contains('_'))) || SQUARE.contains(&name)
}

/// What tokens begin with whose names differ by model: `<|im_end|>`, `<|eot_id|>`, those of DeepSeek with wide bars, those of
/// the first Llama, those of MiniMax, and those of T5 and of code models.
const PREFIXES: [&str; 9] =
    ["<|", "<\u{FF5C}", "<<SYS>>", "<</SYS>>", "]~!", "]~b", "[e~[", "<extra_id_", "<repo_name>"];

/// Words that names in angle brackets hardly have outside of chat templates.
const TEMPLATE_WORDS: [&str; 19] = [
    "assistant",
    "bos",
    "channel",
    "eod",
    "eos",
    "eot",
    "fim",
    "function",
    "im",
    "observation",
    "pad",
    "reserved",
    "sep",
    "special",
    "think",
    "tool",
    "tools",
    "turn",
    "unused",
];

/// Words of conversations. One of them alone is also in names such as `<start_date>` and `<user_id>`.
const CONVERSATION_WORDS: [&str; 17] = [
    "answer",
    "audio",
    "begin",
    "call",
    "calls",
    "developer",
    "end",
    "header",
    "image",
    "message",
    "prompt",
    "response",
    "role",
    "start",
    "system",
    "user",
    "video",
];

/// Names of one word in angle brackets.
const SINGLE: [&str; 30] = [
    "s",
    "bos",
    "eos",
    "pad",
    "unk",
    "mask",
    "sep",
    "cls",
    "eod",
    "eot",
    "sop",
    "eop",
    "escape",
    "think",
    "thinking",
    "tools",
    "tool",
    "system",
    "user",
    "assistant",
    "bot",
    "human",
    "observation",
    "unused0",
    "unused1",
    "unused2",
    "endoftext",
    "startoftext",
    "AI",
    "\u{7528}\u{6237}",
];

/// Names of one word in square brackets.
const SQUARE: [&str; 14] = [
    "INST", "ARGS", "THINK", "IMG", "AUDIO", "PREFIX", "SUFFIX", "MIDDLE", "BOS", "EOS", "gMASK",
    "sMASK", "MASK", "UNUSED",
];
