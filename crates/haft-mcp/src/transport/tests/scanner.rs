use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::transport::message_scanner::{MessageScanner, ScanEvent};
use crate::transport::scan_error::ScanError;
use crate::transport::{PartEncoding, ReadLimits, placeholder};

const MARKER: &str = "marker";

/// A message and the parts that were taken out of it.
#[derive(Debug, PartialEq)]
struct Scanned {
    message: Value,
    parts: Vec<(PartEncoding, Vec<u8>)>,
}

fn limits(spool_above: usize) -> ReadLimits {
    ReadLimits { spool_above, ..ReadLimits::default() }
}

fn scan_pieces<'b>(
    pieces: impl IntoIterator<Item = &'b [u8]>,
    limits: ReadLimits,
) -> Result<Scanned, ScanError> {
    let mut scanner = MessageScanner::new(Arc::from(MARKER), 0, limits);
    let mut events = Vec::new();
    pieces.into_iter().for_each(|piece| scanner.push(piece, &mut events));
    let kept = scanner.finish().map_err(|failure| failure.error)?;
    let mut parts = Vec::new();
    for event in events {
        match event {
            ScanEvent::Started(number, encoding) => {
                assert_eq!(number, parts.len());
                parts.push((encoding, Vec::new()));
            }
            ScanEvent::Bytes(bytes) => parts.last_mut().unwrap().1.extend(bytes),
            ScanEvent::Ended => {}
        }
    }
    Ok(Scanned { message: serde_json::from_slice(&kept).unwrap(), parts })
}

fn scan(text: &[u8], spool_above: usize) -> Result<Scanned, ScanError> {
    scan_pieces([text], limits(spool_above))
}

/// Puts the parts back where they were.
fn restore(value: &mut Value, parts: &[(PartEncoding, Vec<u8>)]) {
    match value {
        Value::String(text) => {
            let is_it = |number: &usize| *text == placeholder(MARKER, *number);
            if let Some(number) = (0..parts.len()).find(is_it) {
                let (encoding, bytes) = &parts[number];
                *value = match encoding {
                    PartEncoding::Text => String::from_utf8(bytes.clone()).unwrap().into(),
                    PartEncoding::Json => serde_json::from_slice(bytes).unwrap(),
                    PartEncoding::Bytes => {
                        use base64::Engine as _;
                        base64::engine::general_purpose::STANDARD.encode(bytes).into()
                    }
                };
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|it| restore(it, parts)),
        Value::Object(all) => all.values_mut().for_each(|it| restore(it, parts)),
        _ => {}
    }
}

#[track_caller]
fn check_restored(text: &str) {
    let expect: Value = serde_json::from_str(text).unwrap();
    for spool_above in [0, 1, 5, 1000] {
        let mut scanned = scan(text.as_bytes(), spool_above).unwrap();
        let Scanned { message, parts } = &mut scanned;
        restore(message, parts);
        assert_eq!(*message, expect, "above {spool_above}: {text}");
        for at in 0..text.len() {
            let (start, end) = text.as_bytes().split_at(at);
            let mut split = scan_pieces([start, end], limits(spool_above)).unwrap();
            restore(&mut split.message, &split.parts);
            assert_eq!(split.message, expect, "split at {at}, above {spool_above}: {text}");
        }
        let single = text.as_bytes().chunks(1);
        let mut single = scan_pieces(single, limits(spool_above)).unwrap();
        restore(&mut single.message, &single.parts);
        assert_eq!(single.message, expect, "byte by byte, above {spool_above}: {text}");
    }
}

#[test]
fn parts_are_the_values_of_the_message_however_it_is_split() {
    check_restored(
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hello world"}]}}"#,
    );
    check_restored(
        r#"{"result":{"content":[{"text":"a\n\"\\\/\b\f\r\tz","type":"text"},{"type":"text","text":"zweiter Teil"}]},"id":1}"#,
    );
    check_restored(
        "{\"result\":{\"content\":[{\"text\":\"käse 🧀 \\u00e4\\ud83e\\uddc0 \\u0000end\"}]}}",
    );
    check_restored(
        r#"{"result":{"content":[{"type":"image","data":"aGVsbG8gd29ybGQ=","mimeType":"image/png"}]}}"#,
    );
    check_restored(r#"{"result":{"content":[{"data":"aGVsbG8\/d29ybGQ\/"}]}}"#);
    check_restored(
        r#"{"result":{"structuredContent":{"a":[1,-0.5e+7,true,null,{"b":"c\u0041"}],"text":"x"},"content":[]}}"#,
    );
    check_restored(r#"{"result":{"structuredContent":[ 1 , 2 , "three" ],"isError":false}}"#);
    check_restored(r#"{"result":{"structuredContent":"a long string as a value"}}"#);
    check_restored(r#"{"result":{"structuredContent":12345678901234}}"#);
    check_restored(
        r#"{"result":{"contents":[{"uri":"a","text":"some text"},{"uri":"b","blob":"AAECAwQF"}]}}"#,
    );
    check_restored(
        r#"{"result":{"content":[{"type":"resource","resource":{"uri":"a","blob":"AAECAwQF"}}]}}"#,
    );
    check_restored(
        r#"{"result":{"taskId":"t","result":{"content":[{"type":"text","text":"of a task"}]}}}"#,
    );
    check_restored(r#"{"res\u0075lt":{"cont\u0065nt":[{"te\u0078t":"keys with escapes"}]}}"#);
    check_restored(r#"{"result":{"content":[{"text":"first","text":"second of the same key"}]}}"#);
    check_restored(
        r#"{"result":{"content":[{"text":"one"}]},"result":{"content":[{"text":"second"}]}}"#,
    );
    check_restored(r#" {	"a" : [ ] , "b" : { } , "c" : [ [ [ ] ] ] , "d" : "" } "#);
}

#[test]
fn only_large_values_of_results_are_taken_out() {
    let taken = |text: &str| scan(text.as_bytes(), 4).unwrap().parts.len();
    assert_eq!(taken(r#"{"result":{"content":[{"text":"long enough"}]}}"#), 1);
    assert_eq!(taken(r#"{"result":{"content":[{"text":"ab"}]}}"#), 0);
    assert_eq!(taken(r#"{"params":{"content":[{"text":"long enough"}]}}"#), 0);
    assert_eq!(taken(r#"{"result":{"other":[{"text":"long enough"}]}}"#), 0);
    assert_eq!(taken(r#"{"result":{"content":{"text":"long enough"}}}"#), 0);
    assert_eq!(taken(r#"{"result":{"content":[{"text":["long enough"]}]}}"#), 0);
    assert_eq!(taken(r#"{"text":"long enough","result":{"text":"long enough"}}"#), 0);
    let two =
        scan(br#"{"result":{"content":[{"text":"first part"},{"data":"AAECAwQF"}]}}"#, 4).unwrap();
    let expect = vec![
        (PartEncoding::Text, b"first part".to_vec()),
        (PartEncoding::Bytes, vec![0, 1, 2, 3, 4, 5]),
    ];
    assert_eq!(two.parts, expect);
}

#[test]
fn unpaired_surrogates_are_replaced() {
    for (escaped, expect) in [
        (r"\ud83d", "\u{FFFD}"),
        (r"\udc00", "\u{FFFD}"),
        (r"\ud83dx", "\u{FFFD}x"),
        (r"\ud83d\n", "\u{FFFD}\n"),
        (r"\ud83d\ud83e\uddc0", "\u{FFFD}\u{1F9C0}"),
        (r"\ud83dA", "\u{FFFD}A"),
    ] {
        for spool_above in [0, 1000] {
            let text = format!(r#"{{"result":{{"content":[{{"text":"{escaped}"}}]}}}}"#);
            for at in 0..text.len() {
                let (start, end) = text.as_bytes().split_at(at);
                let mut scanned = scan_pieces([start, end], limits(spool_above)).unwrap();
                restore(&mut scanned.message, &scanned.parts);
                assert_eq!(
                    scanned.message["result"]["content"][0]["text"], expect,
                    "{text} at {at}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_json_is_refused_also_inside_of_parts() {
    let bodies: [&[u8]; 12] = [
        b"\"\x01\"",
        b"\"\\x\"",
        b"\"\\u12g4\"",
        b"\"\xff\"",
        b"\"\xc3\"",
        b"\"\xed\xa0\x80\"",
        b"tru ",
        b"01",
        b"1.",
        b"-",
        b"[1,]",
        b"{\"a\" 1}",
    ];
    for body in bodies {
        for spool_above in [0, 1000] {
            for member in ["structuredContent", "other"] {
                let mut text = format!("{{\"result\":{{\"{member}\":").into_bytes();
                text.extend_from_slice(body);
                text.extend_from_slice(b"}}");
                assert!(serde_json::from_slice::<Value>(&text).is_err());
                let scanned = scan(&text, spool_above);
                assert!(scanned.is_err(), "{}", String::from_utf8_lossy(&text));
            }
        }
    }
    for text in ["", "{", "[]", "null", "{} {}", "{}x", "starting server…", r#"{"a":1"#] {
        assert!(scan(text.as_bytes(), 10).is_err(), "{text}");
    }
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(scan(deep.as_bytes(), 10), Err(ScanError::TooDeep(128)));
}

#[test]
fn data_that_is_not_base64_fails_the_message() {
    for data in ["AAECA*QF", "AAEC=AQF", "AAECA", "AAECAw==AAAA", r"AAECAw\n=="] {
        let text = format!(r#"{{"result":{{"content":[{{"data":"{data}"}}]}}}}"#);
        assert_eq!(scan(text.as_bytes(), 2), Err(ScanError::Base64), "{text}");
    }
    for (data, expect) in
        [("AAEC", 3), ("AAE", 2), ("AAE=", 2), ("AA==", 1), ("AA", 1), ("AAECAwQFBgcI", 9)]
    {
        let text = format!(r#"{{"result":{{"content":[{{"data":"{data}"}}]}}}}"#);
        assert_eq!(scan(text.as_bytes(), 0).unwrap().parts[0].1.len(), expect, "{text}");
    }
}

/// The id is known whatever goes wrong, so that the request can fail.
#[test]
fn the_id_of_a_message_that_is_given_up_is_found() {
    let small =
        ReadLimits { max_message_bytes: 90, spool_above: 10, max_part_bytes: 20, max_parts: 1 };
    let long = "x".repeat(100);
    for (text, error) in [
        (format!(r#"{{"result":{{"other":"{long}"}},"id":12}}"#), ScanError::TooLarge(90)),
        (format!(r#"{{"id":12,"result":{{"other":"{long}"}}}}"#), ScanError::TooLarge(90)),
        (
            format!(r#"{{"result":{{"content":[{{"text":"{long}"}}]}},"id":12}}"#),
            ScanError::PartTooLarge(20),
        ),
        (
            r#"{"result":{"content":[{"text":"long enough"},{"text":"long enough"}]},"id":12}"#
                .into(),
            ScanError::TooManyParts(1),
        ),
        (r#"{"result":{"content":[{"data":"************"}]},"id":12}"#.into(), ScanError::Base64),
    ] {
        for size in [1, 7, 1000] {
            let mut scanner = MessageScanner::new(Arc::from(MARKER), 0, small);
            let mut events = Vec::new();
            text.as_bytes().chunks(size).for_each(|piece| scanner.push(piece, &mut events));
            let failure = scanner.finish().unwrap_err();
            assert_eq!(
                (failure.error, failure.id.as_deref()),
                (error.clone(), Some(&b"12"[..])),
                "{text}"
            );
        }
    }
    let request = format!(r#"{{"method":"a","params":"{long}","id":12}}"#);
    let mut scanner = MessageScanner::new(Arc::from(MARKER), 0, small);
    scanner.push(request.as_bytes(), &mut Vec::new());
    assert_eq!(scanner.finish().unwrap_err().id, None, "the id is that of the server's request");
}

#[test]
fn a_part_is_passed_on_in_pieces_of_bounded_size() {
    let long = "x\\n".repeat(1_000_000);
    let text = format!(r#"{{"result":{{"content":[{{"text":"{long}"}}]}}}}"#);
    let mut scanner = MessageScanner::new(Arc::from(MARKER), 0, ReadLimits::default());
    let mut total = 0;
    let mut largest = 0;
    for piece in text.as_bytes().chunks(64 * 1024) {
        let mut events = Vec::new();
        scanner.push(piece, &mut events);
        for event in events {
            if let ScanEvent::Bytes(bytes) = event {
                total += bytes.len();
                largest = largest.max(bytes.len());
            }
        }
    }
    assert_eq!(total, 2_000_000);
    assert!(largest <= 512 * 1024, "{largest}");
    assert!(scanner.finish().unwrap().len() < 200);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{0,5}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The scanner and `serde_json` agree on every message, whatever its text, its splits and the threshold.
    #[test]
    fn scanned_messages_equal_parsed_ones(
        text in any::<String>(),
        structured in value(),
        extra in value(),
        spool_above in 0_usize..40,
        size in 1_usize..50,
        is_pretty in any::<bool>(),
    ) {
        let message = json!({
            "jsonrpc": "2.0",
            "id": 3,
            "result": {
                "content": [{"type": "text", "text": text}, {"type": "text", "text": "second"}],
                "structuredContent": structured,
                "_meta": extra,
            },
        });
        let text = if is_pretty { serde_json::to_string_pretty(&message) } else { serde_json::to_string(&message) };
        let mut scanned = scan_pieces(text.unwrap().as_bytes().chunks(size), limits(spool_above)).unwrap();
        restore(&mut scanned.message, &scanned.parts);
        prop_assert_eq!(scanned.message, message);
    }

    /// Any bytes: what the scanner accepts, `serde_json` accepts and reads alike, and the other way round.
    #[test]
    fn any_bytes_are_accepted_or_refused_alike(
        body in prop::collection::vec(prop::sample::select(&b"{}[]\",:\\u0d8ntrue1.-e \xc3\xa4"[..]), 0..24),
        spool_above in 0_usize..6,
    ) {
        let mut text = br#"{"result":{"structuredContent":"#.to_vec();
        text.extend(&body);
        text.extend(b"}}");
        let parsed = serde_json::from_slice::<Value>(&text);
        // The scanner repairs unpaired surrogates and leaves numbers as they are written.
        let is_excused = text.windows(2).any(|it| it == b"\\u") || body.contains(&b'e');
        match (scan(&text, spool_above), parsed) {
            (Ok(mut scanned), Ok(expect)) => {
                restore(&mut scanned.message, &scanned.parts);
                prop_assert_eq!(scanned.message, expect);
            }
            (Err(_), Err(_)) => {}
            (scanned, parsed) => prop_assert!(is_excused, "{:?} {:?}", scanned, parsed),
        }
    }
}
