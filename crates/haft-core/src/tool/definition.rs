//! What the digest of a tool's definition covers.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Definition, Digest, Tool, ToolRole};
use crate::json::{Document, canonical_text};

impl Definition {
    /// Hashes the definition. Every part has its length in front, so that different definitions have different encodings.
    fn compute_digest(&self) -> Digest {
        let Self { name, description, input, role, strictness, flags, parts, .. } = self;
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
        Digest::from_bytes(hash.finalize().into())
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
    /// The digest of the definition: over its name, description, schema, effect, role, trust, and the parts that
    /// [`ToolBuilder::definition_part`](super::ToolBuilder::definition_part) adds, such as the command line or the address
    /// behind the tool.
    ///
    /// Two tools with the same digest show the model the same words, accept the same arguments and do the same thing.
    /// Whether a call requires approval, its time limit and its metadata do not count. The handler is code and cannot be
    /// hashed: a tool whose handler does what a configuration says adds that configuration as a part.
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// let list = |argv: &[&str]| {
    ///     let tool = Tool::builder("list").description("Lists files.").handler(|| "a.txt");
    ///     tool.definition_part("argv", argv).build()
    /// };
    /// let digest = list(&["ls", "-1"])?.definition_digest();
    /// assert_eq!(digest, list(&["ls", "-1"])?.with_approval("May I?")?.definition_digest());
    /// assert_ne!(digest, list(&["rm", "-r"])?.definition_digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn definition_digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| self.0.compute_digest())
    }

    /// The parts of the definition beyond what the model sees: see
    /// [`ToolBuilder::definition_part`](super::ToolBuilder::definition_part).
    pub fn definition_parts(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.parts.iter().map(|(name, value)| (name.as_str(), value))
    }
}
