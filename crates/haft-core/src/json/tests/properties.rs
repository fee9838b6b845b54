use proptest::prelude::*;
use serde_json::Value;

use super::doc;
use crate::json::{Document, MAX_DEPTH, ParseErrorKind, canonical_text};

const BYTE_ORDER_MARK: char = '\u{feff}';

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(|it| Value::from((it * 100.0).round() / 100.0)),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[a-z_]{0,12}", any::<String>(), "[\\x00-\\x40\\\\é～😀]{0,20}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Text that is often almost JSON.
fn almost_json() -> impl Strategy<Value = String> {
    const PARTS: [&str; 37] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d83d",
        "\\ude00",
        "00e9",
        "\"a\"",
        "\"b\\n\"",
        "'",
        "true",
        "false",
        "null",
        "True",
        "None",
        "-",
        "0",
        "1",
        "12",
        "9007199254740993",
        ".",
        ".5",
        "e",
        "E+2",
        "e-3",
        " ",
        "\n",
        "\u{1}",
        "é",
        "\u{feff}",
        "```",
        "1e400",
    ];
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..14);
    prop_oneof![
        4 => parts.prop_map(|it| it.concat()),
        1 => any::<String>(),
        2 => (value(), any::<prop::sample::Index>(), prop::sample::select(&PARTS[..])).prop_map(
            |(value, at, part)| {
                let mut text = value.to_string();
                let mut at = at.index(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(at, part);
                text
            }
        ),
    ]
}

fn depth(text: &str) -> usize {
    text.bytes().filter(|it| matches!(it, b'[' | b'{')).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writing_and_parsing_are_inverse(value in value()) {
        let built = Document::from_value(&value).unwrap();
        prop_assert_eq!(&doc(&built.root().to_string()), &built);
        prop_assert_eq!(&doc(&canonical_text(built.root())), &built);
        prop_assert_eq!(&doc(&value.to_string()), &built);
        prop_assert_eq!(&Document::from_value(&built.root().to_value()).unwrap(), &built);
        let read: Document = serde_json::from_str(&serde_json::to_string(&built).unwrap()).unwrap();
        prop_assert_eq!(&read, &built);
        prop_assert_eq!(built.duplicate_key(), None);
    }

    #[test]
    fn equal_means_equal_canonical_text(a in value(), b in value()) {
        let a = Document::from_value(&a).unwrap();
        let b = Document::from_value(&b).unwrap();
        prop_assert_eq!(a == b, canonical_text(a.root()) == canonical_text(b.root()));
    }

    /// Text that is canonical already is copied and not written; a document that was built has no text.
    #[test]
    fn the_canonical_text_does_not_depend_on_the_source(value in value(), text in almost_json()) {
        let canonical = canonical_text(Document::from_value(&value).unwrap().root());
        for text in [value.to_string(), canonical, text] {
            let Ok((parsed, _)) = Document::parse_lenient(&text) else { continue };
            let built = parsed.root().to_document();
            prop_assert_eq!(canonical_text(parsed.root()), canonical_text(built.root()));
        }
    }

    #[test]
    fn lenient_accepts_what_strict_accepts(text in almost_json()) {
        let lenient = Document::parse_lenient(&text);
        if let Ok(strict) = Document::parse(&text) {
            prop_assert_eq!(lenient.unwrap(), (strict, vec![]));
        } else if let Ok((mended, repairs)) = lenient {
            let bare = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).trim();
            prop_assert_eq!(repairs.is_empty(), Document::parse(bare).is_ok());
            prop_assert_eq!(&doc(&mended.root().to_string()), &mended);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Same language as `serde_json`, apart from its lower limit of depth.
    #[test]
    fn accepts_exactly_what_serde_json_accepts(text in almost_json()) {
        prop_assume!(depth(&text) < MAX_DEPTH - 1);
        match (Document::parse(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => {
                // It rounds integers beyond 64 bits and spelled as doubles; so does `to_value`.
                let ours = Document::from_value(&ours.root().to_value()).unwrap();
                let theirs = Document::from_value(&theirs).unwrap();
                if !text.contains("9007199254740993") {
                    prop_assert_eq!(ours, theirs);
                }
            }
            (Err(ours), Err(theirs)) => {
                prop_assert!(ours.offset <= text.len());
                // It reads the four digits of an escape before it looks at them.
                if theirs.is_eof() && ours.kind != ParseErrorKind::BadEscape {
                    let eof = [ParseErrorKind::Truncated, ParseErrorKind::Empty];
                    prop_assert!(eof.contains(&ours.kind), "{} / {}", ours, theirs);
                }
            }
            (ours, theirs) => prop_assert!(false, "{:?} / {:?}", ours, theirs),
        }
    }
}
