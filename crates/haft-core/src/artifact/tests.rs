use std::num::NonZeroUsize;

use super::*;
use crate::json::Document;

fn budget(lines: usize, bytes: usize) -> Budget {
    Budget::new().lines(NonZeroUsize::new(lines).unwrap()).bytes(bytes)
}

#[track_caller]
fn check_list(json: &str, budget: Budget, skip: u64, expected: &str) {
    let found = Document::parse(json).unwrap();
    assert_eq!(QueryOutput::list(found.root().elements(), budget, skip).as_str(), expected);
}

#[test]
fn lists_of_values_become_text() {
    let all = Budget::new();
    check_list("[]", all, 0, "(empty list)");
    check_list(r#"["alice"]"#, all, 0, "alice");
    check_list(r#"["dev","admin"]"#, all, 0, "dev\nadmin");
    check_list("[30]", all, 0, "[\n  30\n]");
    check_list(r#"[["dev","admin"]]"#, all, 0, "[\n  [\n    \"dev\",\n    \"admin\"\n  ]\n]");
    check_list(r#"["a",null]"#, all, 0, "[\n  \"a\",\n  null\n]");
    check_list(
        "[123456789012345678901234567890]",
        all,
        0,
        "[\n  123456789012345678901234567890\n]",
    );
    // An empty string or one of several lines would be lost among lines.
    check_list(r#"["a",""]"#, all, 0, "[\n  \"a\",\n  \"\"\n]");
    check_list(r#"["a\nb"]"#, all, 0, "[\n  \"a\\nb\"\n]");
    check_list("[{},[]]", all, 0, "[\n  {},\n  []\n]");
}

#[test]
fn a_full_list_says_how_to_go_on() {
    check_list(r#"["a","b","c"]"#, budget(2, 100), 0, "a\nb\n[1 more; go on with skip 2]");
    check_list(r#"["a","b","c"]"#, budget(2, 100), 2, "c");
    check_list(r#"["a","b","c"]"#, budget(2, 100), 3, "(empty list)\n[there are only 3]");
    check_list(r#"["a","b","c"]"#, budget(2, 100), 9, "(empty list)\n[there are only 3]");
    check_list(
        r#"["aaaaaaaa","b"]"#,
        budget(2, 4),
        0,
        "aaaa\n[this value has 8 bytes and was cut; ask for a part of it]\n[1 more; go on with skip 1]",
    );
    check_list(
        r#"["ääää"]"#,
        budget(2, 3),
        0,
        "ä\n[this value has 8 bytes and was cut; ask for a part of it]",
    );
}

#[test]
fn texts_are_cut_at_lines() {
    let text = |text: &str, budget| QueryOutput::text(text, budget).into_string();
    assert_eq!(text("", Budget::new()), "(empty text)");
    assert_eq!(text("a\nb", budget(2, 100)), "a\nb");
    assert_eq!(
        text("a\nb\nc", budget(2, 100)),
        "a\nb\n[cut after 3 of 5 bytes; ask for less at once]"
    );
    assert_eq!(text("aa\nbb", budget(2, 4)), "aa\n[cut after 2 of 5 bytes; ask for less at once]");
}

/// Indentation can make a value a hundred times as large as it is; only what is shown is built.
#[test]
fn a_deep_value_is_cut_before_it_is_written() {
    let deep = format!("{}{}{}", "[".repeat(100), vec!["1"; 10_000].join(","), "]".repeat(100));
    let document = Document::parse(&deep).unwrap();
    let budget = Budget::new().bytes(1000);
    let output = QueryOutput::value(document.root(), budget);
    let whole = crate::json::pretty_text(document.root()).len();
    assert!(output.as_str().contains(&format!("of {whole} bytes")), "{}", output.as_str());
    assert_eq!(crate::json::pretty_start(document.root(), 500).1, whole);
    let listed = QueryOutput::list([document.root()], budget, 0);
    assert!(listed.as_str().len() < 1200 && listed.as_str().contains(&format!("{whole} bytes")));
}

/// One value that is no string shows every string before it with quotes and escapes.
#[test]
fn a_list_that_turns_into_json_stays_within_its_budget() {
    let quotes = "\"".repeat(100);
    let strings = vec![serde_json::json!(quotes); 40];
    let values = serde_json::Value::Array([strings, vec![serde_json::json!(1)]].concat());
    let document = Document::from_value(&values).unwrap();
    let output = QueryOutput::list(document.root().elements(), Budget::new().bytes(5000), 0);
    assert!(output.as_str().len() < 5200, "{}", output.as_str().len());
    assert!(output.as_str().ends_with("go on with skip 40]"), "{}", output.as_str());
}

/// A look at all values for each value takes hours for this list.
#[test]
fn a_list_of_very_many_values_is_written_once() {
    const COUNT: usize = 1_000_000;
    let value = Document::parse(r#""a""#).unwrap();
    let mut list = QueryListBuilder::new(budget(usize::MAX, 64 << 20), 0);
    for _ in 0..COUNT {
        assert!(list.push(value.root()).is_continue());
    }
    assert_eq!(list.finish().as_str().len(), 2 * COUNT - 1);
}
