//! Why a query of CSV fails.

use haft_core::error::{Coded, ErrorCode, codes};

use crate::error::{ContentError, impl_from_spool_error};
use crate::table::InvalidSql;

/// A query of CSV failed. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// There is no column of that name.
    #[error("there is no column `{name}`; {}", known(.columns, *.more))]
    NoColumn {
        /// The name that was requested.
        name: Box<str>,
        /// The first columns of the table.
        columns: Vec<Box<str>>,
        /// How many more columns there are.
        more: usize,
    },
    /// The SQL is not valid, or its result cannot be held.
    #[error(transparent)]
    Sql(#[from] InvalidSql),
    /// One row is too large for memory.
    #[error(
        "the row that begins at line {line}, column 1 has more than {limit} {what}, the most that is \
         read; a quote before it may be never closed, or the columns may be parted by something else"
    )]
    RowTooLarge {
        /// The line that the row begins with.
        line: u64,
        /// The limit of one row.
        limit: usize,
        /// Of what: `bytes` or `fields`.
        what: &'static str,
    },
    /// The content cannot be read as text.
    #[error(transparent)]
    Content(#[from] ContentError),
}

fn known(columns: &[Box<str>], more: usize) -> String {
    if columns.is_empty() {
        return "the table is empty and has no columns".to_owned();
    }
    let names: Vec<String> = columns.iter().map(|it| format!("`{it}`")).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the columns are {}{rest}", names.join(", "))
}

impl_from_spool_error!(CsvError);

impl Coded for CsvError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoColumn { .. } | Self::Sql(_) => codes::INVALID_TOOL_ARGS,
            Self::RowTooLarge { .. } => codes::TOOL_DOWNSTREAM_ERROR,
            Self::Content(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Content(error) => error.retryable(),
            _ => false,
        }
    }
}
