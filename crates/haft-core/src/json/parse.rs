//! Strict JSON text into a document.

use super::Document;

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset into the text.
    pub offset: usize,
}

/// The ways in which a text can fail to be JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text ends inside a value.
    #[error("the text ends early")]
    Truncated,
    /// Anything else.
    #[error("unexpected text")]
    Unexpected,
}

pub(super) fn strict(text: String) -> Result<Document, ParseError> {
    serde_json::from_str::<serde_json::Value>(&text)
        .map(|it| Document::from(&it))
        .map_err(|_| ParseError { kind: ParseErrorKind::Unexpected, offset: 0 })
}
