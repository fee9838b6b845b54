//! Texts and data that cannot outgrow an event.

use std::fmt::{self, Write as _};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::invariant::OrReport as _;
use crate::schema::args::Args;
use crate::schema::{Change, Problem, Problems};

/// The maximum number of bytes of a [`BoundedText`], without the note that says what is missing.
const MAX_TEXT: usize = 4 * 1024;

/// The maximum number of bytes of data or arguments that are shown whole.
const MAX_DATA: usize = 16 * 1024;

/// Most changes that are listed.
const MAX_CHANGES: usize = 64;

/// A text of at most 4 KiB. A longer text is truncated when it is created, and says so. Clones share it.
///
/// ```
/// use haft_core::event::BoundedText;
///
/// assert_eq!(&*BoundedText::from("short"), "short");
/// let long = BoundedText::from("x".repeat(1_000_000));
/// assert!(long.len() < 5_000 && long.ends_with("… (1000000 bytes in all)"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BoundedText(Arc<str>);

/// Data, or the arguments of a call, of at most 16 KiB of JSON. Larger data is replaced, when it is made, by a string with
/// its beginning and a note; the record of a call has the arguments whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BoundedValue(Value);

impl BoundedText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text of a value. Writing stops as soon as the bound is reached.
    #[must_use]
    pub fn display(value: impl fmt::Display) -> Self {
        let mut head = Head::new(MAX_TEXT);
        // Fails exactly when there is more than is kept, which the note says.
        let whole = write!(head, "{value}").is_ok();
        if whole { Self(head.text.into()) } else { Self(append_note(head.text, None).into()) }
    }
}

impl From<&str> for BoundedText {
    fn from(text: &str) -> Self {
        Self(cut(text, MAX_TEXT).map_or_else(|| text.into(), Into::into))
    }
}

impl From<String> for BoundedText {
    fn from(text: String) -> Self {
        Self(cut(&text, MAX_TEXT).unwrap_or(text).into())
    }
}

impl From<Arc<str>> for BoundedText {
    fn from(text: Arc<str>) -> Self {
        Self(cut(&text, MAX_TEXT).map_or(text, Into::into))
    }
}

impl Deref for BoundedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for BoundedText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for BoundedText {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for BoundedText {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for BoundedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for BoundedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for BoundedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Takes the text unchanged, because it was truncated when it was written.
impl<'de> Deserialize<'de> for BoundedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}

impl BoundedValue {
    /// The data.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl From<Value> for BoundedValue {
    fn from(value: Value) -> Self {
        match excess(&value) {
            None => Self(value),
            Some(beginning) => Self(beginning.into()),
        }
    }
}

impl From<&Args> for BoundedValue {
    fn from(args: &Args) -> Self {
        Self(excess(args).map_or_else(|| args.to_value(), Value::String))
    }
}

impl fmt::Display for BoundedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for BoundedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self)
    }
}

/// The beginning of JSON that is too long to be shown whole, or `None` if it is not.
fn excess(json: &impl fmt::Display) -> Option<String> {
    if write!(Room(MAX_DATA), "{json}").is_ok() {
        return None;
    }
    let mut head = Head::new(MAX_TEXT);
    let _ = write!(head, "{json}");
    Some(append_note(head.text, None))
}

/// The first changes, and how many more there are.
pub(crate) fn listed_changes(changes: &[Change]) -> (Vec<Change>, usize) {
    let listed = changes.iter().take(MAX_CHANGES).map(|it| {
        let mut change = it.clone();
        change.pointer = BoundedText::from(change.pointer).as_str().into();
        change
    });
    (listed.collect(), changes.len().saturating_sub(MAX_CHANGES))
}

/// The problems, with every text and example bounded. There are never more than two dozen.
pub(crate) fn listed_problems(problems: &Problems) -> Problems {
    let bound = |text: &str| BoundedText::from(text).as_str().to_owned();
    let list = problems.list.iter().map(|it| {
        let mut problem = Problem::new(bound(&it.pointer), bound(&it.expected));
        problem.rule = it.rule;
        problem.found = bound(&it.found);
        problem.example = it.example.clone().map(|value| BoundedValue::from(value).0);
        problem
    });
    Problems { list: list.collect(), left_out: problems.left_out }
}

/// The beginning of a text that is too long, with a note.
fn cut(text: &str, limit: usize) -> Option<String> {
    (text.len() > limit).then(|| append_note(prefix(text, limit).to_owned(), Some(text.len())))
}

/// As many whole characters as fit.
fn prefix(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).or_report_default("zero is a character boundary")
}

fn append_note(mut text: String, bytes: Option<usize>) -> String {
    match bytes {
        Some(bytes) => text.push_str(&format!("… ({bytes} bytes in all)")),
        None => text.push_str("… (cut)"),
    }
    text
}

/// Keeps the beginning of the written text, and stops the writer when it is full.
struct Head {
    text: String,
    limit: usize,
}

impl Head {
    fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }
}

impl fmt::Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.limit - self.text.len();
        self.text.push_str(prefix(text, room));
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Counts the written bytes down to zero, then stops the writer; stores nothing.
struct Room(usize);

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}
