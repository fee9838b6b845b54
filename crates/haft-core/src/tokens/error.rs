//! What can go wrong when tokens are counted.

use crate::error::codes;
use std::any::Any;

use crate::error::{Coded, ErrorCode};

use super::Encoding;

pub use crate::failure::BoxError;

/// A text could not be counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Nothing counts under that name.
    #[error(transparent)]
    Unknown(#[from] UnknownEncoding),
    /// The counter failed.
    #[error(transparent)]
    Counter(#[from] CounterFailed),
}

impl Coded for TokenError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => codes::UNKNOWN_ENCODING,
            Self::Counter(_) => codes::TOKEN_COUNTER_FAILED,
        }
    }
}

/// Nothing counts under that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no encoding `{name}`; known are {known}")]
#[non_exhaustive]
pub struct UnknownEncoding {
    /// The name that was asked for.
    pub name: String,
    /// The names that exist.
    pub known: String,
}

impl UnknownEncoding {
    pub(super) fn new<'a>(name: &str, custom: impl Iterator<Item = &'a str>) -> Self {
        let builtin = Encoding::ALL.iter().map(|encoding| encoding.as_str());
        let known: Vec<String> = builtin.chain(custom).map(|name| format!("`{name}`")).collect();
        Self { name: name.to_owned(), known: known.join(", ") }
    }
}

/// A counter could not count a text.
#[derive(Debug, thiserror::Error)]
#[error("tokens could not be counted in `{encoding}`")]
#[non_exhaustive]
pub struct CounterFailed {
    /// The encoding that was counted in.
    pub encoding: String,
    /// Why.
    pub source: BoxError,
}

impl CounterFailed {
    /// A counter of `encoding` failed because of `source`.
    pub fn new(encoding: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self { encoding: encoding.into(), source: source.into() }
    }
}

/// An estimator was to be registered under the name of a built-in encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{encoding}` is a built-in encoding and cannot be replaced")]
#[non_exhaustive]
pub struct ShadowsBuiltin {
    /// The built-in encoding.
    pub encoding: Encoding,
}

impl Coded for ShadowsBuiltin {
    fn code(&self) -> ErrorCode {
        codes::TOKEN_ESTIMATOR_SHADOWS_BUILTIN
    }
}

/// A panic as an error, with its message where it has one.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> BoxError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message")).into()
}
