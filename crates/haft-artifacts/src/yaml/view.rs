//! Queries of YAML.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::spool::SpoolReader;

use super::error::YamlError;
use super::records::{
    CollectKeys, CountDocuments, FilterRecords, Records, SelectValues, SliceRecords,
};
use super::scan::{DocumentVisitor, YamlScan, YamlScanOptions};
use crate::content_view::{ContentView, content_view_options};
use crate::ranges::range_of;

/// Queries of stored YAML.
///
/// Every result is bounded by the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. Each query is one pass over the content on a thread for blocking work, and stops when its
/// future is dropped.
///
/// The *records* of [`YamlView::filter`] and [`YamlView::slice`] are the documents. If there is only one
/// and it is a list, they are its elements.
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
/// // A filter at the start of a path tests the records themselves.
/// let adults = view.filter("$[?@.age > 17]", 0).await?;
/// assert!(adults.as_str().contains("Ada") && !adults.as_str().contains("Bob"));
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

    /// Declares what the content is, which is detected otherwise. The records of a declared stream are
    /// always its documents. In a declared single document a second document is an error.
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

    /// The values that a path selects in every document, as one list without the first `skip`.
    ///
    /// # Errors
    ///
    /// [`YamlError::Path`] when the path is not valid, else when the content is not YAML, cannot be read,
    /// or the query was cancelled.
    pub async fn get(&self, path: &str, skip: u64) -> Result<QueryOutput, YamlError> {
        let path = JsonPath::parse(path)?;
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let visits = self.content.visit_budget();
        let select = SelectValues { path, listing, total: None, cut_short: false, visits };
        Ok(self.scan(select).await?.answer())
    }

    /// The records in which a path selects something. A filter at the start of the path, such as
    /// `$[?@.age > 17]`, tests each record itself.
    ///
    /// # Errors
    ///
    /// As [`YamlView::get`].
    pub async fn filter(&self, path: &str, skip: u64) -> Result<QueryOutput, YamlError> {
        let path = JsonPath::parse(path)?;
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let filter = FilterRecords::new(path, listing, self.content.visit_budget());
        Ok(self.scan(self.records(filter)).await?.each.answer())
    }

    /// The records of a range, counted from 0, without the first `skip`.
    ///
    /// ```
    /// # use haft_artifacts::yaml::YamlView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "- Ada\n- Bob\n- Cy\n".into()).await?;
    /// assert_eq!(YamlView::new(reader).slice(1.., 0).await?.as_str(), "Bob\nCy");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn slice(
        &self,
        records: impl RangeBounds<u64> + Send,
        skip: u64,
    ) -> Result<QueryOutput, YamlError> {
        let listing = QueryListBuilder::new(self.content.budget, skip);
        let slice = SliceRecords { at: 0, range: range_of(&records), listing };
        Ok(self.scan(self.records(slice)).await?.each.listing.finish())
    }

    fn is_declared(&self, kind: YamlStreamKind) -> bool {
        self.declared == Some(kind)
    }

    fn records<E>(&self, each: E) -> Records<E> {
        Records::new(!self.is_declared(YamlStreamKind::MultiDocument), each)
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
