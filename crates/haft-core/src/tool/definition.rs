//! What the digest of a tool's definition covers.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Definition, DefinitionDigest, Tool, ToolRole};
use crate::json::{Document, canonical_text};

impl DefinitionDigest {
    /// Hashes a definition. Every part has its length in front, so that different definitions have different encodings.
    pub(super) fn of(definition: &Definition) -> Self {
        let Definition { name, description, input, role, strictness, flags, parts, .. } =
            definition;
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add("haft-tool-1");
        add(name.as_str());
        add(description);
        add(&canonical(input.json_schema_text()));
        add(&format!("{strictness:?}"));
        add(&format!("{:?}", flags.effect));
        add(if flags.trusted { "trusted" } else { "untrusted" });
        match role {
            ToolRole::Standard(kind) => {
                add("standard");
                add(kind.as_str());
            }
            ToolRole::ArtifactQuery => add("artifact-query"),
        }
        for (name, value) in parts {
            add(name);
            add(&canonical(&value.to_string()));
        }
        Self::from_bytes(hash.finalize().into())
    }
}

/// The canonical form of a JSON text, so that the order of keys does not count.
fn canonical(json: &str) -> Cow<'_, str> {
    match Document::parse(json) {
        Ok(document) => Cow::Owned(canonical_text(document.root())),
        Err(_) => Cow::Borrowed(json),
    }
}

impl Tool {
    /// The digest of the definition: equal as long as the tool is the same.
    #[must_use]
    pub fn definition_digest(&self) -> DefinitionDigest {
        *self.0.digest.get_or_init(|| DefinitionDigest::of(&self.0))
    }

    /// The parts of the definition beyond what the model sees: see
    /// [`ToolBuilder::definition_part`](super::ToolBuilder::definition_part).
    pub fn definition_parts(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.parts.iter().map(|(name, value)| (name.as_str(), value))
    }
}
