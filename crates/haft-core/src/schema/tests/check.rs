//! Every rule: what it accepts, and the exact words with which it refuses.

use serde_json::json;

use super::verdict;
use crate::schema::args::{RawArgs, Strictness};
use crate::schema::{
    Definitions, Field, InputSchema, Problem, Rule, Schema, Shape, any, array, boolean, integer,
    map, number, object, one_of, string, tuple, union,
};

/// Judges a value of the field `it`: nothing is said about what is accepted.
#[track_caller]
fn check(field: impl Into<Field>, value: &str, expect: &str) {
    let input = InputSchema::new(object().field("it", field)).unwrap();
    let text = format!(r#"{{"it":{value}}}"#);
    let found = verdict(&input, &text, Strictness::Strict);
    let found = if found.starts_with("- ") { found } else { String::new() };
    assert_eq!(found, expect, "{text}");
}

#[test]
fn kinds() {
    check(boolean(), "true", "");
    check(boolean(), "1", "- `/it`: expected true or false, got 1; for example true");
    check(string(), r#""""#, "");
    check(string(), "null", r#"- `/it`: expected a string, got null; for example "text""#);
    check(string(), "[1,2]", r#"- `/it`: expected a string, got a list of 2; for example "text""#);
    check(integer(), "3.0", "");
    check(integer(), "3e2", "");
    check(integer(), "1e30", "");
    check(integer(), "3.5", "- `/it`: expected an integer, got 3.5; for example 1");
    check(
        integer(),
        r#""3""#,
        r#"- `/it`: expected an integer, got the string "3"; for example 1"#,
    );
    check(number(), "-0.0", "");
    check(number(), "{}", "- `/it`: expected a number, got an object; for example 1.5");
    check(any(), r#"[null,{"a":1}]"#, "");
    check(string().nullable(), "null", "");
    check(
        string().nullable(),
        "1",
        r#"- `/it`: expected a string or null, got 1; for example "text""#,
    );
}

#[test]
fn ranges() {
    let days = || integer().min(1).max(14);
    check(days(), "1", "");
    check(days(), "14.0", "");
    check(days(), "99", "- `/it`: expected an integer from 1 to 14, got 99; for example 1");
    check(
        days().example(3),
        "0",
        "- `/it`: expected an integer from 1 to 14, got 0; for example 3",
    );
    check(
        integer().min(5),
        "4",
        "- `/it`: expected an integer of at least 5, got 4; for example 5",
    );
    check(integer().max(5), "6", "- `/it`: expected an integer of at most 5, got 6; for example 1");
    check(integer().multiple_of(5), "-10", "");
    check(integer().multiple_of(5), "7", "- `/it`: expected an integer, a multiple of 5, got 7");
    check(number().min(0).max(1), "1", "");
    check(
        number().min(0).max(1),
        "1.5",
        "- `/it`: expected a number from 0 to 1, got 1.5; for example 0.0",
    );
    check(number().above(0), "5e-324", "");
    check(number().above(0), "0", "- `/it`: expected a number above 0, got 0");
    check(number().below(1), "1", "- `/it`: expected a number below 1, got 1");
}

/// The edges of 64 bits are exact, and so is every digit beyond them.
#[test]
fn the_edges_of_64_bits() {
    let signed = || integer().min(i64::MIN).max(i64::MAX);
    check(signed(), "-9223372036854775808", "");
    check(signed(), "9223372036854775807", "");
    for beyond in ["-9223372036854775809", "9223372036854775808", "-9223372036854776000"] {
        let expect =
            format!("- `/it`: expected an integer that fits 64 bits, got {beyond}; for example 1");
        check(signed(), beyond, &expect);
    }
    let unsigned = || integer().min(0).max(u64::MAX);
    check(unsigned(), "18446744073709551615", "");
    for beyond in ["18446744073709551616", "18446744073709551617"] {
        let expect = format!(
            "- `/it`: expected an integer of at least 0 that fits 64 bits, got {beyond}; for example 1"
        );
        check(unsigned(), beyond, &expect);
    }
    let exact = || integer().max(9_007_199_254_740_992_i64);
    check(exact(), "9007199254740992", "");
    check(
        exact(),
        "9007199254740993",
        "- `/it`: expected an integer of at most 9007199254740992, got 9007199254740993; for example 1",
    );
    // A bound is what its text says, as the model reads it.
    check(number().max(1.234_567_890_123_456_7e18), "1234567890123456800", "");
    let one = || one_of([json!(9_007_199_254_740_992.0)]);
    check(one(), "9007199254740992", "");
    check(
        one(),
        "9007199254740993",
        "- `/it`: expected 9007199254740992.0, got 9007199254740993; for example 9007199254740992.0",
    );
}

#[test]
fn lengths_and_patterns() {
    check(
        string().non_empty(),
        r#""""#,
        r#"- `/it`: expected a non-empty string, got the string ""; for example "text""#,
    );
    check(string().max_length(2), r#""😀😀""#, "");
    check(
        string().max_length(2),
        r#""abc""#,
        r#"- `/it`: expected a string of at most 2 characters, got the string "abc""#,
    );
    check(
        string().min_length(1).max_length(1),
        r#""ab""#,
        r#"- `/it`: expected a string of exactly 1 character, got the string "ab""#,
    );
    check(string().pattern("^[a-z]+$"), r#""abc""#, "");
    check(
        string().pattern("^[a-z]+$").example("abc"),
        r#""ABC""#,
        r#"- `/it`: expected a string that matches ^[a-z]+$, got the string "ABC"; for example "abc""#,
    );
    let long = format!(r#""{}""#, "x".repeat(500));
    let expect = format!(
        "- `/it`: expected a string of at most 4 characters, got the string \"{}… (502 bytes); for example \"text\"",
        "x".repeat(79)
    );
    check(string().max_length(4), &long, &expect);
}

#[test]
fn choices() {
    let units = || one_of(["celsius", "fahrenheit"]);
    check(units(), r#""celsius""#, "");
    check(
        units(),
        r#""Celsius""#,
        r#"- `/it`: expected one of "celsius", "fahrenheit", got the string "Celsius"; for example "celsius""#,
    );
    check(one_of([json!(1), json!(null)]), "1.0", "");
    check(one_of([json!(1), json!(null)]), "null", "");
    check(one_of([json!(1)]), "true", "- `/it`: expected 1, got true; for example 1");
    let many = one_of((0..30).map(|at| format!("v{at}")));
    let input = InputSchema::new(object().field("it", many)).unwrap();
    let problems = verdict(&input, r#"{"it":"x"}"#, Strictness::Strict);
    assert!(problems.contains(r#""v23" and 6 more, got"#), "{problems}");
}

#[test]
fn lists_and_maps() {
    check(array(string()), "[]", "");
    check(
        array(string()),
        r#""a""#,
        r#"- `/it`: expected a list, each element a string, got the string "a"; for example ["text"]"#,
    );
    check(
        array(integer()),
        r#"[1,"2",null]"#,
        "- `/it/1`: expected an integer, got the string \"2\"; for example 1\n- `/it/2`: expected an integer, got null; for example 1",
    );
    check(
        array(integer()).min_items(2).max_items(3),
        "[1]",
        "- `/it`: expected a list of 2 to 3 elements, each element an integer, got a list of 1",
    );
    check(array(integer()).unique(), "[1,2]", "");
    check(
        array(integer()).unique(),
        "[1,1.0]",
        "- `/it`: expected a list without repeats, each element an integer, got a list with repeats; for example [1]",
    );
    let pair = || tuple([string().into(), integer().into()]);
    check(pair(), r#"["a",1]"#, "");
    check(pair(), r#"["a"]"#, "- `/it`: expected a list of exactly 2 elements, got a list of 1");
    check(
        pair(),
        r#"["a","b"]"#,
        "- `/it/1`: expected an integer, got the string \"b\"; for example 1",
    );
    check(map(integer()), r#"{"a":1}"#, "");
    check(
        map(integer()),
        r#"{"a":"b"}"#,
        "- `/it/a`: expected an integer, got the string \"b\"; for example 1",
    );
    check(
        map(integer()).max_entries(1),
        r#"{"a":1,"b":2}"#,
        "- `/it`: expected an object of at most 1 member, each value an integer, got an object",
    );
}

#[test]
fn objects() {
    let city = || object().field("name", string().required()).field("size", integer());
    check(city(), r#"{"name":"a"}"#, "");
    check(city(), "{}", r#"- `/it/name`: missing; expected a string; for example "text""#);
    check(
        city(),
        "null",
        r#"- `/it`: expected an object with `name`, `size`, got null; for example {"name":"text"}"#,
    );
    check(
        city(),
        r#"{"name":"a","sizes":1}"#,
        "- `/it/sizes`: this field does not exist; did you mean `size`?",
    );
    check(
        city(),
        r#"{"name":"a","whatever":1}"#,
        "- `/it/whatever`: this field does not exist; the fields are `name`, `size`",
    );
    check(object(), r#"{"a":1}"#, "- `/it/a`: this field does not exist; there are no fields here");
    check(city().allow_unknown(), r#"{"name":"a","whatever":1}"#, "");
}

#[test]
fn unions() {
    let shape = || {
        union("kind")
            .variant("circle", object().field("r", number().required()))
            .variant("point", object())
    };
    check(shape(), r#"{"kind":"circle","r":1}"#, "");
    check(shape(), r#"{"kind":"point"}"#, "");
    check(
        shape(),
        r#"{"kind":"circle"}"#,
        "- `/it/r`: missing; expected a number; for example 1.5",
    );
    check(
        shape(),
        r#"{"r":1}"#,
        r#"- `/it/kind`: missing; expected one of "circle", "point"; for example "circle""#,
    );
    check(
        shape(),
        r#"{"kind":"Circle","r":1}"#,
        r#"- `/it/kind`: expected one of "circle", "point", got the string "Circle"; for example "circle""#,
    );
    check(
        shape(),
        "1",
        r#"- `/it`: expected an object whose `kind` is one of "circle", "point", got 1; for example {"kind":"circle","r":1.5}"#,
    );
    check(
        shape(),
        r#"{"kind":"point","r":1}"#,
        "- `/it/r`: this field does not exist; the fields are `kind`",
    );
    let loose = union("kind").variant("point", object()).variant("note", object().allow_unknown());
    check(loose, r#"{"kind":"note","whatever":1}"#, "");
}

/// A definition that contains itself is described in finitely many words.
#[test]
fn recursive_definitions() {
    let reference = || Schema::new(Shape::Ref("nest".to_owned()));
    let definitions = Definitions::from_iter([("nest".to_owned(), array(reference()).into())]);
    let input = InputSchema::with_definitions(object().field("it", reference()), definitions);
    let problems = verdict(&input.unwrap(), r#"{"it":[[[7]]]}"#, Strictness::Strict);
    assert_eq!(
        problems,
        "- `/it/0/0/0`: expected a list, each element a list, each element a list, each element a \
         list, each element any value of its kind, got 7"
    );
}

#[test]
fn pointers_are_escaped() {
    let input = InputSchema::new(object().field("a/b", object().field("m~n", array(boolean()))));
    let problems = verdict(&input.unwrap(), r#"{"a/b":{"m~n":[1],"c/~":2}}"#, Strictness::Strict);
    assert_eq!(
        problems,
        "- `/a~1b/m~0n/0`: expected true or false, got 1; for example true\n\
         - `/a~1b/c~1~0`: this field does not exist; the fields are `m~n`"
    );
}

#[test]
fn the_list_of_problems_ends() {
    let input = InputSchema::new(object().field("it", array(boolean()))).unwrap();
    let raw = RawArgs::value(&json!({ "it": vec![1; 100] }));
    let problems = input.accept("t", &raw, Strictness::Strict).unwrap_err();
    assert_eq!((problems.list.len(), problems.left_out), (24, 76));
    assert!(problems.to_string().ends_with("\n- and 76 more"));
}

#[test]
fn names_that_are_near() {
    let names = ["path", "recursive", "max_results"];
    let nearest = |key: &str| crate::schema::nearest(key, names.into_iter());
    assert_eq!(nearest("Path"), Some("path"));
    assert_eq!(nearest("pth"), Some("path"));
    assert_eq!(nearest("recursiv"), Some("recursive"));
    assert_eq!(nearest("maxResults"), Some("max_results"));
    assert_eq!(nearest("max-results"), Some("max_results"));
    assert_eq!(nearest("query"), None);
    assert_eq!(nearest(""), None);
    // One letter and a quarter of the name may differ, and at most half of it.
    assert_eq!(nearest("rexuxsixe"), Some("recursive"));
    assert_eq!(nearest("rexuxsixx"), None);
    assert_eq!(nearest("paxx"), Some("path"));
    assert_eq!(nearest("pxxx"), None);
    for (key, name, is_near) in
        [("b", "a", false), ("A", "a", true), ("it", "id", true), ("xy", "id", false)]
    {
        assert_eq!(crate::schema::nearest(key, [name].into_iter()).is_some(), is_near, "{key}");
    }
    assert_eq!(nearest(&"p".repeat(1_000_000)), None);
}

#[test]
fn duplicate_keys_are_named() {
    let input = InputSchema::new(object().field("it", any()).field("b", any())).unwrap();
    let refused = |text: &str, pointer: &str| {
        let problems = input.accept("t", &RawArgs::text(text), Strictness::Coerce).unwrap_err();
        assert_eq!(problems.list[0].rule, Rule::Duplicate, "{text}");
        assert_eq!(
            problems.to_string(),
            format!("- `{pointer}`: this key is given twice; send each key once")
        );
    };
    refused(r#"{"it":1,"it":1}"#, "/it");
    refused(r#"{"it":{"a":1,"b":2,"a":3}}"#, "/it/a");
    refused(r#"{"b":[0,{"x":{"y":1,"y":2}}]}"#, "/b/1/x/y");
    refused(r#"{'it':1,'it':2}"#, "/it");
}

/// Whatever a message offers as an example would be accepted.
#[test]
fn samples_are_accepted() {
    let schemas: Vec<Schema> = vec![
        boolean().into(),
        string().into(),
        string().max_length(2).into(),
        integer().min(u64::MAX).into(),
        integer().max(-3).into(),
        number().max(-3).into(),
        one_of([json!(null), json!(1)]).into(),
        array(integer()).max_items(0).into(),
        array(array(integer().min(3))).into(),
        object().field("a", string().required()).field("b", integer()).into(),
        union("kind").variant("x", object().field("y", boolean().required())).into(),
        map(integer()).into(),
    ];
    for schema in schemas {
        let definitions = Definitions::new();
        let Some(sample) = schema.sample(&definitions) else { continue };
        let input = InputSchema::new(object().field("it", Field::required(schema))).unwrap();
        let raw = RawArgs::value(&json!({ "it": sample }));
        assert!(input.accept("t", &raw, Strictness::Strict).is_ok(), "{sample}");
    }
}

/// Wherever it is, a key that occurs twice is found, also where any key is welcome.
#[test]
fn repeated_keys_are_found_everywhere() {
    let inner = || object().field("x", integer().required());
    let root = object()
        .field("a", inner())
        .field("any", any())
        .field("map", map(integer()))
        .field("list", array(inner()))
        .field("open", object().allow_unknown().field("x", integer()))
        .field("shape", union("kind").variant("a", object().field("x", integer())));
    let input = InputSchema::new(root).unwrap();
    let fine = [
        "{}",
        r#"{"a":{"x":1},"map":{"k":1,"l":2},"any":{"k":[{"k":1}]}}"#,
        r#"{"shape":{"kind":"a","x":1},"open":{"x":1,"y":{"x":1}},"list":[{"x":1},{"x":2}]}"#,
        r#"{"list":[],"a":{"x":1}}"#,
    ];
    for text in fine {
        let accepted = input.accept("t", &RawArgs::text(text), Strictness::Coerce).unwrap();
        assert!(accepted.changes.is_empty(), "{text}");
    }
    let repeated = [
        r#"{"a":{"x":1},"a":{"x":1}}"#,
        r#"{"a":{"x":1,"x":1}}"#,
        r#"{"any":{"k":[{"k":1,"k":1}]}}"#,
        r#"{"any":[{"k":1,"k":1}]}"#,
        r#"{"map":{"k":1,"k":1}}"#,
        r#"{"list":[{"x":1},{"x":2,"x":2}]}"#,
        r#"{"open":{"x":1,"x":1}}"#,
        r#"{"open":{"y":1,"y":1}}"#,
        r#"{"open":{"y":{"z":1,"z":1}}}"#,
        r#"{"shape":{"kind":"a","kind":"a"}}"#,
    ];
    for text in repeated {
        let found = verdict(&input, text, Strictness::Coerce);
        assert!(found.contains("this key is given twice"), "{text} gave {found}");
    }
}

#[test]
fn a_number_that_is_made_whole_keeps_its_bounds() {
    check(number().min(0.5).max(2.5).integer(), "1", "");
    let expect = "- `/it`: expected an integer from 1 to 2, got 3; for example 1";
    check(number().min(0.5).max(2.5).integer(), "3", expect);
    check(number().integer().nullable(), "null", "");
}

#[test]
fn a_problem_says_what_was_expected_and_what_came() {
    let of = |rule| Problem::of(rule, "/at".to_owned(), "a date".to_owned(), "it".to_owned());
    let new = |pointer: &str| Problem::new(pointer, "a date");
    for (problem, expect) in [
        (new("/at"), "`/at`: expected a date"),
        (new(""), "the arguments: expected a date"),
        (new("/at").found("noon"), "`/at`: expected a date, got noon"),
        (new("/at").example("2026-11-18"), "`/at`: expected a date; for example \"2026-11-18\""),
        (of(Rule::Type), "`/at`: expected a date, got it"),
        (of(Rule::Missing), "`/at`: missing; expected a date"),
        (of(Rule::Unknown), "`/at`: it; a date"),
        (of(Rule::Duplicate), "`/at`: it; a date"),
        (of(Rule::Foreign), "`/at`: it; expected a date"),
    ] {
        assert_eq!(problem.to_string(), expect, "{:?}", problem.rule);
    }
}
