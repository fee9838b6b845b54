//! Names of tools.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest name, in bytes. Providers allow 64; they map longer names themselves.
const MAX_LENGTH: usize = 128;

/// The name of a tool: not empty, at most 128 bytes, no white space or control characters.
///
/// Lower-case `snake_case` is what every provider takes as it is. Other names are legal and are mapped
/// by the provider.
///
/// ```
/// use haft_core::tool::{InvalidToolName, ToolName};
///
/// let name: ToolName = "get_weather".parse()?;
/// assert_eq!(name, "get_weather");
/// assert_eq!("".parse::<ToolName>(), Err(InvalidToolName::Empty));
/// assert_eq!("a b".parse::<ToolName>(), Err(InvalidToolName::Character { found: ' ' }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(Arc<str>);

/// Why a text cannot name a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidToolName {
    /// It has no characters.
    #[error("a tool needs a name")]
    Empty,
    /// It is longer than 128 bytes.
    #[error("a tool's name has at most {MAX_LENGTH} bytes, this one has {bytes}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It has a character that no name may have.
    #[error("a tool's name has no white space and no control characters, this one has {found:?}")]
    Character {
        /// The character.
        found: char,
    },
}

impl ToolName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = InvalidToolName;

    fn from_str(text: &str) -> Result<Self, InvalidToolName> {
        if text.is_empty() {
            return Err(InvalidToolName::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(InvalidToolName::TooLong { bytes: text.len() });
        }
        match text.chars().find(|it| it.is_whitespace() || it.is_control()) {
            Some(found) => Err(InvalidToolName::Character { found }),
            None => Ok(Self(text.into())),
        }
    }
}

impl TryFrom<String> for ToolName {
    type Error = InvalidToolName;

    fn try_from(text: String) -> Result<Self, InvalidToolName> {
        text.parse()
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}
