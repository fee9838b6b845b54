//! Text that a store keeps.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::{StoreError, check_text};

/// JSON text that a store keeps: written already, or serialized on the first read. Cheap to clone.
///
/// The loop keeps what it does step by step, and a store in memory is seldom asked for any of it. So the
/// loop hands over values that never change, and their text is made where it is needed: by a store that
/// has a disk, or by the process that loads the turn. From then on there are both, the value and its text.
///
/// ```
/// use haft_core::store::StoredText;
///
/// let written = StoredText::from("[1,2]");
/// let unwritten = StoredText::of(vec![1, 2], |list| format!("{list:?}").replace(' ', ""));
/// assert_eq!(unwritten, written);
/// ```
#[derive(Clone)]
pub struct StoredText(Form);

#[derive(Clone)]
enum Form {
    Written(Arc<str>),
    Unwritten(Arc<dyn Unwritten>),
}

/// A value and its text, once that was asked for.
trait Unwritten: Send + Sync {
    fn text(&self) -> &str;

    /// The text, if it was serialized already.
    fn written(&self) -> Option<&str>;
}

struct Value<T> {
    value: T,
    write: fn(&T) -> String,
    text: OnceLock<Box<str>>,
}

impl<T: Send + Sync> Unwritten for Value<T> {
    fn text(&self) -> &str {
        self.text.get_or_init(|| (self.write)(&self.value).into())
    }

    fn written(&self) -> Option<&str> {
        self.text.get().map(|text| &**text)
    }
}

impl StoredText {
    /// What stands for a text that could not be written: U+0000, which no store keeps and nothing reads.
    pub const UNWRITABLE: &'static str = "\0";

    /// The text of a value, which `write` makes when it is first read: JSON, so that it cannot contain U+0000, or
    /// [`UNWRITABLE`](Self::UNWRITABLE).
    pub fn of<T: Send + Sync + 'static>(value: T, write: fn(&T) -> String) -> Self {
        Self(Form::Unwritten(Arc::new(Value { value, write, text: OnceLock::new() })))
    }

    /// Returns the text, and serializes it first if necessary.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Written(text) => text,
            Form::Unwritten(value) => value.text(),
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
            Form::Unwritten(value) => match value.written() {
                Some(text) => check_text(what, text),
                None => Ok(()),
            },
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
