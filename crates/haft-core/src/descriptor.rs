//! How to find the content of a reader again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is stored of a reader: which sort it is, and where that sort finds its bytes. Never a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReaderDescriptor {
    /// The kind of reader, such as `media:in-memory` or `spool:folder`.
    pub tag: String,
    /// Where the bytes are, in terms of that sort of reader.
    pub locator: Value,
}

impl ReaderDescriptor {
    /// The descriptor of a reader.
    #[must_use]
    pub fn new(tag: impl Into<String>, locator: Value) -> Self {
        Self { tag: tag.into(), locator }
    }
}
