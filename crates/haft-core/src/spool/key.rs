//! The names of stored results.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The key of a stored result: any text whatever. Making it safe for a file system or an address is
/// the store's business.
///
/// ```
/// use haft_core::spool::SpoolKey;
///
/// let key = SpoolKey::of_turn("2026/turn", "call-1");
/// assert_eq!(key.turn().as_deref(), Some("2026/turn"));
/// assert_eq!(SpoolKey::new("a report").turn(), None);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpoolKey(Arc<str>);

impl SpoolKey {
    /// A key.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// A key that belongs to a turn. [`SpoolKey::turn`] returns the turn, whatever its name is.
    #[must_use]
    pub fn of_turn(turn: &str, rest: impl fmt::Display) -> Self {
        let turn = turn.replace('%', "%25").replace('/', "%2F");
        format!("{OF_TURN}{turn}/{rest}").into()
    }

    /// What the keys of a turn begin with.
    #[must_use]
    pub fn prefix_of_turn(turn: &str) -> String {
        Self::of_turn(turn, "").0.to_string()
    }

    /// What the keys of all turns begin with.
    pub const PREFIX_OF_TURNS: &'static str = OF_TURN;

    /// The turn that it belongs to, or `None` for a key that was not made by [`SpoolKey::of_turn`].
    #[must_use]
    pub fn turn(&self) -> Option<String> {
        let (turn, _) = self.0.strip_prefix(OF_TURN)?.split_once('/')?;
        Some(turn.replace("%2F", "/").replace("%25", "%"))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SpoolKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for SpoolKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl AsRef<str> for SpoolKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The key for display: control characters are escaped, and a long key is truncated.
impl fmt::Display for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN) {
            write!(f, "{}", character.escape_debug())?;
        }
        if characters.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpoolKey({self})")
    }
}

const SHOWN: usize = 80;
/// The prefix of keys that belong to turns, which distinguishes them from other keys in the same store.
const OF_TURN: &str = "turn/";
