use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Arguments, QueryTemplate, UrlTemplate, expand_body};

fn args() -> Arguments {
    toml::from_str("a.required = true\nb.type = 'list'\nc = {}").unwrap()
}

fn expand(url: &str, value: impl Into<Value>) -> String {
    match UrlTemplate::parse(url, &args()).unwrap().expand(&json!({"a": value.into()})) {
        Ok(url) => url,
        Err(failure) => format!("failed: {failure}"),
    }
}

#[test]
fn a_value_stays_one_part_of_the_path() {
    assert_eq!(expand("https://h/x/{a}/y", "b c?d#e&f"), "https://h/x/b%20c%3Fd%23e%26f/y");
    assert_eq!(expand("https://h/{a}.json", 7), "https://h/7.json");
    assert_eq!(expand("https://h/{a}", "ü%2e:@[]"), "https://h/%C3%BC%252e%3A%40%5B%5D");
    assert_eq!(expand("https://H:443/{a}", "x"), "https://h/x");
    for hostile in ["..", ".", "", "a/b", "..\\x", "a\nb", "\0"] {
        let failed = expand("https://h/x/{a}/y", hostile);
        assert!(failed.starts_with("failed: "), "{hostile:?}: {failed}");
    }
    assert!(expand("https://h/.{a}", ".").starts_with("failed: "));
    assert!(expand("https://h/%2e{a}", ".").starts_with("failed: "));
}

#[test]
fn the_origin_is_fixed() {
    for url in [
        "{a}://h/",
        "https://{a}/",
        "https://h{a}/",
        "https://h:{a}/",
        "https://u:p@h/",
        "https://{a}@h/",
        "https:///x",
        "https://",
        "ftp://h/",
        "//h/",
        "https://h?{a}",
        "https://h/?x={a}",
        "https://h/#{a}",
        "https://h/{b}",
        "https://h/{c}",
        "https://h/{d}",
        "https://h/{a",
        "https://h\\@x/{a}",
    ] {
        assert!(UrlTemplate::parse(url, &args()).is_err(), "{url}");
    }
    for (url, origin, host) in [
        ("https://h:8443/{a}", "https://h:8443", "h"),
        ("http://h:80/", "http://h", "h"),
        ("http://[::1]:8080/", "http://[::1]:8080", "[::1]"),
        ("http://[::1]/", "http://[::1]", "[::1]"),
    ] {
        let template = UrlTemplate::parse(url, &args()).unwrap();
        assert_eq!((template.origin(), template.host()), (origin, host), "{url}");
    }
}

#[test]
fn queries_and_bodies() {
    let query: BTreeMap<String, String> =
        toml::from_str("q = '{a}'\nlist = '{b}'\nrest = 'x{c}'\nfixed = '1'").unwrap();
    let query = QueryTemplate::parse(&query, &args()).unwrap();
    let expand = |value: Value| query.expand(&value);
    assert_eq!(expand(json!({"a": "x&y=z"})), "?fixed=1&q=x%26y%3Dz");
    assert_eq!(
        expand(json!({"a": 1, "b": ["1", "2&"], "c": true})),
        "?fixed=1&list=1&list=2%26&q=1&rest=xtrue"
    );
    let body = json!({"n": "{a}", "t": "n is {a}", "in": ["{b}", null], "gone": "{c}"});
    assert_eq!(
        expand_body(&body, &json!({"a": {"x": "{b}"}, "b": ["1"]})),
        json!({"n": {"x": "{b}"}, "t": "n is {\"x\":\"{b}\"}", "in": [["1"], null]})
    );
}
