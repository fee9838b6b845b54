//! Names of turns and gates.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, checked_name, is_plain_text};

/// Names a turn.
///
/// 1 to 200 characters, none of them a control character.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TurnId(Arc<str>);

checked_name!(
    TurnId,
    "the id of a turn",
    "has to be 1 to 200 characters without control characters",
    |text| is_plain_text(text, 200)
);

impl From<&TurnId> for Arc<str> {
    fn from(id: &TurnId) -> Self {
        Self::clone(&id.0)
    }
}

/// Names a gate.
///
/// 1 to 200 characters, none of them a control character.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GateId(Arc<str>);

checked_name!(
    GateId,
    "the id of a gate",
    "has to be 1 to 200 characters without control characters",
    |text| is_plain_text(text, 200)
);

impl From<&GateId> for Arc<str> {
    fn from(id: &GateId) -> Self {
        Self::clone(&id.0)
    }
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
