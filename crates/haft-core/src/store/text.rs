//! JSON text for a store.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::{StoreError, check_text};

/// JSON text that is stored: either a finished text, or a value that is serialized when it is first read. Cheap to
/// clone.
///
/// The loop stores everything that it does, and a store in memory rarely reads any of it. The loop therefore hands over
/// immutable values, and their text is written where it is needed: by a store with a disk, or by the process that loads
/// the turn. From then on there are both the value and its text; a clone that was made earlier has only the value.
///
/// ```
/// use std::sync::Arc;
/// use haft_core::store::{StoredForm, StoredText};
///
/// struct Pair(u32, u32);
///
/// impl StoredForm for Pair {
///     fn write_text(&self) -> String {
///         format!("[{},{}]", self.0, self.1)
///     }
/// }
///
/// assert_eq!(StoredText::of(Arc::new(Pair(1, 2))), StoredText::from("[1,2]"));
/// ```
#[derive(Clone)]
pub struct StoredText(Form);

#[derive(Clone)]
enum Form {
    Written(Arc<str>),
    Unwritten { value: Arc<dyn StoredForm>, text: OnceLock<Arc<str>> },
}

/// A value that is stored as text.
pub trait StoredForm: Send + Sync {
    /// The text: JSON, so that it cannot contain U+0000, or [`StoredText::UNWRITABLE`].
    fn write_text(&self) -> String;
}

/// A text that is JSON already.
impl StoredForm for String {
    fn write_text(&self) -> String {
        self.clone()
    }
}

impl StoredText {
    /// The placeholder for a text that could not be written: U+0000, which no store accepts and no reader parses.
    pub const UNWRITABLE: &'static str = "\0";

    /// The text of a value, which is serialized when the text is first read.
    pub fn of<T: StoredForm + 'static>(value: Arc<T>) -> Self {
        Self(Form::Unwritten { value, text: OnceLock::new() })
    }

    /// Returns the text, and serializes it first if necessary.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Written(text) => text,
            Form::Unwritten { value, text } => text.get_or_init(|| value.write_text().into()),
        }
    }

    /// Checks that it can be stored, as every store does first; of a text that was not serialized yet it is taken for
    /// granted, so that a store which reads it does so before.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`], with what the text was to be.
    pub fn check(&self, what: &'static str) -> Result<(), StoreError> {
        match &self.0 {
            Form::Written(text) => check_text(what, text),
            Form::Unwritten { text, .. } => {
                text.get().map_or(Ok(()), |text| check_text(what, text))
            }
        }
    }
}

impl From<String> for StoredText {
    fn from(text: String) -> Self {
        Self(Form::Written(text.into()))
    }
}

impl From<Arc<str>> for StoredText {
    fn from(text: Arc<str>) -> Self {
        Self(Form::Written(text))
    }
}

impl From<&str> for StoredText {
    fn from(text: &str) -> Self {
        Self(Form::Written(text.into()))
    }
}

impl Deref for StoredText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for StoredText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Equal when the texts are.
impl PartialEq for StoredText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for StoredText {}

impl PartialEq<str> for StoredText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for StoredText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for StoredText {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl fmt::Display for StoredText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for StoredText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
