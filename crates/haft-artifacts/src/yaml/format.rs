//! How YAML is asked.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::tool::ToolFailure;

use crate::content_view::ContentView;
use crate::question::{TREE_FORM, is_sql};
use crate::yaml::YamlView;

/// YAML: one document, or a stream of them.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct YamlFormat;

impl YamlFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for YamlFormat {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == ArtifactKind::YAML
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let view = YamlView::of_content(ContentView::of_query(ctx));
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

async fn ask(query: String, skip: u64, view: YamlView) -> Result<QueryOutput, ToolFailure> {
    Ok(if is_sql(&query) { view.sql(&query, skip).await? } else { view.get(&query, skip).await? })
}
