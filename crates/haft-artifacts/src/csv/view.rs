//! Queries of CSV.

use std::ops::RangeBounds;
use std::sync::Arc;

use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::JsonWriter;
use haft_core::spool::SpoolReader;

use super::error::CsvError;
use super::rows::{ColumnNames, CountRows, ReadRows};
use super::scan::{CsvScan, CsvScanOptions, RowVisitor, TableIrregularities};
use super::sniff::{self, SAMPLE};
use crate::content_view::{ContentView, content_view_options};
use crate::error::ContentError;
use crate::question::with_names;
use crate::ranges::range_of;
use crate::table::TableRun;

/// Queries of a stored table.
///
/// Every result is bounded by the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. Each query is one pass over the content on a thread for blocking work, and stops when its
/// future is dropped.
///
/// ```
/// use haft_artifacts::csv::CsvView;
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
/// let dear = view.sql("SELECT name FROM data WHERE price > 10", 0).await?;
/// assert_eq!(dear.as_str(), "name\ncheese; old");
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
/// assert_eq!(view.sql("SELECT sum(column_2) AS sum FROM t", 0).await?.as_str(), "sum\n6");
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

    /// The result of an SQL query, as CSV without the first `skip` rows.
    ///
    /// ```
    /// # use haft_artifacts::csv::CsvView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = "region,sold\nnorth,2\nsouth,5\nnorth,4\n";
    /// let view = CsvView::new(MemorySpoolStore::new().write("k".into(), table.into()).await?);
    /// let sums = "SELECT region, sum(sold) FROM data GROUP BY region ORDER BY sum(sold) DESC";
    /// assert_eq!(view.sql(sums, 0).await?.as_str(), "region,sum(sold)\nnorth,6\nsouth,5");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CsvError::Sql`] when the query is not valid or its result cannot be held, [`CsvError::NoColumn`] when there is
    /// no such column, else as [`CsvView::count_rows`].
    pub async fn sql(&self, query: &str, skip: u64) -> Result<QueryOutput, CsvError> {
        let run = TableRun::new(query, self.content.budget, skip)?;
        let (run, irregularities) = self.scan(run).await?;
        Ok(irregularities.note(run.finish()?))
    }

    /// The columns without the first `skip`, the separator, and the number of rows.
    pub(super) async fn describe(&self, skip: u64) -> Result<QueryOutput, CsvError> {
        let (CountRows(rows), irregularities) = self.scan(CountRows::default()).await?;
        let columns = self.list_columns(skip).await?;
        let described = with_names(&format!("{rows} rows and a header"), "columns", &columns);
        Ok(irregularities.note(described))
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
