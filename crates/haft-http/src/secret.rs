//! Text that is never printed.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use http::header::InvalidHeaderValue;

use crate::redact::REDACTED;

/// A text that is never printed: a key, a token, a password. Cheap to clone.
///
/// ```
/// use haft_http::Secret;
///
/// let key = Secret::new("sk-1234");
/// assert_eq!(format!("{key} {key:?}"), "[redacted] [redacted]");
/// assert_eq!(key.expose(), "sk-1234");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a text so that it is not printed.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text. The caller is responsible for where it goes.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the text as a header value that is marked as sensitive, so that it is not printed either.
    ///
    /// # Errors
    ///
    /// The text contains a character that no header value can have. The error does not quote it.
    pub fn to_header_value(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(&self.0)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
