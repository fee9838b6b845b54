//! Mending text that a model wrote.

use super::{Document, ParseError};

/// One thing that was mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repair {
    /// A code fence around the text was removed.
    CodeFence,
    /// A comma before a closing bracket was removed.
    TrailingComma,
    /// A single-quoted string was read as a string.
    SingleQuotes,
    /// A raw control character inside a string was kept as that character.
    RawControl,
    /// `True`, `False` or `None` was read as the JSON word.
    PythonWord,
}

pub(super) fn lenient(text: &str) -> Result<(Document, Vec<Repair>), ParseError> {
    Document::parse(text).map(|doc| (doc, Vec::new()))
}
