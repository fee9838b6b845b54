//! How XML is asked.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::tool::ToolFailure;

use crate::content_view::ContentView;
use crate::question::{TREE_FORM, is_sql};
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

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let view = XmlView::of_content(ContentView::of_query(ctx));
        match question.clone() {
            Question::Info { skip } => {
                Some(Box::pin(async move { Ok(view.describe(skip).await?) }))
            }
            Question::Query { query, skip } => Some(Box::pin(ask(query, skip, view))),
            _ => None,
        }
    }

    fn query_form(&self) -> Option<&str> {
        Some(TREE_FORM)
    }
}

async fn ask(query: String, skip: u64, view: XmlView) -> Result<QueryOutput, ToolFailure> {
    Ok(if is_sql(&query) { view.sql(&query, skip).await? } else { view.get(&query, skip).await? })
}
