//! Arguments as they came.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgValue, Args};
use crate::call::CallId;
use crate::json::{Document, NotJson, ParseError, Writer};

/// Arguments before anything has judged them: JSON, or text that was meant to be.
///
/// The call id is taken from these, never from the accepted ones.
///
/// ```
/// use haft_core::args::RawArgs;
///
/// let raw = RawArgs::text(r#"{"city": "Paris"}"#);
/// let same = RawArgs::value(&serde_json::json!({ "city": "Paris" }));
/// assert_eq!(raw.call_id("get_weather"), same.call_id("get_weather"));
/// ```
#[derive(Clone, Debug)]
pub struct RawArgs(Result<Args, Unreadable>);

/// Text that is not JSON, and why.
pub type Unreadable = (String, ParseError);

impl RawArgs {
    /// No arguments at all: the same as `{}`.
    #[must_use]
    pub fn none() -> Self {
        Self(Ok(Args::empty()))
    }

    /// Text that a model wrote. Blank text means no arguments. Text that is not JSON is kept: the
    /// executor mends it, or refuses it with a reason.
    #[must_use]
    pub fn text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::none();
        }
        Self(match Document::parse(text) {
            Ok(document) => Ok(Args::new(document)),
            Err(error) => Err((text.to_owned(), error)),
        })
    }

    /// A JSON value. One that nests too deeply is kept as text and will be refused.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        Self(match Document::from_value(value) {
            Ok(document) => Ok(Args::new(document)),
            Err(error) => Err((String::from("(a value that is nested too deeply)"), error)),
        })
    }

    /// A typed value.
    ///
    /// # Errors
    ///
    /// A number that JSON cannot write, such as NaN.
    pub fn typed<T: ArgValue>(value: &T) -> Result<Self, NotJson> {
        let mut out = Writer::new();
        value.encode(&mut out)?;
        Ok(Self(Ok(Args::new(out.finish()))))
    }

    /// The content key of calling `tool` with these arguments.
    #[must_use]
    pub fn call_id(&self, tool: &str) -> CallId {
        self.call_id_and_duplicates(tool).0
    }

    /// The call id, and whether some key occurs twice: canonicalising finds that on the way.
    pub(crate) fn call_id_and_duplicates(&self, tool: &str) -> (CallId, bool) {
        match &self.0 {
            Ok(args) => CallId::of_with_duplicates(tool, args.root()),
            Err((text, _)) => (CallId::of_text(tool, text), false),
        }
    }

    /// The parsed arguments, or the text and why it is not JSON.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn parsed(&self) -> Result<&Args, &Unreadable> {
        self.0.as_ref()
    }

    /// The document, if the arguments were JSON.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        self.0.as_ref().ok().map(Args::document)
    }

    /// The arguments as a value: what was parsed, or the text as a string.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Ok(args) => args.to_value(),
            Err((text, _)) => Value::String(text.clone()),
        }
    }
}

impl Default for RawArgs {
    fn default() -> Self {
        Self::none()
    }
}

impl From<&str> for RawArgs {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for RawArgs {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

impl From<Value> for RawArgs {
    fn from(value: Value) -> Self {
        Self::value(&value)
    }
}

impl From<&Value> for RawArgs {
    fn from(value: &Value) -> Self {
        Self::value(value)
    }
}

impl From<Args> for RawArgs {
    fn from(args: Args) -> Self {
        Self(Ok(args))
    }
}

/// Written as the JSON value; text that is not JSON is written as a string.
impl Serialize for RawArgs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(args) => args.serialize(serializer),
            Err((text, _)) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RawArgs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Args::deserialize(deserializer).map(Self::from)
    }
}
