//! Queries of YAML.

use std::fmt;
use std::sync::Arc;

use haft_core::artifact::{Answer, Budget, Listing};
use haft_core::cancel::Cancellation;
use haft_core::jsonpath::JsonPath;
use haft_core::spool::SpoolReader;

use super::error::YamlError;
use super::records::{Count, Filter, Get, Keys, Records, Slice};
use super::scan::{Rules, Visit, YamlScan};
use crate::text::drive::drive;

/// The documents of stored YAML.
///
/// Every answer is bounded by the [`Budget`] and says how to get what was left out. Each query is one
/// pass over the content, on a thread for work that blocks, and stops when the future is dropped.
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
/// assert_eq!(view.keys(0).await?.as_str(), "name\nage");
/// assert_eq!(view.get("$.name", 0).await?.as_str(), "Ada\nBob");
/// // A filter that stands first judges the records themselves.
/// let adults = view.filter("$[?@.age > 17]", 0).await?;
/// assert!(adults.as_str().contains("Ada") && !adults.as_str().contains("Bob"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct YamlView {
    reader: Arc<dyn SpoolReader>,
    budget: Budget,
    cancellation: Cancellation,
    multi_document: Option<bool>,
    window: usize,
}

/// Whether content is one document or a stream of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// At most one document.
    Single,
    /// Several documents, or content that was declared to be a stream.
    Multi,
}

impl DocumentKind {
    /// The word for it: `single-document` or `multi-document`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single-document",
            Self::Multi => "multi-document",
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl YamlView {
    /// The documents of what a reader reads.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        let (budget, cancellation) = (Budget::new(), Cancellation::new());
        Self { reader, budget, cancellation, multi_document: None, window: 256 * 1024 }
    }

    /// Bounds the answers.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Stops queries when this is cancelled, before the next read.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Reads about so many bytes at once instead of 256 KiB.
    #[must_use]
    pub fn window_bytes(mut self, bytes: usize) -> Self {
        self.window = bytes;
        self
    }

    /// Declares what the content is instead of finding out: with `Some(true)` a stream, whose documents
    /// are always the records; with `Some(false)` exactly one document, so that a second one is an
    /// error.
    #[must_use]
    pub fn multi_document(mut self, multi: Option<bool>) -> Self {
        self.multi_document = multi;
        self
    }

    /// Whether the content is one document or several. Reads no further than to the second one.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn document_kind(&self) -> Result<DocumentKind, YamlError> {
        let count = self.scan(Count { documents: 0, at_most: 2, elements: None }).await?;
        let multi = self.multi_document == Some(true) || count.documents > 1;
        Ok(if multi { DocumentKind::Multi } else { DocumentKind::Single })
    }

    /// The keys of all documents that are mappings, each once, in the order in which they first come;
    /// undefined if no document is a mapping.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn keys(&self, skip: u64) -> Result<Answer, YamlError> {
        Ok(self.scan(Keys::new(Listing::new(self.budget, skip))).await?.answer())
    }

    /// How many documents there are. If the only one is a list, a note says how many elements it has.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn length(&self) -> Result<Answer, YamlError> {
        let count = self.scan(Count { documents: 0, at_most: u64::MAX, elements: None }).await?;
        let answer = Answer::number(count.documents);
        Ok(match count.elements {
            Some(elements) if count.documents == 1 => {
                answer.noted(format_args!("the document is a list of {elements} elements"))
            }
            _ => answer,
        })
    }

    /// What a path selects in every document, all in one list.
    ///
    /// # Errors
    ///
    /// [`YamlError::Path`] when the path is not one, else when the content is not YAML, cannot be read,
    /// or the query was cancelled.
    pub async fn get(&self, path: &str, skip: u64) -> Result<Answer, YamlError> {
        let path = JsonPath::parse_lenient(path)?;
        let listing = Listing::new(self.budget, skip);
        Ok(self.scan(Get { path, listing, total: None, cut_short: false }).await?.answer())
    }

    /// The records in which a path selects something. A filter that the path begins with, such as
    /// `$[?@.age > 17]`, judges each record itself.
    ///
    /// # Errors
    ///
    /// As [`YamlView::get`].
    pub async fn filter(&self, path: &str, skip: u64) -> Result<Answer, YamlError> {
        let path = JsonPath::parse_lenient(path)?;
        let filter = Filter::new(path, Listing::new(self.budget, skip));
        Ok(self.scan(self.records(filter)).await?.each.listing.finish())
    }

    /// The records from `start` on and until before `end`, counted from 0.
    ///
    /// # Errors
    ///
    /// When the content is not YAML, cannot be read, or the query was cancelled.
    pub async fn slice(
        &self,
        start: u64,
        end: Option<u64>,
        skip: u64,
    ) -> Result<Answer, YamlError> {
        let listing = Listing::new(self.budget, skip);
        let slice = Slice { at: 0, start, end: end.unwrap_or(u64::MAX), listing };
        Ok(self.scan(self.records(slice)).await?.each.listing.finish())
    }

    fn records<E>(&self, each: E) -> Records<E> {
        Records::new(self.multi_document != Some(true), each)
    }

    async fn scan<V: Visit>(&self, visitor: V) -> Result<V, YamlError> {
        let rules = Rules {
            window: self.window,
            document_bytes: DOCUMENT_BYTES,
            single: self.multi_document == Some(false),
        };
        let scan = YamlScan::new(self.reader.byte_length(), rules, visitor);
        drive(&self.reader, &self.cancellation, scan).await?.finish()
    }
}

impl fmt::Debug for YamlView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("YamlView")
            .field("reader", &self.reader)
            .field("budget", &self.budget)
            .field("multi_document", &self.multi_document)
            .finish_non_exhaustive()
    }
}

/// The longest document that is parsed.
const DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
