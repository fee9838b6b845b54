//! Formats whose calls are something else.

use serde_json::json;

use super::{TextCallFormat, check, declines};

#[test]
fn qwen3_coder() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value, rest: &str) {
        check(TextCallFormat::Qwen3Coder, text, expect, rest);
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::Qwen3Coder, text);
    }
    good(
        "Go.\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\nDone.",
        json!([["weather", { "city": "Paris", "days": "3" }]]),
        "Go.\n\nDone.",
    );
    good(
        "<tool_call><function=a></function></tool_call><tool_call><function=b><parameter=x></parameter></function></tool_call>",
        json!([["a", {}], ["b", { "x": "" }]]),
        "",
    );
    // A value is text, whatever is in it.
    let value = "\"a\" <b> </function>\n```\n<tool_call><function=c>\n```\n{[";
    good(
        &format!("<tool_call><function=a><parameter=x>{value}</parameter></function></tool_call>"),
        json!([["a", { "x": value }]]),
        "",
    );
    let call = "<tool_call><function=a></function></tool_call>";
    for bad in [
        "<tool_call><function=",
        "<tool_call><function=x><parameter=y>",
        "<tool_call>{}</tool_call>",
    ] {
        good(&format!("{bad}\n{call}"), json!([["a", {}]]), bad);
    }
    // The first candidate fails behind a value which the second one is a part of.
    bad(
        "<tool_call><function=a><parameter=x><tool_call><function=b><parameter=y></parameter></function>",
    );
    bad("<tool_call><function=a><parameter=x>1</parameter></function>");
    bad("<tool_call><function=a><parameter=x>1</function></tool_call>");
    bad("<tool_call><function=a>text</function></tool_call>");
    bad("<tool_call><function=></function></tool_call>");
    bad("<tool_call><Function=a></Function></tool_call>");
    bad("<function=a></function>");
}

#[test]
fn pythonic() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value) {
        check(TextCallFormat::Pythonic, text, expect, "");
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::Pythonic, text);
    }
    good("[f(a=1), g()]", json!([["f", { "a": 1 }], ["g", {}]]));
    good(
        "\n[search.web( q = \"a\" , n=-2.5e3, ok=True, no = False, z=None, l=['x', [1, 2,], (3,)], d={'k': {}},),]\n",
        json!([["search.web", {
            "q": "a", "n": -2500, "ok": true, "no": false, "z": null, "l": ["x", [1, 2], [3]], "d": { "k": {} },
        }]]),
    );
    good(
        "[f(a=“it's”, b=‘\"x\"’, c='it\\'s', d=\"\\n\\x41\\u00e9\\d\\u12\", e='),g()]')]",
        json!([["f", {
            "a": "it's", "b": "\"x\"", "c": "it's", "d": "\nAé\\d\\u12", "e": "),g()]",
        }]]),
    );
    good("[f(a=1_000, b=.5, c=5., d=+3)]", json!([["f", { "a": 1000, "b": 0.5, "c": 5, "d": 3 }]]));
    good("```python\n[f(a=1)]\n```", json!([["f", { "a": 1 }]]));
    bad("[]");
    bad("[f(a=1)");
    bad("[f(a=1]");
    bad("[f(1)]");
    bad("[f(a)]");
    bad("[f(a=b)]");
    bad("[f(a=g())]");
    bad("[f(a='x)]");
    bad("[f(a=007)]");
    bad("[f(a=1e999)]");
    bad("[f(a=true_)]");
    bad("[f(a=1) g()]");
    bad("[f(a=1)] done");
    bad("So: [f(a=1)]");
    bad("[1(a=1)]");
    bad("f(a=1)");
    bad("[f]");
}

#[test]
fn bare_pythonic() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value, rest: &str) {
        check(TextCallFormat::BarePythonic, text, expect, rest);
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::BarePythonic, text);
    }
    good("weather(city='Paris')", json!([["weather", { "city": "Paris" }]]), "");
    good(
        "I will use weather(city=\"a\", days=2) and\nsearch.web(q=')') now.",
        json!([["weather", { "city": "a", "days": 2 }], ["search.web", { "q": ")" }]]),
        "I will use  and\n now.",
    );
    good(
        "weather(city=\"weather(days=1)\")",
        json!([["weather", { "city": "weather(days=1)" }]]),
        "",
    );
    good("weather(weather(days=1)", json!([["weather", { "days": 1 }]]), "weather(");
    good("list_files()", json!([["list_files", {}]]), "");
    bad("forecast(city='Paris')");
    bad("my_weather(city='Paris')");
    bad("api.weather(city='Paris')");
    bad("weathers(city='Paris')");
    bad("weather (city='Paris')");
    bad("Weather(city='Paris')");
    bad("weather('Paris')");
    bad("weather(city='Paris'");
    bad("weather(city=");
    bad("\"weather(city='Paris')\"");
    bad("See weather(3) in the manual.");
}

#[test]
fn loose_keyed() {
    #[track_caller]
    fn good(text: &str, expect: serde_json::Value) {
        check(TextCallFormat::LooseKeyed, text, expect, "");
    }
    #[track_caller]
    fn bad(text: &str) {
        declines(TextCallFormat::LooseKeyed, text);
    }
    good("weather\ncity: Paris", json!([["weather", { "city": "Paris" }]]));
    good(
        "\n\n  search.web \n\nq: a: b, \"c\"\nn: 3\nflag: true\nzip: 01234\nids: [1, 2]\nquoted: \"x\"\nempty:\n\n",
        json!([["search.web", {
            "q": "a: b, \"c\"", "n": 3, "flag": true, "zip": "01234", "ids": [1, 2], "quoted": "x", "empty": "",
        }]]),
    );
    good("```\nweather\ncity: Paris\n```", json!([["weather", { "city": "Paris" }]]));
    bad("weather");
    bad("weather\n\n");
    bad("forecast\ncity: Paris");
    bad("Weather\ncity: Paris");
    bad("weather:\ncity: Paris");
    bad("weather city: Paris");
    bad("Sure.\nweather\ncity: Paris");
    bad("weather\nit rains: often");
    bad("weather\ncity: Paris\nThat is the call.");
    bad("weather\n: Paris");
}
