//! Rows of fields, separated by commas, semicolons, tabs or bars.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::json::ValueRef;
use haft_core::schema::{Problem, Problems, array, number, object, string};
use haft_core::{Args, ToolFailure};

use crate::content_view::ContentView;
use crate::csv::{CsvFilter, CsvView};
use crate::query_args::{Named as _, records, skip};

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

    fn queries(&self) -> Vec<Query> {
        let column = || string().non_empty().required();
        vec![
            Query::new(
                "artifact_csv_columns",
                "Column names and separator of a CSV artifact.",
                columns,
            )
            .input(object().field("skip", skip())),
            Query::new(
                "artifact_csv_length",
                "Number of rows of a CSV artifact, without the header.",
                length,
            )
            .input(object()),
            Query::new(
                "artifact_csv_rows",
                "Rows of a CSV artifact from `start` to before `end`, counted from 0, as objects.",
                rows,
            )
            .input(records().field(
                "columns",
                array(string()).optional(),
            )),
            Query::new(
                "artifact_csv_filter",
                "Rows of a CSV artifact whose `column` equals or contains a text, or is a number above or below a limit.",
                filter,
            )
            .input(
                object()
                    .field("column", column())
                    .field("equals", string().optional())
                    .field("contains", string().optional())
                    .field("above", number().optional())
                    .field("below", number().optional())
                    .field("skip", skip()),
            )
            .check(check_filter),
            Query::new(
                "artifact_csv_pluck",
                "Fields of one column of a CSV artifact.",
                pluck,
            )
            .input(object().field("column", column()).field("skip", skip())),
            Query::new(
                "artifact_csv_stats",
                "Count, empty, distinct, least, greatest, sum and mean of a CSV artifact's column.",
                stats,
            )
            .input(object().field("column", column())),
            Query::new(
                "artifact_csv_group",
                "Groups the rows of a CSV artifact: rows per group and the sums of `column`, largest first.",
                group,
            )
            .input(
                object()
                    .field(
                        "by",
                        array(string().non_empty())
                            .min_items(1)
                            .max_items(8)
                            .description("Columns to group by")
                            .required(),
                    )
                    .field(
                        "column",
                        string().non_empty().description("Column to sum up").optional(),
                    )
                    .field("skip", skip()),
            ),
        ]
    }
}

fn view(asked: &QueryContext) -> CsvView {
    CsvView::of_content(ContentView::of_query(asked))
}

async fn columns(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).list_columns(args.skip()).await?)
}

async fn length(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).count_rows().await?)
}

async fn rows(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let columns = args.root().get("columns").map(|list| {
        list.elements().filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>()
    });
    let columns = columns.unwrap_or_default();
    Ok(view(&asked).read_rows(args.record_range(), &columns, args.skip()).await?)
}

async fn filter(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let mut filter = CsvFilter::new(args.required_text("column"));
    if let Some(text) = args.text("equals") {
        filter = filter.equals(text);
    }
    if let Some(text) = args.text("contains") {
        filter = filter.contains(text);
    }
    if let Some(limit) = args.root().get("above").and_then(ValueRef::as_f64) {
        filter = filter.above(limit);
    }
    if let Some(limit) = args.root().get("below").and_then(ValueRef::as_f64) {
        filter = filter.below(limit);
    }
    Ok(view(&asked).filter(filter, args.skip()).await?)
}

/// A filter without a condition would give everything.
fn check_filter(args: &Args) -> Result<(), Problems> {
    let conditions = ["equals", "contains", "above", "below"];
    if conditions.iter().any(|name| args.root().get(name).is_some()) {
        return Ok(());
    }
    Err(Problem::new("", "one of `equals`, `contains`, `above` and `below`").into())
}

async fn pluck(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).pluck(args.required_text("column"), args.skip()).await?)
}

async fn group(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let by = args.root().get("by").map(|list| {
        list.elements().filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>()
    });
    let by = by.unwrap_or_default();
    Ok(view(&asked).group_rows(&by, args.text("column"), args.skip()).await?)
}

async fn stats(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).summarize_column(args.required_text("column")).await?)
}
