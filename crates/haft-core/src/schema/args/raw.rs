//! Arguments as they were received.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgValue, Args};
use crate::id::CallId;
use crate::json::{Document, JsonWriter, ParseError, UnrepresentableValue};

/// Arguments before validation: JSON, or text that was meant to be.
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
pub struct RawArgs {
    /// The error is boxed, because nearly all arguments are JSON and every call moves them.
    parsed: Result<Args, Box<(String, ParseError)>>,
    origin: ArgsOrigin,
    /// Whether some key occurs twice, once that is known.
    has_duplicates: OnceLock<bool>,
}

#[derive(Clone, Copy, Debug)]
enum ArgsOrigin {
    /// Strict JSON text, or text that is not JSON.
    Text,
    /// Values, or a document of whatever origin.
    Built,
}

impl RawArgs {
    /// No arguments at all: the same as `{}`.
    #[must_use]
    pub fn none() -> Self {
        Self::built(Ok(Args::empty()))
    }

    /// Text that a model wrote. Blank text means no arguments. Text that is not JSON remains text: the
    /// executor repairs it, or refuses it with a reason.
    ///
    /// ```
    /// use haft_core::RawArgs;
    ///
    /// assert!(RawArgs::text(r#"{"city": "Paris"}"#).parsed().is_ok());
    /// assert!(RawArgs::text("no JSON").parsed().is_err());
    /// ```
    #[must_use]
    pub fn text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::none();
        }
        let parsed = match Document::parse(text) {
            Ok(document) => Ok(Args::new(document)),
            Err(error) => Err(Box::new((text.to_owned(), error))),
        };
        Self { parsed, origin: ArgsOrigin::Text, has_duplicates: OnceLock::new() }
    }

    /// A JSON value. One that nests too deeply remains text and will be refused.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        Self::built(match Document::from_value(value) {
            Ok(document) => Ok(Args::new(document)),
            Err(error) => {
                Err(Box::new((String::from("(a value that is nested too deeply)"), error)))
            }
        })
    }

    /// A typed value.
    ///
    /// # Errors
    ///
    /// A number that JSON cannot write, such as NaN.
    pub fn typed<T: ArgValue>(value: &T) -> Result<Self, UnrepresentableValue> {
        let mut out = JsonWriter::new();
        value.encode(&mut out)?;
        Ok(Self::built(Ok(Args::new(out.finish()))))
    }

    const fn built(parsed: Result<Args, Box<(String, ParseError)>>) -> Self {
        Self { parsed, origin: ArgsOrigin::Built, has_duplicates: OnceLock::new() }
    }

    /// The exact text that a record stores: the received text, or the compact text of arguments that a program built.
    /// [`RawArgs::from_text_of`] reads it.
    #[must_use]
    pub fn to_text(&self) -> Cow<'_, str> {
        match (self.parsed(), self.origin) {
            (Err((text, _)), _) => text.into(),
            (Ok(args), ArgsOrigin::Text) => match args.document().source() {
                Some(source) => source.into(),
                None => args.to_string().into(),
            },
            (Ok(args), ArgsOrigin::Built) => args.to_string().into(),
        }
    }

    /// The arguments that [`RawArgs::to_text`] wrote, or `None` if they are not those of the call `id`.
    #[must_use]
    pub fn from_text_of(text: &str, tool: &str, id: CallId) -> Option<Self> {
        let came = Self::text(text);
        if came.call_id(tool) == id {
            return Some(came);
        }
        // What was built can be larger than what is read from another source.
        let built = Self::built(Ok(Args::new(Document::parse_own(text).ok()?)));
        Some(built).filter(|it| it.call_id(tool) == id)
    }

    /// The content key of calling `tool` with these arguments.
    ///
    /// ```
    /// use haft_core::RawArgs;
    ///
    /// let one = RawArgs::text(r#"{"a": 1, "b": 2}"#);
    /// let other = RawArgs::text(r#"{"b": 2, "a": 1}"#);
    /// assert_eq!(one.call_id("search"), other.call_id("search"));
    /// assert_ne!(one.call_id("search"), one.call_id("fetch"));
    /// ```
    #[must_use]
    pub fn call_id(&self, tool: &str) -> CallId {
        self.call_id_and_duplicates(tool).0
    }

    /// The call id, and whether some key occurs twice: canonicalising finds that on the way.
    pub(crate) fn call_id_and_duplicates(&self, tool: &str) -> (CallId, bool) {
        let (id, has_duplicates) = match self.parsed() {
            Ok(args) => CallId::of_with_duplicates(tool, args.root()),
            Err((text, _)) => (CallId::of_text(tool, text), false),
        };
        (id, *self.has_duplicates.get_or_init(|| has_duplicates))
    }

    /// Whether some key occurs twice. It costs nothing once the call id was computed.
    pub(crate) fn has_duplicates(&self) -> bool {
        match self.has_duplicates.get() {
            Some(known) => *known,
            None => self.call_id_and_duplicates("").1,
        }
    }

    /// The parsed arguments, or the text and why it is not JSON.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn parsed(&self) -> Result<&Args, &(String, ParseError)> {
        self.parsed.as_ref().map_err(|unreadable| &**unreadable)
    }

    /// The document, if the arguments were JSON.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        self.parsed.as_ref().ok().map(Args::document)
    }

    /// The arguments as a value: what was parsed, or the text as a string.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self.parsed() {
            Ok(args) => args.to_value(),
            Err((text, _)) => Value::String(text.clone()),
        }
    }
}

/// Equal when they hold the same JSON value, or the same text that is none.
impl PartialEq for RawArgs {
    fn eq(&self, other: &Self) -> bool {
        match (self.parsed(), other.parsed()) {
            (Ok(one), Ok(two)) => one == two,
            (Err((one, _)), Err((two, _))) => one == two,
            _ => false,
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
        Self::built(Ok(args))
    }
}

/// Written as the JSON value; text that is not JSON is written as a string.
impl Serialize for RawArgs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.parsed() {
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
