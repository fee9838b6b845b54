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
                "Name of the root element of an XML artifact.",
                root,
            )
            .input(object()),
            Query::new(
                "artifact_xml_keys",
                "Members of an XML artifact's root: `_attribute`, child elements, `#text`.",
                keys,
            )
            .input(listed()),
            Query::new(
                "artifact_xml_tags",
                "All element names of an XML artifact.",
                tags,
            )
            .input(listed()),
            Query::new(
                "artifact_xml_length",
                "Number of child elements of an XML artifact's root.",
                length,
            )
            .input(object()),
            Query::new(
                "artifact_xml_get",
                "Values at a JSONPath from `$.<root>` on in an XML artifact. A single element is no list: prefer `$..[?@.price > 10]`.",
                get,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_xml_filter",
                "Whole elements of an XML artifact at or around what a JSONPath matches.",
                filter,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_xml_pluck",
                "One field of the elements of an XML artifact, by JSONPath.",
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
