//! Which rows to keep.

use std::ops::ControlFlow;

use haft_core::artifact::QueryListBuilder;
use memchr::memmem::Finder;

use super::columns::Columns;
use super::error::CsvError;
use super::scan::{CsvRecord, RowVisitor};
use super::stats::parse_number;

/// The conditions on the field of a column. A row is kept if all of them hold.
///
/// ```
/// use haft_artifacts::csv::{CsvFilter, CsvView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let table = "host,load\na,0.5\nb,3\nc,9\n";
/// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
/// let busy = view.filter(CsvFilter::new("load").above(1.0).below(5.0), 0).await?;
/// assert!(busy.as_str().contains("\"host\": \"b\"") && !busy.as_str().contains("\"c\""));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CsvFilter {
    /// The name of the column.
    pub column: String,
    /// The field is exactly this text.
    pub equals: Option<String>,
    /// The field has this text somewhere.
    pub contains: Option<String>,
    /// The field is a number greater than this.
    pub above: Option<f64>,
    /// The field is a number less than this.
    pub below: Option<f64>,
}

impl CsvFilter {
    /// A filter of this column without conditions.
    #[must_use]
    pub fn new(column: impl Into<String>) -> Self {
        Self { column: column.into(), ..Self::default() }
    }

    /// Keeps rows whose field is exactly this text.
    #[must_use]
    pub fn equals(mut self, text: impl Into<String>) -> Self {
        self.equals = Some(text.into());
        self
    }

    /// Keeps rows whose field has this text somewhere.
    #[must_use]
    pub fn contains(mut self, text: impl Into<String>) -> Self {
        self.contains = Some(text.into());
        self
    }

    /// Keeps rows whose field is a number greater than this.
    #[must_use]
    pub fn above(mut self, limit: f64) -> Self {
        self.above = Some(limit);
        self
    }

    /// Keeps rows whose field is a number less than this.
    #[must_use]
    pub fn below(mut self, limit: f64) -> Self {
        self.below = Some(limit);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.equals.is_none()
            && self.contains.is_none()
            && self.above.is_none()
            && self.below.is_none()
    }
}

/// The rows that a filter keeps.
#[derive(Debug)]
pub(super) struct FilterRows {
    filter: CsvFilter,
    contains: Option<Finder<'static>>,
    place: usize,
    pub(super) listing: QueryListBuilder,
    /// How many fields are not numbers although a condition requires one.
    pub(super) no_numbers: u64,
}

impl FilterRows {
    pub(super) fn new(filter: CsvFilter, listing: QueryListBuilder) -> Self {
        let contains = filter.contains.as_ref().map(|it| Finder::new(it.as_bytes()).into_owned());
        Self { filter, contains, place: 0, listing, no_numbers: 0 }
    }

    fn matches(&mut self, field: &[u8]) -> bool {
        let equals = self.filter.equals.as_ref();
        if equals.is_some_and(|it| String::from_utf8_lossy(field) != it.as_str())
            || self.contains.as_ref().is_some_and(|it| it.find(field).is_none())
        {
            return false;
        }
        let (above, below) = (self.filter.above, self.filter.below);
        if above.is_none() && below.is_none() {
            return true;
        }
        let Some(number) = parse_number(field) else {
            self.no_numbers += u64::from(!field.is_empty());
            return false;
        };
        above.is_none_or(|it| number > it) && below.is_none_or(|it| number < it)
    }
}

impl RowVisitor for FilterRows {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.place = columns.find(&self.filter.column)?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, columns: &Columns, row: CsvRecord<'_>) -> ControlFlow<()> {
        match row.field(self.place) {
            Some(field) if self.matches(field) => {
                self.listing.push(columns.row_object(row, &[]).root())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
