mod differential;
mod golden;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proptest::prelude::*;
use serde_json::Value;

use crate::id::{CallId, HandleTable, OccurrenceCounter, RecordId};
use crate::json::Document;

fn id_of(text: &str) -> CallId {
    CallId::of("t", Document::parse(text).unwrap().root())
}

/// An id with these first digits.
fn id(start: &str) -> CallId {
    format!("{start:0<64}").parse().unwrap()
}

fn nth(id: CallId, n: u32) -> RecordId {
    RecordId::new(id, NonZeroU32::new(n).unwrap())
}

#[test]
fn text_form_is_64_lower_case_digits() {
    let id = id_of("{}");
    let text = id.to_string();
    assert_eq!(text, "a9c1b56f2d5711641e3a95a211412b31f9042cd471d093fc67e268e679fd0f45");
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(format!("{id:?}"), "CallId(a9c1b56f…)");
    assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<CallId>(&format!("\"{text}\"")).unwrap(), id);
    assert_eq!(id.as_bytes()[..2], [0xa9, 0xc1]);
    for wrong in [
        "",
        text.trim_start_matches('a'),
        &format!("{text}0"),
        &text.to_uppercase(),
        &text.replace('a', "g"),
    ] {
        let error = wrong.parse::<CallId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a call id has to be 64 lower-case hexadecimal digits",
            "{wrong}"
        );
    }
    assert!(serde_json::from_str::<CallId>("\"abc\"").is_err());
}

#[test]
fn duplicates_are_seen_while_hashing() {
    let check = |text: &str, duplicates: bool| {
        let doc = Document::parse(text).unwrap();
        assert_eq!(
            CallId::of_with_duplicates("t", doc.root()),
            (id_of(text), duplicates),
            "{text}"
        );
    };
    check(r#"{"a":1,"b":2}"#, false);
    check(r#"{"a":1,"a":2}"#, true);
    check(r#"{"x":[{"a":1,"a":2}]}"#, true);
    assert_eq!(id_of(r#"{"a":1,"a":2}"#), id_of(r#"{"a":2}"#));
}

#[test]
fn large_arguments_hash_like_small_ones() {
    let large = format!("{{\"b\":\"{}\",\"a\":1}}", "x".repeat(200_000));
    let small = id_of(r#"{"b":1,"a":2}"#);
    assert_eq!(id_of(&large), id_of(&large));
    assert_eq!(id_of(r#"{"a":2,"b":1}"#), small);
}

#[test]
fn record_ids_read_back_and_have_one_spelling() {
    let id = id_of("{}");
    for (record, text) in [
        (nth(id, 1), id.to_string()),
        (nth(id, 2), format!("{id}#2")),
        (nth(id, 4_294_967_295), format!("{id}#4294967295")),
    ] {
        assert_eq!(record.to_string(), text);
        assert_eq!(text.parse(), Ok(record));
        assert_eq!(serde_json::from_value::<RecordId>(Value::from(text.clone())).unwrap(), record);
        assert_eq!(serde_json::to_value(record).unwrap(), Value::from(text));
    }
    assert_eq!(
        format!("{:?} {:?}", nth(id, 1), nth(id, 3)),
        "RecordId(a9c1b56f…) RecordId(a9c1b56f…#3)"
    );
    for tail in ["#", "#0", "#1", "#02", "#+2", "#-2", "#2 ", "#4294967296", "#2#3"] {
        let text = format!("{id}{tail}");
        let error = text.parse::<RecordId>().unwrap_err();
        assert_eq!(error.what, "the number behind `#` of a record id", "{text}");
    }
    assert_eq!("abc#2".parse::<RecordId>().unwrap_err().what, "a call id");
}

#[test]
fn occurrences_are_counted_per_call() {
    let a = id("a");
    let b = id("b");
    let mut seen = OccurrenceCounter::default();
    assert_eq!((seen.count(a), seen.next(a), seen.next(b)), (0, nth(a, 1), nth(b, 1)));
    assert_eq!((seen.next(a), seen.count(a), seen.count(b)), (nth(a, 2), 2, 1));
    let mut resumed = OccurrenceCounter::default();
    resumed.restore(nth(a, 2));
    resumed.restore(nth(a, 1));
    assert_eq!((resumed.next(a), resumed.next(b)), (nth(a, 3), nth(b, 1)));
}

#[test]
fn handles_are_as_long_as_needed() {
    let mut handles = HandleTable::default();
    let mut check = |record: RecordId, expect: &str| {
        assert_eq!(handles.insert(record).as_str(), expect);
        assert_eq!(handles.resolve(expect), Some(record));
    };
    check(nth(id("12345678aa"), 1), "12345678");
    check(nth(id("12345678ab"), 1), "12345678ab");
    check(nth(id("12345678b"), 1), "12345678b");
    check(nth(id("12345678aa"), 1), "12345678");
    check(nth(id("12345678aa"), 2), "12345678#2");
    check(nth(id("12345678ab"), 3), "12345678ab#3");
    check(nth(id("fedcba98"), 2), "fedcba98#2");
    check(nth(id("12345679"), 1), "12345679");
    assert_eq!(handles.resolve("12345678#3"), None);
    assert_eq!(handles.resolve("12345678a"), None);
    assert_eq!(handles.resolve("fedcba98"), None);
    assert_eq!(handles.resolve(&id("12345678aa").to_string()), None);
}

/// The same value in another spelling: members in reverse, numbers in another notation.
fn respell(value: &Value, form: usize) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let text = format!("{:e}", number.as_f64().unwrap());
            if form == 0 {
                text.replace('e', "00e").replacen(
                    "00e",
                    if text.contains('.') { "00e" } else { ".00e" },
                    1,
                )
            } else {
                text
            }
        }
        Value::Number(number) => match form {
            0 => format!("{number}.0"),
            1 => format!("{number}e0"),
            2 if number.as_i64() == Some(0) => "0e5".to_owned(),
            2 => format!("{number}0e-1"),
            _ => format!("{number}.000E+00"),
        },
        Value::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(|it| respell(it, form)).collect();
            format!("[ {} ]", elements.join(" , "))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .rev()
                .map(|(key, it)| format!("{}: {}", Value::from(key.as_str()), respell(it, form)))
                .collect();
            format!("{{{}}}", members.join(",\n"))
        }
        other => other.to_string(),
    }
}

fn value() -> impl Strategy<Value = Value> {
    crate::json::tests::properties::value()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spelling_does_not_matter(value in value(), form in 0..4_usize) {
        let plain = id_of(&value.to_string());
        let other = respell(&value, form);
        prop_assert_eq!(plain, id_of(&other), "{}", other);
    }

    #[test]
    fn different_calls_differ(a in value(), b in value(), tool in "[ab\"]") {
        let a = Document::from_value(&a).unwrap();
        let b = Document::from_value(&b).unwrap();
        prop_assert_eq!(CallId::of("a", a.root()) == CallId::of("a", b.root()), a == b);
        prop_assert_eq!(CallId::of("a", a.root()) == CallId::of(&tool, a.root()), tool == "a");
    }

    #[test]
    fn neighbouring_integers_differ(n in any::<u64>(), zeros in 0..40_usize) {
        let zeros = "0".repeat(zeros);
        let n = n.saturating_sub(1);
        prop_assert_ne!(id_of(&format!("1{zeros}{n}")), id_of(&format!("1{zeros}{}", n + 1)));
    }

    #[test]
    fn a_handle_keeps_its_meaning(starts in prop::collection::vec(("7{6}[78]{0,6}[0-9a-f]{1,3}", 1..3_u32), 1..40)) {
        let mut handles = HandleTable::default();
        let mut given = BTreeSet::new();
        for (start, n) in starts {
            let record = nth(id(&start), n);
            given.insert((handles.insert(record), record));
            for (handle, record) in &given {
                prop_assert_eq!(handles.resolve(handle.as_str()), Some(*record));
            }
        }
        let distinct: BTreeSet<_> = given.iter().map(|(_, record)| record).collect();
        prop_assert_eq!(distinct.len(), given.len());
    }
}
