//! Artifacts and media.

use haft::records::RecordId;
use schemars::JsonSchema;
use serde::Serialize;

/// A line of `haft artifact info`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactLine<'a> {
    /// The handle by which a model names it.
    pub(crate) handle: &'a str,
    /// How it is queried: `text`, `json`, `csv`, `markdown` and so on.
    pub(crate) kind: &'a str,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// The call that returned it; nothing for a retrieved text.
    pub(crate) call: Option<RecordId>,
}

/// A line of `haft artifact grep`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MatchLine<'t> {
    /// The number of the line, counted from 1.
    pub(crate) line: u64,
    /// Its text.
    pub(crate) text: &'t str,
    /// Whether it does not match and stands near a line that does. It is left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) context: bool,
}

/// A line of `haft media list`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MediaLine<'m> {
    /// Its number, counted from 1.
    pub(crate) number: usize,
    /// Its id, if it has one.
    pub(crate) id: Option<&'m str>,
    /// Its file name.
    pub(crate) filename: &'m str,
    /// Its media type.
    pub(crate) mime_type: &'m str,
    /// How many bytes it has, if that is known.
    pub(crate) bytes: Option<u64>,
}
