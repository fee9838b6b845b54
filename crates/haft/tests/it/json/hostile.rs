//! Content that was made to break something.

use haft::artifacts::json::{JsonError, JsonView};
use proptest::prelude::*;

use super::{run, tiny_view_of, view_of};

/// What is said of content that is checked to the letter, and of content that is only walked.
#[track_caller]
fn check(content: &[u8], expected: &str) {
    for strict in [u64::MAX, 0] {
        let error = run(async {
            let view = view_of(content, None).await.max_validated_bytes(strict);
            view.get("$..*", 0).await.unwrap_err().to_string()
        });
        assert!(error.contains(expected), "{error}\ndoes not say\n{expected}");
    }
}

#[test]
fn broken_content_is_refused_with_its_place() {
    check(b"[1, 2", "the text ends before the JSON value is complete at line 1, column 6");
    check(b"{\"a\": \"b", "the text ends before the JSON value is complete at line 1, column 9");
    check(b"[1, {]}", "at line 1, column 6");
    check(b"[1, \0]", "at line 1, column 5");
    check(b"\0", "expected a value but found '\\0' at line 1, column 1");
    check(b"\xff\xfe[\x001\x00]\x00", "at line 1, column 1");
    check(b"[\"\\ud800\"]", "one half of a surrogate pair");
    check(b"[\"a\nb\"]", "a raw control character");
    check(
        b"{\"a\": \"\xff\xff\", \"b\": }",
        "expected a value but found '}' at line 1, column 18 (counted from 1; byte 17)",
    );
    check(b"[1e999]", "the number is too large");
    check(b"[1,]x", "at line 1, column");
    check("[".repeat(100_000).as_bytes(), "nested deeper than 128 levels at line 1, column 129");
    let deep = format!("{}1{}", "[".repeat(129), "]".repeat(129));
    check(deep.as_bytes(), "nested deeper than 128 levels at line 1, column 129");
}

#[test]
fn the_deepest_nesting_is_walked() {
    run(async {
        let content = format!("{}7{}", "[".repeat(128), "]".repeat(128));
        for value in [1, 1000] {
            let view = tiny_view_of(content.as_bytes(), 3, value).await;
            let path = format!("${}", "[0]".repeat(128));
            assert_eq!(view.get(&path, 0).await.unwrap().as_str(), "[\n  7\n]");
        }
    });
}

#[test]
fn a_string_of_ten_megabytes_is_shown_by_its_start() {
    run(async {
        let content =
            format!("{{\"a\": \"{}\", \"b\": 1}}", "x\\n".repeat(8) + &"x".repeat(10_500_000 - 24));
        let view = view_of(content.as_bytes(), None).await;
        assert_eq!(view.get("$.b", 0).await.unwrap().as_str(), "[\n  1\n]");
        let answer = view.get("$.a", 0).await.unwrap().into_string();
        assert!(answer.starts_with("\"x\\nx\\n"), "{answer}");
        assert!(
            answer.ends_with("\n[this value has 10500002 bytes and was cut; ask for a part of it]")
        );
        assert!(answer.len() < 17_000, "{}", answer.len());
        assert_eq!(view.list_keys(0).await.unwrap().as_str(), "a\nb");
        let error = view.get("$[?@ == 1]", 0).await.unwrap_err();
        assert!(matches!(error, JsonError::TooLarge { .. }), "{error}");
    });
}

#[test]
fn a_name_of_a_megabyte_is_told_from_another() {
    run(async {
        let long = "k".repeat(1_000_000);
        let content = format!("{{\"{long}\": 1, \"{long}x\": 2, \"a\": 3, \"{long}\": 4}}");
        let view = view_of(content.as_bytes(), None).await;
        assert_eq!(view.get("$.a", 0).await.unwrap().as_str(), "[\n  3\n]");
        assert_eq!(view.get("$.*", 0).await.unwrap().as_str(), "[\n  2,\n  3,\n  4\n]");
    });
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    run(async {
        for value in [4, 1000] {
            let view = tiny_view_of(b"{\"a\": [\"x\xffy\", 1], \"b\xfe\": 2}", 3, value).await;
            assert!(view.get("$.a[0]", 0).await.unwrap().as_str().contains("x\u{fffd}"));
            assert_eq!(view.list_keys(0).await.unwrap().as_str(), "a\nb\u{fffd}");
        }
        let view = view_of(b"[\"x\xffy\"]", None).await;
        assert_eq!(view.get("$[0]", 0).await.unwrap().as_str(), "x\u{fffd}y");
    });
}

#[test]
fn a_filter_that_looks_at_a_large_root_is_refused() {
    run(async {
        let content = "{\"max\": 2, \"items\": [1, 2, 3]}";
        let view = tiny_view_of(content.as_bytes(), 8, 1000).await;
        assert_eq!(view.get("$.items[?@ < $.max]", 0).await.unwrap().as_str(), "[\n  1\n]");
        let view = tiny_view_of(content.as_bytes(), 8, 20).await;
        let error = view.get("$.items[?@ < $.max]", 0).await.unwrap_err().to_string();
        assert!(error.contains("a filter that refers to `$` needs the whole value"), "{error}");
        assert!(error.contains("write its value into the filter"), "{error}");
    });
}

/// The work of a query is bounded, and not that of a record: many records cost no more than one query may cost. A query that
/// is stopped says so, and shows no wrong result.
#[test]
fn all_records_of_a_query_share_its_work() {
    run(async {
        let record = r#"{"a": [1, 2, 3, 4, 5, 6, 7, 8], "b": {"c": [9, 10]}}"#;
        let lines = format!("{record}\n").repeat(1000);
        let list = format!("[{}]", vec![record; 1000].join(","));
        let deep = format!("$..*{}", "..*".repeat(3));
        for content in [lines.as_str(), list.as_str()] {
            let view = view_of(content.as_bytes(), None).await;
            let paths = ["$.a[?@ > 8]", deep.as_str(), "$[?@.b.c[?@ > 10]]", "$..[?@ > 99]"];
            for path in paths {
                let few = view.clone().max_visits(5_000);
                // A result that is full before the work is done is complete.
                if let Err(error) = few.get(path, 0).await {
                    assert!(matches!(error, JsonError::TooMuchWork), "{path}: {error}");
                }
                assert!(few.get("$..[?@ > 99]", 0).await.is_err());
                assert!(view.clone().max_visits(100_000_000).get(path, 0).await.is_ok());
            }
            assert_eq!(view.get("$..[?@ > 99]", 0).await.unwrap().as_str(), "(empty list)");
        }
    });
}

async fn ask_everything(view: &JsonView) {
    let _ = view.detect_notation().await;
    let _ = view.list_keys(0).await;
    let _ = view.count_records().await;
    let _ = view.get("$..*", 0).await;
    let _ = view.get("$[-1][?@.a > 1]", 1).await;
    let _ = view.get("$[?@.a]", 0).await;
    let _ = view.get("$[1:]", 0).await;
    let _ = view.sql("SELECT a, count(*) FROM data WHERE a > 1 GROUP BY a ORDER BY 2", 0).await;
    let _ = view.sql("SELECT * FROM $..a", 0).await;
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered_or_refused(
        content in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            "[\\[\\]{}:,\"\\\\a0-2.e \n-]{0,60}".prop_map(String::into_bytes),
        ],
        (window, value) in (1..20_usize, 1..30_usize),
        strict in prop_oneof![Just(0_u64), Just(100_u64)],
    ) {
        run(async {
            let view = tiny_view_of(&content, window, value).await.max_validated_bytes(strict);
            ask_everything(&view).await;
        });
    }

    /// Content is JSON exactly if it has a tree, and what is wrong is found at the same place.
    #[test]
    fn content_is_checked_to_the_letter(
        text in "[\\[\\]{}:,\"\\\\abftnu0-2.eE+ \ntrue-]{0,24}",
        window in 1..9_usize,
    ) {
        use haft::schema::json::Document;
        let hint = Some(haft::artifacts::json::JsonNotation::Json);
        let found = run(async {
            view_of(text.as_bytes(), hint).await.window_bytes(window).max_value_bytes(1).detect_notation().await
        });
        match (Document::parse(&text), found) {
            (Ok(_), Ok(_)) => {}
            (Err(error), Err(JsonError::Content(found))) => {
                prop_assert_eq!(found.offset, error.offset as u64, "{}\n{}", error, found);
                prop_assert_eq!(found.line, u64::from(error.line().unwrap()));
                prop_assert_eq!(found.column, u64::from(error.column().unwrap()));
            }
            (tree, found) => prop_assert!(false, "{:?}\n{:?}", tree, found),
        }
    }
}
