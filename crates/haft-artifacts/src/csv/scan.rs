//! Reads a table row by row.

use std::ops::ControlFlow;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use haft_core::artifact::QueryOutput;
use haft_core::spool::count_newlines;

use super::columns::Columns;
use super::error::CsvError;
use super::view::CsvHeader;
use crate::invariant;
use crate::scan::{ContentScan, ReadRequest};

/// Receives rows.
pub(super) trait RowVisitor: Send + 'static {
    /// Visits the columns once, before any row; `Break` ends the scan.
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError>;

    /// Visits the next row; `Break` ends the scan.
    fn visit_row(
        &mut self,
        columns: &Columns,
        row: CsvRecord<'_>,
    ) -> Result<ControlFlow<()>, CsvError>;
}

/// The fields of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct CsvRecord<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
}

impl<'a> CsvRecord<'a> {
    pub(super) fn len(self) -> usize {
        self.ends.len()
    }

    pub(super) fn field(self, at: usize) -> Option<&'a [u8]> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start..*self.ends.get(at)?)
    }

    pub(super) fn fields(self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).filter_map(move |at| self.field(at))
    }
}

/// How content is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct CsvScanOptions {
    pub(super) delimiter: u8,
    pub(super) header: CsvHeader,
    pub(super) window: usize,
    /// Where the table begins, after a mark.
    pub(super) start: u64,
}

/// What is irregular about a table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableIrregularities {
    /// How many rows do not have as many fields as there are columns, and the line of the first.
    ragged: u64,
    first_ragged: u64,
    columns: usize,
    /// The line of the last row, if the content ends inside quotes.
    unclosed: Option<u64>,
}

impl TableIrregularities {
    /// Adds notes to a result.
    pub(super) fn note(self, mut answer: QueryOutput) -> QueryOutput {
        if self.ragged > 0 {
            let rows = if self.ragged == 1 { "row has" } else { "rows have" };
            answer = answer.noted(format_args!(
                "{} {rows} more or fewer than {} fields; see line {}",
                self.ragged, self.columns, self.first_ragged
            ));
        }
        if let Some(line) = self.unclosed {
            answer = answer.noted(format_args!(
                "the content ends inside quotes, in the row that begins at line {line}"
            ));
        }
        answer
    }
}

/// One pass over the content.
pub(super) struct CsvScan<V> {
    options: CsvScanOptions,
    reader: Reader,
    position: u64,
    length: u64,
    /// The fields of the row that is being read, and where each ends.
    output: Vec<u8>,
    filled: usize,
    ends: Vec<usize>,
    fields: usize,
    columns: Option<Columns>,
    stopped: bool,
    error: Option<CsvError>,
    irregularities: TableIrregularities,
    visitor: V,
}

impl<V: RowVisitor> CsvScan<V> {
    pub(super) fn new(length: u64, options: CsvScanOptions, visitor: V) -> Self {
        let mut reader = ReaderBuilder::new().delimiter(options.delimiter).build();
        // The byte order mark was skipped already. An empty line keeps the reader from skipping another one.
        let _ = reader.read_record(b"\n", &mut [0], &mut [0]);
        reader.set_line(1);
        Self {
            options,
            reader,
            position: options.start,
            length,
            output: vec![0; 1024],
            filled: 0,
            ends: vec![0; 32],
            fields: 0,
            columns: None,
            stopped: false,
            error: None,
            irregularities: TableIrregularities::default(),
            visitor,
        }
    }

    /// The visitor, after the scan has ended, and what is irregular about the table.
    pub(super) fn finish(mut self) -> Result<(V, TableIrregularities), CsvError> {
        if self.columns.is_none() && self.error.is_none() {
            // An empty table lacks the columns that were requested.
            let _ = self.visitor.visit_columns(&Columns::default())?;
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.visitor, self.irregularities)),
        }
    }

    /// Reads rows; no input means that the content has ended.
    fn read(&mut self, mut input: &[u8]) -> Result<(), CsvError> {
        let ended = input.is_empty();
        while !self.stopped {
            let output = invariant::slice_mut(&mut self.output, self.filled..);
            let ends = invariant::slice_mut(&mut self.ends, self.fields..);
            let (result, read, written, fields) = self.reader.read_record(input, output, ends);
            let last_byte = read.checked_sub(1).and_then(|at| input.get(at)).copied();
            input = invariant::slice(input, read..);
            self.filled += written;
            self.fields += fields;
            match result {
                ReadRecordResult::InputEmpty if !ended => return Ok(()),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.grow_output()?,
                ReadRecordResult::OutputEndsFull => self.grow_ends()?,
                ReadRecordResult::Record => self.finish_record(last_byte)?,
                ReadRecordResult::End => return Ok(()),
            }
            if input.is_empty() && !ended {
                return Ok(());
            }
        }
        Ok(())
    }

    fn finish_record(&mut self, last_byte: Option<u8>) -> Result<(), CsvError> {
        if self.columns.is_some() && self.fields != self.irregularities.columns {
            self.irregularities.ragged += 1;
            if self.irregularities.ragged == 1 {
                self.irregularities.first_ragged = self.first_line(last_byte);
            }
        }
        if self.irregularities.unclosed.is_some()
            && let Some(end) = self.ends.get_mut(self.fields.saturating_sub(1))
        {
            // Without the line end that was added to find the end.
            *end = end.saturating_sub(1);
        }
        let record = CsvRecord {
            bytes: invariant::slice(&self.output, ..self.filled),
            ends: invariant::slice(&self.ends, ..self.fields),
        };
        (self.filled, self.fields) = (0, 0);
        let columns = match &self.columns {
            Some(columns) => columns,
            None => {
                let columns = match self.options.header {
                    CsvHeader::FirstRow => Columns::from_header(record),
                    CsvHeader::Absent => Columns::unnamed(record.len()),
                };
                self.irregularities.columns = columns.names().len();
                self.stopped = self.visitor.visit_columns(&columns)?.is_break();
                let columns = self.columns.insert(columns);
                if self.stopped || self.options.header == CsvHeader::FirstRow {
                    return Ok(());
                }
                columns
            }
        };
        self.stopped = self.visitor.visit_row(columns, record)?.is_break();
        Ok(())
    }

    /// The line that the row begins with whose last byte was just read.
    fn first_line(&self, last_byte: Option<u8>) -> u64 {
        let fields = invariant::slice(&self.output, ..self.filled);
        let below = count_newlines(fields) + u64::from(last_byte == Some(b'\n'));
        self.reader.line().saturating_sub(below)
    }

    fn grow_output(&mut self) -> Result<(), CsvError> {
        if self.output.len() >= ROW_BYTES {
            let line = self.first_line(None);
            return Err(CsvError::RowTooLarge { line, limit: ROW_BYTES, what: "bytes" });
        }
        self.output.resize((self.output.len() * 2).min(ROW_BYTES), 0);
        Ok(())
    }

    fn grow_ends(&mut self) -> Result<(), CsvError> {
        if self.ends.len() >= ROW_FIELDS {
            let line = self.first_line(None);
            return Err(CsvError::RowTooLarge { line, limit: ROW_FIELDS, what: "fields" });
        }
        self.ends.resize((self.ends.len() * 2).min(ROW_FIELDS), 0);
        Ok(())
    }

    /// Reads the last row, which need not have a line end.
    fn finish_input(&mut self) -> Result<(), CsvError> {
        self.read(b"\n")?;
        if self.filled > 0 {
            // Inside quotes a line end is part of the field.
            self.irregularities.unclosed = Some(self.first_line(None));
        }
        self.read(&[])
    }
}

impl<V: RowVisitor> ContentScan for CsvScan<V> {
    fn next_read(&self) -> Option<ReadRequest> {
        if self.stopped || self.error.is_some() {
            return None;
        }
        ReadRequest::next_window(self.position, self.length, self.options.window)
    }

    fn process(&mut self, data: &[u8]) -> usize {
        self.position += data.len() as u64;
        let mut result = self.read(data);
        if result.is_ok() && !self.stopped && self.position == self.length {
            result = self.finish_input();
        }
        self.error = result.err();
        0
    }
}

/// The limits of one row.
const ROW_BYTES: usize = 16 * 1024 * 1024;
const ROW_FIELDS: usize = 64 * 1024;
