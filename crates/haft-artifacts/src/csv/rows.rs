//! The visitors of rows: one type per query.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use haft_core::artifact::QueryListBuilder;

use super::columns::Columns;
use super::error::CsvError;
use super::scan::{CsvRecord, RowVisitor};
use crate::table::{TableRecord, TableRun, UnknownColumn};

/// The names of the columns.
#[derive(Debug, Default)]
pub(super) struct ColumnNames(pub(super) Vec<Box<str>>);

impl RowVisitor for ColumnNames {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.0 = columns.names().to_vec();
        Ok(ControlFlow::Break(()))
    }

    fn visit_row(&mut self, _: &Columns, _: CsvRecord<'_>) -> Result<ControlFlow<()>, CsvError> {
        Ok(ControlFlow::Break(()))
    }
}

/// The number of rows.
#[derive(Debug, Default)]
pub(super) struct CountRows(pub(super) u64);

impl RowVisitor for CountRows {
    fn visit_columns(&mut self, _: &Columns) -> Result<ControlFlow<()>, CsvError> {
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, _: CsvRecord<'_>) -> Result<ControlFlow<()>, CsvError> {
        self.0 += 1;
        Ok(ControlFlow::Continue(()))
    }
}

/// The rows of a range.
#[derive(Debug)]
pub(super) struct ReadRows {
    pub(super) at: u64,
    pub(super) range: Range<u64>,
    pub(super) only: Vec<String>,
    pub(super) places: Vec<usize>,
    pub(super) listing: QueryListBuilder,
}

impl RowVisitor for ReadRows {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.places = self.only.iter().map(|it| columns.find(it)).collect::<Result<_, _>>()?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(
        &mut self,
        columns: &Columns,
        row: CsvRecord<'_>,
    ) -> Result<ControlFlow<()>, CsvError> {
        let at = self.at;
        self.at += 1;
        if at >= self.range.end {
            return Ok(ControlFlow::Break(()));
        }
        if at < self.range.start {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(self.listing.push(columns.row_object(row, &self.places).root()))
    }
}

/// SQL over the rows.
impl RowVisitor for TableRun {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.bind(columns.names()).map_err(|UnknownColumn(name)| columns.unknown(&name))?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, row: CsvRecord<'_>) -> Result<ControlFlow<()>, CsvError> {
        Ok(self.push(&row)?)
    }
}

impl TableRecord for CsvRecord<'_> {
    fn cell(&self, _: &[String], place: Option<usize>) -> Option<Cow<'_, str>> {
        self.field(place?).map(String::from_utf8_lossy)
    }

    fn names(&self) -> Vec<Cow<'_, str>> {
        Vec::new()
    }
}
