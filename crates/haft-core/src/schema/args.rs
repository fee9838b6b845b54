//! Arguments of a call: as they were received, as they were accepted, and as the handler's own type.
//!
//! [`RawArgs`] is what a model or a program sent. [`Args`] is what the schema made of it. A handler
//! receives either `Args` or a type of its own, made by [`FromArgs`].

mod constrain;
mod definitions;
mod raw;
mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use constrain::{Bound, IntegerArg, LengthArg, ListArg, NumericArg, TextArg};
pub use definitions::ArgDefinitions;
pub use raw::RawArgs;
pub use value::{ArgValue, DecodeError, ToolArgs};

use crate::json::{Document, ValueRef};
use crate::schema::InputSchema;

/// Whether near misses are coerced before validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Coerce what has one reading, and record it. The default.
    #[default]
    Coerce,
    /// Do not coerce the arguments.
    Strict,
}

/// Arguments that a schema accepted. Cheap to clone and immutable.
///
/// ```
/// use haft_core::args::Args;
///
/// let args = Args::parse(r#"{"city": "Paris", "days": 3}"#)?;
/// assert_eq!(args.root().get("city").and_then(|it| it.as_str()), Some("Paris"));
/// # Ok::<(), haft_core::json::ParseError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Args(Arc<Document>);

impl Args {
    /// Arguments from a document.
    #[must_use]
    pub fn new(document: Document) -> Self {
        Self(Arc::new(document))
    }

    /// Arguments from strict JSON text.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn parse(text: &str) -> Result<Self, crate::json::ParseError> {
        Document::parse(text).map(Self::new)
    }

    /// The arguments `{}`.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(Document::empty_object())
    }

    /// The outermost value; an object once a schema has accepted it.
    #[must_use]
    pub fn root(&self) -> ValueRef<'_> {
        self.0.root()
    }

    /// The document behind it.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0
    }

    /// A copy as a `serde_json` value.
    ///
    /// ```
    /// use haft_core::Args;
    ///
    /// let args = Args::parse(r#"{"days": 3}"#)?;
    /// assert_eq!(args.to_value(), serde_json::json!({"days": 3}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.root().to_value()
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Args({})", self.root())
    }
}

impl fmt::Display for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.root(), f)
    }
}

impl serde::Serialize for Args {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Args {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Document::deserialize(deserializer).map(Self::new)
    }
}

/// What a handler can take as its first parameter.
///
/// Implemented for every type that derives `ToolArgs`, for [`Args`], and for
/// [`serde_json::Value`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "not an argument type",
    note = "derive it: `#[derive(ToolArgs)] struct {Self} {{ … }}` (a struct with named fields), or take `haft::Args` or `serde_json::Value`"
)]
pub trait FromArgs: Sized + Send + 'static {
    /// The schema that belongs to the type, if the type has one of its own. A tool whose handler takes
    /// such a type needs no other schema.
    #[must_use]
    fn input_schema() -> Option<Result<InputSchema, Vec<crate::schema::SchemaFault>>> {
        None
    }

    /// Makes the value from arguments that the schema accepted.
    ///
    /// # Errors
    ///
    /// The type and the schema disagree. For a derived type that cannot happen; the agreement proof
    /// of the `testing` module shows it for types of your own.
    fn from_args(args: &Args) -> Result<Self, DecodeError>;
}

impl FromArgs for Args {
    fn from_args(args: &Args) -> Result<Self, DecodeError> {
        Ok(args.clone())
    }
}

impl FromArgs for Value {
    fn from_args(args: &Args) -> Result<Self, DecodeError> {
        Ok(args.to_value())
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolArgs + Send + 'static> FromArgs for T {
    fn input_schema() -> Option<Result<InputSchema, Vec<crate::schema::SchemaFault>>> {
        Some(InputSchema::of::<T>())
    }

    fn from_args(args: &Args) -> Result<Self, DecodeError> {
        T::decode(args.root())
    }
}
