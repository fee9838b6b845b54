//! Near misses that are mended, and everything that must not be.

use serde_json::json;

use super::verdict;
use crate::schema::args::{RawArgs, Strictness};
use crate::schema::{
    ChangeKind, Definitions, InputSchema, array, boolean, integer, map, number, object, one_of,
    string, tuple, union,
};

/// A tool as models meet it: a path, an optional number, a flag, a list and a choice.
fn search() -> InputSchema {
    InputSchema::new(
        object()
            .field("path", string().required())
            .field("limit", integer().min(0).max(u32::MAX))
            .field("recursive", boolean())
            .field("tags", array(string()))
            .field("mode", one_of(["fast", "slow"]).alias("speed")),
    )
    .unwrap()
}

#[track_caller]
fn mends(text: &str, expect: &str) {
    assert_eq!(verdict(&search(), text, Strictness::Coerce), expect);
}

#[track_caller]
fn refuses(text: &str, expect: &str) {
    assert_eq!(verdict(&search(), text, Strictness::Coerce), expect);
}

/// Thirteen of the sixteen usual mistakes have one reading.
#[test]
fn what_has_one_reading_is_mended() {
    // Number, boolean, list and null as strings.
    mends(r#"{"path":"a","limit":"3"}"#, r#"{"path":"a","limit":3} [/limit number]"#);
    mends(
        r#"{"path":"a","recursive":"true"}"#,
        r#"{"path":"a","recursive":true} [/recursive boolean]"#,
    );
    mends(
        r#"{"path":"a","tags":"[\"x\",\"y\"]"}"#,
        r#"{"path":"a","tags":["x","y"]} [/tags json]"#,
    );
    mends(r#"{"path":"a","limit":"null"}"#, r#"{"path":"a"} [/limit dropped]"#);
    // 3.0 for an integer is right as it is.
    mends(r#"{"path":"a","limit":3.0}"#, r#"{"path":"a","limit":3}"#);
    // A single value for a list, the wrong case for a choice.
    mends(r#"{"path":"a","tags":"x"}"#, r#"{"path":"a","tags":["x"]} [/tags wrapped]"#);
    mends(r#"{"path":"a","mode":"Fast"}"#, r#"{"path":"a","mode":"fast"} [/mode case]"#);
    // Double encoding.
    mends(r#""{\"path\":\"a\",\"limit\":3}""#, r#"{"path":"a","limit":3} [ json]"#);
    // Text that is not quite JSON.
    mends("```json\n{\"path\":\"a\"}\n```", r#"{"path":"a"} [ repaired code-fence]"#);
    mends(r#"{"path":"a",}"#, r#"{"path":"a"} [ repaired trailing-comma]"#);
    mends("{'path':'a'}", r#"{"path":"a"} [ repaired single-quotes]"#);
    mends("{\"path\":\"a\nb\"}", r#"{"path":"a\nb"} [ repaired raw-control]"#);
    // A wrapper object.
    mends(r#"{"arguments":{"path":"a"}}"#, r#"{"path":"a"} [ unwrapped arguments]"#);
}

/// The other three would be a guess.
#[test]
fn what_would_be_a_guess_is_refused() {
    refuses(
        r#"{"path":"a","limits":3}"#,
        "- `/limits`: this field does not exist; did you mean `limit`?",
    );
    refuses(
        r#"{"path":"a","limit":3"#,
        "- the arguments: expected one complete JSON object, got text that is not JSON: the text \
         ends before the JSON value is complete at byte 21 (line 1, column 22): \
         {\"path\":\"a\",\"limit\":3",
    );
    refuses("", "- `/path`: missing; expected a string; for example \"text\"");
}

#[test]
fn absence_has_many_spellings() {
    for spelling in ["null", r#""""#, r#"" ""#, r#""null""#, r#""None""#] {
        mends(&format!(r#"{{"path":"a","limit":{spelling}}}"#), r#"{"path":"a"} [/limit dropped]"#);
        mends(&format!(r#"{{"path":"a","tags":{spelling}}}"#), r#"{"path":"a"} [/tags dropped]"#);
        mends(&format!(r#"{{"path":"a","mode":{spelling}}}"#), r#"{"path":"a"} [/mode dropped]"#);
        mends(
            &format!(r#"{{"path":"a","speed":{spelling}}}"#),
            r#"{"path":"a"} [/speed renamed mode, /speed dropped]"#,
        );
    }
    mends("null", "- `/path`: missing; expected a string; for example \"text\"");
    // For a string they are strings.
    mends(r#"{"path":""}"#, r#"{"path":""}"#);
    mends(r#"{"path":"null"}"#, r#"{"path":"null"}"#);
}

#[test]
fn several_mistakes_at_once() {
    mends(
        r#"{"tool":"tool","parameters":"{\"path\":\"a\",\"limit\":\" 12 \",\"speed\":\"SLOW\",\"tags\":\"x\",}"}"#,
        r#"{"path":"a","limit":12,"mode":"slow","tags":["x"]} [ unwrapped parameters, /parameters json, /parameters/limit number, /parameters/speed renamed mode, /parameters/speed case, /parameters/tags wrapped]"#,
    );
    mends(
        r#"{"path":"a","limit":"1e2","recursive":"FALSE"}"#,
        r#"{"path":"a","limit":100,"recursive":false} [/limit number, /recursive boolean]"#,
    );
}

#[test]
fn defaults_follow_what_was_dropped() {
    let input = InputSchema::new(
        object().field("n", integer().min(1).default(10)).field("b", boolean().default(false)),
    )
    .unwrap();
    let check = |text: &str, expect: &str| {
        assert_eq!(verdict(&input, text, Strictness::Coerce), expect);
    };
    check("{}", r#"{"n":10,"b":false} [/n default, /b default]"#);
    check(
        r#"{"n":"","b":null}"#,
        r#"{"n":10,"b":false} [/n dropped, /b dropped, /n default, /b default]"#,
    );
    check(r#"{"n":"7"}"#, r#"{"n":7,"b":false} [/n number, /b default]"#);
}

#[test]
fn nullable_values_and_unions() {
    let input = InputSchema::new(
        object()
            .field("n", integer().nullable().required())
            .field(
                "u",
                union("kind").variant("a", object().field("x", integer())).variant("b", object()),
            )
            .field("t", tuple([integer().into(), string().into()]))
            .field("m", map(number())),
    )
    .unwrap();
    let check = |text: &str, expect: &str| {
        assert_eq!(verdict(&input, text, Strictness::Coerce), expect);
    };
    check(r#"{"n":"null"}"#, r#"{"n":null} [/n null]"#);
    check(
        r#"{"n":null,"u":{"kind":"A","x":"1"}}"#,
        r#"{"n":null,"u":{"kind":"a","x":1}} [/u/kind case, /u/x number]"#,
    );
    check(r#"{"n":1,"u":"{\"kind\":\"b\"}"}"#, r#"{"n":1,"u":{"kind":"b"}} [/u json]"#);
    check(r#"{"n":1,"t":"[\"1\",\"x\"]"}"#, r#"{"n":1,"t":[1,"x"]} [/t json, /t/0 number]"#);
    check(r#"{"n":1,"m":"{\"a\":\"0.5\"}"}"#, r#"{"n":1,"m":{"a":0.5}} [/m json, /m/a number]"#);
}

/// Nothing here has one safe reading. Every one is refused, for the same reasons each time.
#[test]
fn the_negative_corpus_stays_refused() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let values: Vec<(&str, String)> = [
        // Numbers that are not quite numbers.
        ("limit", r#""12abc""#),
        ("limit", r#""0x10""#),
        ("limit", r#""1,000""#),
        ("limit", r#""1_000""#),
        ("limit", r#""+5""#),
        ("limit", r#""007""#),
        ("limit", r#"".5""#),
        ("limit", r#""5.""#),
        ("limit", r#""1e""#),
        ("limit", r#""NaN""#),
        ("limit", r#""Infinity""#),
        ("limit", r#""-1""#),
        ("limit", r#""4294967296""#),
        ("limit", r#""3.7""#),
        ("limit", r#""three""#),
        ("limit", r#""1 2""#),
        ("limit", r#""１２""#),
        ("limit", r#""true""#),
        ("limit", r#""[3]""#),
        ("limit", r#""\"3\"""#),
        ("limit", "3.7"),
        ("limit", "-1"),
        ("limit", "4294967296"),
        ("limit", "1e30"),
        ("limit", "-9223372036854775809"),
        ("limit", "18446744073709551616"),
        ("limit", "true"),
        ("limit", "[3]"),
        ("limit", r#"{"value":3}"#),
        // Booleans that are not quite booleans.
        ("recursive", "1"),
        ("recursive", "0"),
        ("recursive", r#""yes""#),
        ("recursive", r#""no""#),
        ("recursive", r#""on""#),
        ("recursive", r#""1""#),
        ("recursive", r#""t""#),
        ("recursive", r#""truee""#),
        ("recursive", "[true]"),
        ("recursive", "{}"),
        // Other kinds for a string.
        ("path", "1"),
        ("path", "true"),
        ("path", "null"),
        ("path", r#"["a"]"#),
        ("path", r#"{"path":"a"}"#),
        // Lists that are not quite lists.
        ("tags", r#""[1""#),
        ("tags", r#""[1,2]""#),
        ("tags", r#""[\"a\"""#),
        ("tags", r#""[draft] a""#),
        ("tags", "1"),
        ("tags", "[1]"),
        ("tags", "[null]"),
        ("tags", r#"["a",["b"]]"#),
        ("tags", r#"{"0":"a"}"#),
        ("tags", "false"),
        // Choices that are none.
        ("mode", r#""fastest""#),
        ("mode", r#""fas""#),
        ("mode", r#""f a s t""#),
        ("mode", "0"),
        ("mode", r#"["fast"]"#),
        ("mode", r#"{"mode":"fast"}"#),
        ("speed", r#""fastest""#),
        // Keys that are none.
        ("Path", r#""b""#),
        ("paths", r#"["b"]"#),
        ("extra", "null"),
        ("", "1"),
        ("__proto__", "{}"),
    ]
    .into_iter()
    .map(|(key, value)| (key, value.to_owned()))
    .chain([("tags", deep), ("limit", format!("\"{}\"", "9".repeat(1_000_000)))])
    .collect();
    assert!(values.len() > 60);
    let input = search();
    for (key, value) in values {
        let text = match key {
            "path" => format!(r#"{{"path":{value}}}"#),
            key => format!(r#"{{"path":"a","{key}":{value}}}"#),
        };
        let shown = text.get(..80).unwrap_or(&text);
        let problems = verdict(&input, &text, Strictness::Coerce);
        assert!(problems.starts_with("- "), "{shown} gave {problems}");
        assert!(problems.len() < 1000, "{shown} gave a message of {} bytes", problems.len());
        assert_eq!(problems, verdict(&input, &text, Strictness::Coerce), "{shown}");
    }
}

#[test]
fn whole_arguments_that_stay_refused() {
    let deep = format!("\"{}\"", "[".repeat(10_000));
    let nested = (0..8).fold(r#"{"path":"a"}"#.to_owned(), |text, _| json!(text).to_string());
    let texts = [
        "[]",
        r#"["a"]"#,
        r#"[{"path":"a"}]"#,
        "3",
        "true",
        r#""a""#,
        r#""{\"path\":\"a\"""#,
        r#"{"path":"a"} {"path":"b"}"#,
        r#"{"path":"a"} and so on"#,
        r#"path: a"#,
        r#"{path:"a"}"#,
        r#"{"path":"a","path":"a"}"#,
        r#"{"path":"a","limit":1,"path":"b"}"#,
        r#"{"path":"a","mode":"fast","speed":"slow"}"#,
        r#"{"arguments":{"path":"a"},"parameters":{"path":"b"}}"#,
        r#"{"arguments":{"path":"a"},"limit":3}"#,
        r#"{"arguments":{"path":"a"},"name":"another_tool"}"#,
        r#"{"arguments":[{"path":"a"}]}"#,
        r#"{"arguments":{"arguments":{"path":"a"}}}"#,
        r#"{"arguments":{"path":"a","path":"b"}}"#,
        r#"{"arguments":"{\"path\":\"a\",\"path\":\"b\"}"}"#,
        r#""{\"path\":\"a\",\"path\":\"b\"}""#,
        r#"{"payload":{"path":"a"}}"#,
        &nested,
        &deep,
        "{\"path\": NaN}",
        "{\"path\": undefined}",
        "```json\n{\"path\":\"a\"}",
        "\u{0}",
    ];
    for text in texts {
        let problems = verdict(&search(), text, Strictness::Coerce);
        assert!(problems.starts_with("- "), "{text} gave {problems}");
        assert_eq!(problems, verdict(&search(), text, Strictness::Coerce), "{text}");
    }
}

#[test]
fn repeats_that_appear_by_mending_are_refused() {
    let input = InputSchema::new(
        object()
            .field("ids", array(integer()).unique())
            .field("objects", array(object().field("a", integer()).field("b", string())).unique()),
    )
    .unwrap();
    for text in [r#"{"ids":[1,"1"]}"#, r#"{"objects":[{},{"a":null}]}"#] {
        let problems = verdict(&input, text, Strictness::Coerce);
        assert!(problems.contains("got a list with repeats"), "{text} gave {problems}");
    }
    let problems = verdict(&input, r#"{"ids":"[1,1.0]"}"#, Strictness::Coerce);
    assert!(problems.starts_with("- `/ids`: expected a list without repeats"), "{problems}");
    let fine = verdict(&input, r#"{"ids":[1,"2"]}"#, Strictness::Coerce);
    assert_eq!(fine, r#"{"ids":[1,2]} [/ids/1 number]"#);
}

#[test]
fn choices_that_differ_only_by_case_are_not_mended() {
    let input = InputSchema::new(object().field("it", one_of(["Low", "LOW", "high"]))).unwrap();
    let problems = verdict(&input, r#"{"it":"low"}"#, Strictness::Coerce);
    assert!(problems.starts_with("- `/it`: expected one of"), "{problems}");
    let mended = verdict(&input, r#"{"it":"HIGH"}"#, Strictness::Coerce);
    assert_eq!(mended, r#"{"it":"high"} [/it case]"#);
}

#[test]
fn a_choice_in_quotes_is_changed_to_its_kind() {
    let choices = [json!(10), json!(2.5), json!(true), json!("Low")];
    let input = InputSchema::new(object().field("it", one_of(choices))).unwrap();
    for (value, expect) in [
        (r#""10""#, r#"{"it":10} [/it number]"#),
        (r#""2.5""#, r#"{"it":2.5} [/it number]"#),
        (r#""true""#, r#"{"it":true} [/it boolean]"#),
        (r#""low""#, r#"{"it":"Low"} [/it case]"#),
        ("10", r#"{"it":10}"#),
    ] {
        let text = format!(r#"{{"it":{value}}}"#);
        assert_eq!(verdict(&input, &text, Strictness::Coerce), expect, "{text}");
    }
}

/// A value for a list that contains itself could be wrapped for ever.
#[test]
fn wrapping_ends() {
    let list = crate::schema::Schema::new(crate::schema::Shape::Ref("list".to_owned()));
    let definitions = Definitions::from_iter([("list".to_owned(), array(list.clone()).into())]);
    let input = InputSchema::with_definitions(object().field("it", list), definitions).unwrap();
    let problems = verdict(&input, r#"{"it":1}"#, Strictness::Coerce);
    assert!(problems.starts_with("- `/it`: expected a list"), "{problems}");
}

#[test]
fn strict_tools_change_nothing() {
    let input = InputSchema::new(
        object().field("n", integer().required().alias("m")).field("d", integer().default(1)),
    )
    .unwrap();
    let fine = verdict(&input, r#"{"n":3.0}"#, Strictness::Strict);
    assert_eq!(fine, r#"{"n":3,"d":1} [/d default]"#);
    let near = [
        r#"{"n":"3"}"#,
        r#"{"m":3}"#,
        r#"{"n":3,"d":null}"#,
        r#"{"n":3,"d":""}"#,
        r#"{"arguments":{"n":3}}"#,
        r#""{\"n\":3}""#,
        "```\n{\"n\":3}\n```",
        r#"{"n":3,}"#,
        "null",
    ];
    for text in near {
        let problems = verdict(&input, text, Strictness::Strict);
        assert!(problems.starts_with("- "), "{text} gave {problems}");
        let mended = verdict(&input, text, Strictness::Coerce);
        assert_eq!(mended.starts_with("- "), text == "null", "{text} gave {mended}");
    }
}

/// Millions of elements can break a rule; the report lists two dozen and counts the others.
#[test]
fn problems_and_changes_are_counted_and_not_built() {
    let input = InputSchema::new(object().field("ids", array(integer()).required())).unwrap();
    let wrong = format!(r#"{{"ids":[{}]}}"#, ["{}"; 50_000].join(","));
    let problems = input.accept("t", &RawArgs::text(&wrong), Strictness::Coerce).unwrap_err();
    assert_eq!((problems.list.len(), problems.left_out), (24, 50_000 - 24));
    let text = format!(r#"{{"ids":[{}]}}"#, ["\"7\""; 5_000].join(","));
    let accepted = input.accept("t", &RawArgs::text(&text), Strictness::Coerce).unwrap();
    assert_eq!(accepted.args.root().get("ids").unwrap().item(4_999).unwrap().as_i64(), Some(7));
    assert_eq!(accepted.changes.len(), 1025);
    assert_eq!(accepted.changes[1024].kind, ChangeKind::Further(5_000 - 1024));
}

#[test]
fn arguments_with_too_many_near_misses_are_refused() {
    let input = InputSchema::new(object().field("ids", array(integer()).required())).unwrap();
    let text = format!(r#"{{"ids":[{}]}}"#, ["\"7\""; 100_010].join(","));
    let problems = input.accept("t", &RawArgs::text(&text), Strictness::Coerce).unwrap_err();
    assert_eq!(problems.list[0].pointer, "/ids/100000");
}

#[test]
fn a_long_key_is_shortened_in_pointers() {
    let input = InputSchema::new(object().field("m", map(integer()).required())).unwrap();
    let text = format!(r#"{{"m":{{"{}":"x"}}}}"#, "k".repeat(100_000));
    let problems = input.accept("t", &RawArgs::text(&text), Strictness::Coerce).unwrap_err();
    assert!(problems.list[0].pointer.len() < 200, "{}", problems.list[0].pointer.len());
}

/// The definition does not say that `null` is allowed, and the field that refers to it does.
#[test]
fn null_as_text_is_coerced_for_references_too() {
    let mut definitions = Definitions::new();
    definitions.insert("node".to_owned(), object().field("name", string().required()).into());
    let node = crate::schema::Schema::new(crate::schema::Shape::Ref("node".to_owned())).or_null();
    let root = object().field("node", crate::schema::Field::required(node));
    let input = InputSchema::with_definitions(root, definitions).unwrap();
    let got = verdict(&input, r#"{"node":"null"}"#, Strictness::Coerce);
    assert_eq!(got, r#"{"node":null} [/node null]"#);
}

#[test]
fn a_default_gets_the_defaults_inside_of_it() {
    let inner = object().field("depth", integer().default(3));
    let input = InputSchema::new(object().field("options", inner.default(json!({})))).unwrap();
    assert_eq!(
        verdict(&input, "{}", Strictness::Coerce),
        r#"{"options":{"depth":3}} [/options default]"#
    );
}
