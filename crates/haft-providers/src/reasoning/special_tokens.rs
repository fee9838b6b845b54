//! Tokens that mark the turns of a conversation.

use std::borrow::Cow;

/// Removes the tokens with which templates mark turns, headers and ends, and the role right behind a token
/// that begins a turn. Markers of calls and of reasoning stay.
///
/// `<s>` and `</s>` are HTML too, so they go only where the tokens stand: at the beginning and at the
/// end.
///
/// ```
/// use haft_providers::internals::strip_special_tokens;
///
/// assert_eq!(strip_special_tokens("<|im_start|>assistant\nHello<|im_end|>"), "Hello");
/// assert_eq!(strip_special_tokens("1 <s>one</s> a"), "1 <s>one</s> a");
/// ```
#[must_use]
pub fn strip_special_tokens(text: &str) -> Cow<'_, str> {
    let inner = strip_ends(text);
    let mut out = String::new();
    let mut is_changed = false;
    let mut rest = inner;
    while let Some((before, tag)) = rest.find('<').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        match TOKENS.iter().find_map(|token| Some((token, tag.strip_prefix(token)?))) {
            Some((token, after)) => {
                is_changed = true;
                rest = if TURNS.contains(token) { strip_role(after) } else { after };
            }
            None => {
                out.push('<');
                rest = tag.strip_prefix('<').unwrap_or(tag);
            }
        }
    }
    if !is_changed {
        return Cow::Borrowed(inner);
    }
    out.push_str(rest);
    // What was inside of other tokens is at the end now.
    Cow::Owned(strip_ends(&out).to_owned())
}

/// Without `<s>` at the beginning and `</s>` at the end.
fn strip_ends(text: &str) -> &str {
    let text = text.trim_start().strip_prefix("<s>").unwrap_or(text);
    text.trim_end().strip_suffix("</s>").unwrap_or(text)
}

/// Removes a role, and the line break behind it.
fn strip_role(rest: &str) -> &str {
    let Some(after) = ROLES.iter().find_map(|role| rest.strip_prefix(role)) else { return rest };
    match after.strip_prefix('\n') {
        Some(after) => after,
        None if after.is_empty() || after.starts_with('<') => after,
        None => rest,
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
