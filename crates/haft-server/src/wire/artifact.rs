//! Artifacts and media.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SourceTier;

/// An artifact of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactRow {
    /// The handle by which the model names it.
    pub(crate) handle: String,
    /// A name for people: the file or address that the call was about, else the tool.
    pub(crate) name: String,
    /// How it is queried: `text`, `json`, `csv`, `markdown` and so on.
    pub(crate) kind: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// How many lines it has, if its index exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<u64>,
    /// How far it is trusted.
    pub(crate) tier: SourceTier,
    /// The call that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<String>,
    /// The step of that call, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<u32>,
    /// The tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// Whether its content is gone.
    pub(crate) lost: bool,
    /// Whether its content is the one that was stored. Lists do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ArtifactState>,
    /// How its content was changed, or why it could not be compared with what was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_problem: Option<String>,
}

/// Whether the content of an artifact is the one that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArtifactState {
    /// It is.
    Verified,
    /// Its hash is being compared. Until then its content can be read, and must be shown as unverified.
    Unverified,
    /// It is not. Reads fail, and what was read before is not what was stored.
    Changed,
    /// The record of the artifact has no hash to compare.
    NoDigest,
}

/// How to read an artifact.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ArtifactOptions {
    /// Whether to wait until its content is verified, for at most 20 seconds.
    pub(crate) wait: bool,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LineRow {
    /// Its number, counted from 0.
    pub(crate) number: u64,
    /// Its text, or the beginning of it.
    pub(crate) text: String,
    /// How many bytes of it are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) omitted_bytes: u64,
}

/// Lines of an artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinePage {
    /// The lines.
    pub(crate) lines: Vec<LineRow>,
    /// How many lines the artifact has.
    pub(crate) total_lines: u64,
    /// How many bytes the artifact has.
    pub(crate) total_bytes: u64,
    /// Whether the lines are those that were stored, as far as it is known when they are read.
    pub(crate) content: ArtifactState,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchHit {
    /// Its number, counted from 0.
    pub(crate) line: u64,
    /// Its text, or the beginning of it.
    pub(crate) text: String,
}

/// Matches, as they are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchPage {
    /// Matching lines.
    pub(crate) hits: Vec<SearchHit>,
    /// The line that is searched next.
    pub(crate) next_line: u64,
    /// How many lines the artifact has.
    pub(crate) total_lines: u64,
}

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchEnd {
    /// How many lines match.
    pub(crate) matches: u64,
    /// Whether there may be more, because the limit was reached.
    pub(crate) limited: bool,
    /// How many lines were too long to search.
    pub(crate) unsearched_lines: u64,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: f64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A query of an artifact, by the tool that a model would call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactQuery {
    /// The tool, such as `artifact_query`.
    pub(crate) tool: String,
    /// Its arguments without the handle.
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// What a query returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryResult {
    /// The text that a model would see, within a larger budget.
    pub(crate) text: String,
    /// Whether the query was refused or failed.
    pub(crate) failed: bool,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: f64,
}

/// A heading of a Markdown artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutlineRow {
    /// Its level, from 1 to 6.
    pub(crate) level: u8,
    /// Its text.
    pub(crate) text: String,
    /// Its line, counted from 0.
    pub(crate) line: u64,
}

/// Rows of a CSV artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CsvPage {
    /// The names of the columns.
    pub(crate) columns: Vec<String>,
    /// The rows, each with a field for each column.
    pub(crate) rows: Vec<Vec<String>>,
    /// The number of the first row, counted from 0, without the header.
    pub(crate) start: u64,
    /// Whether there are more.
    pub(crate) more: bool,
}

/// A medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MediaRow {
    /// The name by which it is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Its file name.
    pub(crate) filename: String,
    /// Its media type.
    pub(crate) mime_type: String,
    /// How far it is trusted.
    pub(crate) tier: SourceTier,
    /// Whether a browser may show it as a picture.
    pub(crate) previewable: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
