mod bounds;
mod hermes;
mod streaming;
mod suite;
mod tagged_forms;

use serde_json::{Value, json};

use super::ParsedText;

/// Calls as values: `[["weather", {"city": "Paris"}]]`.
fn calls(parsed: &ParsedText) -> Value {
    parsed.calls.iter().map(|it| json!([it.name, it.arguments.to_value()])).collect()
}

/// The calls and the text that is left.
#[track_caller]
fn check(text: &str, expect: Value, rest: &str) {
    let parsed = ParsedText::of(text);
    assert_eq!((calls(&parsed), parsed.text.as_str()), (expect, rest), "{text}");
}

/// The text is no call and comes back as it is.
#[track_caller]
fn declines(text: &str) {
    check(text, json!([]), text);
}

/// The same call in every form.
const EXAMPLES: [&str; 4] = [
    r#"<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>"#,
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
    r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city":"Paris"}<|tool_call_end|><|tool_calls_section_end|>"#,
    r#"<｜DSML｜function_calls><｜DSML｜invoke name="weather"><｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"#,
];

#[test]
fn every_form_is_read_alone_and_with_others() {
    for text in EXAMPLES {
        check(text, json!([["weather", { "city": "Paris" }]]), "");
    }
    let one = ["weather".into(), json!({ "city": "Paris" })];
    check(&EXAMPLES.join("\nand\n"), json!([one, one, one, one]), "and\n\nand\n\nand");
    declines("");
    declines(" \n\n\n\n ");
    declines("Just an answer.\n\n\n\nWith [links](x), {braces} and <tags>.\n");
}

#[test]
fn every_prefix_of_an_example_is_no_call() {
    for text in EXAMPLES {
        for (at, _) in text.char_indices() {
            declines(text.get(..at).unwrap());
        }
    }
}

#[test]
fn line_breaks_that_meet_are_two_at_the_most() {
    const CALL: &str = r#"<tool_call>{"name":"f"}</tool_call>"#;
    #[track_caller]
    fn joined(text: &str, rest: &str) {
        let parsed = ParsedText::of(&text.replace('@', CALL));
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
fn fenced_code_has_no_calls() {
    const CALL: &str = r#"<tool_call>{"name":"f"}</tool_call>"#;
    #[track_caller]
    fn fenced(text: &str, n_calls: usize, rest: &str) {
        let parsed = ParsedText::of(&text.replace('@', CALL));
        assert_eq!((parsed.calls.len(), parsed.text.as_str()), (n_calls, rest), "{text:?}");
    }
    let kept = |text: &str| fenced(text, 0, &text.replace('@', CALL));
    kept("Write:\n```\n@\n```\n");
    kept("Write:\n~~~xml\n@\n```\n~~~");
    kept("```\n@\n```\nThat is how.");
    kept("```\n@");
    kept("```\n@\n```");
    kept("  ````\n@\n```\n````\nx");
    fenced("Write:\n```\n@\n```\n@", 1, &format!("Write:\n```\n{CALL}\n```"));
    // These are no fences.
    fenced("    ```\n@", 1, "```");
    fenced("``` a`b\n@", 1, "``` a`b");
    fenced("a ```\n@", 1, "a ```");
    // A fence inside a call is a part of it.
    let text = "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":\"\n```\n\"}}</tool_call>@";
    fenced(text, 2, "");
}
