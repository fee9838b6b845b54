//! XML, seen as JSON: elements and attributes are members.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::schema::object;
use haft_core::{Args, ToolFailure};

use crate::content_view::ContentView;
use crate::query_args::{Named as _, check_path, path, skip};
use crate::xml::XmlView;

/// XML, seen as JSON: elements and attributes are members.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct XmlFormat;

impl XmlFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for XmlFormat {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == ArtifactKind::XML
    }

    fn queries(&self) -> Vec<Query> {
        let by_path = || object().field("path", path()).field("skip", skip());
        let listed = || object().field("skip", skip());
        vec![
            Query::new(
                "artifact_xml_root",
                "Returns the name of the root element of an XML artifact.",
                root,
            )
            .input(object()),
            Query::new(
                "artifact_xml_keys",
                "Returns the members of the root of an XML artifact: attributes (with the prefix \
                 `_`), child elements, `#text`.",
                keys,
            )
            .input(listed()),
            Query::new(
                "artifact_xml_tags",
                "Returns all element names of an XML artifact, sorted, each once.",
                tags,
            )
            .input(listed()),
            Query::new(
                "artifact_xml_length",
                "Returns 1 for an XML artifact with a root, 0 without, and how many child elements \
                 the root has.",
                length,
            )
            .input(object()),
            Query::new(
                "artifact_xml_get",
                "Returns what a JSONPath finds in an XML artifact, from `$.<root>` on. An element \
                 that occurs once is no list, so that `$..[?@.price > 10]` is the safe form.",
                get,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_xml_filter",
                "Returns the whole elements of an XML artifact that a JSONPath leads to: the match \
                 itself, or the element around a matched text or attribute.",
                filter,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_xml_pluck",
                "Returns one field of the elements of an XML artifact, by JSONPath.",
                get,
            )
            .input(by_path())
            .check(check_path),
        ]
    }
}

fn view(asked: &QueryContext) -> XmlView {
    XmlView::of_content(ContentView::of_query(asked))
}

async fn root(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(QueryOutput::text(view(&asked).read_root_name().await?, asked.budget))
}

async fn keys(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).list_keys(args.skip()).await?)
}

async fn tags(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).list_tags(args.skip()).await?)
}

async fn length(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).read_length().await?)
}

async fn get(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).get(args.required_text("path"), args.skip()).await?)
}

async fn filter(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).filter(args.required_text("path"), args.skip()).await?)
}
