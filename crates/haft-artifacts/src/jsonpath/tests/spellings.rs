use super::{doc, found, parse_path};

const STORE: &str = r#"{"store": {
    "book": [
        {"t": "A", "p": 5, "isbn": "x", "tags": ["a", "b", "c"]},
        {"t": "B", "p": 15, "tags": []},
        {"t": "C", "p": 25, "length": 7}
    ],
    "bicycle": {"p": 19, "frame-size": 3}
}}"#;

#[track_caller]
fn check(document: &str, text: &str, expected: &str) {
    assert_eq!(found(&parse_path(text), &doc(document)), expected, "{text}");
}

/// The spelling means the same as the other one, which is plain RFC 9535.
#[track_caller]
fn means(spelling: &str, plain: &str) {
    let parsed = parse_path(spelling);
    assert_eq!(parsed.to_string(), plain, "{spelling}");
    assert_eq!(parse_path(plain), parsed, "{spelling}");
}

#[test]
fn worked_examples_of_queries() {
    let alice = r#"{"name":"alice","age":30,"tags":["dev","admin"]}"#;
    check(alice, "$.name", r#"["alice"]"#);
    check(alice, "$.age", "[30]");
    check(alice, "$.tags", r#"[["dev","admin"]]"#);
    check(alice, "$.tags[*]", r#"["dev","admin"]"#);
    check(alice, "$.missing", "[]");
    check(alice, "name", r#"["alice"]"#);
    check("[1,2,3,4,5]", "$[*]", "[1,2,3,4,5]");
    for spelling in ["$[?(@ > 3)]", "$[?(@>3)]", "$[?@>3]", "$[?3<@]", "$[?(3 < @)]"] {
        check("[1,2,3,4,5]", spelling, "[4,5]");
    }
    check(r#"{"id":2,"role":"admin"}"#, "$[?(@.role==\"admin\")]", "[]");
}

#[test]
fn worked_examples_of_the_path_language() {
    check(STORE, "$..p", "[5,15,25,19]");
    check(STORE, "$.store.book[?(@.p>10)].t", r#"["B","C"]"#);
    check(STORE, "$.store.book[?@.p>10].t", r#"["B","C"]"#);
    check(STORE, "$.store.book[::2].t", r#"["A","C"]"#);
    check(STORE, "$.store.book[0,2].t", r#"["A","C"]"#);
    check(STORE, "$.store.book[-1:].t", r#"["C"]"#);
    check(STORE, "$.store.book[-1].t", r#"["C"]"#);
    check(STORE, "$.store['book'][\"0\",1].t", r#"["B"]"#);
    check(r#"{"age":30}"#, "$[?(@.age>18)]", "[]");
    check(r#"{"x":{"age":30}}"#, "$[?(@.age>18)]", r#"[{"age":30}]"#);
    check(r#"{"a":0,"b":null,"c":false}"#, "$['a','b','c']", "[0,null,false]");
    for scalar in ["null", "0", "false", "\"\"", "5"] {
        check(scalar, "$", &format!("[{scalar}]"));
        check(scalar, "$.a", "[]");
    }
}

#[test]
fn spellings_of_other_dialects() {
    means("store.book[0]", "$.store.book[0]");
    means(".store", "$.store");
    means("..p", "$..p");
    means("[0]", "$[0]");
    means("*", "$[*]");
    means(" \n$.a\t", "$.a");
    means("$.content-type.x-1", "$['content-type']['x-1']");
    means("$[?@.a===1 || @.a !== 2]", "$[?@.a == 1 || @.a != 2]");
    means("$[?(@.s =~ /^a\\/[/]\\d/gi)]", "$[?search(@.s, '(?i)^a/[/]\\\\d')]");
    means("$[?@.s=~/x/]", "$[?search(@.s, 'x')]");
    means("$[?(/act/.test(@.s))]", "$[?search(@.s, 'act')]");
    means("$[?!/act/im.test( @['s'] ) && @.b]", "$[?!search(@.s, '(?im)act') && @.b]");
    means("$[(@.length-1)]", "$[-1]");
    means("$.a[( @.length - 2 )].b", "$.a[-2].b");
}

#[test]
fn spellings_select_what_they_say() {
    check(STORE, "store.book[(@.length-1)].t", r#"["C"]"#);
    check(STORE, "$.store.bicycle.frame-size", "[3]");
    check(STORE, "$..book[?/^[ab]$/i.test(@.t)].p", "[5,15]");
    check(STORE, "$..book[?@.t =~ /^[ab]$/].p", "[]");
}

#[test]
fn a_length_that_is_no_member_is_the_length() {
    check(STORE, "$..book[?(@.tags.length > 1)].t", r#"["A"]"#);
    check(STORE, "$..book[?@.tags.length == 0].t", r#"["B"]"#);
    check(STORE, "$..book[?@.t.length == 1].t", r#"["A","B","C"]"#);
    check(STORE, "$..book[?@.length == 7].t", r#"["C"]"#);
    check(STORE, "$.store[?@.length == 3][0].t", r#"["A"]"#);
    check(STORE, "$.store[?@.length > 0].p", "[]");
    let quoted = parse_path("$[?@.tags['length'] > 2]");
    assert_eq!(quoted.to_string(), "$[?@.tags.length > 2]");
    assert_eq!(parse_path(&quoted.to_string()), quoted);
}

#[test]
fn a_filter_asks_for_existence() {
    check(
        r#"[{"a":false},{"a":null},{"a":0},{"b":1}]"#,
        "$[?(@.a)]",
        r#"[{"a":false},{"a":null},{"a":0}]"#,
    );
}
