//! How JSON is asked.

use std::convert::Infallible;

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::tool::ToolFailure;

use crate::content_view::ContentView;
use crate::json::{JsonCache, JsonNotation, JsonView};
use crate::question::{TREE_FORM, is_sql};

/// JSON: one value, or one value per line.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct JsonFormat;

impl JsonFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for JsonFormat {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == ArtifactKind::JSON || *kind == ArtifactKind::JSONL
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let ctx = ctx.clone();
        match question.clone() {
            Question::Info { skip } => {
                Some(Box::pin(async move { Ok(view(&ctx).await.describe(skip).await?) }))
            }
            Question::Query { query, skip } => Some(Box::pin(ask(query, skip, ctx))),
            _ => None,
        }
    }

    fn query_form(&self) -> Option<&str> {
        Some(TREE_FORM)
    }
}

async fn ask(query: String, skip: u64, ctx: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let view = view(&ctx).await;
    Ok(if is_sql(&query) { view.sql(&query, skip).await? } else { view.get(&query, skip).await? })
}

async fn view(ctx: &QueryContext) -> JsonView {
    let made = async { Ok::<_, Infallible>(JsonCache::new()) };
    let cache = match ctx.artifact.memo(made).await {
        Ok(cache) => cache,
        Err(never) => match never {},
    };
    let view = JsonView::of_content(ContentView::of_query(ctx)).cache(cache);
    match *ctx.artifact.kind() == ArtifactKind::JSONL {
        true => view.notation(JsonNotation::Jsonl),
        false => view,
    }
}
