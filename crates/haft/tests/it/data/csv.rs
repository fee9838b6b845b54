//! Rows of CSV.

use haft::artifacts::QueryOutput;
use haft::artifacts::csv::{CsvError, CsvHeader, CsvView};

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
fn sql(content: &str, query: &'static str, expected: &str) {
    check(content, |view| async move { view.sql(query, 0).await }, expected);
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
    sql(ragged, "SELECT a, b FROM t WHERE b IS NULL", &format!("a,b 3, {note}"));
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
fn sql_keeps_rows_by_value() {
    let table = "name,price\nbread,2.50\ncheese,12\nwine,n/a\nmilk,\nbread roll, 0.5 \n";
    let bread = "name,price bread,2.50";
    sql(table, "SELECT * FROM t WHERE name = 'bread'", bread);
    sql(table, "SELECT name FROM t WHERE name LIKE '%read%'", "name bread bread roll");
    sql(table, "SELECT * FROM t WHERE price > 2.5 AND price < 100", "name,price cheese,12");
    sql(table, "SELECT name FROM t WHERE price < 2.5", "name bread roll");
    sql(table, "SELECT * FROM t WHERE price BETWEEN 1 AND 3 AND price LIKE '%.%'", bread);
    sql(table, "SELECT * FROM t WHERE name = 'Bread'", "(no rows)");
    sql(table, "SELECT name FROM t WHERE price IS NULL", "name milk");
    sql(table, "SELECT Price FROM t WHERE NAME = 'bread'", "Price 2.50");
    sql(
        table,
        "SELECT * FROM t WHERE cost > 1",
        "there is no column `cost`; the columns are `name`, `price`",
    );
    sql("", "SELECT a FROM t", "there is no column `a`; the table is empty and has no columns");
}

#[test]
fn sql_has_statistics_of_columns() {
    let all = "SELECT count(*), count(n), count(DISTINCT n), min(n), max(n), sum(n), avg(n) FROM t";
    let head = "count(*),count(n),count(DISTINCT n),min(n),max(n),sum(n),avg(n)";
    sql("n\n1\n2\n2\n-3.5\n", all, &format!("{head} 4,4,3,-3.5,2,1.5,0.375"));
    // Exact, as long as digits are.
    sql("n\n0.1\n0.2\n-.000000001\n", "SELECT sum(n) FROM t", "sum(n) 0.299999999");
    sql(
        "n\n9007199254740993\n100000000000000000001\n-7\n",
        "SELECT min(n), max(n), sum(n) FROM t",
        "min(n),max(n),sum(n) -7,100000000000000000001,100009007199254740987",
    );
    sql(
        "n,x\n0.1,\n0.2,\nlow,\n,\n.5e1,\n",
        "SELECT count(n), sum(n) FROM t",
        "count(n),sum(n) 4,5.3",
    );
    let many: String = (0..10_001).map(|it| format!("{it}\n")).collect();
    let view = CsvView::new(reader(format!("n\n{many}").as_bytes()));
    let answer = run(view.sql("SELECT count(DISTINCT n), sum(n) FROM t", 0)).unwrap();
    assert_eq!(answer.as_str(), "count(DISTINCT n),sum(n)\nmore than 10000,50005000");
}
