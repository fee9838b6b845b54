//! Queries of XML.

use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{self, JsonWriter};
use haft_core::spool::{SpoolError, SpoolReader};

use super::error::{Position, XmlError};
use super::outline::{ElementCount, RootKeys, RootName, TagNames};
use super::projection::{NumericText, Projection, TooDeep};
use super::scan::{ElementVisitor, XmlScan};
use crate::blocking::run_blocking;
use crate::content_view::{ContentView, content_view_options};
use crate::question::with_names;
use crate::table::TableRun;
use crate::tree::TreeRun;

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
/// assert_eq!(view.get("$..[?@.price > 10]._id", 0).await?.as_str(), "8");
/// let sum = view.sql("SELECT sum(price) FROM $.list.item", 0).await?;
/// assert_eq!(sum.as_str(), "sum(price)\n29.5");
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
    /// All text of the projection is text. If a filter of the path compares with a number, text that is a number is
    /// compared as a number, and shown as text.
    ///
    /// # Errors
    ///
    /// [`XmlError::Path`] when the path is not valid, [`XmlError::TooLarge`] when the projection would be
    /// larger than 16 MiB, else when the content is not XML, cannot be read, or the query was cancelled.
    pub async fn get(&self, path: &str, skip: u64) -> Result<QueryOutput, XmlError> {
        let path = JsonPath::parse(path)?;
        let run = || {
            let listing = QueryListBuilder::new(self.content.budget, skip);
            TreeRun::path(path.clone(), listing, self.content.visit_budget(), 1)
        };
        let mut projection = self.project().await?;
        if path.compares_with_number() {
            let mut run = run();
            let search = move |projection: &Projection| {
                let numbers = projection.to_document(NumericText::AsNumbers)?;
                run.visit_twin(&numbers, &projection.to_document(NumericText::AsText)?);
                Ok(run)
            };
            let (found, same) = self.compute(projection, search).await?;
            if !found.is_empty() {
                return Ok(found.finish()?);
            }
            projection = same;
        }
        let found = self.run(run(), projection).await?;
        let is_missing = found.is_empty() && path.to_string().contains("[?");
        let output = found.finish()?;
        Ok(if is_missing { output.noted(SINGLE_ELEMENT) } else { output })
    }

    /// The result of an SQL query over the records that a path leads to, as CSV without the first `skip` rows, such as
    /// `SELECT sum(price) FROM $.list.item`.
    ///
    /// # Errors
    ///
    /// When the query is not valid, and as [`XmlView::get`].
    pub async fn sql(&self, query: &str, skip: u64) -> Result<QueryOutput, XmlError> {
        let table = TableRun::new(query, self.content.budget, skip)?;
        let source = table.source().map(JsonPath::parse).transpose()?;
        let run = TreeRun::table(table, source, self.content.visit_budget());
        Ok(self.run(run, self.project().await?).await?.finish()?)
    }

    /// The root, the names of its members without the first `skip`, and those of all elements.
    pub(super) async fn describe(&self, skip: u64) -> Result<QueryOutput, XmlError> {
        let (count, _) = self.scan(ElementCount::default()).await?;
        let Some(root) = count.root else { return Ok(QueryOutput::whole("no element")) };
        let line = format!("root element `{root}` with {} child elements", count.children);
        let described = with_names(&line, "its members", &self.list_keys(skip).await?);
        Ok(with_names(described.as_str(), "elements", &self.list_tags(0).await?))
    }

    /// The projection of the document.
    async fn project(&self) -> Result<Projection, XmlError> {
        Ok(self.scan(Projection::new(self.attributes.clone())).await?.0)
    }

    /// Runs a query on the projection.
    async fn run(&self, mut run: TreeRun, projection: Projection) -> Result<TreeRun, XmlError> {
        let work = move |projection: &Projection| {
            let _ = run.visit(projection.to_document(NumericText::AsText)?, true);
            Ok(run)
        };
        Ok(self.compute(projection, work).await?.0)
    }

    /// Computes something on a thread for blocking work.
    async fn compute<T: Send + 'static>(
        &self,
        projection: Projection,
        work: impl FnOnce(&Projection) -> Result<T, TooDeep> + Send + 'static,
    ) -> Result<(T, Projection), XmlError> {
        let done = run_blocking(move || Ok(work(&projection).map(|found| (found, projection))));
        let done = done.await.map_err(|source| SpoolError::Store { doing: "query", source })?;
        done.map_err(|TooDeep| XmlError::TooDeep { limit: json::MAX_DEPTH })
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

const SINGLE_ELEMENT: &str = "an element that stands once is an object and no list, so that `[?...]` behind its name \
                              judges what is in it; `$..[?...]` finds it in any case";
