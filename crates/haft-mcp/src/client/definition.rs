//! From the definition that a server gives to a tool of Haft.

use std::fmt;
use std::str::FromStr;

use haft_core::invariant::OrReport as _;
use haft_core::json::{Document, canonical_text};
use sha2::{Digest as _, Sha256};

/// The hash of a definition: everything that a server says about a tool, except for icons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolDigest([u8; 32]);

impl ToolDigest {
    /// Hashes a definition.
    pub(super) fn of(tool: &rmcp::model::Tool) -> Self {
        let mut tool = tool.clone();
        tool.icons = None;
        let value = serde_json::to_value(&tool).or_report_default("a definition is JSON");
        // The order of members does not matter, but every other difference does.
        let text = match Document::from_value(&value) {
            Ok(document) => canonical_text(document.root()),
            Err(_) => value.to_string(),
        };
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl fmt::Display for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolDigest({self})")
    }
}

impl FromStr for ToolDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(InvalidDigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| InvalidDigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidDigest)?;
        }
        Ok(Self(bytes))
    }
}

/// A text is not the hash of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash of a definition has 64 hexadecimal digits")]
#[non_exhaustive]
pub struct InvalidDigest;
