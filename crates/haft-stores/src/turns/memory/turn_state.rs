//! One turn of a store in memory.

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{Lease, StoreError, TurnStatus, TurnSummary};

use super::rows::TurnRows;

/// One turn.
pub(super) struct TurnState {
    pub(super) summary: TurnSummary,
    pub(super) epoch: u64,
    pub(super) rows: TurnRows,
    /// Whether the rows have changed since their references to content were read.
    pub(super) has_new_rows: bool,
    pub(super) journal: Vec<String>,
    /// The numbers of its gates.
    pub(super) gates: Vec<u64>,
}

impl TurnState {
    pub(super) fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.summary.holder.as_ref() == Some(&lease.holder)
    }

    /// Adds an entry to the journal.
    pub(super) fn push_entry(&mut self, entry: String) {
        if self.journal.is_empty() {
            // The start and a step: a turn that waits for an approval has no more.
            self.journal.reserve_exact(2);
        } else if self.journal.len() == self.journal.capacity() {
            // One that goes on has more iterations, with two entries each.
            self.journal.reserve(6);
        }
        self.journal.push(entry);
    }

    /// Fails while a lease on the turn is active.
    pub(super) fn check_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match (&self.summary.holder, self.summary.held_until) {
            (Some(holder), Some(until)) if now < until => {
                let (turn, holder) = (self.summary.id.clone(), Arc::clone(holder));
                Err(StoreError::Held { turn, holder, until })
            }
            _ => Ok(()),
        }
    }

    /// Notes when the turn was written, and returns whether it has ended by that.
    pub(super) fn note_write(&mut self, status: TurnStatus, now: Timestamp) -> bool {
        self.summary.updated_at = Some(now);
        match (status.is_final(), self.summary.ended_at) {
            (true, None) => {
                self.summary.ended_at = Some(now);
                return true;
            }
            (false, Some(_)) => self.summary.ended_at = None,
            _ => {}
        }
        false
    }
}
