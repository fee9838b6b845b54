//! Rows of CSV.

use haft::artifacts::QueryOutput;
use haft::artifacts::csv::{CsvError, CsvFilter, CsvHeader, CsvView};

use super::{WINDOWS, all, compact, reader, remote, run};

/// What a query answers, whatever is read at once.
#[track_caller]
fn check<F>(content: impl AsRef<[u8]>, query: impl Fn(CsvView) -> F, expected: &str)
where
    F: Future<Output = Result<QueryOutput, CsvError>>,
{
    let content = content.as_ref();
    for window in WINDOWS {
        for reader in [reader(content), remote(content)] {
            let view = CsvView::new(reader).budget(all()).window_bytes(window);
            let answer = match run(query(view)) {
                Ok(answer) => compact(answer.as_str()),
                Err(error) => error.to_string(),
            };
            let shown = String::from_utf8_lossy(content);
            assert_eq!(answer, expected, "{window} bytes at once of {shown:?}");
        }
    }
}

#[track_caller]
fn columns(content: impl AsRef<[u8]>, expected: &str) {
    check(content, |view| async move { view.list_columns(0).await }, expected);
}

#[track_caller]
fn rows(content: impl AsRef<[u8]>, expected: &str) {
    check(content, |view| async move { view.read_rows(.., &[], 0).await }, expected);
}

#[track_caller]
fn length(content: impl AsRef<[u8]>, expected: &str) {
    check(content, |view| async move { view.count_rows().await }, expected);
}

#[track_caller]
fn filter(content: &str, filter: &CsvFilter, expected: &str) {
    check(content, |view| async move { view.filter(filter.clone(), 0).await }, expected);
}

#[track_caller]
fn stats(content: &str, column: &'static str, expected: &str) {
    check(content, |view| async move { view.summarize_column(column).await }, expected);
}

#[test]
fn the_delimiter_that_fits_is_found() {
    columns("a,b,c\n1,2,3\n", "a b c [3 columns, parted by `,`]");
    columns("a;b\n1,5;2\n", "a b [2 columns, parted by `;`]");
    columns("a\tb\n1,5\t2\n", "a b [2 columns, parted by a tab]");
    columns("a|b\n1|2\n", "a b [2 columns, parted by `|`]");
    columns("a\n1\n", "a [1 column, parted by `,`]");
    columns("name, full;age\nx;1\n", "name, full age [2 columns, parted by `;`]");
    columns("a,b;c\n1,2;3\n", "a b;c [2 columns, parted by `,`]");
    columns("\"a;b;c\",d\n1,2\n", "a;b;c d [2 columns, parted by `,`]");
    columns("", "(empty list) [0 columns, parted by `,`]");
    check(
        "a,b;c\n",
        |view| async move { view.delimiter(b';').list_columns(0).await },
        "a,b c [2 columns, parted by `;`]",
    );
}

#[test]
fn columns_have_names_of_their_own() {
    columns("a,,a,a_2,a\n", "a column_2 a_3 a_2 a_4 [5 columns, parted by `,`]");
    columns("column_2,\n", "column_2 column_2_2 [2 columns, parted by `,`]");
    columns("\u{FEFF}a,b\n", "a b [2 columns, parted by `,`]");
    columns("\u{FEFF}\u{FEFF}a,b\n", "\u{FEFF}a b [2 columns, parted by `,`]");
    columns("\u{FEFF}\"a\",b\n", "a b [2 columns, parted by `,`]");
    check(
        "1,2\n3,4\n",
        |view| async move { view.header(CsvHeader::Absent).read_rows(.., &[], 0).await },
        r#"[ { "column_1": "1", "column_2": "2" }, { "column_1": "3", "column_2": "4" } ]"#,
    );
}

#[test]
fn rows_are_objects() {
    rows("a,b\n1,2\n3,4", r#"[ { "a": "1", "b": "2" }, { "a": "3", "b": "4" } ]"#);
    rows("a,b\r\n1,2\r\n\r\n3,4\r\n", r#"[ { "a": "1", "b": "2" }, { "a": "3", "b": "4" } ]"#);
    rows("a,b\r1,2\r", r#"[ { "a": "1", "b": "2" } ]"#);
    rows("a,b\n\"x\ny\",\"say \"\"hi\"\", ok\"\n", r#"[ { "a": "x\ny", "b": "say \"hi\", ok" } ]"#);
    rows("a,b\n,\n", r#"[ { "a": "", "b": "" } ]"#);
    rows("a\n\"\"\n", r#"[ { "a": "" } ]"#);
    rows("a,b\nn\u{0}l,ok\n", r#"[ { "a": "n\u0000l", "b": "ok" } ]"#);
    rows(b"a,b\n\xFF\xC3,\xC3\xA4\n", "[ { \"a\": \"\u{FFFD}\u{FFFD}\", \"b\": \"ä\" } ]");
    rows("a,b\n", "(empty list)");
    rows("", "(empty list)");
}

#[test]
fn rows_of_another_length_are_reported() {
    let ragged = "a,b\n1,2\n3\n4,5,6,7\n";
    let note = "[2 rows have more or fewer than 2 fields; see line 3]";
    rows(
        ragged,
        &format!(
            r#"[ {{ "a": "1", "b": "2" }}, {{ "a": "3" }}, {{ "a": "4", "b": "5", "column_3": "6", "column_4": "7" }} ] {note}"#
        ),
    );
    length(ragged, &format!("3 {note}"));
    length(
        "a,b\r\n\"x\r\ny\",2\r\n\r\n3\r\n",
        "2 [1 row has more or fewer than 2 fields; see line 5]",
    );
    rows(
        "column_2\n1,2\n",
        r#"[ { "column_2": "1", "column_2_2": "2" } ] [1 row has more or fewer than 1 fields; see line 2]"#,
    );
    check(
        ragged,
        |view| async move { view.pluck("b", 0).await },
        &format!(r#"[ "2", null, "5" ] {note}"#),
    );
    // Columns that were asked for, in that order, where they are.
    check(
        ragged,
        |view| async move { view.read_rows(1.., &["b".to_owned(), "a".to_owned()], 0).await },
        &format!(r#"[ {{ "a": "3" }}, {{ "b": "5", "a": "4" }} ] {note}"#),
    );
}

#[test]
fn quotes_that_stay_open_are_reported() {
    let note = "[the content ends inside quotes, in the row that begins at line 2]";
    length("a,b\n1,\"x\ny\n", &format!("1 {note}"));
    length("a,b\n1,\"", &format!("1 {note}"));
    length("a,b\n1,\"x\"", "1");
    length("a,b\n1,2\"x", "1");
}

#[test]
fn ranges_are_half_open() {
    let range = |start: u64, end: Option<u64>, expected: &str| {
        let rows = start..end.unwrap_or(u64::MAX);
        let read = |view: CsvView| {
            let rows = rows.clone();
            async move { view.read_rows(rows, &[], 0).await }
        };
        check("a\n0\n1\n2\n", read, expected);
    };
    range(0, Some(1), r#"[ { "a": "0" } ]"#);
    range(1, None, r#"[ { "a": "1" }, { "a": "2" } ]"#);
    range(3, None, "(empty list)");
    range(2, Some(1), "(empty list)");
}

#[test]
fn filters_keep_rows_by_value() {
    let table = "name,price\nbread,2.50\ncheese,12\nwine,n/a\nmilk,\nbread roll, 0.5 \n";
    let bread = r#"{ "name": "bread", "price": "2.50" }"#;
    let cheese = r#"{ "name": "cheese", "price": "12" }"#;
    let roll = r#"{ "name": "bread roll", "price": " 0.5 " }"#;
    let note = "[1 fields of the column are not numbers and were passed over]";
    filter(table, &CsvFilter::new("name").equals("bread"), &format!("[ {bread} ]"));
    filter(table, &CsvFilter::new("name").contains("read"), &format!("[ {bread}, {roll} ]"));
    filter(table, &CsvFilter::new("price").above(2.5), &format!("[ {cheese} ] {note}"));
    filter(table, &CsvFilter::new("price").below(2.5), &format!("[ {roll} ] {note}"));
    filter(
        table,
        &CsvFilter::new("price").above(1.0).below(3.0).contains("."),
        &format!("[ {bread} ]"),
    );
    filter(table, &CsvFilter::new("name").equals("Bread"), "(empty list)");
    filter(
        table,
        &CsvFilter::new("name"),
        "the filter says nothing about the column `name`; give `equals`, `contains`, `above` or \
         `below`",
    );
    filter(
        table,
        &CsvFilter::new("Price").above(1.0),
        "there is no column `Price`; the columns are `name`, `price`",
    );
    filter(
        "",
        &CsvFilter::new("a").equals(""),
        "there is no column `a`; the table is empty and has no columns",
    );
}

#[test]
fn columns_have_statistics() {
    stats(
        "n\n1\n2\n2\n-3.5\n",
        "n",
        r#"{ "column": "n", "rows": 4, "empty": 0, "distinct": 3, "numbers": { "count": 4, "min": -3.5, "max": 2, "sum": 1.5, "mean": 0.375 } }"#,
    );
    stats(
        "n,x\n0.1,\n0.2,\nlow,\n,\n.5e1,\n",
        "n",
        r#"{ "column": "n", "rows": 5, "empty": 1, "distinct": 4, "numbers": { "count": 3, "min": 0.1, "max": 5, "sum": 5.3, "mean": 1.7666666666666666 }, "texts": { "count": 1, "min": "low", "max": "low" } }"#,
    );
    // Exact, as long as digits are.
    stats(
        "n\n0.1\n0.2\n-.000000001\n",
        "n",
        r#"{ "column": "n", "rows": 3, "empty": 0, "distinct": 3, "numbers": { "count": 3, "min": -1e-9, "max": 0.2, "sum": 0.299999999, "mean": 0.09999999966666667 } }"#,
    );
    stats(
        "n\n9007199254740993\n100000000000000000001\n-7\n",
        "n",
        r#"{ "column": "n", "rows": 3, "empty": 0, "distinct": 3, "numbers": { "count": 3, "min": -7, "max": 100000000000000000001, "sum": 100009007199254740987, "mean": 33336335733084910000 } }"#,
    );
    stats(
        "n\nb\na\ninf\nnan\n1,5\n",
        "n",
        r#"{ "column": "n", "rows": 5, "empty": 0, "distinct": 5, "numbers": { "count": 1, "min": 1, "max": 1, "sum": 1, "mean": 1 }, "texts": { "count": 4, "min": "a", "max": "nan" } } [1 row has more or fewer than 1 fields; see line 6]"#,
    );
    let many: String = (0..10_001).map(|it| format!("{it}\n")).collect();
    let view = CsvView::new(reader(format!("n\n{many}").as_bytes()));
    let answer = run(view.summarize_column("n")).unwrap().into_string();
    assert!(answer.contains("\"distinct\": \"more than 10000\""), "{answer}");
    assert!(answer.contains("\"sum\": 50005000"), "{answer}");
}
