use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Address, Arguments, Query, filled};

fn args() -> Arguments {
    toml::from_str("a.required = true\nb.type = 'list'\nc = {}").unwrap()
}

fn fill(url: &str, value: Value) -> String {
    match Address::parse(url, &args()).unwrap().fill(&json!({"a": value})) {
        Ok(url) => url,
        Err(failure) => format!("failed: {failure}"),
    }
}

#[test]
fn a_value_stays_one_part_of_the_path() {
    assert_eq!(fill("https://h/x/{a}/y", json!("b c?d#e&f")), "https://h/x/b%20c%3Fd%23e%26f/y");
    assert_eq!(fill("https://h/{a}.json", json!(7)), "https://h/7.json");
    assert_eq!(fill("https://h/{a}", json!("ü%2e:@[]")), "https://h/%C3%BC%252e%3A%40%5B%5D");
    assert_eq!(fill("https://H:443/{a}", json!("x")), "https://h/x");
    for hostile in ["..", ".", "", "a/b", "..\\x", "a\nb", "\0"] {
        let failed = fill("https://h/x/{a}/y", json!(hostile));
        assert!(failed.starts_with("failed: "), "{hostile:?}: {failed}");
    }
    assert!(fill("https://h/.{a}", json!(".")).starts_with("failed: "));
    assert!(fill("https://h/%2e{a}", json!(".")).starts_with("failed: "));
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
        assert!(Address::parse(url, &args()).is_err(), "{url}");
    }
    for (url, origin, host) in [
        ("https://h:8443/{a}", "https://h:8443", "h"),
        ("http://h:80/", "http://h", "h"),
        ("http://[::1]:8080/", "http://[::1]:8080", "[::1]"),
        ("http://[::1]/", "http://[::1]", "[::1]"),
    ] {
        let address = Address::parse(url, &args()).unwrap();
        assert_eq!((address.origin(), address.host()), (origin, host), "{url}");
    }
}

#[test]
fn queries_and_bodies() {
    let query: BTreeMap<String, String> =
        toml::from_str("q = '{a}'\nlist = '{b}'\nrest = 'x{c}'\nfixed = '1'").unwrap();
    let query = Query::parse(&query, &args()).unwrap();
    let fill = |value: Value| query.fill(&value);
    assert_eq!(fill(json!({"a": "x&y=z"})), "?fixed=1&q=x%26y%3Dz");
    assert_eq!(
        fill(json!({"a": 1, "b": ["1", "2&"], "c": true})),
        "?fixed=1&list=1&list=2%26&q=1&rest=xtrue"
    );
    let body = json!({"n": "{a}", "t": "n is {a}", "in": ["{b}", null], "gone": "{c}"});
    assert_eq!(
        filled(&body, &json!({"a": {"x": "{b}"}, "b": ["1"]})),
        json!({"n": {"x": "{b}"}, "t": "n is {\"x\":\"{b}\"}", "in": [["1"], null]})
    );
}
