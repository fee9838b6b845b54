//! Gates in a store.

use super::{GateId, TurnId};

/// A gate as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRow {
    /// Its name.
    pub id: GateId,
    /// Its turn.
    pub turn: TurnId,
    /// The gate, as JSON text.
    pub json: String,
    /// How it was settled, as JSON text, or `None` while it is open.
    pub settlement: Option<String>,
}

impl GateRow {
    /// A gate that is open.
    #[must_use]
    pub fn open(id: GateId, turn: TurnId, json: impl Into<String>) -> Self {
        Self { id, turn, json: json.into(), settlement: None }
    }
}

/// The outcome of settling a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettleOutcome {
    /// The settlement that holds.
    pub settlement: String,
    /// Whether it was this call that settled the gate, and not another one, be it with the same text.
    pub first: bool,
}

impl SettleOutcome {
    /// The valid settlement, and whether it is that of the caller.
    #[must_use]
    pub fn new(settlement: impl Into<String>, first: bool) -> Self {
        Self { settlement: settlement.into(), first }
    }
}
