//! YAML: one document, or a stream of them.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::schema::object;
use haft_core::{Args, ToolFailure};

use crate::content_view::ContentView;
use crate::query_args::{Named as _, check_path, path, records, skip};
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

    fn queries(&self) -> Vec<Query> {
        let by_path = || object().field("path", path()).field("skip", skip());
        vec![
            Query::new(
                "artifact_yaml_type",
                "Whether a YAML artifact is one document or a stream of several.",
                kind,
            )
            .input(object()),
            Query::new(
                "artifact_yaml_keys",
                "Keys of all documents of a YAML artifact.",
                keys,
            )
            .input(object().field("skip", skip())),
            Query::new(
                "artifact_yaml_length",
                "Number of documents of a YAML artifact, or of elements of its list.",
                length,
            )
            .input(object()),
            Query::new(
                "artifact_yaml_get",
                "Values at a JSONPath in every document of a YAML artifact.",
                get,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_yaml_filter",
                "Records of a YAML artifact (documents, or elements of its list) that a JSONPath matches, such as `$[?@.age > 17]`.",
                filter,
            )
            .input(by_path())
            .check(check_path),
            Query::new(
                "artifact_yaml_slice",
                "Records of a YAML artifact from `start` to before `end`, counted from 0.",
                slice,
            )
            .input(records()),
            Query::new(
                "artifact_yaml_pluck",
                "One field of every document of a YAML artifact, by JSONPath.",
                get,
            )
            .input(by_path())
            .check(check_path),
        ]
    }
}

fn view(asked: &QueryContext) -> YamlView {
    YamlView::of_content(ContentView::of_query(asked))
}

async fn kind(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(QueryOutput::whole(view(&asked).detect_stream_kind().await?.to_string()))
}

async fn keys(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).list_keys(args.skip()).await?)
}

async fn length(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).count_documents().await?)
}

async fn get(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).get(args.required_text("path"), args.skip()).await?)
}

async fn filter(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).filter(args.required_text("path"), args.skip()).await?)
}

async fn slice(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(view(&asked).slice(args.record_range(), args.skip()).await?)
}
