//! A gate while something waits at it.

use haft_core::call::RecordId;
use haft_core::clock::Timestamp;
use haft_core::event::EventKind;
use haft_core::gate::{Gate, GateDecision, GateSettlement};
use haft_core::store::GateId;

/// A gate that was opened and is awaited.
pub(in crate::turn) struct OpenGate {
    pub(super) id: GateId,
    /// The call that waits.
    pub(super) call: Option<RecordId>,
    pub(super) opened_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    /// The digest of its text, as it was opened.
    pub(super) digest: [u8; 32],
}

impl OpenGate {
    /// Whether its time is up.
    pub(super) fn is_expired_at(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }

    /// Ignores a decision that arrived after the gate had expired.
    pub(super) fn apply_timeout(&self, settlement: GateSettlement) -> GateSettlement {
        match settlement.decision {
            GateDecision::Resolved { .. } | GateDecision::Rejected { .. }
                if self.is_expired_at(settlement.at) =>
            {
                GateSettlement::closed(GateDecision::Timeout, settlement.at)
            }
            _ => settlement,
        }
    }
}

/// The event of a gate that waits for a decision.
pub(in crate::turn) fn gate_open_event(gate: &Gate) -> EventKind {
    EventKind::TurnGateOpen {
        gate_id: gate.id.as_str().into(),
        reason: gate.reason.as_str().into(),
        payload: gate.payload.clone().into(),
        schema: gate.schema.clone().map(Into::into),
        timeout: gate.expires_at.map(|at| at.duration_since(gate.opened_at)),
    }
}
