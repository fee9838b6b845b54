//! Tables that another program wrote are read back as they were.

use csv::{QuoteStyle, Terminator, WriterBuilder};
use haft::artifacts::csv::{CsvHeader, CsvView};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{all, reader, remote, run};

/// Fields with everything that could part them.
fn field() -> impl Strategy<Value = String> {
    let odd =
        prop::sample::select(vec![",", ";", "\t", "|", "\"", "\n", "\r", "\r\n", " ", "ä", "'"]);
    prop_oneof![
        "[a-z0-9]{0,6}",
        prop::collection::vec(prop_oneof!["[a-z]", odd.prop_map(str::to_owned)], 0..6)
            .prop_map(|parts| parts.concat()),
    ]
}

fn rows(width: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(prop::collection::vec(field(), width), 1..12)
}

#[derive(Clone, Copy, Debug)]
struct Style {
    delimiter: u8,
    quotes: QuoteStyle,
    terminator: Terminator,
    flexible: bool,
}

fn style() -> impl Strategy<Value = Style> {
    let delimiter = prop::sample::select(vec![b',', b';', b'\t', b'|', b':']);
    let quotes = prop::sample::select(vec![QuoteStyle::Necessary, QuoteStyle::Always]);
    let ends = prop::sample::select(vec![Terminator::CRLF, Terminator::Any(b'\n')]);
    (delimiter, quotes, ends).prop_map(|(delimiter, quotes, terminator)| Style {
        delimiter,
        quotes,
        terminator,
        flexible: true,
    })
}

fn written(rows: &[Vec<String>], style: Style) -> Vec<u8> {
    let mut out = WriterBuilder::new()
        .delimiter(style.delimiter)
        .quote_style(style.quotes)
        .terminator(style.terminator)
        .flexible(style.flexible)
        .from_writer(Vec::new());
    for row in rows {
        out.write_record(row).unwrap();
    }
    out.into_inner().unwrap()
}

/// Rows as the view shows them, by the names of the columns.
fn shown(rows: &[Vec<String>], names: &[String]) -> Value {
    let row = |row: &Vec<String>| {
        let named = names.iter().cloned().zip(row.iter().cloned().map(Value::String));
        Value::Object(named.collect::<Map<_, _>>())
    };
    rows.iter().map(row).collect()
}

fn answer(text: &str) -> Value {
    if text == "(empty list)" {
        Value::Array(Vec::new())
    } else {
        serde_json::from_str(text).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_are_read_back(
        rows in (1..5_usize).prop_flat_map(rows),
        style in style(),
        window in 1..40_usize,
    ) {
        let content = written(&rows, style);
        let names: Vec<String> = (1..=rows[0].len()).map(|it| format!("column_{it}")).collect();
        for reader in [reader(&content), remote(&content)] {
            let view = CsvView::new(reader)
                .budget(all())
                .delimiter(style.delimiter)
                .window_bytes(window);
            let read = run(view.clone().header(CsvHeader::Absent).read_rows(.., &[], 0)).unwrap();
            prop_assert_eq!(answer(read.as_str()), shown(&rows, &names));
            let read = run(view.clone().header(CsvHeader::Absent).count_rows()).unwrap();
            prop_assert_eq!(read.as_str(), rows.len().to_string());
            // With the first row as names, the rest are rows.
            let read = run(view.count_rows()).unwrap();
            prop_assert_eq!(read.as_str(), (rows.len() - 1).to_string());
        }
    }

    #[test]
    fn the_delimiter_of_a_plain_table_is_found(
        table in (2..6_usize).prop_flat_map(|width| {
            prop::collection::vec(prop::collection::vec("[a-z0-9 .]{1,8}", width), 1..20)
        }),
        delimiter in prop::sample::select(vec![b',', b';', b'\t', b'|']),
    ) {
        let style = Style {
            delimiter,
            quotes: QuoteStyle::Necessary,
            terminator: Terminator::CRLF,
            flexible: false,
        };
        let content = written(&table, style);
        let view = CsvView::new(reader(&content)).header(CsvHeader::Absent).budget(all());
        let read = run(view.read_rows(.., &[], 0)).unwrap();
        let names: Vec<String> = (1..=table[0].len()).map(|it| format!("column_{it}")).collect();
        prop_assert_eq!(answer(read.as_str()), shown(&table, &names));
    }
}
