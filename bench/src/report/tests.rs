use super::*;

fn row(entries: &[(&'static str, f64, Option<f64>)]) -> Row {
    let entry = |&(name, value, ratio): &_| Entry { name, value, ratio };
    Row { name: "demo".to_owned(), unit: "ns", entries: entries.iter().map(entry).collect() }
}

#[track_caller]
fn check(row: &Row, format: Format, expected: &str) {
    let mut out = Vec::new();
    row.print(format, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn json_lines() {
    check(
        &row(&[(FLOOR, 200.0, Some(1.0)), (OURS, 600.1234, Some(3.00049)), ("rig", 2.5, None)]),
        Format::JsonLines,
        "{\"name\":\"demo\",\"ours\":600.123,\"unit\":\"ns\",\"peers\":{\"floor\":200.0,\"rig\":2.5},\"ratio\":3.0}\n",
    );
    check(
        &row(&[(FLOOR, 200.0, Some(1.0))]),
        Format::JsonLines,
        "{\"name\":\"demo\",\"ours\":null,\"unit\":\"ns\",\"peers\":{\"floor\":200.0},\"ratio\":null}\n",
    );
}

#[test]
fn further_variants_of_ours_are_lines_of_their_own() {
    check(
        &row(&[(FLOOR, 2.0, Some(1.0)), ("haft, strict", 3.0, Some(1.5)), ("rig", 2.5, None)]),
        Format::JsonLines,
        "{\"name\":\"demo\",\"ours\":null,\"unit\":\"ns\",\"peers\":{\"floor\":2.0,\"rig\":2.5},\"ratio\":null}\n\
         {\"name\":\"demo/strict\",\"ours\":3.0,\"unit\":\"ns\",\"peers\":{\"floor\":2.0},\"ratio\":1.5}\n",
    );
}

#[test]
fn table() {
    check(
        &row(&[(FLOOR, 12345.6, Some(1.0)), ("rig", 99.94, None)]),
        Format::Table,
        "demo (ns)\n  \
         floor                                                12,346     1.00 x\n  \
         rig                                                    99.9\n\n",
    );
}

#[test]
fn aims_are_printed_beside_what_they_are_about() {
    let entries =
        [(FLOOR, 2.0, Some(1.0)), (OURS, 3.0, Some(1.5)), ("haft, twice", 5.0, Some(2.5))];
    let mut out = Vec::new();
    let aimed = row(&entries).aims([(OURS, 1.5), ("haft, twice", 2.0)]);
    aimed.print(Format::Table, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("1.50 x  (aim: at most 1.50 x: met)"), "{text}");
    assert!(text.contains("2.50 x  (aim: at most 2.00 x: MISSED)"), "{text}");
    let mut out = Vec::new();
    aimed.print(Format::JsonLines, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(r#""ratio":1.5,"target":1.5,"met":true}"#), "{text}");
    assert!(text.contains(r#""ratio":2.5,"target":2.0,"met":false}"#), "{text}");
}
