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
