use std::borrow::Cow;

use haft_core::artifact::Budget;
use haft_core::json::Document;

use super::{TableRecord, TableRun};
use crate::tree_record::TreeRecord;

/// The result of a query over JSON records.
#[track_caller]
fn run(records: &str, sql: &str) -> String {
    let records = Document::parse(records).unwrap();
    let mut table = match TableRun::new(sql, Budget::new(), 0) {
        Ok(table) => table,
        Err(error) => return error.problem,
    };
    for record in records.root().elements() {
        match table.push(&TreeRecord(record)) {
            Ok(flow) if flow.is_break() => break,
            Ok(_) => {}
            Err(error) => return error.problem,
        }
    }
    table.finish().map_or_else(|error| error.problem, haft_core::artifact::QueryOutput::into_string)
}

const SALES: &str = r#"[
    {"region": "north", "year": 2024, "sold": 2.5, "at": {"city": "Oslo"}, "note": null},
    {"region": "south", "year": 2024, "sold": 5, "at": {"city": "Rome, Italy"}, "note": "late"},
    {"region": "north", "year": 2023, "sold": 4, "at": {"city": "Bergen"}, "note": "Late again"}
]"#;

#[test]
fn queries_have_the_results_of_sql() {
    for (sql, expected) in [
        ("select region, sold from data", "region,sold\nnorth,2.5\nsouth,5\nnorth,4"),
        (
            "SELECT * FROM t LIMIT 1;",
            "region,year,sold,at,note\nnorth,2024,2.5,\"{\"\"city\"\":\"\"Oslo\"\"}\",",
        ),
        (
            "SELECT at.city AS city FROM t WHERE sold BETWEEN 4 AND 5",
            "city\n\"Rome, Italy\"\nBergen",
        ),
        ("SELECT t.region r FROM t WHERE t.year = 2023", "r\nnorth"),
        (
            "SELECT count(*), count(note), sum(sold), avg(sold), min(sold), max(at.city) FROM t",
            "count(*),count(note),sum(sold),avg(sold),min(sold),max(at.city)\n3,2,11.5,3.83333333333333,2.5,\"Rome, Italy\"",
        ),
        (
            "SELECT region, sum(sold) AS s FROM t GROUP BY region HAVING s > 5 ORDER BY 2 DESC",
            "region,s\nnorth,6.5",
        ),
        (
            "SELECT region, sum(sold) FROM t GROUP BY region ORDER BY sum(sold)",
            "region,sum(sold)\nsouth,5\nnorth,6.5",
        ),
        ("SELECT DISTINCT region FROM t", "region\nnorth\nsouth"),
        ("SELECT count(DISTINCT region) FROM t", "count(DISTINCT region)\n2"),
        (
            "SELECT year FROM t WHERE region = 'north' AND NOT (sold > 3 OR year IN (1, 2))",
            "year\n2024",
        ),
        ("SELECT region FROM t WHERE note LIKE '%LATE%'", "region\nsouth\nnorth"),
        ("SELECT region FROM t WHERE note NOT LIKE 'late'", "region\nnorth\nnorth"),
        ("SELECT region FROM t WHERE note IS NULL", "region\nnorth"),
        ("SELECT year FROM t WHERE region = \"south\"", "year\n2024"),
        ("SELECT sold * 2 - 1 AS x FROM t ORDER BY sold DESC LIMIT 2", "x\n9\n7"),
        ("SELECT sold FROM t ORDER BY year, sold DESC LIMIT 1 OFFSET 1", "sold\n5"),
        ("SELECT sold FROM t WHERE sold > 100", "(no rows)"),
        ("SELECT sum(sold) FROM t WHERE sold > 100", "sum(sold)\n"),
        ("SELECT sum(0.1 + sold) FROM t", "sum(0.1+sold)\n11.8"),
    ] {
        assert_eq!(run(SALES, sql), expected, "{sql}");
    }
    assert_eq!(run("[3, 1, 2]", "SELECT sum(value) FROM t WHERE value > 1"), "sum(value)\n5");
    assert_eq!(run("[0.1, 0.2, 0.3]", "SELECT sum(value) FROM t"), "sum(value)\n0.6");
    let large = "[9007199254740993, 9007199254740992]";
    assert_eq!(
        run(large, "SELECT value FROM t WHERE value = 9007199254740993"),
        "value\n9007199254740993"
    );
}

#[test]
fn mistakes_are_answered_with_what_was_expected() {
    for (sql, expected) in [
        ("SELECT", "expected a column but found the end"),
        ("SELECT a FROM t WHERE", "expected a column but found the end"),
        ("SELECT a FROM t WHERE a", "expected a comparison such as `=` but found the end"),
        ("SELECT a FROM t JOIN u", "there is one table, so that there are no joins"),
        ("SELECT upper(a) FROM t", "there is no function `upper`"),
        ("SELECT a FROM t LIMIT x", "expected a number but found `x`"),
        ("SELECT 'a FROM t", "a text that begins with ' has no end"),
        ("DELETE FROM t", "expected SELECT but found `DELETE`"),
        ("SELECT a ? b", "`?` has no meaning here"),
        ("SELECT sum(max(a)) FROM t", "an aggregate stands in another one"),
    ] {
        assert_eq!(run("[]", sql), expected, "{sql}");
    }
    let missing = run(SALES, "SELECT price FROM t WHERE price > 1");
    assert_eq!(
        missing,
        "(no rows)\n[no record has `price`; the first one has region, year, sold, at, note]"
    );
    let deep = format!("SELECT a FROM t WHERE {}a = 1", "NOT ".repeat(1000));
    assert_eq!(run("[]", &deep), "it is nested too deeply");
    let groups: Vec<String> = (0..10_001).map(|it| it.to_string()).collect();
    let groups = run(&format!("[{}]", groups.join(",")), "SELECT value FROM t GROUP BY value");
    assert!(groups.starts_with("there are more than 10000 groups"), "{groups}");
}

/// A record of one column.
struct Plain(String);

impl TableRecord for Plain {
    fn cell(&self, _: &[String], _: Option<usize>) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.0))
    }

    fn names(&self) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed("n")]
    }
}

#[test]
fn pages_have_every_row_once_and_stay_within_the_budget() {
    let lines = std::num::NonZeroUsize::new(8).unwrap();
    for sql in [
        "SELECT n FROM t",
        "SELECT n FROM t ORDER BY n DESC",
        "SELECT n, count(*) FROM t GROUP BY n",
    ] {
        let (mut found, mut skip) = (Vec::new(), 0);
        loop {
            let mut table = TableRun::new(sql, Budget::new().lines(lines).bytes(64), skip).unwrap();
            for n in 0..50 {
                if table.push(&Plain(format!("row {n:02}"))).unwrap().is_break() {
                    break;
                }
            }
            let page = table.finish().unwrap().into_string();
            assert!(page.len() < 64 + 60 && page.lines().count() <= 9, "{page}");
            let rows = page.lines().skip(1).filter_map(|it| it.get(4..6)?.parse::<u32>().ok());
            let before = found.len();
            found.extend(rows.take_while(|it| *it < 50));
            skip += (found.len() - before) as u64;
            if !page.contains("go on with skip") {
                break;
            }
            assert!(found.len() > before, "{page}");
        }
        found.sort_unstable();
        assert_eq!(found, (0..50).collect::<Vec<_>>(), "{sql}");
    }
}
