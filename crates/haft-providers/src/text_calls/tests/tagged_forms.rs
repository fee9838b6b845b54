//! Calls whose parts have tags of their own.

use serde_json::json;

use super::{check, declines};

#[test]
fn qwen3_coder() {
    check(
        "Go.\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\nDone.",
        json!([["weather", { "city": "Paris", "days": "3" }]]),
        "Go.\n\nDone.",
    );
    check(
        "<tool_call><function=a></function></tool_call><tool_call><function=b><parameter=x></parameter></function></tool_call>",
        json!([["a", {}], ["b", { "x": "" }]]),
        "",
    );
    // A value is text, whatever is in it.
    let value = "\"a\" <b> </function>\n```\n<tool_call><function=c>\n```\n{[";
    check(
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
        check(&format!("{bad}\n{call}"), json!([["a", {}]]), bad);
    }
    // The first candidate fails behind a value which the second one is a part of.
    declines(
        "<tool_call><function=a><parameter=x><tool_call><function=b><parameter=y></parameter></function>",
    );
    declines("<tool_call><function=a><parameter=x>1</parameter></function>");
    declines("<tool_call><function=a><parameter=x>1</function></tool_call>");
    declines("<tool_call><function=a>text</function></tool_call>");
    declines("<tool_call><function=></function></tool_call>");
    declines("<tool_call><Function=a></Function></tool_call>");
    declines("<function=a></function>");
}

#[test]
fn kimi_k2() {
    check(
        "I will look.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|><|tool_calls_section_end|>",
        json!([["weather", { "city": "Paris" }]]),
        "I will look.",
    );
    let section = |inner: &str| {
        let inner = inner.replace("(", "<|tool_call_begin|>");
        let inner = inner.replace('@', "<|tool_call_argument_begin|>");
        let inner = inner.replace(')', "<|tool_call_end|>");
        format!("<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>")
    };
    check(
        &section(" ( functions.a:0 @ {} ) (b:12@{\"x\":\"<|tool_call_end|>\"})\n"),
        json!([["a", {}], ["b", { "x": "<|tool_call_end|>" }]]),
        "",
    );
    check(&section("(functions.search.web:3@{})"), json!([["search.web", {}]]), "");
    declines(&section(""));
    declines(&section("(functions.a:0@{})text"));
    declines(&section("(functions.a@{})"));
    declines(&section("(functions.a:x@{})"));
    declines(&section("(functions.:0@{})"));
    declines(&section("(functions.a:0@[])"));
    declines(&section("(functions.a:0@{\"x\":1)"));
    declines(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    );
    declines("<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>");
}

#[test]
fn deepseek() {
    check(
        "Searching.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"search.web\">\n<｜DSML｜parameter name=\"query\" string=\"true\">3 \"a\" </b></｜DSML｜parameter>\n<｜DSML｜parameter name=\"top\" string=\"false\">10</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"list\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        json!([["search.web", { "query": "3 \"a\" </b>", "top": 10 }], ["list", {}]]),
        "Searching.",
    );
    let block = |inner: &str| {
        let inner = inner.replace('<', "<｜DSML｜").replace("<｜DSML｜/", "</｜DSML｜");
        format!("<｜DSML｜tool_calls>{inner}</｜DSML｜tool_calls>")
    };
    check(
        &block(
            "<invoke name=\"f\"><parameter name=\"a\" string=\"false\">{\"b\": [true, null]}</parameter><parameter name=\"c\" string=\"true\"> 1 </parameter></invoke>",
        ),
        json!([["f", { "a": { "b": [true, null] }, "c": " 1 " }]]),
        "",
    );
    // A value that should be JSON and is not.
    check(
        &block(
            "<invoke name=\"f\"><parameter name=\"a\" string=\"false\">next week</parameter></invoke>",
        ),
        json!([["f", { "a": "next week" }]]),
        "",
    );
    declines(&block(""));
    declines(&block("text"));
    declines(&block("<invoke name=\"\"></invoke>"));
    declines(&block("<invoke name=\"f\">text</invoke>"));
    declines(&block("<invoke name=\"f\"><parameter name=\"a\">1</parameter></invoke>"));
    declines(&block(
        "<invoke name=\"f\"><parameter name=\"a\" string=\"maybe\">1</parameter></invoke>",
    ));
    declines("<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"></｜DSML｜invoke>");
    declines("<｜DSML｜invoke name=\"f\"></｜DSML｜invoke>");
}
