use serde_json::{Value, json};

use super::doc;
use crate::json::{
    Document, JsonWriter, MAX_DEPTH, MAX_TEXT, ParseErrorKind, ParseErrorKind::Expected,
};

#[track_caller]
fn check(text: &str, expect: &Value) {
    let parsed = doc(text);
    assert_eq!(parsed.root().to_value(), *expect, "{text}");
    assert_eq!(parsed.source(), Some(text));
    let owned = Document::parse_owned(text.to_owned()).unwrap();
    assert_eq!((owned.source(), &owned), (Some(text), &parsed));
}

#[track_caller]
fn check_error(text: &str, kind: ParseErrorKind, offset: usize) {
    let error = Document::parse(text).expect_err(text);
    assert_eq!((error.kind, error.offset), (kind, offset), "{text}");
}

#[test]
fn reads_every_kind_of_value() {
    check("null", &json!(null));
    check(" true\n", &json!(true));
    check("false", &json!(false));
    check("-12", &json!(-12));
    check(r#""""#, &json!(""));
    check("[]", &json!([]));
    check("{ }", &json!({}));
    check("[ 1 ,\t[ ] , {} , \"a\" ]", &json!([1, [], {}, "a"]));
    check(r#"{"a":{"b":[{"c":null}]},"d":"e"}"#, &json!({"a": {"b": [{"c": null}]}, "d": "e"}));
}

#[test]
fn unescapes_strings() {
    check(r#""a\"\\\/\b\f\n\r\tz""#, &json!("a\"\\/\u{8}\u{c}\n\r\tz"));
    check(r#""\u0041\u00e9\u20AC\ud83d\ude00""#, &json!("Aé€😀"));
    check(r#""plain, then \u0000 and plain again""#, &json!("plain, then \0 and plain again"));
    check(
        r#"{"k\n1":"v\t1","k2":"v2","k\\3":["\"",""]}"#,
        &json!({"k\n1": "v\t1", "k2": "v2", "k\\3": ["\"", ""]}),
    );
    check("\"\u{7f}\u{2028}é😀\"", &json!("\u{7f}\u{2028}é😀"));
}

#[test]
fn finds_the_end_of_a_string_at_every_distance() {
    for len in 0..40 {
        let plain = "é".repeat(len / 2) + &"x".repeat(len % 2);
        check(&format!("\"{plain}\""), &json!(plain));
        check(&format!("\"{plain}\\n{plain}\""), &json!(format!("{plain}\n{plain}")));
        check_error(
            &format!("\"{plain}\u{1f}\""),
            ParseErrorKind::ControlCharacter,
            plain.len() + 1,
        );
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    check_error("", ParseErrorKind::Empty, 0);
    check_error(" \n", ParseErrorKind::Empty, 2);
    check_error("\u{feff}{}", ParseErrorKind::ByteOrderMark, 0);
    check_error("{} x", ParseErrorKind::TrailingText, 3);
    check_error("1 2", ParseErrorKind::TrailingText, 2);
    check_error("[1,]", ParseErrorKind::TrailingComma, 2);
    check_error("{\"a\":1 , }", ParseErrorKind::TrailingComma, 7);
    check_error("[1 2]", Expected { what: "`,` or `]`", found: '2' }, 3);
    check_error("{\"a\":1;}", Expected { what: "`,` or `}`", found: ';' }, 6);
    check_error("{a:1}", Expected { what: "a key in double quotes", found: 'a' }, 1);
    check_error("{\"a\" 1}", Expected { what: "`:`", found: '1' }, 5);
    check_error("[é]", Expected { what: "a value", found: 'é' }, 1);
    check_error("'a'", Expected { what: "a value", found: '\'' }, 0);
    check_error("[,1]", Expected { what: "a value", found: ',' }, 1);
    check_error("trUe", Expected { what: "a value", found: 't' }, 0);
    check_error("truex", ParseErrorKind::TrailingText, 4);
    check_error("True", Expected { what: "a value", found: 'T' }, 0);
    check_error("NaN", Expected { what: "a value", found: 'N' }, 0);
    check_error("01", ParseErrorKind::LeadingZero, 0);
    check_error("-00.5", ParseErrorKind::LeadingZero, 1);
    check_error("+1", Expected { what: "a value", found: '+' }, 0);
    check_error("-x", Expected { what: "a digit", found: 'x' }, 1);
    check_error("1.e5", Expected { what: "a digit", found: 'e' }, 2);
    check_error("1e+x", Expected { what: "a digit", found: 'x' }, 3);
    check_error("[1e999]", ParseErrorKind::NumberOutOfRange, 1);
    check_error(r#"["\x"]"#, ParseErrorKind::BadEscape, 2);
    check_error(r#""\u12g4""#, ParseErrorKind::BadEscape, 1);
    check_error(r#""\u+123""#, ParseErrorKind::BadEscape, 1);
    check_error(r#""ab\ud800""#, ParseErrorKind::LoneSurrogate, 3);
    check_error(r#""\ud800\n""#, ParseErrorKind::LoneSurrogate, 1);
    check_error(r#""\ud800\u0041""#, ParseErrorKind::LoneSurrogate, 1);
    check_error(r#""\udc00\ud800""#, ParseErrorKind::LoneSurrogate, 1);
    check_error("\"a\tb\"", ParseErrorKind::ControlCharacter, 2);
}

#[test]
fn every_proper_prefix_is_truncated() {
    let text = r#"{"a":[1.5e-3,true,false,null,"\ud83d\ude00 \n x"],"b":{"c":-2}}"#;
    for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
        check_error(text.get(..end).unwrap(), ParseErrorKind::Truncated, end);
    }
    for text in ["-", "1.", "1e", "1e-", "\"", "\"\\", "\"\\u00", "\"\\ud83d\\", "[", "[1", "[1,"] {
        check_error(text, ParseErrorKind::Truncated, text.len());
    }
}

#[test]
fn bounds_depth_and_length() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Document::parse(&nested(MAX_DEPTH)).is_ok());
    check_error(&nested(MAX_DEPTH + 1), ParseErrorKind::TooDeep, MAX_DEPTH);
    check_error(&"[".repeat(100_000), ParseErrorKind::TooDeep, MAX_DEPTH);
    check_error(&"{\"a\":".repeat(100_000), ParseErrorKind::TooDeep, 5 * MAX_DEPTH);
    let long = |len: usize| format!("\"{}\"", "x".repeat(len - 2));
    assert!(Document::parse(&long(MAX_TEXT)).is_ok());
    check_error(&long(MAX_TEXT + 1), ParseErrorKind::TooLong, MAX_TEXT);
    assert_eq!(
        Document::parse_lenient(&long(MAX_TEXT + 1)).unwrap_err().kind,
        ParseErrorKind::TooLong
    );
}

#[test]
fn error_text_names_line_and_column() {
    let error = Document::parse("{\n \"é\": x}").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(2), Some(7)));
    assert_eq!(error.to_string(), "expected a value but found 'x' at byte 9 (line 2, column 7)");
    assert_eq!(
        Document::parse("{").unwrap_err().to_string(),
        "the text ends before the JSON value is complete at byte 1 (line 1, column 2)"
    );
}

#[test]
fn values_of_serde_json_have_the_same_bound() {
    let nested =
        |depth: usize| (0..depth).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
    assert!(Document::from_value(&nested(MAX_DEPTH)).is_ok());
    let mut deep = nested(10_000);
    let error = Document::from_value(&deep).unwrap_err();
    assert_eq!((error.kind, error.line()), (ParseErrorKind::TooDeep, None));
    assert_eq!(error.to_string(), "nested deeper than 128 levels");
    let read = <Document as serde::Deserialize>::deserialize(&deep);
    assert_eq!(read.unwrap_err().to_string(), "nested deeper than 128 levels");
    // Dropping it in one go would recurse.
    while let Value::Array(mut inner) = deep {
        deep = inner.pop().unwrap_or_default();
    }
}

#[test]
fn deserializes_without_a_detour() {
    let text = r#"{"b":[1,-2,18446744073709551615,1.5,"x\ny",null,true],"a":{}}"#;
    let read: Document = serde_json::from_str(text).unwrap();
    assert_eq!(read.root().to_string(), text);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.source(), None);
    let kept: Document = serde_json::from_str(r#"{"a":1,"a":2}"#).unwrap();
    assert_eq!(kept.duplicate_key(), Some("/a".to_owned()));
}

#[test]
fn equality_is_that_of_values() {
    #[track_caller]
    fn check(a: &str, b: &str, equal: bool) {
        assert_eq!(doc(a) == doc(b), equal, "{a} {b}");
        assert_eq!(doc(b) == doc(a), equal, "{b} {a}");
    }
    check(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#, true);
    check(r#"{"a":0,"a":1}"#, r#"{"a":1}"#, true);
    check(r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false);
    check("[1,2]", "[2,1]", false);
    check("[1]", "[1,1]", false);
    check("[]", "{}", false);
    check("1", "\"1\"", false);
    check("123456789012345678901", "\"123456789012345678901\"", false);
    check("123456789012345678901", "123456789012345678902", false);
    check("9007199254740993", "9007199254740992", false);
    check("null", "false", false);
}

#[test]
fn a_copied_document_equals_its_origin() {
    let origin = doc(r#"{"a":[123456789012345678901,"x\ny",{"b":1e300}]}"#);
    let mut out = JsonWriter::new();
    out.view(origin.root());
    assert_eq!(out.finish(), origin);
}
