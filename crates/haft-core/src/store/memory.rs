//! Memories in a store: rows of a scope, not of a turn.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{StoreError, check_text};

/// What memories belong to. They outlive the turn that stored them.
///
/// ```
/// use haft_core::store::{MemoryScope, MemoryScopeKind};
///
/// let scope = MemoryScope::user("ada");
/// assert_eq!((scope.kind, scope.id.as_str()), (MemoryScopeKind::User, "ada"));
/// assert_eq!(scope.to_string(), "user `ada`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryScope {
    /// What it is.
    pub kind: MemoryScopeKind,
    /// Its id among scopes of its kind.
    pub id: String,
}

impl MemoryScope {
    /// The memories of a conversation.
    pub fn conversation(id: impl Into<String>) -> Self {
        Self { kind: MemoryScopeKind::Conversation, id: id.into() }
    }

    /// The memories of an agent, in all its conversations.
    pub fn agent(id: impl Into<String>) -> Self {
        Self { kind: MemoryScopeKind::Agent, id: id.into() }
    }

    /// The memories about a user, whichever agent stores them.
    pub fn user(id: impl Into<String>) -> Self {
        Self { kind: MemoryScopeKind::User, id: id.into() }
    }

    /// Checks the id, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("the id of a scope", &self.id)
    }
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind.as_str(), self.id)
    }
}

/// The kinds of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MemoryScopeKind {
    /// A conversation.
    Conversation,
    /// An agent.
    Agent,
    /// A user.
    User,
}

impl MemoryScopeKind {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Conversation, Self::Agent, Self::User];

    /// The name under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Agent => "agent",
            Self::User => "user",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// A memory as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRow {
    /// Its id, unique in its scope.
    pub id: String,
    /// The memory, as JSON text that is stored byte by byte.
    pub json: String,
    /// How often this id was written, deletions included.
    pub version: u64,
}

impl MemoryRow {
    /// A row.
    #[must_use]
    pub fn new(id: impl Into<String>, json: impl Into<String>, version: u64) -> Self {
        Self { id: id.into(), json: json.into(), version }
    }
}
