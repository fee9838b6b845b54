//! The names of stored results.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The key of a stored result: any text whatever. Making it safe for a file system or an address is
/// the store's business.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpoolKey(Arc<str>);

impl SpoolKey {
    /// A key.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SpoolKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for SpoolKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl AsRef<str> for SpoolKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The key for people: control characters escaped, and cut when it is long.
impl fmt::Display for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN) {
            write!(f, "{}", character.escape_debug())?;
        }
        if characters.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpoolKey({self})")
    }
}

const SHOWN: usize = 80;
