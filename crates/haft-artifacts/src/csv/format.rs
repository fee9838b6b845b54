//! How CSV is asked.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::tool::ToolFailure;

use crate::content_view::ContentView;
use crate::csv::CsvView;
use crate::question::is_sql;

/// Rows of fields, separated by commas, semicolons, tabs or bars.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CsvFormat;

impl CsvFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for CsvFormat {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == ArtifactKind::CSV
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let view = CsvView::of_content(ContentView::of_query(ctx));
        match question.clone() {
            Question::Info { skip } => {
                Some(Box::pin(async move { Ok(view.describe(skip).await?) }))
            }
            Question::Query { query, skip } => Some(Box::pin(ask(query, skip, view))),
            _ => None,
        }
    }

    fn query_form(&self) -> Option<&str> {
        Some(FORM)
    }
}

async fn ask(query: String, skip: u64, view: CsvView) -> Result<QueryOutput, ToolFailure> {
    if is_sql(&query) {
        return Ok(view.sql(&query, skip).await?);
    }
    let columns = view.list_columns(0).await?;
    let columns = columns.as_str().lines().take_while(|it| !it.starts_with('['));
    let columns = columns.collect::<Vec<_>>().join(", ");
    Err(ToolFailure::new(format!("a table takes {FORM}; its columns are {columns}")))
}

const FORM: &str = "SQL such as `SELECT region, sum(sold) FROM data WHERE year = 2024 GROUP BY region ORDER BY \
                    sum(sold) DESC LIMIT 5`";
