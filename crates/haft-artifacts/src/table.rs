//! SQL over records: the rows of a table, the elements of a list, the lines of JSON Lines, the documents of a stream.
//!
//! A query is one `SELECT` over one source, evaluated record by record, so that content of any size can be queried:
//!
//! ```sql
//! SELECT region, sum(price * pieces) AS worth FROM data
//! WHERE year = 2024 AND NOT state IN ('open', 'void') AND note LIKE '%late%'
//! GROUP BY region HAVING count(*) > 3 ORDER BY worth DESC LIMIT 5 OFFSET 0
//! ```
//!
//! - The name after `FROM` does not matter. In JSON, YAML and XML, `FROM $.orders` takes the records from a JSONPath.
//! - A column is a name, a name in double quotes, or, in trees, a path such as `address.city`. The records of a list of
//!   plain values have one column, `value`.
//! - Two values that are both numbers are compared as numbers, others as text. An empty field is `NULL`.
//! - `count`, `sum`, `avg`, `min` and `max` aggregate; sums of decimal numbers are exact. `LIKE` ignores case.
//! - The result is CSV with a header.

mod aggregate;
mod parse;
mod rows;
mod run;
mod statement;
mod value;

#[cfg(test)]
mod tests;

#[cfg(feature = "formats")]
pub(crate) use self::run::UnknownColumn;
pub(crate) use self::run::{TableRecord, TableRun};
pub use self::statement::InvalidSql;
