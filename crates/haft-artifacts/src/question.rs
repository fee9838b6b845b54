//! What the formats of trees and tables have in common when they are asked.

use haft_core::artifact::QueryOutput;

/// What `artifact_query` takes for trees and lists of records.
pub(crate) const TREE_FORM: &str = "a JSONPath such as `$.items[?@.price > 9].name`, or SQL over records such as `SELECT name, price FROM $.items \
     WHERE price > 9 ORDER BY price DESC LIMIT 5`";

/// Whether a query is SQL and no JSONPath.
pub(crate) fn is_sql(query: &str) -> bool {
    let word = query.trim_start().split(|it: char| !it.is_ascii_alphabetic()).next();
    word.is_some_and(|it| it.eq_ignore_ascii_case("select") || it.eq_ignore_ascii_case("with"))
}

/// A line, and below it a list of names if there are any.
pub(crate) fn with_names(line: &str, label: &str, names: &QueryOutput) -> QueryOutput {
    match names.as_str() {
        "(undefined)" | "(empty list)" => QueryOutput::whole(line),
        names => {
            let (names, notes) = match names.find("\n[") {
                Some(at) => (names.get(..at).unwrap_or(names), names.get(at..).unwrap_or_default()),
                None => (names, ""),
            };
            QueryOutput::whole(format!("{line}\n{label}: {}{notes}", names.replace('\n', ", ")))
        }
    }
}
