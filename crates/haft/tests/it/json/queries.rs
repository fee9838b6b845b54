//! The worked examples, and what a model is told when there is no answer.

use haft::artifacts::json::JsonNotation;

use super::{run, tiny_view_of, view_of};

const PERSON: &str = r#"{"name":"alice","age":30,"tags":["dev","admin"]}"#;
const RECORDS: &str =
    "{\"id\":1,\"role\":\"user\"}\n{\"id\":2,\"role\":\"admin\"}\n{\"id\":3,\"role\":\"user\"}\n";

#[derive(Clone, Copy)]
enum Query {
    Shape,
    Keys,
    Length,
    Get(&'static str),
    Sql(&'static str),
}

/// Asks in one tree and, where the content has lists or objects, by walking it.
#[track_caller]
fn check(content: &str, query: Query, expected: &str) {
    let answer = |value: usize| {
        run(async {
            let view = tiny_view_of(content.as_bytes(), 3, value).await;
            let answer = match query {
                Query::Shape => return view.detect_notation().await.map(|it| it.to_string()),
                Query::Keys => view.list_keys(0).await,
                Query::Length => {
                    let length = view.count_records().await;
                    return length.map(|it| format!("{} {:?}", it.records, it.root_array));
                }
                Query::Get(path) => view.get(path, 0).await,
                Query::Sql(query) => view.sql(query, 0).await,
            };
            answer.map(haft::artifacts::QueryOutput::into_string)
        })
    };
    assert_eq!(answer(1000).unwrap_or_else(|error| error.to_string()), expected, "{content}");
}

#[test]
fn a_document_answers_as_the_examples_say() {
    check(PERSON, Query::Shape, "json");
    check(PERSON, Query::Keys, "name\nage\ntags");
    check(PERSON, Query::Length, "1 None");
    check(PERSON, Query::Get("$.name"), "alice");
    check(PERSON, Query::Get("$.age"), "[\n  30\n]");
    check(PERSON, Query::Get("$.tags"), "[\n  [\n    \"dev\",\n    \"admin\"\n  ]\n]");
    check(PERSON, Query::Get("$.tags[*]"), "dev\nadmin");
    check(PERSON, Query::Get("$.missing"), "(empty list)");
    check(PERSON, Query::Sql("SELECT name FROM t WHERE age > 18"), "name\nalice");
    check(PERSON, Query::Sql("SELECT value FROM $.tags"), "value\ndev\nadmin");
    check(PERSON, Query::Sql("SELECT tags FROM t"), "tags\n\"[\"\"dev\"\",\"\"admin\"\"]\"");
    check(PERSON, Query::Sql("SELECT name FROM t WHERE age > 40"), "(no rows)");
    check("{}", Query::Keys, "(empty list)");
}

#[test]
fn records_answer_as_the_examples_say() {
    check(RECORDS, Query::Shape, "jsonl");
    check(RECORDS, Query::Length, "3 None");
    check(RECORDS, Query::Keys, "id\nrole");
    check(RECORDS, Query::Get("$.id"), "[\n  1,\n  2,\n  3\n]");
    check(RECORDS, Query::Get("$.role"), "user\nadmin\nuser");
    let second = "[\n  {\n    \"id\": 2,\n    \"role\": \"admin\"\n  }";
    let third = ",\n  {\n    \"id\": 3,\n    \"role\": \"user\"\n  }\n]";
    check(RECORDS, Query::Get("$[1:3]"), &format!("{second}{third}"));
    check(RECORDS, Query::Get("$[-2:]"), &format!("{second}{third}"));
    check(RECORDS, Query::Get("$[0].role"), "user");
    check(RECORDS, Query::Get("$[-1].id"), "[\n  3\n]");
    check(RECORDS, Query::Get("$[*].role"), "user\nadmin\nuser");
    // A filter looks at the record itself, in either spelling.
    check(RECORDS, Query::Get(r#"$[?(@.role=="admin")]"#), &format!("{second}\n]"));
    check(RECORDS, Query::Get(r#"$[?@.role=="admin"]"#), &format!("{second}\n]"));
    check(RECORDS, Query::Get("$[?@.id == 2].role"), "admin");
    check(RECORDS, Query::Get("$[?@.id == 2].nothing"), "(empty list)");
    check(RECORDS, Query::Get("$.nothing"), "(empty list)");
    let sql = "SELECT role, count(*) AS n FROM t GROUP BY role ORDER BY n DESC";
    check(RECORDS, Query::Sql(sql), "role,n\nuser,2\nadmin,1");
}

#[test]
fn the_elements_of_a_list_are_its_records() {
    let list = "[1,2,3,4,5]";
    check(list, Query::Shape, "json");
    check(list, Query::Keys, "(undefined)");
    check(list, Query::Length, "1 Some(5)");
    check(list, Query::Get("$[*]"), "[\n  1,\n  2,\n  3,\n  4,\n  5\n]");
    check(list, Query::Get("$[?(@ > 3)]"), "[\n  4,\n  5\n]");
    check(list, Query::Get("$[1:3]"), "[\n  2,\n  3\n]");
    check(list, Query::Get("$[9:3]"), "(empty list)");
    check(list, Query::Sql("SELECT value FROM t WHERE value > 3"), "value\n4\n5");
    check("\"text\"", Query::Keys, "(undefined)");
    check("null", Query::Get("$"), "[\n  null\n]");
}

#[test]
fn the_shape_is_found_out() {
    check("1\n2\n\n3", Query::Shape, "jsonl");
    check("{\"a\":1}\n", Query::Shape, "json");
    check("{\"a\":1}\r\n\r\n{\"a\":2}\r\n", Query::Shape, "jsonl");
    check("\u{feff}{\"a\":1}", Query::Get("$.a"), "[\n  1\n]");
    check("\u{feff}{\"a\":1}\r\n{\"a\":2}", Query::Get("$.a"), "[\n  1,\n  2\n]");
    check("{\n  \"a\": 1\n}\n", Query::Shape, "json");
}

#[test]
fn numbers_keep_their_digits() {
    let content = "{\"n\": 123456789012345678901234567890}";
    check(content, Query::Get("$.n"), "[\n  123456789012345678901234567890\n]");
}

#[test]
fn a_hint_is_trusted() {
    run(async {
        let view = view_of(b"{\"a\":1}", Some(JsonNotation::Jsonl)).await;
        assert_eq!(view.detect_notation().await.unwrap().name(), "jsonl");
        let view = view_of(b"1\n2", Some(JsonNotation::Json)).await;
        let error = view.detect_notation().await.unwrap_err().to_string();
        assert!(error.contains("not JSON: more text follows"), "{error}");
    });
}

#[track_caller]
fn check_error(content: &str, expected: &str) {
    check(content, Query::Length, expected);
}

#[test]
fn what_is_wrong_is_said_in_words() {
    check_error(
        "",
        "the content is not JSON: the text is empty at line 1, column 1 (counted from 1; byte 0); \
         look at that line, and query the content as lines of text",
    );
    check_error(
        "{\"ä\": [1, 2}",
        "the content is not JSON: expected `,` or `]` but found '}' at line 1, column 12 (counted \
         from 1; byte 12); look at that line, and query the content as lines of text",
    );
    check_error(
        "{\"a\": 1}\n{\"a\": 2}\n{\"a\" 3}\n{\"a\": 4}\n",
        "line 3 is not a JSON value: expected `:` but found '3' at line 3, column 6 (counted from 1; \
         byte 23); look at that line, and query the content as lines of text",
    );
    check_error(
        "{\n  \"a\": [1,\n",
        "the content is not JSON: the text ends before the JSON value is complete at line 3, column 1 \
         (counted from 1; byte 13); it seems to be cut off: query it as lines of text",
    );
    check_error(
        "{a: 1,\n b: 2}",
        "the content is not JSON: expected a key in double quotes but found 'a' at line 1, column 2 \
         (counted from 1; byte 1); look at that line, and query the content as lines of text",
    );
    check(
        "[1]",
        Query::Get("$[?price > 10]"),
        "path is wrong at byte 3: expected `@`, `$`, a literal or a function but found `p`; \
         filters need `@`: try `[?@.price > 10]`",
    );
}

#[test]
fn pages_go_on_where_they_stopped() {
    use std::num::NonZeroUsize;
    run(async {
        let content =
            format!("[{}]", (0..100).map(|it| it.to_string()).collect::<Vec<_>>().join(", "));
        let lines = NonZeroUsize::new(3).unwrap();
        for value in [10, 1000] {
            let view = tiny_view_of(content.as_bytes(), 7, value).await;
            let view = view.budget(haft::artifacts::Budget::new().lines(lines));
            let answer = view.get("$[*]", 50).await.unwrap();
            assert_eq!(
                answer.as_str(),
                "[\n  50,\n  51,\n  52\n]\n[there is more; go on with skip 53]"
            );
            let answer = view.get("$[10:20]", 5).await.unwrap();
            assert_eq!(
                answer.as_str(),
                "[\n  15,\n  16,\n  17\n]\n[there is more; go on with skip 8]"
            );
            let answer = view.get("$[?@ >= 98]", 0).await.unwrap();
            assert_eq!(answer.as_str(), "[\n  98,\n  99\n]");
            let answer = view.get("$[*]", 100).await.unwrap();
            assert_eq!(answer.as_str(), "(empty list)\n[there are only 100]");
        }
    });
}
