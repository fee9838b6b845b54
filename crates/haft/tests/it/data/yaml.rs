//! Documents of YAML.

use haft::artifacts::QueryOutput;
use haft::artifacts::yaml::{YamlError, YamlStreamKind, YamlView};

use super::{WINDOWS, all, compact, reader, remote, run};

/// What a query answers, whatever is read at once.
#[track_caller]
fn check<F>(text: &str, query: impl Fn(YamlView) -> F, expected: &str)
where
    F: Future<Output = Result<QueryOutput, YamlError>>,
{
    for window in WINDOWS {
        for reader in [reader(text.as_bytes()), remote(text.as_bytes())] {
            let view = YamlView::new(reader).budget(all()).window_bytes(window);
            let answer = match run(query(view)) {
                Ok(answer) => compact(answer.as_str()),
                Err(error) => error.to_string(),
            };
            assert_eq!(answer, expected, "{window} bytes at once of {text:?}");
        }
    }
}

#[track_caller]
fn get(text: &str, path: &'static str, expected: &str) {
    check(text, |view| async move { view.get(path, 0).await }, expected);
}

#[track_caller]
fn length(text: &str, expected: &str) {
    check(text, |view| async move { view.count_documents().await }, expected);
}

/// The value of the only member.
#[track_caller]
fn value(text: &str, expected: &str) {
    get(&format!("v: {text}"), "$.v", expected);
}

#[track_caller]
fn error(text: &str, expected: &str) {
    let shown = format!(
        "the content is not valid YAML at {expected}; the lines around it can still be read as text"
    );
    length(text, &shown);
}

#[test]
fn scalars_become_json_by_the_core_schema() {
    for (text, json) in [
        ("~", "null"),
        ("null", "null"),
        ("", "null"),
        ("true", "true"),
        ("FALSE", "false"),
        ("yes", r#""yes""#),
        ("no", r#""no""#),
        ("on", r#""on""#),
        ("12", "12"),
        ("-12", "-12"),
        ("+12", "12"),
        ("007", "7"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("1_000", r#""1_000""#),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-18446744073709551617", "-18446744073709551617"),
        ("1.5", "1.5"),
        ("1.", "1"),
        (".5", "0.5"),
        ("-.5e2", "-50"),
        ("1e3", "1000"),
        ("1e999", r#""1e999""#),
        ("1e", r#""1e""#),
        (".", r#"".""#),
        ("0x", r#""0x""#),
        ("0xZ", r#""0xZ""#),
        (".inf", r#"".inf""#),
        ("-.INF", r#""-.inf""#),
        ("+.Inf", r#"".inf""#),
        (".NaN", r#"".nan""#),
        ("2024-01-02", r#""2024-01-02""#),
        ("2024-01-02T03:04:05Z", r#""2024-01-02T03:04:05Z""#),
        ("1.2.3", r#""1.2.3""#),
        ("'12'", r#""12""#),
        ("\"true\"", r#""true""#),
        ("!!str 12", r#""12""#),
        ("! 12", r#""12""#),
        ("!!int '12'", "12"),
        ("!!float '1.5'", "1.5"),
        ("!!binary aGk=", r#""aGk=""#),
        ("!local 12", "12"),
        ("!local text", r#""text""#),
        ("{a: 1, 2: b, ~: c, [x]: d}", r#"{ "a": 1, "2": "b", "~": "c", "[\"x\"]": "d" }"#),
        ("[a, [b]]", r#"[ "a", [ "b" ] ]"#),
    ] {
        let text_itself = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        value(text, &text_itself.map_or_else(|| format!("[ {json} ]"), str::to_owned));
    }
}

#[test]
fn block_scalars_anchors_and_merge_keys_are_followed() {
    value("|\n  x\n  y\n", r#"[ "x\ny\n" ]"#);
    value(">-\n  x\n  y\n", "x y");
    get("a: &x {b: 1}\nc: *x\n", "$", r#"[ { "a": { "b": 1 }, "c": { "b": 1 } } ]"#);
    get("&k key: *k\n", "$", r#"[ { "key": "key" } ]"#);
    // What the mapping has itself counts, wherever it stands; then what is merged first.
    get(
        "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  before: 0\n  <<: [*a, *b]\n  x: 3\n",
        "$.c",
        r#"[ { "before": 0, "y": 1, "z": 2, "x": 3 } ]"#,
    );
    get("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n", "$.c", r#"[ { "x": 1, "y": 2 } ]"#);
    get("a: {<<: {x: 1}}\n", "$.a", r#"[ { "x": 1 } ]"#);
    // Nothing to merge, or text.
    get(
        "a: {<<: 1}\nb: {'<<': {x: 1}}\n",
        "$",
        r#"[ { "a": { "<<": 1 }, "b": { "<<": { "x": 1 } } } ]"#,
    );
}

#[test]
fn streams_are_cut_into_documents() {
    length("", "0");
    length(" \n\n", "1");
    length("# nothing\n", "1");
    length("a: 1", "1");
    length("a: 1\n...\n", "1");
    length("a: 1\n...\n# end\n", "1");
    length("---\n---\n", "2");
    length("---\n...\n---\n...\n", "2");
    length("...\n...\na: 1\n", "1");
    length("a\n---\nb\n--- c\n---\td\n", "4");
    length("a: 1\r\n---\r\na: 2\r\n", "2");
    length("a: 1\r---\ra: 2\r", "2");
    length("\u{FEFF}a: 1\n---\na: 2\n", "2");
    length("%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\na: 2\n", "2");
    length("- 1\n- 2\n", "1 [the document is a list of 2 elements]");
    length("- 1\n---\n- 2\n", "2");
    // What looks like a mark and is none.
    length("a: |\n  ---\n  ...\nb: ---x\n---x: 1\n", "1");
    get("---\n---\na\n", "$", r#"[ null, "a" ]"#);
    get("--- |\n  text\n--- [a]\n", "$", r#"[ "text\n", [ "a" ] ]"#);
}

fn declared(text: &str, kind: Option<YamlStreamKind>) -> YamlView {
    let view = YamlView::new(reader(text.as_bytes()));
    match kind {
        Some(kind) => view.stream_kind(kind),
        None => view,
    }
}

#[test]
fn the_kind_is_found_or_declared() {
    let kind = |text: &str, kind| {
        let view = declared(text, kind);
        run(view.detect_stream_kind()).map(|it| it.to_string()).map_err(|it| it.to_string())
    };
    assert_eq!(kind("a: 1\n", None).unwrap(), "single-document");
    assert_eq!(kind("", None).unwrap(), "single-document");
    assert_eq!(kind("a\n---\nb\n", None).unwrap(), "multi-document");
    assert_eq!(kind("a: 1\n", Some(YamlStreamKind::MultiDocument)).unwrap(), "multi-document");
    assert_eq!(kind("a: 1\n", Some(YamlStreamKind::SingleDocument)).unwrap(), "single-document");
    assert_eq!(
        kind("a\n---\nb\n", Some(YamlStreamKind::SingleDocument)).unwrap_err(),
        "a second document begins at line 2, column 1, but the content was declared to be a single \
         document; read it as a stream of documents"
    );
    // Not read further than to the second document.
    assert_eq!(kind("a\n---\nb\n---\n[\n", None).unwrap(), "multi-document");
}

#[test]
fn keys_are_those_of_all_mappings() {
    let keys =
        |text, expected| check(text, |view| async move { view.list_keys(0).await }, expected);
    keys("b: 1\na: 2\n", "b a");
    keys("b: 1\n---\n- x\n---\na: 1\nb: 2\n", "b a");
    keys("{}\n", "(empty list)");
    keys("- a: 1\n", "(undefined)");
    keys("", "(undefined)");
}

#[test]
fn paths_select_in_every_document() {
    let people = "---\nname: Ada\nage: 36\n---\nname: Bob\nage: 7\n";
    get(people, "$.name", "Ada Bob");
    get(people, "name", "Ada Bob");
    get(people, "$..[?@ == 7]", "[ 7 ]");
    get(people, "$.none", "(empty list)");
    get("0\n---\n~\n", "$", "[ 0, null ]");
    get(
        people,
        "$.[",
        "path is wrong at byte 2: expected a name or `*` but found `[`; \
         quote a name with other characters: `['content-type']`",
    );
}

#[test]
fn the_documents_of_a_stream_are_a_list() {
    let stream = "---\nname: Ada\nage: 36\n---\nname: Bob\nage: 7\ntags: [x]\n";
    let ada = r#"[ { "name": "Ada", "age": 36 } ]"#;
    let bob = r#"[ { "name": "Bob", "age": 7, "tags": [ "x" ] } ]"#;
    get(stream, "$[?@.age > 17]", ada);
    get(stream, "[?(@.age > 17 && @.name == 'Ada')]", ada);
    get(stream, "$[?@.tags]", bob);
    get(stream, "$[?@.age > 99]", "(empty list)");
    get(stream, "$[0]", ada);
    get(stream, "$[-1].name", "Bob");
    get(stream, "$[*].name", "Ada Bob");
    get("a\n---\nb\n---\nc\n", "$[1:2]", "b");
    get("a\n---\nb\n---\nc\n", "$[-2:]", "b c");
    get("a\n---\nb\n---\nc\n", "$[0,2]", "a c");
    get("a\n---\nb\n---\nc\n", "$[3:]", "(empty list)");
    // One document is what a path begins with.
    get("- 1\n- 20\n", "$[?@ > 17]", "[ 20 ]");
    get("- a\n- b\n- c\n...\n# end\n", "$[1:]", "b c");
    get("- 1\n---\n- 20\n", "$[?@[0] > 17]", "[ [ 20 ] ]");
}

#[test]
fn sql_asks_about_records() {
    let sql = |text, query: &'static str, expected| {
        check(text, |view| async move { view.sql(query, 0).await }, expected);
    };
    let stream = "---\nname: Ada\nage: 36\n---\nname: Bob\nage: 7\n";
    sql(stream, "SELECT name FROM data WHERE age > 17", "name Ada");
    sql("- n: 1\n- n: 2.5\n", "SELECT sum(n) FROM data", "sum(n) 3.5");
    sql("all:\n  - n: 1\n  - n: 2\n", "SELECT max(n) FROM $.all", "max(n) 2");
    sql(
        "all:\n  - n: 1\n",
        "SELECT n FROM data",
        "n  [no record has `n`; the first one has all; the content is one record: FROM $.name takes the records from a list in it]",
    );
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    error(
        "a: 1\nb:\n  - c\n  c: d\n",
        "line 4, column 3: while parsing a block collection, did not find expected '-' indicator",
    );
    error("a: 1\na: 2\n", "line 2, column 1: the key `a` stands twice in one mapping");
    error("x: {\"a\": 1, a: 2}\n", "line 1, column 13: the key `a` stands twice in one mapping");
    error("a: &x [*x]\n", "line 1, column 8: an alias stands inside the value it names");
    error("a: 1\n---\nb: \u{0}\n", "line 3, column 4: a NUL character, which YAML forbids");
    error(
        "---\na: 1\n---\nb: 'x\n",
        "line 4, column 4: while scanning a quoted scalar, found unexpected end of stream",
    );
}
