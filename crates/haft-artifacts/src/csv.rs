//! Queries of CSV and TSV tables of any size.
//!
//! [`CsvView`] reads a table row by row and holds one row at a time, so that a table of gigabytes costs
//! no more memory than a small one. Every query is one pass.
//!
//! # What is a table
//!
//! - ReadRows end with LF, CRLF or CR; empty lines are no rows.
//! - Fields are parted by `,`, `;`, a tab or `|`, whichever fits the first rows best, or by what
//!   [`CsvView::delimiter`] says.
//! - A field in double quotes may hold all of these; `""` in it is one quote.
//! - The first row has the names of the columns, unless [`CsvView::header`] says otherwise. A column
//!   without a name is `column_3` by its place, counted from 1; the second of two equal names gets `_2`.
//! - A row is shown as a JSON object of texts in the order of the columns. A row that is too short lacks
//!   its last members; what a row has beyond the columns is shown as `column_5` and so on. Notes say how
//!   many rows have another length than the first.
//! - A byte order mark is skipped, and bytes that are not UTF-8 become the replacement character.

mod columns;
mod error;
mod filter;
mod queries;
mod rows;
mod scan;
pub(crate) mod sniff;
mod stats;
mod view;

pub use self::error::CsvError;
pub use self::filter::CsvFilter;
pub use self::queries::CsvFormat;
pub use self::sniff::sniff_delimiter;
pub use self::view::{CsvHeader, CsvView};
