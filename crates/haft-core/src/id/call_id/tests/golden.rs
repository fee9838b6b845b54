//! Ids computed by another implementation: ECMAScript's own `JSON.stringify` and SHA-256.

use super::CallId;
use crate::json::{Document, canonical_text};

/// Hash, tool, arguments as sent, arguments in canonical form.
const VECTORS: [(&str, &str, &str, &str); 26] = [
    (
        "e0b6feaa14a993179f474568e2c0a63075752fe3a8bc629bc0cd1442a002448e",
        "search",
        r#"{"query":"hello"}"#,
        r#"{"query":"hello"}"#,
    ),
    (
        "1984103e16c9ca27ecb7e2e9addab46409e82e05ab54dd5407c9cd4183934f84",
        "search",
        r#"{"query":"world"}"#,
        r#"{"query":"world"}"#,
    ),
    (
        "e3c77b082bd53c359702567ebea280be7cda1092494c1ffcb483692e558f0cb5",
        "search",
        r#"{"b":"2","a":"1"}"#,
        r#"{"a":"1","b":"2"}"#,
    ),
    (
        "27f74e58d6373f9705353248834f401996a6f1da94a7d849dc7c6f3a36e9c16f",
        "artifact_byte_length",
        r#"{}"#,
        r#"{}"#,
    ),
    (
        "5cc9c7f19f093cbbd9b0d53656a8ab314b41de240fe5079f0195d8de34ca3b5f",
        "t",
        r#"{"z":[3,1,2],"m":1.50,"a":{"y":null,"x":true}}"#,
        r#"{"a":{"x":true,"y":null},"m":1.5,"z":[3,1,2]}"#,
    ),
    // The reference rounds `h` to a double (4b6bea8c…); here integers keep their digits.
    (
        "8a9f714d3b86708729d0750e090b82d5676d64c12da8bc42f949ee3914d56e0e",
        "t",
        r#"{"a":1.0,"b":-0,"c":1e21,"d":1e-7,"e":123456789012345680000,"f":0.1,"g":100,"h":9007199254740993}"#,
        r#"{"a":1,"b":0,"c":1e+21,"d":1e-7,"e":123456789012345680000,"f":0.1,"g":100,"h":9007199254740993}"#,
    ),
    (
        "abba9a8a814565b3ec050d114ed491731b3a69e686e4d8e4385c27dda15a7b4c",
        "t",
        r#"{"～":1,"😀":2,"a":3,"Z":4,"10":5,"9":6,"":7}"#,
        r#"{"":7,"10":5,"9":6,"Z":4,"a":3,"😀":2,"～":1}"#,
    ),
    (
        "98261b0fe6ab7ada8aa9f02d682da65afff276bc13807eb9304cee7f46277f57",
        "t",
        r#"{"city":"Zürich","emoji":"😀"}"#,
        r#"{"city":"Zürich","emoji":"😀"}"#,
    ),
    (
        "b661b932448cfb810d54e1d5b9f123341d2c7ad2157945f324e135729395f00f",
        "t",
        r#"{"s":"q\"b\\s\/\b\f\n\r\t\u0001\u001f\u007f\u2028\u00e9"}"#,
        "{\"s\":\"q\\\"b\\\\s/\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\u{2028}é\"}",
    ),
    (
        "ba8075d61fa9a60d8b504b7fcec9a91adfad0e874c1855362f45934e19646342",
        "get_weather",
        r#"{"city":"Paris"}"#,
        r#"{"city":"Paris"}"#,
    ),
    (
        "242a9bd4bbdc2d41271fa8487cbb3e292cefadc0348cdb2e06933fb957a1c719",
        "get_weather",
        r#"{"city":"Paris","units":"celsius"}"#,
        r#"{"city":"Paris","units":"celsius"}"#,
    ),
    ("a9c1b56f2d5711641e3a95a211412b31f9042cd471d093fc67e268e679fd0f45", "t", r#"{}"#, r#"{}"#),
    ("4904991760320a269cba50a97423cc75579f95db9aeed38420efb5757e1c7596", "t", r#"[]"#, r#"[]"#),
    ("7f3f42ddee5c9f40d7edf3dcdd8345ae653dc73dff61404c92932c0e7541c9fa", "t", r#"null"#, r#"null"#),
    (
        "609258d2612ce97c9ea5c927da2b5f86c2590d1bc762f99e351f45cf84d85fae",
        "artifact_head",
        r#"{"callId":"tc-1","n":5}"#,
        r#"{"callId":"tc-1","n":5}"#,
    ),
    (
        "30f4709db0a97b4c7d877eeb0e3df0d870fa7b2836b1dfed3cbaed12187bcec1",
        "artifact_head",
        r#"{"callId":"tc-1"}"#,
        r#"{"callId":"tc-1"}"#,
    ),
    (
        "c7933c665e6b8c80096a0226cc5bd9bc363598c436a7542609932874297135aa",
        "artifact_head",
        r#"{"callId":"tc-1","n":10}"#,
        r#"{"callId":"tc-1","n":10}"#,
    ),
    (
        "76e973b5d4bca13347121390ac97f0202e2f5a9fd54e3224141607e42d241228",
        "artifact_grep",
        r#"{"pattern":"error|warn","flags":"i","callId":"tc-1"}"#,
        r#"{"callId":"tc-1","flags":"i","pattern":"error|warn"}"#,
    ),
    (
        "68dcba1a24aec2225f6b54c9ce3bee7028368d5ac8c85821ef9fdfd40f26c29a",
        "artifact_json_get",
        r#"{"callId":"tc-1","path":"$..name"}"#,
        r#"{"callId":"tc-1","path":"$..name"}"#,
    ),
    (
        "8537b7d6f4aea8d94c8bdb65b8c4cf5190a9d4bf570432efdd4c47b26ec2256d",
        "t",
        r#"{"n":1.0}"#,
        r#"{"n":1}"#,
    ),
    (
        "ac19f1d7461e4b788ea98319732a813f567da8cbdee9ce269fb91da646a227f4",
        "t",
        r#"{"n":9007199254740992}"#,
        r#"{"n":9007199254740992}"#,
    ),
    (
        "26c24e919168805eb211640f4d1a50256545061a659bf668f4a7668704991ce8",
        "t",
        r#"{"n":9007199254740993}"#,
        r#"{"n":9007199254740993}"#,
    ),
    (
        "d340dd8dbd3d18ea0122220ad4cf63b4994ec61f9dbb3f6ef77749a56649d367",
        "t",
        r#"{"n":1e-6}"#,
        r#"{"n":0.000001}"#,
    ),
    (
        "bbfe8ab4a63762d807f26f054c3e3a71edbf07a79a791adf4a2a3046abaaa4c0",
        "t",
        r#"{"n":0.0000001}"#,
        r#"{"n":1e-7}"#,
    ),
    (
        "82a8d59ec01d1a0e2d6b26d992c72b9c3b15421989c6ae56a46f1af48cc50c32",
        "t",
        r#"{"n":1e21}"#,
        r#"{"n":1e+21}"#,
    ),
    (
        "7e6870d90831add4e004f5a144cddef8e8d7fa8ba564108242f2c7b30c8a5269",
        "t",
        r#"{"n":1e20}"#,
        r#"{"n":100000000000000000000}"#,
    ),
];

#[test]
fn ids_are_those_of_the_reference() {
    for (hash, tool, args, canonical) in VECTORS {
        let doc = Document::parse(args).unwrap();
        assert_eq!(canonical_text(doc.root()), canonical);
        assert_eq!(CallId::of(tool, doc.root()).to_string(), hash, "{args}");
        // The canonical form names the same call.
        let again = Document::parse(canonical).unwrap();
        assert_eq!(CallId::of(tool, again.root()).to_string(), hash, "{canonical}");
    }
}

#[test]
fn arguments_that_are_not_json_count_as_a_string() {
    let id = CallId::of_text("t", r#"{"a":1}"#);
    assert_eq!(id.to_string(), "81b7460f9d1e9d648db1f94c7963e5637536f4f2f995f24fa1bbeeca8329829c");
    let string = Document::parse(r#""{\"a\":1}""#).unwrap();
    assert_eq!(CallId::of("t", string.root()), id);
}
