//! The text of a record.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tokens::{CountCache, Estimators, TokenCount, TokenError};

/// The immutable text of a record, which caches its token counts.
///
/// ```
/// use haft_core::record::Text;
/// use haft_core::tokens::{TokenCount, Estimators};
///
/// let text = Text::from("hello");
/// assert_eq!(text.as_str(), "hello");
/// assert_eq!(text.count(&Estimators::default(), "claude")?.tokens, 2);
/// # Ok::<(), haft_core::tokens::TokenError>(())
/// ```
#[derive(Clone)]
pub struct Text {
    text: Arc<str>,
    counts: CountCache,
}

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, shared.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The number of its tokens, counted once per encoding.
    ///
    /// # Errors
    ///
    /// There is no counter of that name, or the counter failed.
    pub fn count(&self, estimators: &Estimators, encoding: &str) -> Result<TokenCount, TokenError> {
        let stamp = estimators.stamp();
        if let Some(count) = self.counts.get(stamp, encoding) {
            return Ok(count);
        }
        let count = estimators.count(encoding, &self.text)?;
        self.counts.insert(stamp, encoding, count);
        Ok(count)
    }

    #[cfg(test)]
    pub(crate) fn cached_counts(&self) -> usize {
        self.counts.len()
    }

    /// Whether it has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Self { text, counts: CountCache::default() }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(Arc::<str>::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(Arc::<str>::from(text))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<str>::deserialize(deserializer).map(Self::from)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Text {}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
