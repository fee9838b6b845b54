//! Rows that are grouped by the fields of columns.

use std::collections::HashMap;
use std::ops::ControlFlow;

use haft_core::artifact::QueryListBuilder;
use haft_core::json::{Document, JsonWriter};

use super::columns::Columns;
use super::error::CsvError;
use super::scan::{CsvRecord, RowVisitor};
use super::stats::{NumberStats, parse_number};

/// Groups the rows of a table, and sums up a column of each group.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    by: Vec<String>,
    column: Option<String>,
    by_places: Vec<usize>,
    column_place: Option<usize>,
    /// The groups in the order of their first rows.
    groups: Vec<RowGroup>,
    /// The index of a group by its fields.
    index: HashMap<Box<[Box<[u8]>]>, usize>,
    bytes: usize,
    /// Whether there are more groups than are held.
    is_full: bool,
}

/// The rows with the same fields.
#[derive(Debug, Default)]
struct RowGroup {
    fields: Box<[Box<[u8]>]>,
    rows: u64,
    numbers: NumberStats,
}

impl GroupRows {
    pub(super) fn new(by: &[String], column: Option<&str>) -> Self {
        Self { by: by.to_vec(), column: column.map(str::to_owned), ..Self::default() }
    }

    /// Lists the groups: those with the greatest sum first, or without a column those with the most rows.
    pub(super) fn list_groups(
        mut self,
        mut listing: QueryListBuilder,
    ) -> Result<QueryListBuilder, CsvError> {
        if self.is_full {
            return Err(CsvError::TooManyGroups { limit: GROUPS });
        }
        match self.column {
            Some(_) => {
                self.groups.sort_by(|a, b| b.numbers.total().total_cmp(&a.numbers.total()));
            }
            None => self.groups.sort_by_key(|group| std::cmp::Reverse(group.rows)),
        }
        for group in &self.groups {
            if listing.push(group.document(&self.by, self.column.is_some()).root()).is_break() {
                break;
            }
        }
        Ok(listing)
    }

    fn group_of(&mut self, fields: Box<[Box<[u8]>]>) -> Option<&mut RowGroup> {
        let found = match self.index.get(&fields) {
            Some(found) => *found,
            None => {
                self.bytes += fields.iter().map(|it| it.len()).sum::<usize>();
                if self.groups.len() == GROUPS || self.bytes > GROUP_BYTES {
                    self.is_full = true;
                    return None;
                }
                self.groups.push(RowGroup { fields: fields.clone(), ..RowGroup::default() });
                self.index.insert(fields, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        self.groups.get_mut(found)
    }
}

impl RowGroup {
    fn document(&self, by: &[String], has_numbers: bool) -> Document {
        let mut out = JsonWriter::new();
        out.object(|out| {
            out.key("group").object(|out| {
                for (name, field) in by.iter().zip(&self.fields) {
                    out.key(name).string(&String::from_utf8_lossy(field));
                }
            });
            out.key("rows").unsigned(self.rows);
            if has_numbers {
                out.key("numbers").object(|out| self.numbers.write(out));
            }
        });
        out.finish()
    }
}

impl RowVisitor for GroupRows {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.by_places = self.by.iter().map(|it| columns.find(it)).collect::<Result<_, _>>()?;
        self.column_place = self.column.as_ref().map(|it| columns.find(it)).transpose()?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, row: CsvRecord<'_>) -> ControlFlow<()> {
        let fields = self.by_places.iter().map(|at| row.field(*at).unwrap_or_default().into());
        let column_place = self.column_place;
        let Some(group) = self.group_of(fields.collect()) else { return ControlFlow::Break(()) };
        group.rows += 1;
        if let Some(field) = column_place.and_then(|at| row.field(at))
            && let Some(number) = parse_number(field)
        {
            group.numbers.add(number, field);
        }
        ControlFlow::Continue(())
    }
}

/// How many groups are held, and how many bytes their fields may have together.
const GROUPS: usize = 10_000;
const GROUP_BYTES: usize = 4 * 1024 * 1024;
