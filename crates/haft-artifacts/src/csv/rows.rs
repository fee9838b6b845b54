//! The visitors of rows: one type per query.

use std::ops::{ControlFlow, Range};

use haft_core::artifact::QueryListBuilder;
use haft_core::json::JsonWriter;

use super::columns::Columns;
use super::error::CsvError;
use super::scan::{CsvRecord, RowVisitor};

/// The names of the columns.
#[derive(Debug, Default)]
pub(super) struct ColumnNames(pub(super) Vec<Box<str>>);

impl RowVisitor for ColumnNames {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.0 = columns.names().to_vec();
        Ok(ControlFlow::Break(()))
    }

    fn visit_row(&mut self, _: &Columns, _: CsvRecord<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// The number of rows.
#[derive(Debug, Default)]
pub(super) struct CountRows(pub(super) u64);

impl RowVisitor for CountRows {
    fn visit_columns(&mut self, _: &Columns) -> Result<ControlFlow<()>, CsvError> {
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, _: CsvRecord<'_>) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
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

    fn visit_row(&mut self, columns: &Columns, row: CsvRecord<'_>) -> ControlFlow<()> {
        let at = self.at;
        self.at += 1;
        if at >= self.range.end {
            return ControlFlow::Break(());
        }
        if at < self.range.start {
            return ControlFlow::Continue(());
        }
        self.listing.push(columns.row_object(row, &self.places).root())
    }
}

/// The fields of one column.
#[derive(Debug)]
pub(super) struct PluckColumn {
    pub(super) column: String,
    pub(super) place: usize,
    pub(super) listing: QueryListBuilder,
}

impl RowVisitor for PluckColumn {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.place = columns.find(&self.column)?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, row: CsvRecord<'_>) -> ControlFlow<()> {
        let mut out = JsonWriter::new();
        match row.field(self.place) {
            Some(field) => out.string(&String::from_utf8_lossy(field)),
            // Values correspond to rows.
            None => out.null(),
        };
        self.listing.push(out.finish().root())
    }
}
