use std::fmt::Write as _;

use super::doc;
use crate::json::{SortScratch, canonical_text, canonicalize};

/// The canonical text, and whether duplicates were seen on the way.
#[track_caller]
fn check(text: &str, expect: &str, duplicates: bool) {
    let parsed = doc(text);
    let mut out = Vec::new();
    let seen = canonicalize(parsed.root(), &mut out, &mut SortScratch::default());
    assert_eq!((str::from_utf8(&out).unwrap(), seen), (expect, duplicates), "{text}");
    assert_eq!(parsed.duplicate_key().is_some(), duplicates, "{text}");
    assert_eq!(canonical_text(doc(expect).root()), expect);
}

#[track_caller]
fn check_duplicate(text: &str, pointer: Option<&str>) {
    assert_eq!(doc(text).duplicate_key().as_deref(), pointer, "{text}");
}

#[test]
fn sorts_keys_at_every_level() {
    check("{}", "{}", false);
    check(r#"{ "b" : 1 , "a" : [ {"d":1,"c":2} ] }"#, r#"{"a":[{"c":2,"d":1}],"b":1}"#, false);
    check(
        r#"{"b":{"z":1,"y":{"k":1,"j":2}},"a":{"z":1,"y":2}}"#,
        r#"{"a":{"y":2,"z":1},"b":{"y":{"j":2,"k":1},"z":1}}"#,
        false,
    );
    check(
        r#"{"abcdefgh2":1,"abcdefgh1":2,"abcdefgh":3,"abc":4,"":5}"#,
        r#"{"":5,"abc":4,"abcdefgh":3,"abcdefgh1":2,"abcdefgh2":1}"#,
        false,
    );
    check(r#"{"a\u0000":1,"a":2}"#, r#"{"a":2,"a\u0000":1}"#, false);
    check(r#"{"a":2,"a\u0000":1}"#, r#"{"a":2,"a\u0000":1}"#, false);
    check(r#"{"é":1,"\u00ea":2,"z":3}"#, r#"{"z":3,"é":1,"ê":2}"#, false);
}

/// Each text is canonical but for one thing.
#[test]
fn text_that_is_nearly_canonical_is_written_again() {
    check(
        r#"{"a":[1,-2,"b",{"c":true,"d":null}]}"#,
        r#"{"a":[1,-2,"b",{"c":true,"d":null}]}"#,
        false,
    );
    for text in [r#"{"a":[0,"b"]} "#, r#" {"a":[0,"b"]}"#, r#"{"a" :[0,"b"]}"#, r#"{"a": [0,"b"]}"#]
    {
        check(text, r#"{"a":[0,"b"]}"#, false);
    }
    for text in
        [r#"{"a":[-0,"b"]}"#, r#"{"a":[0.0,"b"]}"#, r#"{"a":[0e1,"b"]}"#, r#"{"a":[0,"\u0062"]}"#]
    {
        check(text, r#"{"a":[0,"b"]}"#, false);
    }
    check("[1.50]", "[1.5]", false);
    check("[100000000000000000000.0]", "[100000000000000000000]", false);
    check(r#"{"a":{"c":1,"b":2},"b":3}"#, r#"{"a":{"b":2,"c":1},"b":3}"#, false);
    check(r#"{"a":1,"b":{"c":1,"c":2}}"#, r#"{"a":1,"b":{"c":2}}"#, true);
}

#[test]
fn sorts_by_utf16_code_units() {
    check(r#"{"～":1,"😀":2}"#, r#"{"😀":2,"～":1}"#, false);
    check(
        r#"{"\ue000":1,"\ud7ff":2,"\udbff\udfff":3,"\ud800\udc00":4}"#,
        "{\"\u{d7ff}\":2,\"\u{10000}\":4,\"\u{10ffff}\":3,\"\u{e000}\":1}",
        false,
    );
    check(
        "{\"longer than eight ～\":1,\"longer than eight 😀\":2}",
        "{\"longer than eight 😀\":2,\"longer than eight ～\":1}",
        false,
    );
}

#[test]
fn the_last_duplicate_counts() {
    check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true);
    check(r#"{"a":1,"b":0,"\u0061":2,"a":3}"#, r#"{"a":3,"b":0}"#, true);
    check(r#"[{"x":{"k":1,"k":1}}]"#, r#"[{"x":{"k":1}}]"#, true);
    // The part that does not count may hold anything.
    check(r#"{"a":{"z":1,"y":1},"a":{"d":1,"c":1}}"#, r#"{"a":{"c":1,"d":1}}"#, true);
}

#[test]
fn escapes_strings_as_ecmascript_does() {
    check(
        r#""\u0000\u0007\b\t\n\u000b\f\r\u001f\u0020\"\\\/\u007f\u2028""#,
        "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}\u{2028}\"",
        false,
    );
}

#[test]
fn names_the_first_repeated_member() {
    check_duplicate(r#"{"a":1,"b":{"a":1}}"#, None);
    check_duplicate(r#"{"a":1,"b":2,"a":3,"b":4}"#, Some("/a"));
    check_duplicate(r#"{"b":1,"a":2,"b":3,"a":4}"#, Some("/b"));
    check_duplicate(r#"{"a":[0,{"x/y~z":1,"x/y~z":2}]}"#, Some("/a/1/x~1y~0z"));
    check_duplicate(r#"{"q":{"k":1,"k":2},"q":3}"#, Some("/q/k"));
    check_duplicate(r#"{"q":1,"q":{"k":1,"k":2}}"#, Some("/q"));
    check_duplicate(r#"{"":1,"":2}"#, Some("/"));
    check_duplicate(r#"[[],[[{"n":0,"n":0}]]]"#, Some("/1/0/0/n"));
    check_duplicate("1", None);
}

#[test]
fn large_objects_are_sorted_not_compared_pairwise() {
    let mut text = String::from("{");
    for n in (0..10_000).rev() {
        let _ = write!(text, "\"key{n}\":{n},");
    }
    let unique = format!("{text}\"z\":0}}");
    check_duplicate(&unique, None);
    check_duplicate(&format!("{text}\"key77\":0}}"), Some("/key77"));
    let canonical = canonical_text(doc(&unique).root());
    assert!(canonical.starts_with(r#"{"key0":0,"key1":1,"key10":10,"key100":100,"key1000":1000,"#));
    assert_eq!(canonical.len(), unique.len());
    assert_eq!(doc(&unique), doc(&canonical));
}
