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

/// Which gates to list.
///
/// ```
/// use haft_core::store::GateQuery;
///
/// let query = GateQuery::default().open().tenant("shop");
/// assert_eq!((query.open, query.tenant.as_deref()), (true, Some("shop")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateQuery {
    /// Only the gate of this name.
    pub id: Option<GateId>,
    /// Only those of a turn.
    pub turn: Option<TurnId>,
    /// Only those of the turns of a namespace.
    pub tenant: Option<String>,
    /// Only those that are not settled.
    pub open: bool,
}

impl GateQuery {
    /// Only the gate of this name.
    #[must_use]
    pub fn id(mut self, id: GateId) -> Self {
        self.id = Some(id);
        self
    }

    /// Only those of a turn.
    #[must_use]
    pub fn turn(mut self, turn: TurnId) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Only those of the turns of a namespace.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Only those that are not settled.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Whether a gate is one of those that are asked for, given the namespace of its turn. Stores that have no index
    /// use it.
    #[must_use]
    pub fn selects(&self, gate: &GateRow, tenant: &str) -> bool {
        self.id.as_ref().is_none_or(|it| *it == gate.id)
            && self.turn.as_ref().is_none_or(|it| *it == gate.turn)
            && self.tenant.as_ref().is_none_or(|it| it == tenant)
            && !(self.open && gate.settlement.is_some())
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
