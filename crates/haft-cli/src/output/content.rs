//! Artifacts and media.

use haft::records::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of `haft artifact list`.
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

/// A line of `haft artifact md headings`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeadingLine<'t> {
    /// The line of the heading, counted from 1.
    pub(crate) line: usize,
    /// The last line of the heading.
    pub(crate) end: usize,
    /// Its level, from 1 to 6.
    #[schemars(range(min = 1, max = 6))]
    pub(crate) depth: u8,
    /// Its text.
    pub(crate) text: &'t str,
}

/// A line of `haft artifact md links`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LinkLine {
    /// The text of the link.
    pub(crate) text: String,
    /// Its address.
    pub(crate) url: String,
    /// Its title, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Its line, counted from 1.
    pub(crate) line: u64,
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
