//! Queries of CSV and TSV tables of any size.
//!
//! [`CsvView`] reads a table row by row and holds one row at a time, so that a table of gigabytes costs
//! no more memory than a small one. Every query is one pass.
//!
//! # What is a table
//!
//! - Rows end with LF, CRLF or CR. Empty lines are not rows.
//! - Fields are separated by `,`, `;`, a tab or `|`, whichever fits the first rows best, or by the
//!   byte that [`CsvView::delimiter`] sets.
//! - A field in double quotes may hold all of these; `""` in it is one quote.
//! - The first row has the names of the columns, unless [`CsvView::header`] says otherwise. A column
//!   without a name is called `column_3` by its position, counted from 1. The second of two equal names
//!   gets the suffix `_2`.
//! - A row is shown as a JSON object of texts in the order of the columns. A row that is too short lacks
//!   its last members, and extra fields are shown as `column_5` and so on. A note says how many rows
//!   differ in length from the first.
//! - A byte order mark is skipped, and bytes that are not UTF-8 become the replacement character.

mod columns;
mod error;
mod format;
mod rows;
mod scan;
pub(crate) mod sniff;
mod view;

pub use self::error::CsvError;
pub use self::format::CsvFormat;
pub use self::sniff::sniff_delimiter;
pub use self::view::{CsvHeader, CsvView};
