//! JSON in its shapes.

use std::convert::Infallible;
use std::ops::Bound;

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::schema::{ObjectSchema, integer, object};
use haft_core::{Args, ToolFailure};

use crate::content_view::ContentView;
use crate::json::{JsonCache, JsonNotation, JsonView};
use crate::query_args::{Named as _, check_path, path, skip};

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
        *kind == ArtifactKind::JSON || declared_notation(kind).is_some()
    }

    fn queries(&self) -> Vec<Query> {
        let by_path = || object().field("path", path()).field("skip", skip());
        vec![
            Query::new(
                "artifact_json_type",
                "Shape of a JSON artifact: json or jsonl.",
                notation,
            )
            .input(object()),
            Query::new(
                "artifact_json_keys",
                "Keys of a JSON artifact's object, or of all its records.",
                keys,
            )
            .input(object().field("skip", skip())),
            Query::new(
                "artifact_json_length",
                "Number of records of a JSON artifact, or of elements of its list.",
                length,
            )
            .input(object()),
            Query::new(
                "artifact_json_get",
                "Values at a JSONPath such as `$.items[0].name` in a JSON artifact; in JSON lines, in every record.",
                get,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_json_filter",
                "Records of a JSON artifact (lines, or elements of its list) that a JSONPath matches, such as `$[?@.role == \"admin\"]`.",
                filter,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_json_slice",
                "Records of a JSON artifact from `start` to before `end`, counted from 0; a negative number counts from the end.",
                slice,
            )
            .input(range()),
            Query::new(
                "artifact_json_pluck",
                "One field of every record of a JSON artifact, by JSONPath.",
                get,
            )
            .input(by_path())
            .check(check_path),
        ]
    }
}

pub(super) fn range() -> ObjectSchema {
    object()
        .field("start", integer().optional())
        .field("end", integer().optional())
        .field("skip", skip())
}

fn declared_notation(kind: &ArtifactKind) -> Option<JsonNotation> {
    (*kind == ArtifactKind::JSONL).then_some(JsonNotation::Jsonl)
}

async fn view(asked: &QueryContext) -> JsonView {
    let made = async { Ok::<_, Infallible>(JsonCache::new()) };
    let cache = match asked.artifact.memo(made).await {
        Ok(cache) => cache,
        Err(never) => match never {},
    };
    let view = JsonView::of_content(ContentView::of_query(asked)).cache(cache);
    match declared_notation(asked.artifact.kind()) {
        Some(notation) => view.notation(notation),
        None => view,
    }
}

async fn notation(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(QueryOutput::whole(view(&asked).await.detect_notation().await?.to_string()))
}

async fn keys(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).await.list_keys(args.skip()).await?)
}

async fn length(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).await.count_records().await?.to_answer())
}

async fn get(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let path = args.required_text("path");
    Ok(view(&asked).await.get(path, args.skip()).await?)
}

async fn filter(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let path = args.required_text("path");
    Ok(view(&asked).await.filter(path, args.skip()).await?)
}

async fn slice(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let start = args.place("start").map_or(Bound::Unbounded, Bound::Included);
    let end = args.place("end").map_or(Bound::Unbounded, Bound::Excluded);
    Ok(view(&asked).await.slice((start, end), args.skip()).await?)
}
