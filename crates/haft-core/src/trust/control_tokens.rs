//! Control tokens of chat templates, made inert in content.
//!
//! Servers of local models put messages as text into a template, and some of them then read control tokens wherever they
//! stand. A space behind the first character is enough to make another text of a token, for every tokenizer.

use std::borrow::Cow;

use crate::invariant::OrReport as _;

/// Returns the text with a space in every control token. It takes linear time, and changes nothing the second time.
pub(super) fn neutralize_tokens(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices(['<', '[']) {
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
    PREFIXES.iter().chain(&TOKENS).any(|token| text.starts_with(token))
}

/// How tokens begin whose names differ by model: `<|im_end|>`, `<|eot_id|>`, and those of DeepSeek with wide bars.
const PREFIXES: [&str; 2] = ["<|", "<\u{FF5C}"];

/// Tokens of other forms.
const TOKENS: [&str; 34] = [
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<turn|>",
    "<tool|>",
    "<tool_response|>",
    "<tool_call|>",
    "<channel|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
];
