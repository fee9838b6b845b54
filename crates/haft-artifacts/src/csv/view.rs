//! Queries of CSV.

use std::ops::RangeBounds;
use std::sync::Arc;

use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::JsonWriter;
use haft_core::spool::SpoolReader;

use super::error::CsvError;
use super::filter::{CsvFilter, FilterRows};
use super::group::GroupRows;
use super::rows::{ColumnNames, CountRows, PluckColumn, ReadRows};
use super::scan::{CsvScan, CsvScanOptions, RowVisitor, TableIrregularities};
use super::sniff::{self, SAMPLE};
use super::stats::ColumnStats;
use crate::content_view::{ContentView, content_view_options};
use crate::error::ContentError;
use crate::ranges::range_of;

/// Queries of a stored table.
///
/// Every result is bounded by the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. Each query is one pass over the content on a thread for blocking work, and stops when its
/// future is dropped.
///
/// ```
/// use haft_artifacts::csv::{CsvFilter, CsvView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySpoolStore::new();
/// let text = "name;price\nbread;2.50\n\"cheese; old\";12\n";
/// let view = CsvView::new(store.write("call-1".into(), text.into()).await?);
///
/// assert_eq!(view.list_columns(0).await?.as_str(), "name\nprice\n[2 columns, parted by `;`]");
/// assert_eq!(view.pluck("name", 0).await?.as_str(), "bread\ncheese; old");
/// let dear = view.filter(CsvFilter::new("price").above(10.0), 0).await?;
/// assert_eq!(
///     dear.as_str(),
///     "[\n  {\n    \"name\": \"cheese; old\",\n    \"price\": \"12\"\n  }\n]",
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CsvView {
    content: ContentView,
    delimiter: Option<u8>,
    header: CsvHeader,
}

/// Where the names of the columns come from.
///
/// ```
/// use haft_artifacts::csv::{CsvHeader, CsvView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "1,2\n3,4\n".into()).await?;
/// let view = CsvView::new(reader).header(CsvHeader::Absent);
/// assert_eq!(view.pluck("column_2", 0).await?.as_str(), "2\n4");
/// assert_eq!(view.count_rows().await?.as_str(), "2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvHeader {
    /// From the first row.
    #[default]
    FirstRow,
    /// The table has no header: the columns are `column_1`, `column_2` and so on.
    Absent,
}

impl CsvView {
    /// A view of the content of a reader.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(super) fn of_content(content: ContentView) -> Self {
        Self { content, delimiter: None, header: CsvHeader::FirstRow }
    }

    content_view_options!();

    /// Sets the delimiter of the fields, which is detected otherwise.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Sets where the names of the columns come from.
    #[must_use]
    pub fn header(mut self, header: CsvHeader) -> Self {
        self.header = header;
        self
    }

    /// The names of the columns without the first `skip`, and the delimiter in a note. Reads the first row.
    ///
    /// # Errors
    ///
    /// When the content is not UTF-8, cannot be read, or the query was cancelled.
    pub async fn list_columns(&self, skip: u64) -> Result<QueryOutput, CsvError> {
        let options = self.options().await?;
        let (ColumnNames(names), _) = self.scan_by(options, ColumnNames::default()).await?;
        let mut list = JsonWriter::new();
        list.array(|out| {
            for name in &names {
                out.string(name);
            }
        });
        let answer = QueryOutput::list(list.finish().root().elements(), self.content.budget, skip);
        let columns = if names.len() == 1 { "column" } else { "columns" };
        let delimiter = match options.delimiter {
            b'\t' => "a tab".to_owned(),
            other => format!("`{}`", char::from(other)),
        };
        Ok(answer.noted(format_args!("{} {columns}, parted by {delimiter}", names.len())))
    }

    /// The number of rows without the header.
    ///
    /// ```
    /// # use haft_artifacts::csv::CsvView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = "name,price\nbread,2.50\ncheese,12\n";
    /// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
    /// assert_eq!(view.count_rows().await?.as_str(), "2");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CsvError::RowTooLarge`] when one row is larger than 16 MiB, else when the content is not UTF-8,
    /// cannot be read, or the query was cancelled.
    pub async fn count_rows(&self) -> Result<QueryOutput, CsvError> {
        let (CountRows(rows), irregularities) = self.scan(CountRows::default()).await?;
        Ok(irregularities.note(QueryOutput::number(rows)))
    }

    /// The rows of a range, counted from 0, without the first `skip`. If columns are given, only these are
    /// shown, in this order.
    ///
    /// ```
    /// # use haft_artifacts::csv::CsvView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = "name,price\nbread,2.50\ncheese,12\n";
    /// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
    /// let rows = view.read_rows(1.., &["name".to_owned()], 0).await?;
    /// assert!(rows.as_str().contains("cheese") && !rows.as_str().contains("12"));
    /// assert!(view.read_rows(.., &["weight".to_owned()], 0).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CsvError::NoColumn`] when there is no such column, else as [`CsvView::count_rows`].
    pub async fn read_rows(
        &self,
        rows: impl RangeBounds<u64> + Send,
        columns: &[String],
        skip: u64,
    ) -> Result<QueryOutput, CsvError> {
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let range = range_of(&rows);
        let rows = ReadRows { at: 0, range, only: columns.to_vec(), places: Vec::new(), listing };
        let (rows, irregularities) = self.scan(rows).await?;
        Ok(irregularities.note(rows.listing.finish()))
    }

    /// The rows that a filter keeps.
    ///
    /// # Errors
    ///
    /// [`CsvError::NoCondition`] when the filter has no condition, else as [`CsvView::read_rows`].
    pub async fn filter(&self, filter: CsvFilter, skip: u64) -> Result<QueryOutput, CsvError> {
        if filter.is_empty() {
            return Err(CsvError::NoCondition { column: filter.column.into() });
        }
        let filter = FilterRows::new(filter, QueryListBuilder::new(self.content.budget, skip));
        let (filter, irregularities) = self.scan(filter).await?;
        let mut answer = filter.listing.finish();
        if filter.no_numbers > 0 {
            let count = filter.no_numbers;
            answer = answer.noted(format_args!(
                "{count} fields of the column are not numbers and were passed over"
            ));
        }
        Ok(irregularities.note(answer))
    }

    /// The fields of one column, from top to bottom. A row that is too short has `null`.
    ///
    /// # Errors
    ///
    /// As [`CsvView::read_rows`].
    pub async fn pluck(&self, column: &str, skip: u64) -> Result<QueryOutput, CsvError> {
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let pluck = PluckColumn { column: column.to_owned(), place: 0, listing };
        let (pluck, irregularities) = self.scan(pluck).await?;
        Ok(irregularities.note(pluck.listing.finish()))
    }

    /// Statistics of a column: the number of rows, of empty fields and of distinct values; the count,
    /// minimum, maximum, sum and mean of its numbers; the count and, in byte order, the first and last of
    /// its other texts. The sum is exact if no number has more than nine decimals or an exponent.
    ///
    /// ```
    /// # use haft_artifacts::csv::CsvView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = "name,price\nbread,2.50\ncheese,12\n";
    /// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
    /// let summary = view.summarize_column("price").await?;
    /// assert!(summary.as_str().contains("14.5"), "{}", summary.as_str());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CsvView::read_rows`].
    pub async fn summarize_column(&self, column: &str) -> Result<QueryOutput, CsvError> {
        let (stats, irregularities) = self.scan(ColumnStats::new(column.to_owned())).await?;
        Ok(irregularities.note(QueryOutput::value(stats.document().root(), self.content.budget)))
    }

    /// The groups of rows whose fields in the columns `by` are equal, each with the number of its rows. With a column,
    /// each group also has the count, minimum, maximum, sum and mean of the numbers in that column, and the group with
    /// the greatest sum comes first; without one, the group with the most rows comes first.
    ///
    /// ```
    /// # use haft_artifacts::csv::CsvView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = "region,sold\nnorth,2\nsouth,5\nnorth,4\n";
    /// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
    /// let groups = view.group_rows(&["region".to_owned()], Some("sold"), 0).await?;
    /// let groups: serde_json::Value = serde_json::from_str(groups.as_str())?;
    /// assert_eq!(groups[0]["group"]["region"], "north");
    /// assert_eq!(groups[0]["numbers"]["sum"], 6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CsvError::TooManyGroups`] when there are more than 10 000 groups, else as [`CsvView::read_rows`].
    pub async fn group_rows(
        &self,
        by: &[String],
        column: Option<&str>,
        skip: u64,
    ) -> Result<QueryOutput, CsvError> {
        let (groups, irregularities) = self.scan(GroupRows::new(by, column)).await?;
        let listing = groups.list_groups(QueryListBuilder::new(self.content.budget, skip))?;
        Ok(irregularities.note(listing.finish()))
    }

    async fn options(&self) -> Result<CsvScanOptions, CsvError> {
        let sample = self.content.reader.read_at(0, SAMPLE).await?;
        let whole = sample.len() as u64 == self.content.reader.byte_length();
        let found = sniff::sniff_start(&sample, whole).ok_or(ContentError::Encoding)?;
        let delimiter = self.delimiter.unwrap_or(found.delimiter);
        let (header, window) = (self.header, self.content.window_bytes);
        Ok(CsvScanOptions { delimiter, header, window, start: found.mark })
    }

    async fn scan<V: RowVisitor>(&self, visitor: V) -> Result<(V, TableIrregularities), CsvError> {
        self.scan_by(self.options().await?, visitor).await
    }

    async fn scan_by<V: RowVisitor>(
        &self,
        options: CsvScanOptions,
        visitor: V,
    ) -> Result<(V, TableIrregularities), CsvError> {
        let scan = CsvScan::new(self.content.reader.byte_length(), options, visitor);
        self.content.run_scan(scan).await?.finish()
    }
}
