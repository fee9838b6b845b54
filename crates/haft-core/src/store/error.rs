//! How stores fail.

use crate::error::codes;
use std::sync::Arc;

use super::{GateId, TurnId};
use crate::clock::Timestamp;
use crate::error::{Coded, ErrorCode};

/// A store could not do what was asked.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is one of this name already.
    #[error("there is {what} already")]
    Exists {
        /// What there is.
        what: String,
    },
    /// There is none of this name.
    #[error("there is no {what}")]
    Unknown {
        /// What there is not.
        what: String,
    },
    /// Another process runs the turn.
    #[error(
        "the turn `{turn}` is run by `{holder}`, whose lease ends at {until} unless it is renewed; wait for that \
         process, or resume the turn after that time if the process has died"
    )]
    Held {
        /// The turn.
        turn: TurnId,
        /// Who runs it.
        holder: Arc<str>,
        /// Until when, unless the lease is renewed.
        until: Timestamp,
    },
    /// Another process has taken the turn over, or the lease was returned, so that nothing more may be written here.
    #[error("the lease on the turn `{turn}` was taken over or given back; nothing was written")]
    LeaseLost {
        /// The turn.
        turn: TurnId,
    },
    /// The value cannot be stored.
    #[error("{what} cannot be kept: {reason}")]
    Invalid {
        /// What it is.
        what: &'static str,
        /// Why it cannot be stored.
        reason: &'static str,
    },
    /// The store was written by a program that stores turns in another form. Nothing converts it.
    #[error(
        "the store has version {found}, and this program knows {}", known_versions(*found, *known)
    )]
    OtherVersion {
        /// The version of the store.
        found: u32,
        /// The version that is known here.
        known: u32,
    },
    /// What is stored cannot be read.
    #[error("what is stored of {what} is damaged: {reason}")]
    Damaged {
        /// What was read.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database contains something that Haft did not create and that could change what is stored.
    #[error(
        "the store contains {what}, which this program did not create; remove it before you use the store"
    )]
    Foreign {
        /// What it is, with its name.
        what: String,
    },
    /// The store was made with another key.
    #[error(
        "the store belongs to another key; give this process the key or the secret that the store was made with, or use \
         another store"
    )]
    OtherSecret,
    /// The file with the key of the store is missing, so that nothing in the store can be trusted.
    #[error("the key `{path}` of the store is missing; put it back, or use another store")]
    NoKey {
        /// The path of the key.
        path: String,
    },
    /// The store was opened for reading only.
    #[error("could not {doing}: the store is open for reading only")]
    ReadOnly {
        /// What was to be done.
        doing: String,
    },
    /// The file of the store was deleted, or another one took its place, while the store was open.
    #[error("the file `{path}` was deleted or replaced while it was open; nothing was written")]
    Replaced {
        /// The path of the file.
        path: String,
    },
    /// The store as a system failed.
    #[error("could not {doing}")]
    Backend {
        /// What was being done: `open the store`, `commit`, …
        doing: String,
        /// Whether the same may succeed later.
        retryable: bool,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

crate::debug_as_message!(StoreError);

/// Which versions are known, and what to do with a store of another one.
fn known_versions(found: u32, known: u32) -> String {
    match found > known {
        true => format!("versions up to {known}; use a newer program"),
        false => format!("only version {known}; use the program that wrote it, or another store"),
    }
}

impl StoreError {
    /// There is such a turn already.
    #[must_use]
    pub fn turn_exists(turn: &TurnId) -> Self {
        Self::Exists { what: format!("a turn `{turn}`") }
    }

    /// There is no such turn.
    #[must_use]
    pub fn unknown_turn(turn: &TurnId) -> Self {
        Self::Unknown { what: format!("turn `{turn}`") }
    }

    /// There is such a gate already.
    #[must_use]
    pub fn gate_exists(gate: &GateId) -> Self {
        Self::Exists { what: format!("a gate `{gate}`") }
    }

    /// There is no such gate.
    #[must_use]
    pub fn unknown_gate(gate: &GateId) -> Self {
        Self::Unknown { what: format!("gate `{gate}`") }
    }

    /// The store was opened for reading only.
    pub fn read_only(doing: impl Into<String>) -> Self {
        Self::ReadOnly { doing: doing.into() }
    }

    /// The store as a system failed.
    pub fn backend(
        doing: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Backend { doing: doing.into(), retryable: false, source: source.into() }
    }
}

impl Coded for StoreError {
    fn code(&self) -> ErrorCode {
        codes::STORE
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Backend { retryable, .. } => *retryable,
            Self::Held { .. } => true,
            _ => false,
        }
    }
}
