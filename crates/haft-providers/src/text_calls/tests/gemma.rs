//! The format that repairs.

use serde_json::json;

use super::{OFFERED, TextCallFormat, declines};

#[track_caller]
fn good(text: &str, expect: serde_json::Value, rest: &str) {
    super::check(TextCallFormat::Gemma, text, expect, rest);
}

#[track_caller]
fn bad(text: &str) {
    declines(TextCallFormat::Gemma, text);
}

/// The arguments between braces.
#[track_caller]
fn body(text: &str, expect: impl Into<serde_json::Value>) {
    let expect = expect.into();
    good(&format!("call:f{{{text}}}"), json!([["f", expect]]), "");
    good(&format!("<|tool_call>call:f{{{text}}}<tool_call|>"), json!([["f", expect]]), "");
}

#[test]
fn forms_are_tried_in_order() {
    good("<|tool_call>call:a{x:1}<tool_call|> b", json!([["a", { "x": 1 }]]), "b");
    good(
        "<|tool_call>call:a{x:1}<tool_call|><|tool_call>call:b{}<tool_call|>",
        json!([["a", { "x": 1 }], ["b", {}]]),
        "",
    );
    good("<|tool_call>call:a{}call:b{y:2}<tool_call|>", json!([["a", {}], ["b", { "y": 2 }]]), "");
    good("call:c{} <|tool_call>call:a{}<tool_call|>", json!([["a", {}]]), "call:c{}");
    good("Now call:a{x:1}, call:b{}.", json!([["a", { "x": 1 }], ["b", {}]]), "Now , .");
    good("weather{x:1} call:a{}", json!([["a", {}]]), "weather{x:1}");
    good("Now weather{city:Paris}", json!([["weather", { "city": "Paris" }]]), "Now");
    bad("forecast{city:Paris}");
    bad("Weather{city:Paris}");
    bad("my-weather{city:Paris}");
    bad("\"weather{city:Paris}\"");
    bad("recall:a{x:1}");
    bad("\"call:a{x:1}\"");
    bad("CALL:a{x:1}");
    bad("<|TOOL_CALL>Call:a{x:1}");
    bad("call:a(x=1)");
    bad("call:{x:1}");
    bad("<|tool_call>");
}

#[test]
fn values_of_every_kind() {
    body("", json!({}));
    body(
        "a:1,b:-2.5,c:true,d:null,e:False,f:None",
        json!({"a":1,"b":-2.5,"c":true,"d":null,"e":false,"f":null}),
    );
    body("city:Paris", json!({ "city": "Paris" }));
    body("city:Paris, France,days:2", json!({ "city": "Paris, France", "days": 2 }));
    body(
        r#""city": "Paris", "n": [1, 2, {"x": []}]"#,
        json!({ "city": "Paris", "n": [1, 2, { "x": [] }] }),
    );
    body("l:[a,b c,3]", json!({ "l": ["a", "b c", 3] }));
    body("o:{a:{b:1}},p:2", json!({ "o": { "a": { "b": 1 } }, "p": 2 }));
    body("o{a:1} p[1]", json!({ "o": { "a": 1 }, "p": [1] }));
    body("a=1,b = x", json!({ "a": 1, "b": "x" }));
    // Only whole numbers are numbers.
    body(
        "id:12345678-1234-1234-1234-123456789abc",
        json!({ "id": "12345678-1234-1234-1234-123456789abc" }),
    );
    body(
        "zip:01234,v:1.2.3,d:2024-01-02",
        json!({ "zip": "01234", "v": "1.2.3", "d": "2024-01-02" }),
    );
    body("url:http://a.b/c?d=e", json!({ "url": "http://a.b/c?d=e" }));
}

#[test]
fn quotes_of_every_kind() {
    body(r#"a:<|"|>x, "y" } z<|"|>,b:<|"|><|"|>"#, json!({ "a": "x, \"y\" } z", "b": "" }));
    body(r#"<|"|>a<|"|>:<|"|>x<|"|>"#, json!({ "a": "x" }));
    body(
        r#"a:<|"|>"x"<|"|>,b:"""y""",c:"",d:""z"""#,
        json!({ "a": "x", "b": "y", "c": "", "d": "z" }),
    );
    body("a:“x”,b:‘y’,c:'it's'", json!({ "a": "x", "b": "y", "c": "it's" }));
    body(r#"a:"say "hi" now",b:1"#, json!({ "a": "say \"hi\" now", "b": 1 }));
    body(r#"a:"\"\n\\\u00e9\ud83d\ude00\d""#, json!({ "a": "\"\n\\é😀\\d" }));
    body(r#"a:"x" b:"y""#, json!({ "a": "x", "b": "y" }));
    body(r#"a:"call:g{x:1}<tool_call|>""#, json!({ "a": "call:g{x:1}<tool_call|>" }));
    body(r#"a:<|"|>c:\dir\new<|"|>"#, json!({ "a": r"c:\dir\new" }));
}

#[test]
fn what_is_missing_is_added() {
    #[track_caller]
    fn mended(text: &str, expect: serde_json::Value, rest: &str, is_cut_off: bool) {
        let parsed = TextCallFormat::Gemma.parse(text, OFFERED);
        assert_eq!((super::calls(&parsed), parsed.text.as_str()), (expect, rest), "{text}");
        assert_eq!(parsed.calls.last().unwrap().is_cut_off, is_cut_off, "{text}");
    }
    let x = |value| json!([["f", { "x": value }]]);
    mended("<|tool_call>call:f{x:1} ok", x(json!(1)), "ok", false);
    mended("<|tool_call>call:f{x:1<tool_call|> ok", x(json!(1)), "ok", false);
    mended("<|tool_call>call:f{x:{y:[1<tool_call|> ok", x(json!({ "y": [1] })), "ok", false);
    mended("<|tool_call>call:f{x:<|\"|>a<tool_call|> ok", x(json!("a")), "ok", false);
    mended("<|tool_call>call:f{x:\"a}<tool_call|> ok", x(json!("a")), "ok", false);
    mended("call:f{x:[1,2},", x(json!([1, 2])), ",", false);
    mended("call:f{x:1", x(json!(1)), "", true);
    mended("call:f{x:[1, {y:2", x(json!([1, { "y": 2 }])), "", true);
    mended("call:f{x:\"Par", x(json!("Par")), "", true);
    mended("call:f{x:1,y", x(json!(1)), "", true);
    mended("call:f{x:1,y:", x(json!(1)), "", true);
    mended("call:f{x:1,", x(json!(1)), "", true);
    mended("<|tool_call>call:f{x:<|\"|>Par", x(json!("Par")), "", true);
    mended("<|tool_call>call:g{}call:f{x:1", json!([["g", {}], ["f", { "x": 1 }]]), "", true);
    // Nothing is known but a name.
    bad("call:f{");
    bad("call:f{x");
    bad("call:f{x:");
    bad("call:f");
    // This is prose.
    bad("Write call:f{ and then the arguments.");
    bad("call:f{hello world}");
    good("call:f{ or call:g{x:1}", json!([["g", { "x": 1 }]]), "call:f{ or");
}
