//! Names of turns and gates.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::CallId;
use serde::{Deserialize, Serialize};

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident, $what:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// 1 to 200 characters, none of them a control character.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Its text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_valid(text) { Ok(Self(text.into())) } else { Err(InvalidId { what: $what }) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl From<&$name> for Arc<str> {
            fn from(id: &$name) -> Self {
                Self::clone(&id.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )*};
}

text_ids! {
    /// Names a turn.
    TurnId, "turn";
    /// Names a gate.
    GateId, "gate";
}

/// A text that cannot be an id.
///
/// ```
/// use haft_core::store::TurnId;
///
/// let error = "".parse::<TurnId>().unwrap_err();
/// assert_eq!(error.what, "turn");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a {what} is 1 to 200 characters without control characters")]
#[non_exhaustive]
pub struct InvalidId {
    /// What it was to name.
    pub what: &'static str,
}

impl GateId {
    /// The name of a gate, or a hash of it if it is too long.
    ///
    /// ```
    /// use haft_core::store::GateId;
    ///
    /// assert_eq!(GateId::of("approve").as_str(), "approve");
    /// assert!(GateId::of(&"long".repeat(100)).as_str().len() <= 200);
    /// ```
    #[must_use]
    pub fn of(name: &str) -> Self {
        name.parse().unwrap_or_else(|_| Self(CallId::of_text("gate", name).to_string().into()))
    }
}

/// Whether a text can name a turn or a gate.
fn is_valid(text: &str) -> bool {
    // Nearly every id is printable ASCII, which need not be decoded.
    let is_printable = text.bytes().all(|it| matches!(it, b' '..=b'~'));
    let is_short = text.len() <= 200 || text.chars().count() <= 200;
    !text.is_empty() && is_short && (is_printable || !text.contains(char::is_control))
}
