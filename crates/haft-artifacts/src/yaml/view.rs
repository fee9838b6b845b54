//! Queries of YAML.

use std::fmt;
use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::spool::SpoolReader;

use super::error::YamlError;
use super::records::{CollectKeys, CountDocuments};
use super::scan::{DocumentVisitor, YamlScan, YamlScanOptions};
use crate::content_view::{ContentView, content_view_options};
use crate::question::with_names;
use crate::table::TableRun;
use crate::tree::{TreeRun, counts_documents};

/// Queries of stored YAML.
///
/// Every result is bounded by the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. Each query is one pass over the content on a thread for blocking work, and stops when its
/// future is dropped.
///
/// The *records* of [`YamlView::sql`] are the documents. If there is only one and it is a list, they are its elements.
///
/// ```
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
/// use haft_artifacts::yaml::YamlView;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySpoolStore::new();
/// let text = "---\nname: Ada\nage: 36\n---\nname: Bob\nage: 7\n";
/// let view = YamlView::new(store.write("call-1".into(), text.into()).await?);
///
/// assert_eq!(view.list_keys(0).await?.as_str(), "name\nage");
/// assert_eq!(view.get("$.name", 0).await?.as_str(), "Ada\nBob");
/// // A filter at the start of a path selects documents.
/// assert_eq!(view.get("$[?@.age > 17].name", 0).await?.as_str(), "Ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct YamlView {
    content: ContentView,
    declared: Option<YamlStreamKind>,
}

/// Whether content is one document or a stream of them.
///
/// ```
/// use haft_artifacts::yaml::{YamlStreamKind, YamlView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "a: 1\n---\na: 2\n".into()).await?;
/// let view = YamlView::new(reader);
/// assert_eq!(view.detect_stream_kind().await?, YamlStreamKind::MultiDocument);
/// // A second document is an error if a single one was declared.
/// let single = view.stream_kind(YamlStreamKind::SingleDocument);
/// assert!(single.count_documents().await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum YamlStreamKind {
    /// At most one document.
    SingleDocument,
    /// Several documents, or content that was declared to be a stream.
    MultiDocument,
}

impl YamlStreamKind {
    /// The name: `single-document` or `multi-document`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleDocument => "single-document",
            Self::MultiDocument => "multi-document",
        }
    }
}

impl fmt::Display for YamlStreamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl YamlView {
    /// A view of the content of a reader.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(super) fn of_content(content: ContentView) -> Self {
        Self { content, declared: None }
    }

    content_view_options!();

    /// Declares what the content is, which is detected otherwise. In a declared single document a second document is an
    /// error.
    #[must_use]
    pub fn stream_kind(mut self, kind: YamlStreamKind) -> Self {
        self.declared = Some(kind);
        self
    }

    /// Whether the content is one document or several. Reads no further than the second document.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn detect_stream_kind(&self) -> Result<YamlStreamKind, YamlError> {
        let count = self.scan(CountDocuments { documents: 0, at_most: 2, elements: None }).await?;
        let multi = self.is_declared(YamlStreamKind::MultiDocument) || count.documents > 1;
        Ok(if multi { YamlStreamKind::MultiDocument } else { YamlStreamKind::SingleDocument })
    }

    /// The keys of all documents that are mappings, each once, in the order of their first occurrence;
    /// undefined if no document is a mapping.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn list_keys(&self, skip: u64) -> Result<QueryOutput, YamlError> {
        Ok(self
            .scan(CollectKeys::new(QueryListBuilder::new(self.content.budget, skip)))
            .await?
            .answer())
    }

    /// The number of documents. If the only one is a list, a note says how many elements it has.
    ///
    /// ```
    /// # use haft_artifacts::yaml::YamlView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "a: 1\n---\na: 2\n".into()).await?;
    /// assert_eq!(YamlView::new(reader).count_documents().await?.as_str(), "2");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn count_documents(&self) -> Result<QueryOutput, YamlError> {
        let count =
            self.scan(CountDocuments { documents: 0, at_most: u64::MAX, elements: None }).await?;
        let answer = QueryOutput::number(count.documents);
        Ok(match count.elements {
            Some(elements) if count.documents == 1 => {
                answer.noted(format_args!("the document is a list of {elements} elements"))
            }
            _ => answer,
        })
    }

    /// The values that a path selects, as one list without the first `skip`.
    ///
    /// The documents of a stream are a list: `$[0]`, `$[-2:]`, `$[*]` and `$[?@.age > 17]` select some of them. A path that
    /// begins with a name, such as `$.name`, is evaluated in every document.
    ///
    /// # Errors
    ///
    /// [`YamlError::Path`] when the path is not valid, else when the content is not YAML, cannot be read,
    /// or the query was cancelled.
    pub async fn get(&self, path: &str, skip: u64) -> Result<QueryOutput, YamlError> {
        let path = JsonPath::parse(path)?;
        let documents = match counts_documents(&path) {
            true => {
                self.scan(CountDocuments { documents: 0, at_most: u64::MAX, elements: None })
                    .await?
                    .documents
            }
            false => 0,
        };
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let run = TreeRun::path(path, listing, self.content.visit_budget(), documents);
        Ok(self.scan(run).await?.finish()?)
    }

    /// The result of an SQL query over the records, as CSV without the first `skip` rows. Records are the documents of a
    /// stream, or the elements of a list; any other content is one record. `FROM $.items` takes them from a path.
    ///
    /// ```
    /// # use haft_artifacts::yaml::YamlView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "- {n: 1}\n- {n: 5}\n".into()).await?;
    /// let sum = YamlView::new(reader).sql("SELECT sum(n) AS sum FROM data", 0).await?;
    /// assert_eq!(sum.as_str(), "sum\n6");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the query is not valid, and as [`YamlView::get`].
    pub async fn sql(&self, query: &str, skip: u64) -> Result<QueryOutput, YamlError> {
        let table = TableRun::new(query, self.content.budget, skip)?;
        let source = table.source().map(JsonPath::parse).transpose()?;
        let run = TreeRun::table(table, source, self.content.visit_budget());
        Ok(self.scan(run).await?.finish()?)
    }

    /// How many documents there are, and their keys without the first `skip`.
    pub(super) async fn describe(&self, skip: u64) -> Result<QueryOutput, YamlError> {
        let count = CountDocuments { documents: 0, at_most: u64::MAX, elements: None };
        let count = self.scan(count).await?;
        let line = match (count.documents, count.elements) {
            (1, Some(elements)) => format!("one document: a list of {elements} elements"),
            (1, None) => "one document".to_owned(),
            (documents, _) => format!("a stream of {documents} documents"),
        };
        Ok(with_names(&line, "keys", &self.list_keys(skip).await?))
    }

    fn is_declared(&self, kind: YamlStreamKind) -> bool {
        self.declared == Some(kind)
    }

    async fn scan<V: DocumentVisitor>(&self, visitor: V) -> Result<V, YamlError> {
        let options = YamlScanOptions {
            window: self.content.window_bytes,
            document_bytes: DOCUMENT_BYTES,
            single: self.is_declared(YamlStreamKind::SingleDocument),
        };
        let scan = YamlScan::new(self.content.reader.byte_length(), options, visitor);
        self.content.run_scan(scan).await?.finish()
    }
}

/// The longest document that is parsed.
const DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
