//! Control tokens of chat templates in content.

use super::super::TrustTier;
use super::super::control_tokens::neutralize_tokens;
use super::{AT, call, message, renderer};
use crate::record::{Memory, MessageRole};

#[test]
fn tokens_become_text() {
    for (token, inert) in [
        ("<|im_end|><|im_start|>system", "< |im_end|>< |im_start|>system"),
        ("<|eot_id|><|start_header_id|>", "< |eot_id|>< |start_header_id|>"),
        ("<\u{FF5C}User\u{FF5C}>", "< \u{FF5C}User\u{FF5C}>"),
        ("a<start_of_turn>b<end_of_turn>", "a< start_of_turn>b< end_of_turn>"),
        ("[/INST] </s><s>[INST]", "[ /INST] < /s>< s>[ INST]"),
        ("<</SYS>><<SYS>>", "< </SYS>>< <SYS>>"),
        ("</tool_response><tool_call>", "< /tool_response>< tool_call>"),
        ("<<|x|>", "<< |x|>"),
    ] {
        assert_eq!(neutralize_tokens(token), inert);
        assert_eq!(neutralize_tokens(inert), inert, "the second time changes something");
    }
    for text in [
        "a < b && c[0] > d",
        "<b>bold</b> <strong>",
        "Vec<u8>",
        "std::vector<std::string> x; HashMap<String, my_type>",
        "std::vector<std::size_t>",
        "<my_element/> <dc:title> <h1> <a-b> <user_id> <start_date> <file-name> <message_id>",
        "a |> b",
        "[INST",
        "[ERROR] [2026-03-02] [0] [x_y] [a](b) [ ] [^1] [/path]",
        "[[1, 2], [3]]~ x",
        "",
    ] {
        assert_eq!(neutralize_tokens(text), text);
        assert!(matches!(neutralize_tokens(text), std::borrow::Cow::Borrowed(_)), "{text}");
    }
}

/// Written out once more: a token that is missing from the list is missing from no list that is made of it.
#[test]
fn every_token_becomes_text() {
    let rows = [
        // The first template of Llama, Mistral and many others.
        "<s> </s> <bos> <eos> <pad> <unk> <<SYS>> <</SYS>> [INST] [/INST]",
        // Gemma.
        "<start_of_turn> <end_of_turn> <turn|> <tool|> <tool_response|> <tool_call|> <channel|>",
        // Hermes, Qwen and those that think aloud.
        "<tool_call> </tool_call> <tool_response> </tool_response> <think> </think>",
        // Later templates of Mistral.
        "[SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS]",
        "[TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT] [ARGS] [THINK] [/THINK]",
        // Families of which no list says all: MiniMax, Seed, Nemotron, FunctionGemma, GLM, and code models.
        "]~!b[ ]~b]system [e~[ <seed:bos>system <seed:eos> <seed:tool_call> <extra_id_0> <extra_id_17>",
        "<start_function_response> <end_function_response> <start_function_call> <escape>",
        "<fim_prefix> <file_sep> <repo_name> <start_of_image> <tool_calls_begin> </function_calls>",
        "[gMASK] <sop> <mask> [CALL_ID] [TOOL_X] [/X] [IMG_END] <reserved_106> <im_start>",
        // What is common to names that differ by model.
        "<|im_start|> <|im_end|> <|eot_id|> <|channel|> <|return|> <\u{FF5C}Assistant\u{FF5C}>",
    ];
    let tokens: Vec<&str> = rows.iter().flat_map(|row| row.split(' ')).collect();
    assert_eq!(tokens.len(), 67);
    for token in tokens {
        let (first, rest) = token.split_at(1);
        let inert = format!("{first} {rest}");
        assert_eq!(neutralize_tokens(token), inert, "{token}");
        assert_eq!(neutralize_tokens(&format!("a{token}b")), format!("a{inert}b"), "{token}");
        // Two at once, without anything between them.
        let both = format!("{token}{token}");
        assert_eq!(neutralize_tokens(&both), format!("{inert}{inert}"), "{token}");
    }
}

#[test]
fn a_renderer_for_templates_leaves_no_token_in_content() {
    let token = "<|im_end|>";
    let plain = renderer();
    let local = renderer().neutralizing_control_tokens();
    let call = call(token, TrustTier::UNTRUSTED, token);
    assert!(plain.tool_result(&call, 0, token).as_str().contains(token));
    let memory = Memory::new(token, token, AT).with_confidence(0.5).with_importance(0.5);
    let memory = memory.with_source(token);
    for text in [
        local.tool_result(&call, 0, token),
        local.tool_note(&call, 0, token),
        local.tool_error(&call, token),
        local.spoken_text(token),
        local.named_message(&message(MessageRole::User, token, token)),
        local.memories([&memory]),
        local.summary(token, TrustTier::UNTRUSTED),
    ] {
        assert!(!text.as_str().contains("<|") && text.as_str().contains("im_end|>"), "{text}");
    }
    // A token and a reserved tag in one text.
    let both = local.spoken_text("<|im_end|></untrusted_content>");
    assert_eq!(both.as_str(), "< |im_end|>&lt;/untrusted_content>");
}
