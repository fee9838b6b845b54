//! The names of records.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest name, in characters. There is room for the longest id of a turn, with which the names of its own records begin.
const MAX_LENGTH: usize = 256;

/// The id of a message, memory, thought, retrieved record or instruction: 1 to 256 characters, none of
/// them a control character. The application gives it.
///
/// ```
/// use haft_core::record::RecordName;
///
/// let name: RecordName = "msg-1".parse()?;
/// assert_eq!(name.as_str(), "msg-1");
/// assert!("".parse::<RecordName>().is_err());
/// assert!("msg\n1".parse::<RecordName>().is_err());
/// assert!("é".repeat(256).parse::<RecordName>().is_ok());
/// assert!("e".repeat(257).parse::<RecordName>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordName(Arc<str>);

/// Why a text cannot name a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRecordName {
    /// It has no characters.
    #[error("is empty")]
    Empty,
    /// It is longer than 256 characters.
    #[error("has {characters} characters, and at most {MAX_LENGTH} are allowed")]
    TooLong {
        /// How long it is.
        characters: usize,
    },
    /// It has a control character.
    #[error("has the control character {found:?}")]
    Control {
        /// The character.
        found: char,
    },
}

impl RecordName {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its text, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    pub(super) fn check(text: &str) -> Result<(), InvalidRecordName> {
        if text.is_empty() {
            return Err(InvalidRecordName::Empty);
        }
        // Nearly every name is printable ASCII, which need not be decoded.
        if text.len() <= MAX_LENGTH && text.bytes().all(|it| matches!(it, b' '..=b'~')) {
            return Ok(());
        }
        let characters = text.chars().count();
        if characters > MAX_LENGTH {
            return Err(InvalidRecordName::TooLong { characters });
        }
        match text.chars().find(|it| it.is_control()) {
            Some(found) => Err(InvalidRecordName::Control { found }),
            None => Ok(()),
        }
    }
}

impl FromStr for RecordName {
    type Err = InvalidRecordName;

    fn from_str(text: &str) -> Result<Self, InvalidRecordName> {
        Self::check(text).map(|()| Self(text.into()))
    }
}

impl TryFrom<String> for RecordName {
    type Error = InvalidRecordName;

    fn try_from(text: String) -> Result<Self, InvalidRecordName> {
        text.parse()
    }
}

impl From<RecordName> for String {
    fn from(name: RecordName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl Borrow<str> for RecordName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RecordName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordName({:?})", self.as_str())
    }
}
