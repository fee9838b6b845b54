//! Parts of a turn, for readers that need a window of it and not the whole.

use super::{GateRow, Row, RowKind, StoredTurn, TurnSummary};

/// What a turn consists of, without the texts of its rows and of its journal.
///
/// A viewer of a long turn reads the outline first, and then the windows that it shows by
/// [`read_rows`](super::TurnStore::read_rows) and [`read_journal`](super::TurnStore::read_journal).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnOutline {
    /// The summary that lists of turns show.
    pub summary: TurnSummary,
    /// The rows, in the order in which they were first put.
    pub rows: Vec<OutlineRow>,
    /// The numbers of the journal entries, in order.
    pub journal: Vec<u64>,
    /// Every gate of the turn, in the order in which they were opened.
    pub gates: Vec<GateRow>,
}

impl TurnOutline {
    /// An outline of which only the summary is known.
    #[must_use]
    pub fn new(summary: TurnSummary) -> Self {
        Self { summary, rows: Vec::new(), journal: Vec::new(), gates: Vec::new() }
    }

    /// The outline of a turn that was loaded: its rows are numbered from 1 on.
    #[must_use]
    pub fn of(turn: &StoredTurn, journal: Vec<u64>) -> Self {
        let rows = (1..).zip(&turn.rows);
        let rows = rows.map(|(number, row)| OutlineRow::new(number, row.kind, row.id.clone()));
        let gates = turn.gates.clone();
        Self { summary: turn.summary.clone(), rows: rows.collect(), journal, gates }
    }
}

/// A row in an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlineRow {
    /// Grows from row to row of a turn, not always by one. It stays the same until a row of the turn is deleted.
    pub number: u64,
    /// What the row is.
    pub kind: RowKind,
    /// Its id.
    pub id: String,
}

impl OutlineRow {
    /// A row with its number.
    #[must_use]
    pub fn new(number: u64, kind: RowKind, id: impl Into<String>) -> Self {
        Self { number, kind, id: id.into() }
    }
}

/// A row with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NumberedRow {
    /// Its number, as in [`OutlineRow::number`].
    pub number: u64,
    /// The row.
    pub row: Row,
}

impl NumberedRow {
    /// A row with its number.
    #[must_use]
    pub const fn new(number: u64, row: Row) -> Self {
        Self { number, row }
    }
}
