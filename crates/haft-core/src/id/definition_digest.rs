//! The digest of a tool's definition.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::CallId;

/// The digest of what a tool is: SHA-256 over its name, description, schema, effect, role, trust, and the parts that
/// [`ToolBuilder::definition_part`](crate::tool::ToolBuilder::definition_part) adds, such as the command line or the address
/// behind the tool.
///
/// Two tools with the same digest show the model the same words, accept the same arguments and do the same thing. Whether
/// a call requires approval, its time limit and its metadata do not count. The handler is code and cannot be hashed: a
/// tool whose handler does what a configuration says adds that configuration as a part.
///
/// ```
/// use haft_core::Tool;
/// use haft_core::tool::DefinitionDigest;
///
/// let list = |argv: &[&str]| {
///     let tool = Tool::builder("list").description("Lists files.").handler(|| "a.txt");
///     tool.definition_part("argv", argv).build()
/// };
/// let digest = list(&["ls", "-1"])?.definition_digest();
/// assert_eq!(digest, list(&["ls", "-1"])?.with_approval("May I?")?.definition_digest());
/// assert_ne!(digest, list(&["rm", "-r"])?.definition_digest());
/// assert_eq!(digest.to_string().parse::<DefinitionDigest>()?, digest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionDigest([u8; 32]);

/// A text that is not the digest of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the digest of a definition is 64 lower-case hexadecimal digits")]
#[non_exhaustive]
pub struct ParseDigestError;

impl DefinitionDigest {
    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for DefinitionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The first digits; enough to tell digests apart in a log.
impl fmt::Debug for DefinitionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DefinitionDigest(")?;
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

impl FromStr for DefinitionDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        // The text of a call id has the same form.
        let id: CallId = text.parse().map_err(|_| ParseDigestError)?;
        Ok(Self(*id.as_bytes()))
    }
}

impl Serialize for DefinitionDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DefinitionDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
