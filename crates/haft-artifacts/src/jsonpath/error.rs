//! Why a text is not a path.

use std::borrow::Cow;
use std::fmt;

/// Why a text is not a path, where, and what to write instead.
///
/// ```
/// use haft_artifacts::jsonpath::JsonPath;
///
/// let error = JsonPath::parse("$.items[name]").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "path is wrong at byte 8: expected a quoted name, an index, a slice, `*` or a filter but \
///      found `n`; quote the name: `['name']`",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathError {
    /// Byte offset into the text as it was given.
    pub offset: usize,
    /// What may stand there.
    pub expected: &'static str,
    /// The character that was found; nothing at the end of the text.
    pub found: Option<char>,
    /// What to write instead, in words that a model can act on.
    pub hint: Cow<'static, str>,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path is wrong at byte {}: expected {} but ", self.offset, self.expected)?;
        match self.found {
            None => f.write_str("it ends")?,
            Some(found) if found.is_control() || found == '`' || found == ' ' => {
                write!(f, "found {found:?}")?;
            }
            Some(found) => write!(f, "found `{found}`")?,
        }
        write!(f, "; {}", self.hint)
    }
}

impl std::error::Error for PathError {}
