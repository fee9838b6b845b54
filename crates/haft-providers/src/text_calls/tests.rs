mod bounds;
mod gemma;
mod isolation;
mod json_formats;
mod other_formats;
mod streaming;
mod suite;

use serde_json::{Value, json};

use super::{ParsedText, TextCallFormat};

/// The tools that every test offers.
const OFFERED: &[&str] = &["weather", "list_files", "search.web"];

fn parse(format: TextCallFormat, text: &str) -> ParsedText {
    format.parse(text, OFFERED)
}

/// Calls as values: `[["weather", {"city": "Paris"}]]`.
fn calls(parsed: &ParsedText) -> Value {
    parsed.calls.iter().map(|it| json!([it.name, it.arguments.to_value()])).collect()
}

/// The calls and the text that is left.
#[track_caller]
fn check(format: TextCallFormat, text: &str, expect: Value, rest: &str) {
    let parsed = parse(format, text);
    assert_eq!((calls(&parsed), parsed.text.as_str()), (expect, rest), "{text}");
}

/// The text is no call and comes back as it is.
#[track_caller]
fn declines(format: TextCallFormat, text: &str) {
    check(format, text, json!([]), text);
}

#[test]
fn formats_have_the_names_of_configuration() {
    let names = json!([
        "auto",
        "hermes",
        "gemma",
        "gpt_oss",
        "pythonic",
        "bare_pythonic",
        "loose_keyed",
        "llama3_json",
        "mistral",
        "qwen3_coder",
        "phi"
    ]);
    assert_eq!(serde_json::to_value(TextCallFormat::ALL).unwrap(), names);
    let read: Vec<TextCallFormat> = serde_json::from_value(names).unwrap();
    assert_eq!(read, TextCallFormat::ALL);
}

#[test]
fn line_breaks_that_meet_are_two_at_the_most() {
    const CALL: &str = r#"<tool_call>{"name":"f"}</tool_call>"#;
    #[track_caller]
    fn joined(text: &str, rest: &str) {
        let parsed = parse(TextCallFormat::Hermes, &text.replace('@', CALL));
        assert_eq!(parsed.text, rest, "{text:?}");
        assert!(!parsed.calls.is_empty());
    }
    joined("a\n\n@\n\nb", "a\n\nb");
    joined("a\n@\nb", "a\n\nb");
    joined("a\n@\n\nb", "a\n\nb");
    joined("a @ b", "a  b");
    joined("a\n\n@\n\n@\n\n\n@\n\nb", "a\n\nb");
    joined("  \n@\n", "");
    // Elsewhere the text stays as it is.
    joined("a\n\n\n\nb\n@", "a\n\n\n\nb");
    joined("\n\na\n\n\n\n@c", "a\n\nc");
}

#[test]
fn fenced_code_has_no_calls_unless_it_is_the_whole_output() {
    const CALL: &str = r#"<tool_call>{"name":"f"}</tool_call>"#;
    #[track_caller]
    fn fenced(text: &str, n_calls: usize, rest: &str) {
        let parsed = parse(TextCallFormat::Hermes, &text.replace('@', CALL));
        assert_eq!((parsed.calls.len(), parsed.text.as_str()), (n_calls, rest), "{text:?}");
    }
    let kept = |text: &str| fenced(text, 0, &text.replace('@', CALL));
    kept("Write:\n```\n@\n```\n");
    kept("Write:\n~~~xml\n@\n```\n~~~");
    kept("```\n@\n```\nThat is how.");
    kept("```\n@");
    kept("  ````\n@\n```\n````\nx");
    fenced("```\n@\n```", 1, "");
    fenced("\n \n  ~~~~json\n@\n~~~~\n\n", 1, "");
    fenced("```\nhello\n@\n```", 1, "```\nhello\n\n```");
    fenced("Write:\n```\n@\n```\n@", 1, &format!("Write:\n```\n{CALL}\n```"));
    // These are no fences.
    fenced("    ```\n@", 1, "```");
    fenced("``` a`b\n@", 1, "``` a`b");
    fenced("a ```\n@", 1, "a ```");
    // A fence inside a call is a part of it.
    let text = "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":\"\n```\n\"}}</tool_call>@";
    fenced(text, 2, "");
}

#[test]
fn auto_takes_the_first_that_finds_a_call() {
    use TextCallFormat::Auto;
    let hermes = r#"<tool_call>{"name":"h"}</tool_call>"#;
    check(Auto, &format!("call:g{{a:1}}\n{hermes}"), json!([["h", {}]]), "call:g{a:1}");
    check(Auto, "call:g{a:1} weather(city='x')", json!([["g", { "a": 1 }]]), "weather(city='x')");
    check(
        Auto,
        r#"weather(days=1) [TOOL_CALLS][{"name":"m"}]"#,
        json!([["weather", { "days": 1 }]]),
        r#"[TOOL_CALLS][{"name":"m"}]"#,
    );
    declines(Auto, "");
    declines(Auto, " \n\n\n\n ");
    declines(Auto, "Just an answer.\n\n\n\nWith [links](x), {braces} and <tags>.\n");
}
