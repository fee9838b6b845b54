//! Queries of XML.

use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{self, JsonWriter};
use haft_core::spool::{SpoolError, SpoolReader};

use super::error::{Position, XmlError};
use super::outline::{ElementCount, RootKeys, RootName, TagNames};
use super::projection::{Projection, TooDeep};
use super::scan::{ElementVisitor, XmlScan};
use super::select;
use crate::blocking::run_blocking;
use crate::content_view::{ContentView, content_view_options};

/// Queries of stored XML.
///
/// Every result is bounded by the [`Budget`](haft_core::artifact::Budget) and says how to get what was
/// omitted. Each query is one pass over the content on a thread for blocking work, and stops when its
/// future is dropped.
/// Paths are evaluated on the [projection](super) of the document to JSON.
///
/// ```
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
/// use haft_artifacts::xml::XmlView;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySpoolStore::new();
/// let text = "<list><item id='007'><price>9.50</price></item><item id='8'><price>20</price></item></list>";
/// let view = XmlView::new(store.write("call-1".into(), text.into()).await?);
///
/// assert_eq!(view.read_root_name().await?, "list");
/// assert_eq!(view.get("$.list.item[*]._id", 0).await?.as_str(), "007\n8");
/// let dear = view.filter("$..[?@.price > 10]", 0).await?;
/// assert_eq!(dear.as_str(), "[\n  {\n    \"_id\": \"8\",\n    \"price\": \"20\"\n  }\n]");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct XmlView {
    content: ContentView,
    attributes: AttributeOptions,
}

/// How attributes are shown.
#[derive(Clone, Debug)]
pub(super) struct AttributeOptions {
    prefix: Arc<str>,
    ignored: bool,
}

impl AttributeOptions {
    /// The member for an attribute, if there is one.
    pub(super) fn key(&self, name: &str) -> Option<String> {
        (!self.ignored).then(|| format!("{}{name}", self.prefix))
    }
}

impl XmlView {
    /// A view of the content of a reader.
    #[must_use]
    pub fn new(reader: Arc<dyn SpoolReader>) -> Self {
        Self::of_content(ContentView::new(reader))
    }

    pub(super) fn of_content(content: ContentView) -> Self {
        Self { content, attributes: AttributeOptions { prefix: "_".into(), ignored: false } }
    }

    content_view_options!();

    /// Puts this before the names of attributes instead of `_`.
    ///
    /// ```
    /// # use haft_artifacts::xml::XmlView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reader = MemorySpoolStore::new().write("k".into(), "<item id='7'/>".into()).await?;
    /// let view = XmlView::new(reader).attribute_prefix("@");
    /// assert_eq!(view.list_keys(0).await?.as_str(), "@id");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn attribute_prefix(mut self, prefix: &str) -> Self {
        self.attributes.prefix = prefix.into();
        self
    }

    /// Omits all attributes.
    #[must_use]
    pub fn ignore_attributes(mut self) -> Self {
        self.attributes.ignored = true;
        self
    }

    /// The name of the root element. Reads no further than its tag.
    ///
    /// # Errors
    ///
    /// [`XmlError::Empty`] when there is no element, else when the content is not XML up to there,
    /// cannot be read, or the query was cancelled.
    pub async fn read_root_name(&self) -> Result<String, XmlError> {
        let (RootName(name), end) = self.scan(RootName::default()).await?;
        let Position { line, column } = end.unwrap_or(Position::START);
        name.ok_or(XmlError::Empty { line, column })
    }

    /// The members that the root has in the projection: attributes, names of child elements, `#text`.
    /// Empty for a root that has only text; undefined if there is no root.
    ///
    /// # Errors
    ///
    /// When the content is not XML, has too many different names, cannot be read, or the query was
    /// cancelled.
    pub async fn list_keys(&self, skip: u64) -> Result<QueryOutput, XmlError> {
        let (keys, nothing) = self.scan(RootKeys::new(self.attributes.clone())).await?;
        if nothing.is_some() {
            return Ok(QueryOutput::undefined());
        }
        Ok(self.list_names(keys.keys.iter(), skip))
    }

    /// The names of all elements, each once, sorted.
    ///
    /// ```
    /// # use haft_artifacts::xml::XmlView;
    /// # use haft_core::spool::SpoolStore;
    /// # use haft_stores::MemorySpoolStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "<list><item/><empty/><item/></list>";
    /// let view = XmlView::new(MemorySpoolStore::new().write("k".into(), text.into()).await?);
    /// assert_eq!(view.list_tags(0).await?.as_str(), "empty\nitem\nlist");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`XmlView::list_keys`].
    pub async fn list_tags(&self, skip: u64) -> Result<QueryOutput, XmlError> {
        let (tags, _) = self.scan(TagNames::default()).await?;
        Ok(self.list_names(tags.names.iter(), skip))
    }

    /// 1, or 0 if there is no element. A note says how many child elements the root has.
    ///
    /// # Errors
    ///
    /// When the content is not XML, cannot be read, or the query was cancelled.
    pub async fn read_length(&self) -> Result<QueryOutput, XmlError> {
        let (length, _) = self.scan(ElementCount::default()).await?;
        Ok(match length.root {
            None => QueryOutput::number(0),
            Some(root) => QueryOutput::number(1).noted(format_args!(
                "the root element `{root}` has {} child elements",
                length.children
            )),
        })
    }

    /// The values that a path selects in the projection, without the first `skip`.
    ///
    /// All text of the projection is text. If a filter of the path compares with a number, text that is a
    /// number is compared as a number.
    ///
    /// # Errors
    ///
    /// [`XmlError::Path`] when the path is not valid, [`XmlError::TooLarge`] when the projection would be
    /// larger than 16 MiB, else when the content is not XML, cannot be read, or the query was cancelled.
    pub async fn get(&self, path: &str, skip: u64) -> Result<QueryOutput, XmlError> {
        self.select(path, skip, select::get).await
    }

    /// The elements that a path leads to, each once, in the order of the matches. A match that has
    /// attributes or children is such an element itself; around any other match it is the element that
    /// has the text or the attribute. So `$..book[?@.price > 10]` and `$..book[?@.price > 10].title` give
    /// the same books.
    ///
    /// # Errors
    ///
    /// As [`XmlView::get`].
    pub async fn filter(&self, path: &str, skip: u64) -> Result<QueryOutput, XmlError> {
        self.select(path, skip, select::filter).await
    }

    async fn select(
        &self,
        path: &str,
        skip: u64,
        select: fn(&Projection, &JsonPath, QueryListBuilder) -> Result<QueryOutput, TooDeep>,
    ) -> Result<QueryOutput, XmlError> {
        let path = JsonPath::parse(path)?;
        let (projection, nothing) = self.scan(Projection::new(self.attributes.clone())).await?;
        let listing = QueryListBuilder::new(self.content.budget, skip);
        if nothing.is_some() {
            return Ok(listing.finish());
        }
        let selected = run_blocking(move || Ok(select(&projection, &path, listing)));
        let selected =
            selected.await.map_err(|source| SpoolError::Store { doing: "query", source })?;
        selected.map_err(|TooDeep| XmlError::TooDeep { limit: json::MAX_DEPTH })
    }

    fn list_names<'n>(&self, names: impl Iterator<Item = &'n String>, skip: u64) -> QueryOutput {
        let mut list = JsonWriter::new();
        list.array(|out| {
            for name in names {
                out.string(name);
            }
        });
        QueryOutput::list(list.finish().root().elements(), self.content.budget, skip)
    }

    /// Runs a scan, and returns the visitor and the end of content that has no element.
    async fn scan<V: ElementVisitor>(&self, visitor: V) -> Result<(V, Option<Position>), XmlError> {
        let scan = XmlScan::new(self.content.byte_length(), self.content.window_bytes, visitor);
        self.content.run_scan(scan).await?.finish()
    }
}
