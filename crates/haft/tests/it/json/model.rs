//! Walking content answers as a tree of all of it does.

use haft::artifacts::jsonpath::JsonPath;
use haft::artifacts::{Budget, QueryOutput};
use haft::schema::json::{Document, ValueKind, ValueRef};
use proptest::prelude::*;

use super::{run, tiny_view_of};

/// JSON text of any value, with any white space and duplicate keys.
fn any_json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<i32>().prop_map(|it| it.to_string()),
        any::<f32>().prop_filter("finite", |it| it.is_finite()).prop_map(|it| format!("{it:e}")),
        Just("123456789012345678901234567890".to_owned()),
        string(),
    ];
    scalar.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            (prop::collection::vec((space(), inner.clone()), 0..8), space()).prop_map(
                |(elements, end)| {
                    let elements: Vec<String> =
                        elements.into_iter().map(|(space, it)| format!("{space}{it}")).collect();
                    format!("[{}{end}]", elements.join(","))
                }
            ),
            (prop::collection::vec((space(), key(), space(), inner), 0..8), space()).prop_map(
                |(members, end)| {
                    let members: Vec<String> = members
                        .into_iter()
                        .map(|(space, key, other, it)| format!("{space}{key}{other}:{space}{it}"))
                        .collect();
                    format!("{{{}{end}}}", members.join(","))
                }
            ),
        ]
    })
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 2 => Just(" "), 1 => Just("\n"), 1 => Just(" \r\n\t ")]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["\"a\"", "\"b\"", "\"c\"", "\"\\u0061\"", "\"ä\""])
            .prop_map(str::to_owned),
        1 => string(),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-c{}\\[\\],:y_ ]{0,6}".prop_map(|it| it),
        1 => Just("\\\\".to_owned()),
        1 => Just("\\\"".to_owned()),
        1 => Just("\\n\\/\\t".to_owned()),
        1 => Just("\\ud83d\\ude00".to_owned()),
        1 => Just("äöü😀".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|it| format!("\"{}\"", it.concat()))
}

fn any_path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        ".a",
        ".b",
        ".c",
        "['ä']",
        "[0]",
        "[1]",
        "[-1]",
        "[*]",
        ".*",
        "[1:]",
        "[::-1]",
        "[-2:]",
        "[0,2]",
        "['a','b']",
        "[?@.a]",
        "[?@ == 'a']",
        "[?@ > 0]",
        "[?length(@) > 1]",
        "[?@.a, ?@.b]",
        "..a",
        "..*",
        "..[0]",
        "..[?@.a]",
        "[:2]",
        "[1::2]",
    ]);
    prop::collection::vec(segment, 0..4).prop_map(|it| format!("${}", it.concat()))
}

/// Room for everything.
fn all() -> Budget {
    Budget::new().bytes(usize::MAX / 4).lines(std::num::NonZeroUsize::MAX)
}

fn list(views: Vec<ValueRef<'_>>, skip: u64) -> String {
    let more = QueryOutput::list(views, all(), skip);
    more.into_string()
}

/// With room for everything only a value that is too large for a tree ends an answer early.
fn is_cut(answer: &str) -> bool {
    answer.contains("this value has")
        || answer.ends_with("]") && answer.contains("; go on with skip")
}

/// Whether a path begins with positions, filters or `*`, for which records are a list.
fn selects_records(path: &str) -> bool {
    path == "$.*" || path.starts_with("$.*") || path.starts_with("$[") && !path.starts_with("$['")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_answer_as_trees_do(
        content in any_json(),
        paths in prop::collection::vec(any_path(), 1..6),
        (window, value, strict) in (1..40_usize, 1..60_usize, prop_oneof![Just(0_u64), Just(1_u64 << 30)]),
        (start, end, skip) in (-4..8_i64, -4..8_i64, 0..4_u64),
    ) {
        let doc = Document::parse(&content).unwrap();
        run(async {
            let view = tiny_view_of(content.as_bytes(), window, value).await;
            let view = view.max_validated_bytes(strict).budget(all());
            for path in paths {
                let parsed = JsonPath::parse(&path).unwrap();
                let expected = list(parsed.select(doc.root()).iter().collect(), skip);
                let answer = match view.get(&path, skip).await {
                    Ok(answer) => answer.into_string(),
                    // Filters cannot look at large values.
                    Err(error) => {
                        let text = error.to_string();
                        prop_assert!(text.contains("too many for a filter") && path.contains('?'), "{}", text);
                        continue;
                    }
                };
                let cut = is_cut(&answer);
                prop_assert!(cut || answer == expected, "get {}\n{}\nnot\n{}", path, answer, expected);

            }
            if doc.root().kind() == ValueKind::Array {
                let elements: Vec<ValueRef<'_>> = doc.root().elements().collect();
                let len = elements.len() as i64;
                let absolute = |it: i64| if it < 0 { (len + it).max(0) } else { it.min(len) };
                let (from, to) = (absolute(start), absolute(end).max(absolute(start)));
                let expected = list(elements[from as usize..to as usize].to_vec(), skip);
                let slice = view.get(&format!("$[{start}:{end}]"), skip).await;
                let answer = slice.unwrap().into_string();
                prop_assert!(is_cut(&answer) || answer == expected, "{}\nnot\n{}", answer, expected);
                prop_assert_eq!(view.count_records().await.unwrap().root_array, Some(len as u64));
            }
            let mut names: Vec<&str> = Vec::new();
            for (name, _) in doc.root().members() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let expected = if doc.root().kind() == ValueKind::Object {
                let names = Document::from_value(&serde_json::json!(names)).unwrap();
                list(names.root().elements().collect(), skip)
            } else {
                "(undefined)".to_owned()
            };
            prop_assert_eq!(view.list_keys(skip).await.unwrap().into_string(), expected);
            Ok(())
        })?;
    }

    #[test]
    fn records_answer_as_trees_do(
        records in prop::collection::vec((any_json(), prop::sample::select(vec!["\n", "\r\n", "\n\n", " \n \t\n"])), 2..8),
        paths in prop::collection::vec(any_path(), 1..4),
        (window, value, strict) in (1..40_usize, 1..400_usize, prop_oneof![Just(0_u64), Just(1_u64 << 30)]),
        skip in 0..4_u64,
    ) {
        let records: Vec<(String, &str)> =
            records.into_iter().map(|(it, end)| (it.replace(['\r', '\n'], " "), end)).collect();
        let content: String = records.iter().map(|(it, end)| format!("{it}{end}")).collect();
        let docs: Vec<Document> = records.iter().map(|(it, _)| Document::parse(it).unwrap()).collect();
        run(async {
            let view = tiny_view_of(content.as_bytes(), window, value).await;
            let view = view.max_validated_bytes(strict).budget(all());
            prop_assert_eq!(view.detect_notation().await.unwrap().name(), "jsonl");
            prop_assert_eq!(view.count_records().await.unwrap().records, docs.len() as u64);
            for path in paths {
                let parsed = JsonPath::parse(&path).unwrap();
                let texts: Vec<&str> = records.iter().map(|(it, _)| it.as_str()).collect();
                let all_records = Document::parse(&format!("[{}]", texts.join(","))).unwrap();
                let found = match selects_records(&path) {
                    true => parsed.select(all_records.root()).iter().collect(),
                    false => docs.iter().flat_map(|doc| parsed.select(doc.root())).collect(),
                };
                let expected = list(found, skip);
                if let Ok(answer) = view.get(&path, skip).await {
                    let answer = answer.into_string();
                    let cut = is_cut(&answer);
                    prop_assert!(cut || answer == expected, "get {}\n{}\nnot\n{}", path, answer, expected);
                }
            }
            Ok(())
        })?;
    }
}
