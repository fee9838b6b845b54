//! The beginning of a long turn, read without the rest of it.
//!
//! The first view of a turn needs its first rows. The outline of the store says how many there are, and the rows and
//! journal entries at the beginning say what the first ones are. Everything that only the whole turn says is left out,
//! and the client reads it next.

use haft::stores::{RowKind, StoredTurn, TurnId, TurnOutline};

use crate::error::ApiError;
use crate::shared::ApiShared;
use crate::timeline::WholeRows;
use crate::wire::{RowRange, TurnDetail};

/// From how many records on a turn is read in parts.
const LONG_TURN: usize = 1000;
/// How many records and journal entries are read for the beginning.
const FIRST_RECORDS: usize = 400;
const FIRST_ENTRIES: usize = 300;
/// How many rows of a beginning are worth a response of their own.
const LEAST_ROWS: usize = 40;

impl ApiShared {
    /// Loads the beginning of a long turn. Returns `None` if the turn is short, or its first step is too long.
    pub(crate) async fn load_beginning(
        &self,
        id: &TurnId,
        range: &RowRange,
    ) -> Result<Option<TurnDetail>, ApiError> {
        let Some(outline) = self.limit_load(self.turns.read_outline(id)).await? else {
            return Ok(None);
        };
        let total = outline.rows.iter().filter(|row| is_shown(row.kind)).count();
        if total < LONG_TURN {
            return Ok(None);
        }
        let rows = self.limit_load(self.turns.read_rows(id, 0, FIRST_RECORDS)).await?;
        let journal = self.limit_load(self.turns.read_journal(id, 0, FIRST_ENTRIES)).await?;
        let TurnOutline { summary, gates, .. } = outline;
        let mut stored = StoredTurn::new(summary);
        stored.rows = rows.into_iter().map(|it| it.row).collect();
        stored.journal = journal.into_iter().map(|it| it.json).collect();
        stored.gates = gates;
        let read = self.view_turn(&stored).await?;
        let rows = read.whole_rows();
        if rows.count < LEAST_ROWS {
            return Ok(None);
        }
        let detail = read.to_detail(read.row_page(range), self.actions(&read), self.now());
        Ok(Some(shorten_to(detail, rows, total)))
    }
}

/// Whether a record of this kind is a row of the timeline.
const fn is_shown(kind: RowKind) -> bool {
    matches!(kind, RowKind::Message | RowKind::Thought | RowKind::ToolCall)
}

/// Leaves out everything of which only the beginning is known.
fn shorten_to(mut detail: TurnDetail, rows: WholeRows, total: usize) -> TurnDetail {
    detail.partial = true;
    // Until the whole turn is read, the rows that follow are taken for calls.
    let rest = total.saturating_sub(rows.records);
    detail.kinds =
        detail.kinds.chars().take(rows.count).chain(std::iter::repeat_n('c', rest)).collect();
    detail.rows.rows.truncate(rows.count);
    detail.rows.total = rows.count + rest;
    detail.end_ms = detail.turn.duration_ms;
    detail.artifacts = Vec::new();
    detail.turn.facts = None;
    detail
}
