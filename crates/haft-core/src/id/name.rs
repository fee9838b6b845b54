//! Names: texts that are checked once and trusted from then on.

/// A text that cannot be a name.
///
/// ```
/// use haft_core::error::InvalidName;
/// use haft_core::store::TurnId;
///
/// let error: InvalidName = "".parse::<TurnId>().unwrap_err();
/// assert_eq!(error.what, "the id of a turn");
/// assert_eq!(
///     error.to_string(),
///     "the id of a turn has to be 1 to 200 characters without control characters"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {why}")]
#[non_exhaustive]
pub struct InvalidName {
    /// What it was to be.
    pub what: &'static str,
    /// The rule that it breaks, as it follows the name of what it was to be.
    pub why: &'static str,
}

/// Implements what a name is: a text of its own type.
macro_rules! text_type {
    ($name:ident) => {
        impl $name {
            /// Its text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }
    };
}

/// Implements a name that follows a rule. The type declares `#[serde(try_from = "String", into = "String")]`.
macro_rules! checked_name {
    ($name:ident, $what:literal, $rule:literal, $is_valid:expr) => {
        $crate::id::text_type!($name);

        impl ::std::str::FromStr for $name {
            type Err = $crate::id::InvalidName;

            fn from_str(text: &str) -> Result<Self, $crate::id::InvalidName> {
                text.to_owned().try_into()
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::id::InvalidName;

            fn try_from(text: String) -> Result<Self, $crate::id::InvalidName> {
                let is_valid: fn(&str) -> bool = $is_valid;
                if is_valid(&text) {
                    Ok(Self(text.into()))
                } else {
                    Err($crate::id::InvalidName { what: $what, why: $rule })
                }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }
    };
}

/// Whether a text has 1 to `max` characters, none of them a control character.
pub(crate) fn is_plain_text(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().count() <= max && !text.contains(char::is_control)
}

pub(crate) use {checked_name, text_type};
