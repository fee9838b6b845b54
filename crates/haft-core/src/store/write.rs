//! What a commit writes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GateId, MemoryScope, StoreError, SummaryUpdate, TurnStatus, check_text};
use crate::clock::Timestamp;
use crate::spool::SpoolKey;

/// One change of what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreWrite {
    /// Stores a row: replaces the row of the same kind and id, or appends it. One that was
    /// deleted has lost its place.
    Put(Row),
    /// Removes a row. One that is not there changes nothing.
    Delete {
        /// What it is.
        kind: RowKind,
        /// Its id.
        id: String,
    },
    /// Adds an entry to the journal.
    Journal(String),
    /// Sets the status of the turn. See [`TurnSchedule::set_status`](super::TurnSchedule::set_status) for what it means
    /// for workers.
    Status(TurnStatus),
    /// Makes the turn [`Interrupted`](TurnStatus::Interrupted): it can be claimed when this time has passed.
    Interrupt {
        /// How long it is not run.
        delay: Duration,
    },
    /// Says that the holder got further than the holders before it, so that earlier take-overs do not count any more.
    Progress,
    /// Changes what lists show of the turn.
    Summary(SummaryUpdate),
    /// Opens a gate. Fails with [`StoreError::Exists`] if there is one of this id, unless it belongs to
    /// the same turn and has the same text: then it stays as it is, settled or not.
    OpenGate {
        /// Its name.
        id: GateId,
        /// The gate, as JSON text.
        json: String,
        /// When the gate closes by itself, by the clock of the store. From then on a waiting turn can be claimed.
        expires_at: Option<Timestamp>,
    },
    /// Closes a gate of the turn that will not be settled any more. One that is settled stays so, and one
    /// that does not exist or belongs to another turn changes nothing.
    CloseGate {
        /// Its name.
        id: GateId,
        /// How it ended, as JSON text.
        settlement: String,
    },
    /// Stores a memory of a scope: replaces the one with this id, or appends it.
    PutMemory {
        /// What it belongs to.
        scope: MemoryScope,
        /// Its id.
        id: String,
        /// The memory, as JSON text.
        json: String,
    },
    /// Removes a memory of a scope. One that is not there changes nothing.
    DeleteMemory {
        /// What it belongs to.
        scope: MemoryScope,
        /// Its id.
        id: String,
    },
}

impl StoreWrite {
    /// Opens a gate that does not expire.
    pub fn open_gate(id: GateId, json: impl Into<String>) -> Self {
        Self::OpenGate { id, json: json.into(), expires_at: None }
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Put(row) => {
                check_text("the id of a row", &row.id)?;
                check_text("a row", &row.json)
            }
            Self::Delete { id, .. } => check_text("the id of a row", id),
            Self::Journal(json) => check_text("an entry of the journal", json),
            Self::Status(_) | Self::Interrupt { .. } | Self::Progress => Ok(()),
            Self::Summary(update) => update.check(),
            Self::OpenGate { json, .. } => check_text("a gate", json),
            Self::CloseGate { settlement, .. } => check_text("a settlement", settlement),
            Self::PutMemory { scope, id, json } => {
                scope.check()?;
                check_text("the id of a memory", id)?;
                check_text("a memory", json)
            }
            Self::DeleteMemory { scope, id } => {
                scope.check()?;
                check_text("the id of a memory", id)
            }
        }
    }
}

/// The sorts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowKind {
    /// A message.
    Message,
    /// A memory.
    Memory,
    /// A retrieved record.
    Retrievable,
    /// A thought.
    Thought,
    /// A tool call.
    ToolCall,
    /// A standing instruction.
    Instruction,
}

impl RowKind {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Message,
        Self::Memory,
        Self::Retrievable,
        Self::Thought,
        Self::ToolCall,
        Self::Instruction,
    ];

    /// The name under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Memory => "memory",
            Self::Retrievable => "retrievable",
            Self::Thought => "thought",
            Self::ToolCall => "tool-call",
            Self::Instruction => "instruction",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// Its id, unique among rows of its kind in its turn.
    pub id: String,
    /// The record, as JSON text that is stored byte by byte.
    pub json: String,
}

impl Row {
    /// A row.
    #[must_use]
    pub fn new(kind: RowKind, id: impl Into<String>, json: impl Into<String>) -> Self {
        Self { kind, id: id.into(), json: json.into() }
    }

    /// The keys of the stored content that the record refers to: those of the readers that it describes, wherever they stand
    /// in it. A text that is not JSON refers to nothing.
    ///
    /// ```
    /// use haft_core::store::{Row, RowKind};
    ///
    /// let json = r#"{"results": [{"tag": "spool:folder", "locator": {"key": "turn/a/b"}}]}"#;
    /// let row = Row::new(RowKind::ToolCall, "call-1", json);
    /// assert_eq!(row.content_keys(), ["turn/a/b".into()]);
    /// ```
    #[must_use]
    pub fn content_keys(&self) -> Vec<SpoolKey> {
        let text = self.json.as_str();
        // Most records refer to nothing, and need not be parsed.
        if !text.contains("\"locator\"") {
            return Vec::new();
        }
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Vec::new() };
        let (mut keys, mut left) = (BTreeSet::new(), vec![&value]);
        while let Some(value) = left.pop() {
            match value {
                Value::Object(members) => {
                    let key = members.get("locator").and_then(|it| it.get("key"));
                    keys.extend(key.and_then(Value::as_str).map(SpoolKey::from));
                    left.extend(members.values());
                }
                Value::Array(elements) => left.extend(elements),
                _ => {}
            }
        }
        keys.into_iter().collect()
    }
}
