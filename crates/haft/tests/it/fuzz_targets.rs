//! What the targets of the fuzzer assert, on a few inputs that look like what they read.
//!
//! The fuzzer finds more, where somebody runs it. Here its targets are compiled and cannot rot.

#[path = "../../../../fuzz/src/envelope.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod envelope;
#[path = "../../../../fuzz/src/json.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod json;
#[path = "../../../../fuzz/src/json_shape.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod json_shape;
#[path = "../../../../fuzz/src/jsonpath.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod jsonpath;
#[path = "../../../../fuzz/src/judge.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod judge;
#[path = "../../../../fuzz/src/markdown.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod markdown;
#[path = "../../../../fuzz/src/spool.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod spool;
#[path = "../../../../fuzz/src/text_calls.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod text_calls;
#[path = "../../../../fuzz/src/tools.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod tools;
#[path = "../../../../fuzz/src/wire.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod wire;

use haft_testkit::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5e3",
    "1e400",
    "01",
    "\"a\"",
    "\"\"",
    "\"\\u00e9\"",
    "\"\\ud83d\"",
    "\"a\":1",
    " ",
    "\n",
    "'a'",
    "// x\n",
    "NaN",
    "\u{feff}",
    "é",
];
const PATHS: &[&str] = &[
    "$", ".a", "..", "*", "[0]", "[-1]", "[1:3:2]", "['a']", "[?", "@.a", " > ", "1", "]",
    "length(", ")", " && ", "\n", "{\"a\":", "[1,2]", "}", "\\u0041",
];
const ARGS: &[&str] = &[
    "{",
    "}",
    ",",
    "\"s\":",
    "\"i\":",
    "\"n\":",
    "\"b\":",
    "\"e\":",
    "\"a\":[",
    "]",
    "\"t\":[\"x\",true]",
    "\"m\":{}",
    "\"u\":{\"kind\":\"point\"}",
    "\"any\":",
    "\"abc\"",
    "\"on\"",
    "10",
    "\"10\"",
    "-7.5",
    "null",
    "true",
    "\"true\"",
    "1e19",
];
const SCHEMAS: &[&str] = &[
    "{",
    "}",
    ",",
    "\"type\":\"object\"",
    "\"properties\":{\"a\":",
    "\"enum\":[1,\"x\"]",
    "\"$ref\":\"#\"",
    "\"anyOf\":[",
    "]",
    "true",
    "false",
    "\"pattern\":\"^a\"",
    "\"minimum\":1",
    "\"required\":[\"a\"]",
    "\n",
    "{\"a\":1}",
    "\"items\":",
    "\"const\":null",
];
const TAGS: &[&str] = &[
    "<",
    "</",
    ">",
    "untrusted_content",
    "message",
    "system_instructions",
    " ",
    "\n",
    "id=\"",
    "\"",
    "&lt;",
    "\u{FF1C}",
    "\u{200B}",
    "peer_agent_output",
    "<thought",
    "memories",
    "text",
    "\u{202E}",
];
const MARKDOWN: &[&str] = &[
    "# ", "## ", "\n", "\r\n", "```", "~~~", "---\n", "===\n", "- ", "1. ", "> ", "[a](b)",
    "![c](d)", "| x |", "    ", "\t", "<!--", "-->", "text", "`", "*", "<div>",
];
const FRAMES: &[&str] = &[
    "data: ",
    "data:",
    "event: x",
    "id: 1",
    "retry: 5",
    ": note",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "{}",
    "a long line of text",
    "\u{feff}",
    "",
];
const CALLS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "{\"name\":\"f\",",
    "\"arguments\":{}}",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>f:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜invoke name=\"f\">",
    "</｜DSML｜invoke></｜DSML｜tool_calls>",
    "<think>",
    "</think>",
    "weather",
    "```json\n",
    "```",
    "{",
    "}",
    "text",
    "<function=f>",
    "</function>",
    "\n",
];
const TOOL_ARGS: &[&str] = &[
    "{",
    "}",
    ",",
    ":",
    "\"expression\"",
    "\"1+1\"",
    "\"text\"",
    "\"path\"",
    "\"a.txt\"",
    "\"../b\"",
    "\"pattern\"",
    "\"(\"",
    "\"date\"",
    "\"2026-02-30\"",
    "\"value\"",
    "9e99",
    "[1,2]",
    "null",
    "\"\"",
    "\"from\"",
    "\"to\"",
    "\"km\"",
];

/// As many bytes as a target reads settings from, and then words of its language between bytes of any kind.
fn input(settings: usize, words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let word = select(words).prop_map(|it| it.as_bytes().to_vec());
    let piece = prop_oneof![8 => word, 1 => vec(any::<u8>(), 1..4)];
    (vec(any::<u8>(), settings), vec(piece, 0..24))
        .prop_map(|(settings, pieces)| [settings, pieces.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn canonical_json(data in input(0, JSON)) {
        json::canonical_json(&data);
    }

    #[test]
    fn lenient_json(data in input(0, JSON)) {
        json::lenient_json(&data);
    }

    #[test]
    fn json_in_windows(data in input(2, JSON)) {
        json_shape::json_shape(&data);
    }

    #[test]
    fn paths(data in input(0, PATHS)) {
        jsonpath::jsonpath(&data);
    }

    #[test]
    fn arguments(data in input(0, ARGS)) {
        judge::schema_validation(&data);
    }

    #[test]
    fn schemas_of_others(data in input(0, SCHEMAS)) {
        judge::foreign_schema(&data);
    }

    #[test]
    fn envelopes(data in input(0, TAGS)) {
        envelope::envelope(&data);
    }

    #[test]
    fn markdown_documents(data in input(1, MARKDOWN)) {
        markdown::markdown_index(&data);
    }

    #[test]
    fn lines(data in input(2, MARKDOWN)) {
        spool::line_index(&data);
    }

    #[test]
    fn events_of_servers(data in input(2, FRAMES)) {
        wire::sse(&data);
    }

    #[test]
    fn lines_of_json(data in input(2, FRAMES)) {
        wire::ndjson(&data);
    }

    #[test]
    fn calls_in_text(data in input(1, CALLS)) {
        text_calls::text_calls(&data);
    }

    #[test]
    fn arguments_of_ready_made_tools(data in input(1, TOOL_ARGS)) {
        tools::tools(&data);
    }
}
