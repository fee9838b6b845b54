use crate::json::Repair::{CodeFence, PythonWord, RawControl, SingleQuotes, TrailingComma};
use crate::json::{Document, ParseErrorKind, Repair};

#[track_caller]
fn check(text: &str, expect: &str, repairs: &[Repair]) {
    let (doc, found) =
        Document::parse_lenient(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((doc.root().to_string().as_str(), found.as_slice()), (expect, repairs), "{text}");
    assert_eq!(doc.source(), Some(text));
}

#[track_caller]
fn check_refused(text: &str, kind: ParseErrorKind, offset: usize) {
    let error = Document::parse_lenient(text).map(|(doc, _)| doc).expect_err(text);
    assert_eq!((error.kind, error.offset), (kind, offset), "{text}");
}

fn expected(what: &'static str, found: char) -> ParseErrorKind {
    ParseErrorKind::Expected { what, found }
}

#[test]
fn strict_text_needs_no_repair() {
    check(r#" {"a": [1, "```"]} "#, r#"{"a":[1,"```"]}"#, &[]);
    check("\u{feff} [1]\n", "[1]", &[]);
}

#[test]
fn removes_one_fence_around_everything() {
    for text in [
        "```\n[1]\n```",
        "```json\n[1]\n```",
        "\n ```jsonc\r\n[1]\r\n```\n",
        "```json [1] ```",
        "```[1]```",
        "````\n[1]\n````",
        "\u{feff}```JSON5\n[1]\n```",
    ] {
        check(text, "[1]", &[CodeFence]);
    }
    check("```\ntrue\n```", "true", &[CodeFence]);
    check("```true```", "true", &[CodeFence]);
    check("```json\n\"a```b\"\n```", "\"a```b\"", &[CodeFence]);
    check("```json\n{\"a\":\"x\\ny\"}\n```", r#"{"a":"x\ny"}"#, &[CodeFence]);
}

#[test]
fn reads_what_models_write() {
    check("[1,2,]", "[1,2]", &[TrailingComma]);
    check("{\"a\":[1 , ] , }", r#"{"a":[1]}"#, &[TrailingComma]);
    check(r#"{'a': 'b "c" \'d\' \n'}"#, r#"{"a":"b \"c\" 'd' \n"}"#, &[SingleQuotes]);
    check("{\"a\": 'it'}", r#"{"a":"it"}"#, &[SingleQuotes]);
    check("\"a\nb\tc\"", r#""a\nb\tc""#, &[RawControl]);
    check("\"a\n\\\"b\\\"\tc\"", r#""a\n\"b\"\tc""#, &[RawControl]);
    check("[True, False, None]", "[true,false,null]", &[PythonWord]);
    check(
        "```json\n{'a': [True,], \"b\": \"x\ny\",}\n```",
        r#"{"a":[true],"b":"x\ny"}"#,
        &[CodeFence, TrailingComma, SingleQuotes, RawControl, PythonWord],
    );
}

#[test]
fn never_guesses() {
    check_refused("", ParseErrorKind::Empty, 0);
    check_refused(" \n ", ParseErrorKind::Empty, 3);
    check_refused("\u{feff}", ParseErrorKind::Empty, 3);
    check_refused("```json\n```", ParseErrorKind::Empty, 8);
    check_refused("{\"a\": 1", ParseErrorKind::Truncated, 7);
    check_refused("{'a': 'b", ParseErrorKind::Truncated, 8);
    check_refused("[1,", ParseErrorKind::Truncated, 3);
    check_refused("[Tru", ParseErrorKind::Truncated, 4);
    check_refused("```json\n[1]", ParseErrorKind::Truncated, 11);
    check_refused("```json\n[1]\n``", ParseErrorKind::Truncated, 14);
    check_refused("```json\n[1\n```", ParseErrorKind::Truncated, 11);
    check_refused("[1 2]", expected("`,` or `]`", '2'), 3);
    check_refused("[1,,]", expected("a value", ','), 3);
    check_refused("[,]", expected("a value", ','), 1);
    check_refused("{,}", expected("a key in double quotes", ','), 1);
    check_refused("{a: 1}", expected("a key in double quotes", 'a'), 1);
    check_refused("{\"a\": 1 // one\n}", expected("`,` or `}`", '/'), 8);
    check_refused("[NaN]", expected("a value", 'N'), 1);
    check_refused("[Truest]", expected("`,` or `]`", 's'), 5);
    check_refused("['it's']", expected("`,` or `]`", 's'), 5);
    check_refused("[\"it\\'s\"]", ParseErrorKind::BadEscape, 4);
    check_refused("{} {}", ParseErrorKind::TrailingText, 3);
    check_refused("```1 2```", ParseErrorKind::TrailingText, 5);
    check_refused("```json\n1\n```\n```json\n2\n```", ParseErrorKind::TrailingText, 10);
    check_refused("Here it is: ```json\n1\n```", expected("a value", 'H'), 0);
    check_refused("01", ParseErrorKind::LeadingZero, 0);
    check_refused(&format!("{}1,", "[".repeat(100_000)), ParseErrorKind::TooDeep, 128);
}
