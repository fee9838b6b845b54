//! The gates of a turn.

use haft::stores::GateRow;
use haft::tools::{CallPreview, PreviewKind};
use haft::turn::{Gate, GateDecision, GateSettlement, Timestamp};

use super::ReadTurn;
use crate::wire::{GatePreview, GateView};

impl ReadTurn {
    /// The gates of the turn.
    pub(super) fn gate_views(&self, title: &str) -> Vec<GateView> {
        let views = self.gates.iter();
        views.map(|(gate, settlement)| gate_view(gate, settlement.as_ref(), Some(title))).collect()
    }
}

/// Reads the gates of a turn. One that cannot be read is left out, and `unreadable` says so.
pub(super) fn read_gates(
    rows: &[GateRow],
    unreadable: &mut Vec<String>,
) -> Vec<(Gate, Option<GateSettlement>)> {
    let mut gates = Vec::new();
    for row in rows {
        match read_gate(row) {
            Ok(gate) => gates.push(gate),
            Err(error) => unreadable.push(format!("gate `{}`: {error}", row.id)),
        }
    }
    gates
}

fn read_gate(row: &GateRow) -> serde_json::Result<(Gate, Option<GateSettlement>)> {
    let gate = serde_json::from_str(&row.json)?;
    let settlement = row.settlement.as_deref().map(|text| {
        serde_json::from_str(text)
            .unwrap_or_else(|_| GateSettlement::closed(GateDecision::Aborted, Timestamp::EPOCH))
    });
    Ok((gate, settlement))
}

/// A gate on the wire.
pub(crate) fn gate_view(
    gate: &Gate,
    settlement: Option<&GateSettlement>,
    title: Option<&str>,
) -> GateView {
    let guidance = match settlement.map(|it| &it.decision) {
        Some(GateDecision::Rejected { reason }) => Some(reason.clone()),
        _ => None,
    };
    GateView {
        id: gate.id.to_string(),
        turn: gate.turn.to_string(),
        title: title.map(str::to_owned),
        question: gate.reason.clone(),
        payload: gate.payload.clone(),
        approval: gate.approval,
        schema: gate.schema.clone(),
        argument_schema: gate.argument_schema.clone(),
        record: gate.call.as_ref().map(|call| call.record.to_string()),
        tool: gate.call.as_ref().map(|call| call.tool.clone()),
        arguments: gate.call.as_ref().and_then(|call| serde_json::from_str(&call.accepted).ok()),
        preview: gate.preview.as_ref().filter(|_| settlement.is_none()).map(preview_view),
        opened_at: gate.opened_at.to_string(),
        expires_at: gate.expires_at.map(|it| it.to_string()),
        settled_at: settlement.map(|it| it.at.to_string()),
        decision: settlement.map(|it| it.decision.as_str().to_owned()),
        decided_by: settlement.map(|it| it.by.clone()),
        guidance,
    }
}

/// A preview on the wire.
pub(super) fn preview_view(preview: &CallPreview) -> GatePreview {
    let kind = match preview.kind {
        PreviewKind::Diff => "diff",
        _ => "text",
    };
    GatePreview { kind: kind.to_owned(), text: preview.text.clone(), cut: preview.is_cut }
}
