//! Results that stay outside the prompt.

mod answer;
mod budget;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::answer::{Answer, Listing};
pub use self::budget::Budget;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How a text or byte result is wrapped, and so which queries the model gets for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ArtifactKind {
    /// Plain lines of text.
    #[default]
    Text,
    /// JSON, JSON lines or JSON5.
    Json,
    /// Markdown.
    Markdown,
}

/// A result that a tool has wrapped itself.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpooledArtifact {
    /// How it is queried.
    pub kind: ArtifactKind,
    /// The bytes, exactly as they were given.
    pub bytes: Bytes,
}

impl SpooledArtifact {
    /// Wraps bytes.
    #[must_use]
    pub fn new(kind: ArtifactKind, bytes: impl Into<Bytes>) -> Self {
        Self { kind, bytes: bytes.into() }
    }
}

impl fmt::Debug for SpooledArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpooledArtifact({:?}, {} bytes)", self.kind, self.bytes.len())
    }
}
