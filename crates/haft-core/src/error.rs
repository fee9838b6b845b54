//! Error codes.
//!
//! Every error has a stable code. The code has an HTTP status, and says whether a retry can help. Each crate declares its
//! codes in one table with
//! [`error_codes!`](crate::error_codes); an error type only names its code.
//!
//! The set of codes is open. A custom dialect or store declares its codes with the same macro, and a code that was
//! stored by another program keeps its text when it is loaded and stored again.

pub mod codes;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use crate::failure::causes_beyond;
pub use crate::id::InvalidName;

/// What every error of Haft can say about itself.
pub trait Coded {
    /// The stable code, with what it says about the error.
    fn code(&self) -> ErrorCode;

    /// The status in HTTP's terms.
    fn status(&self) -> u16 {
        self.code().status()
    }

    /// Whether the same operation may succeed when it is tried again.
    fn retryable(&self) -> bool {
        self.code().retryable()
    }
}

/// A stable error code, `E_…`, with its status, and whether it is retryable.
///
/// Codes are compared by their text. A code is declared with [`error_codes!`](crate::error_codes):
///
/// ```
/// use haft_core::error::{ErrorCode, codes};
///
/// mod my_codes {
///     haft_core::error_codes! {
///         /// The ledger is closed for the day.
///         LEDGER_CLOSED: 409, retryable;
///     }
/// }
///
/// assert_eq!(my_codes::LEDGER_CLOSED, "E_LEDGER_CLOSED");
/// assert!(my_codes::LEDGER_CLOSED.retryable());
///
/// // A code that this program does not declare survives loading and storing.
/// let newer: ErrorCode = serde_json::from_str("\"E_OF_A_NEWER_VERSION\"")?;
/// assert_eq!(serde_json::to_string(&newer)?, "\"E_OF_A_NEWER_VERSION\"");
/// assert_ne!(newer, codes::INVALID_TOOL_ARGS);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct ErrorCode {
    text: Cow<'static, str>,
    status: u16,
    retryable: bool,
}

impl ErrorCode {
    #[doc(hidden)]
    #[must_use]
    pub const fn declare(text: &'static str, status: u16, retryable: bool) -> Self {
        Self { text: Cow::Borrowed(text), status, retryable }
    }

    /// The code with this text: one of the core's, or else one that is not retryable.
    ///
    /// ```
    /// use haft_core::ErrorCode;
    /// use haft_core::error::codes;
    ///
    /// assert_eq!(ErrorCode::from_text(codes::LIMIT_REACHED.as_str().to_owned()), codes::LIMIT_REACHED);
    /// assert_eq!(ErrorCode::from_text("E_MY_OWN").as_str(), "E_MY_OWN");
    /// ```
    #[must_use]
    pub fn from_text(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        if let Some(known) = codes::ALL.iter().find(|code| code.text == text) {
            return known.clone();
        }
        Self { text, status: 500, retryable: false }
    }

    /// The text of the code, as it is written in records and events.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The status in HTTP's terms.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Whether the same operation may succeed when it is tried again.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        self.retryable
    }
}

impl PartialEq for ErrorCode {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ErrorCode {}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl std::hash::Hash for ErrorCode {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from_text)
    }
}

/// Writes an error as its message and its causes. Used by [`debug_as_message!`](crate::debug_as_message).
#[doc(hidden)]
pub fn write_message_and_causes(
    error: &(dyn std::error::Error + 'static),
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let message = error.to_string();
    match causes_beyond(&message, error.source()) {
        Some(causes) => write!(f, "{message}: {causes}"),
        None => f.write_str(&message),
    }
}

/// Implements `Debug` for an error as its message and its causes, because a program whose `main` returns an error prints
/// that, and its user cannot read a Rust value.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_message {
    ($error:ty) => {
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::error::write_message_and_causes(self, f)
            }
        }
    };
}

/// Declares the error codes of a crate: one constant per row, and `ALL`, the table.
///
/// A row is the name of the constant (its text is `E_` and that name), the status in HTTP's terms, and `retryable` or
/// `permanent`.
/// [`ErrorCode`](crate::error::ErrorCode) has an example.
#[macro_export]
macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident: $status:literal, $retry:ident;)*) => {
        $(
            $(#[$doc])*
            pub const $name: $crate::error::ErrorCode = $crate::error::ErrorCode::declare(
                concat!("E_", stringify!($name)),
                $status,
                $crate::error_codes!(@ $retry),
            );
        )*

        /// Every code of this table, in its order.
        pub const ALL: &[$crate::error::ErrorCode] = &[$($name),*];
    };
    (@ retryable) => { true };
    (@ permanent) => { false };
}
