//! Queries of JSON.

use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::QueryOutput;
use haft_core::spool::SpoolReader;

use super::blocking_source;
use super::cache::JsonCache;
use super::error::{JsonError, ScanError};
use super::notation::JsonNotation;
use super::operations;
use super::scan::{JsonLimits, JsonScan};
use crate::content_view::{ContentView, content_view_options};
use crate::table::TableRun;

/// Queries of stored JSON.
///
/// Every result stays within the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. The content is never in memory as a whole: it is walked in windows, and only the values that a
/// path leads to become trees. Queries run on a thread for blocking work and stop when their future is
/// dropped.
///
/// Paths are parsed by [`JsonPath::parse`].
///
/// ```
/// use haft_artifacts::json::{JsonNotation, JsonView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lines = "{\"name\": \"Ada\"}\n{\"name\": \"Bob\"}\n";
/// let view = JsonView::new(MemorySpoolStore::new().write("k".into(), lines.into()).await?);
/// assert_eq!(view.detect_notation().await?, JsonNotation::Jsonl);
/// assert_eq!(view.list_keys(0).await?.as_str(), "name");
/// assert_eq!(view.get("$.name", 0).await?.as_str(), "Ada\nBob");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JsonView {
    content: ContentView,
    declared: Option<JsonNotation>,
    cache: Arc<JsonCache>,
    limits: JsonLimits,
}

/// The length of JSON content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLength {
    /// The number of records: lines that are not blank, or one if there is one value.
    pub records: u64,
    /// How many elements the root has, if there is one value and it is a list.
    pub root_array: Option<u64>,
}

impl JsonView {
    /// A view of the content of a reader. The notation is detected unless it is declared.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(super) fn of_content(content: ContentView) -> Self {
        Self {
            content,
            declared: None,
            cache: Arc::new(JsonCache::new()),
            limits: JsonLimits::new(),
        }
    }

    /// Declares the notation of the content, which is detected otherwise. Content in another notation is
    /// an error.
    #[must_use]
    pub fn notation(mut self, notation: JsonNotation) -> Self {
        self.declared = Some(notation);
        self
    }

    /// Uses what earlier views of the same content found out.
    #[must_use]
    pub fn cache(mut self, cache: Arc<JsonCache>) -> Self {
        self.cache = cache;
        self
    }

    content_view_options!();

    /// Makes trees of values of up to this many bytes instead of 2 MiB. A tree takes up to sixteen times the
    /// bytes of its text. Larger values are walked. A result shows only the start of one, and filters cannot
    /// test it.
    #[must_use]
    pub fn max_value_bytes(mut self, bytes: usize) -> Self {
        self.limits.value = bytes;
        self
    }

    /// Validates content of up to this many bytes before the first result, instead of 16 MiB. In larger
    /// content all brackets and strings are checked, and the values that a query reads are validated.
    #[must_use]
    pub fn max_validated_bytes(mut self, bytes: u64) -> Self {
        self.limits.strict = bytes;
        self
    }

    /// Lets the path of one query look at up to this many values, over all records, instead of 50 million and two more
    /// for each byte of the content. A query that needs more is an error.
    #[must_use]
    pub fn max_visits(mut self, visits: u64) -> Self {
        self.limits.visits = Some(visits);
        self
    }

    /// The declared notation of the content, or else the one that fits.
    ///
    /// # Errors
    ///
    /// When the content is not JSON, cannot be read, or the query was cancelled.
    pub async fn detect_notation(&self) -> Result<JsonNotation, JsonError> {
        self.run(|scan| Ok(scan.content_root.notation())).await
    }

    /// The keys of the root, or of all records, each once and in the order of their first occurrence, without
    /// the first `skip`; undefined if there is no object.
    ///
    /// # Errors
    ///
    /// As [`JsonView::detect_notation`].
    pub async fn list_keys(&self, skip: u64) -> Result<QueryOutput, JsonError> {
        let budget = self.content.budget;
        self.run(move |scan| operations::list_keys(scan, (budget, skip))).await
    }

    /// The number of records, and how many elements a list has.
    ///
    /// ```
    /// # use haft_artifacts::json::JsonView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let view = JsonView::new(MemorySpoolStore::new().write("k".into(), "[1, 2, 3]".into()).await?);
    /// let length = view.count_records().await?;
    /// assert_eq!((length.records, length.root_array), (1, Some(3)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`JsonView::detect_notation`].
    pub async fn count_records(&self) -> Result<JsonLength, JsonError> {
        self.run(operations::count_records).await
    }

    /// The values that a path selects, without the first `skip`.
    ///
    /// Records are a list: `$[0]`, `$[-2:]`, `$[*]` and `$[?@.role == "admin"]` select some of them. A path that begins
    /// with a name, such as `$.role`, is evaluated in every record.
    ///
    /// # Errors
    ///
    /// When the path is not valid or cannot be evaluated on content of this size, and as
    /// [`JsonView::detect_notation`].
    pub async fn get(&self, path: &str, skip: u64) -> Result<QueryOutput, JsonError> {
        let (path, budget) = (JsonPath::parse(path)?, self.content.budget);
        self.run(move |scan| operations::select_values(scan, &path, (budget, skip))).await
    }

    /// The result of an SQL query over the records, as CSV without the first `skip` rows. Records are lines or the elements
    /// of a list; any other content is one record. `FROM $.items` takes them from a path.
    ///
    /// ```
    /// # use haft_artifacts::json::JsonView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let users = r#"[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 7}]"#;
    /// let view = JsonView::new(MemorySpoolStore::new().write("k".into(), users.into()).await?);
    /// let adults = view.sql("SELECT name FROM data WHERE age > 17", 0).await?;
    /// assert_eq!(adults.as_str(), "name\nAda");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the query is not valid, and as [`JsonView::get`].
    pub async fn sql(&self, query: &str, skip: u64) -> Result<QueryOutput, JsonError> {
        let table = TableRun::new(query, self.content.budget, skip)?;
        let source = table.source().map(JsonPath::parse).transpose()?;
        self.run(move |scan| operations::run_table(scan, source.as_ref(), table)).await
    }

    /// What the content is: its notation, how many records it has, and the keys of its objects without the first `skip`.
    pub(super) async fn describe(&self, skip: u64) -> Result<QueryOutput, JsonError> {
        let budget = self.content.budget;
        self.run(move |scan| operations::describe(scan, (budget, skip))).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut JsonScan) -> Result<T, ScanError> + Send + 'static,
    ) -> Result<T, JsonError> {
        let (declared, cache) = (self.declared, Arc::clone(&self.cache));
        let limits = JsonLimits { window: self.content.window_bytes, ..self.limits };
        blocking_source::run(&self.content, move |source| {
            let mut scan = JsonScan::open(source, declared, limits, cache)?;
            work(&mut scan).map_err(|error| scan.locate_error(error))
        })
        .await?
    }
}
