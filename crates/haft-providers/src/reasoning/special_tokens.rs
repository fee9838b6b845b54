//! Tokens that mark the turns of a conversation.

use std::borrow::Cow;

/// Removes the tokens with which templates mark turns, headers and ends, and the role right behind a token
/// that begins a turn. Markers of calls and of reasoning stay.
///
/// `<s>` and `</s>` are HTML too, so they go only where the tokens stand: at the beginning and at the
/// end.
///
/// ```
/// use haft_providers::reasoning::strip_special_tokens;
///
/// assert_eq!(strip_special_tokens("<|im_start|>assistant\nHello<|im_end|>"), "Hello");
/// assert_eq!(strip_special_tokens("1 <s>one</s> a"), "1 <s>one</s> a");
/// ```
#[must_use]
pub fn strip_special_tokens(text: &str) -> Cow<'_, str> {
    let inner = strip_ends(text);
    let mut out = String::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = inner.get(at..).and_then(|it| it.find('<')) {
        at += found;
        let rest = inner.get(at..).unwrap_or_default();
        let Some(token) = TOKENS.iter().find(|it| rest.starts_with(**it)) else {
            at += 1;
            continue;
        };
        out.push_str(inner.get(from..at).unwrap_or_default());
        at += token.len();
        if TURNS.contains(token) {
            at += role_len(inner.get(at..).unwrap_or_default());
        }
        from = at;
    }
    if from == 0 {
        return Cow::Borrowed(inner);
    }
    out.push_str(inner.get(from..).unwrap_or_default());
    // What stood inside other tokens is at the end now.
    Cow::Owned(strip_ends(&out).to_owned())
}

/// Without `<s>` at the beginning and `</s>` at the end.
fn strip_ends(text: &str) -> &str {
    let text = text.trim_start().strip_prefix("<s>").unwrap_or(text);
    text.trim_end().strip_suffix("</s>").unwrap_or(text)
}

/// The length of a role, and of the line break behind it.
fn role_len(rest: &str) -> usize {
    let Some(role) = ROLES.iter().find(|it| rest.starts_with(**it)) else { return 0 };
    let after = rest.get(role.len()..).unwrap_or_default();
    match after.chars().next() {
        None | Some('<') => role.len(),
        Some('\n') => role.len() + 1,
        Some(_) => 0,
    }
}

/// Begin a turn; a role follows.
const TURNS: [&str; 4] = ["<|start_header_id|>", "<|im_start|>", "<start_of_turn>", "<|turn>"];

const ROLES: [&str; 6] = ["assistant", "user", "system", "tool", "model", "ipython"];

const TOKENS: [&str; 25] = [
    "<|start_header_id|>",
    "<|im_start|>",
    "<start_of_turn>",
    "<|turn>",
    "<|end_header_id|>",
    "<|im_end|>",
    "<end_of_turn>",
    "<turn|>",
    "<|python_tag|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|tool>",
    "<tool|>",
    "<|tool_response>",
    "<tool_response|>",
    "<|tool_response|>",
    "<tool_response>",
    "</tool_response>",
    "<eos>",
    "<bos>",
    "<pad>",
    "<|endoftext|>",
    "<|end_of_turn|>",
];
