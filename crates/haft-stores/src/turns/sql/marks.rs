//! The marks of rows: what each of them covers, computed and compared here for every database.
//!
//! The mark of a row covers its turn, its name and its text. The mark of a journal entry covers that of the entry before
//! it. The mark of a turn covers everything that its holder writes, and what the turn consists of ([`Contents`]), so
//! that a row that is missing, moved or replaced by an older one is seen. Schedule and lease are not covered, because
//! processes without the lease change them; [`check_plausible`] compares them with the rest.

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Mark, MemoryScope, RowKind, StoreError, StoreKey, TurnId, TurnStatus,
};

use super::damaged;
use crate::turns::turn_row::TurnRow;

/// What a turn consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// How many entries the journal has.
    pub(super) entries: u64,
    /// The mark of its last entry.
    pub(super) last_entry: Mark,
    /// The sum of the marks of all records and gates and of their places, in two halves.
    rows: [u128; 2],
}

impl Contents {
    /// Those of a turn without rows.
    pub(super) const EMPTY: Self = Self { entries: 0, last_entry: Mark::ZERO, rows: [0; 2] };

    pub(super) fn new(entries: u64, last_entry: Mark, rows: &[u8]) -> Option<Self> {
        let (halves, []) = rows.as_chunks::<16>() else { return None };
        let [first, second] = halves else { return None };
        let rows = [u128::from_be_bytes(*first), u128::from_be_bytes(*second)];
        Some(Self { entries, last_entry, rows })
    }

    /// The sum as it is stored.
    pub(super) fn row_sum(&self) -> [u8; 32] {
        let mut sum = [0; 32];
        let (halves, _) = sum.as_chunks_mut::<16>();
        for (half, value) in halves.iter_mut().zip(self.rows) {
            *half = value.to_be_bytes();
        }
        sum
    }

    pub(super) fn add_entry(&mut self, mark: Mark) {
        self.entries = self.entries.saturating_add(1);
        self.last_entry = mark;
    }

    pub(super) fn add_row(&mut self, place: Mark) {
        self.change_rows(place, u128::wrapping_add);
    }

    pub(super) fn remove_row(&mut self, place: Mark) {
        self.change_rows(place, u128::wrapping_sub);
    }

    fn change_rows(&mut self, place: Mark, change: fn(u128, u128) -> u128) {
        let (halves, _) = place.as_bytes().as_chunks::<16>();
        for (sum, half) in self.rows.iter_mut().zip(halves) {
            *sum = change(*sum, u128::from_be_bytes(*half));
        }
    }
}

/// The mark of a record of a turn.
pub(super) fn record_mark(
    key: &StoreKey,
    turn: &TurnId,
    kind: RowKind,
    id: &str,
    json: &str,
) -> Mark {
    let parts = [turn.as_str(), kind.as_str(), id, json].map(str::as_bytes);
    key.mark("record", &parts)
}

/// The mark of a journal entry that follows another one.
pub(super) fn entry_mark(key: &StoreKey, turn: &TurnId, before: &Mark, json: &str) -> Mark {
    key.mark("entry", &[turn.as_str().as_bytes(), before.as_bytes(), json.as_bytes()])
}

/// The mark of a gate as it was opened.
pub(super) fn gate_mark(
    key: &StoreKey,
    turn: &TurnId,
    id: &GateId,
    json: &str,
    expires_at: Option<Timestamp>,
) -> Mark {
    let expires_at = expires_at.map(|at| at.as_micros().to_be_bytes());
    let expires_at = expires_at.as_ref().map_or(&[][..], |it| it);
    let parts = [turn.as_str(), id.as_str(), json].map(str::as_bytes);
    let [turn, id, json] = parts;
    key.mark("gate", &[turn, id, json, expires_at])
}

/// The mark of the settlement of a gate.
pub(super) fn settlement_mark(key: &StoreKey, gate: &Mark, settlement: &str) -> Mark {
    key.mark("settlement", &[gate.as_bytes(), settlement.as_bytes()])
}

/// The mark of a record or a gate at its place in the order of the turn.
pub(super) fn place_mark(key: &StoreKey, number: i64, row: &Mark) -> Mark {
    key.mark("place", &[&number.to_be_bytes(), row.as_bytes()])
}

pub(super) fn memory_mark(
    key: &StoreKey,
    scope: &MemoryScope,
    id: &str,
    version: i64,
    json: &str,
) -> Mark {
    let [kind, scope, id, json] = [scope.kind.as_str(), &scope.id, id, json].map(str::as_bytes);
    key.mark("memory", &[kind, scope, id, &version.to_be_bytes(), json])
}

pub(super) fn title_mark(key: &StoreKey, tenant: &str, conversation: &str, title: &str) -> Mark {
    key.mark("title", &[tenant, conversation, title].map(str::as_bytes))
}

/// The mark of a turn: everything of it but its schedule and its lease.
pub(super) fn turn_mark(
    key: &StoreKey,
    row: &TurnRow,
    contents: &Contents,
) -> Result<Mark, StoreError> {
    let it = &row.summary;
    // The schedule of a turn that has ended does not change any more.
    let end = it.status.is_final().then_some((it.status, it.take_overs, &it.cancel));
    let fixed = (&it.id, &it.conversation, &it.tenant, &it.agent, &it.first_words, it.priority);
    let written = (&it.model, it.tokens, &it.stop, &it.tools);
    let times = (it.created_at, it.updated_at, it.ended_at, end);
    let text = serde_json::to_vec(&(fixed, written, times));
    let text = text.map_err(|error| StoreError::backend("mark a turn", error))?;
    let sum = contents.row_sum();
    let entries = contents.entries.to_be_bytes();
    Ok(key.mark("turn", &[&text, &entries, contents.last_entry.as_bytes(), &sum]))
}

/// Fails if the schedule and the lease of a turn contradict each other or what its mark covers.
pub(super) fn check_plausible(row: &TurnRow) -> Result<(), StoreError> {
    let it = &row.summary;
    let is_final = it.status.is_final();
    let may_run = match it.status {
        TurnStatus::Waiting => None,
        _ => Some(!is_final),
    };
    let contradiction = if it.ended_at.is_some() != is_final {
        "its status does not fit its end"
    } else if may_run.is_some_and(|may_run| it.runnable_at.is_some() != may_run) {
        "its status does not fit when it can be claimed"
    } else if it.holder.is_some() != it.held_until.is_some() {
        "its lease has no holder or no end"
    } else if !is_final && it.cancel.is_some() && it.status != TurnStatus::CancelRequested {
        "its status does not fit its request to cancel"
    } else {
        return Ok(());
    };
    Err(damaged(format!("turn `{}`", it.id), contradiction))
}

/// Fails if a row does not have the mark that was stored with it.
pub(super) fn check_mark(
    stored: &Mark,
    computed: &Mark,
    what: impl FnOnce() -> String,
) -> Result<(), StoreError> {
    match stored == computed {
        true => Ok(()),
        false => Err(damaged(what(), NOT_AUTHENTIC)),
    }
}

/// Why a row is refused, and what to do.
pub(super) const NOT_AUTHENTIC: &str = "it was changed since it was written, or written without the key of this \
    store; restore the store from a copy, or use another one";
