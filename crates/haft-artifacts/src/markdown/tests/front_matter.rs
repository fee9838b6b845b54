//! Front matter: where it is, what it says, what is wrong with it.

use serde_json::{Value, json};

use crate::markdown::{FrontMatterKind, MarkdownIndex};

#[track_caller]
fn check(yaml: &str, expected: Value) {
    let index = MarkdownIndex::parse(&format!("---\n{yaml}\n---\n# a\n"));
    assert_eq!(index.front_matter(), Ok(Some(expected)), "{yaml}");
}

#[track_caller]
fn check_error(yaml: &str, expected: &str) {
    let error = MarkdownIndex::parse(&format!("---\n{yaml}\n---\n")).front_matter().unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn yaml_becomes_json() {
    check("title: A\ntags: [a, b]\n", json!({"title": "A", "tags": ["a", "b"]}));
    check(
        "a: 1\nb: -2.5\nc: true\nd: null\ne: ~\nf:",
        json!({"a": 1, "b": -2.5, "c": true, "d": null, "e": null, "f": null}),
    );
    check("a: '1'\nb: \"x\\n\"\nc: !!str 5", json!({"a": "1", "b": "x\n", "c": "5"}));
    check(
        "a: 0x1F\nb: 0o17\nc: 1e3\nd: .5\ne: +7",
        json!({"a": 31, "b": 15, "c": 1000, "d": 0.5, "e": 7}),
    );
    check(
        "a: .inf\nb: 2024-01-02\nc: 1.2.3\nd: no\ne: 0x",
        json!({"a": ".inf", "b": "2024-01-02", "c": "1.2.3", "d": "no", "e": "0x"}),
    );
    check("a: 123456789012345678901234567890", json!({"a": "123456789012345678901234567890"}));
    check("a: |\n  x\n  y\nb: >\n  x\n  y", json!({"a": "x\ny\n", "b": "x y\n"}));
    check("a: &x {b: 1}\nc: *x", json!({"a": {"b": 1}, "c": {"b": 1}}));
    check("1: a\ntrue: b", json!({"1": "a", "true": "b"}));
    check("- a\n- - b", json!(["a", ["b"]]));
    check("just text", json!("just text"));
    check("", Value::Null);
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    check_error("a: 1\nb: [1, 2", "line 4");
    check_error("a: 1\na: 2", "the key `a` stands twice");
    check_error("a: *nope", "line 2, column 4");
    check_error("a: &x [*x]", "inside the value it names");
    check_error("a: 'x", "line 2");
}

#[test]
fn hostile_yaml_is_refused() {
    check_error(&"[".repeat(100), "nested too deeply");
    check_error(&"[".repeat(5_000), "limit");
    check_error(&"- ".repeat(5_000), "nested too deeply");
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [inner.as_str(); 9].join(", ")));
    }
    check_error(&bomb, "too large once aliases are followed");
}

#[test]
fn toml_is_found_but_not_read() {
    let index = MarkdownIndex::parse("+++\na = 1\n+++\n");
    assert_eq!(index.front_matter_source().unwrap().kind(), FrontMatterKind::Toml);
    assert!(index.front_matter().unwrap_err().to_string().contains("lines 1 to 3"));
}

#[test]
fn what_never_closes_is_markdown() {
    let long = format!("---\n# a\n{}---\n", "x: y\n".repeat(20_000));
    for text in ["---\n# a\n", long.as_str()] {
        let index = MarkdownIndex::parse(text);
        assert_eq!(index.front_matter(), Ok(None));
        assert_eq!(index.headings()[0].start_line, 1);
    }
}

#[test]
fn it_may_be_longer_than_two_hundred_lines() {
    let index =
        MarkdownIndex::parse(&format!("---\n{}last: 1\n---\n# a\n", "# comment\n".repeat(1_000)));
    assert_eq!(index.front_matter(), Ok(Some(json!({"last": 1}))));
    assert_eq!(index.headings()[0].start_line, 1_003);
}
