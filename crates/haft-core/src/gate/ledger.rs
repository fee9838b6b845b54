//! Which approvals were used.

use std::fmt;

use crate::BoxFuture;
use crate::store::{GateId, StoreError};

/// Records which approvals were used, so that none is used twice.
///
/// A store of turns can be rolled back: a backup is restored, or a row is edited. An approval that was given once would
/// then be valid again. The ledger is therefore a contract of its own, and belongs where the store's writers cannot
/// change it: a file next to the key, or a table with another owner.
///
/// The runner marks the approval of a call that must not be repeated before it starts the handler. If the approval is
/// found to be spent, the outcome of the call is unknown and the handler does not start.
pub trait ApprovalLedger: fmt::Debug + Send + Sync {
    /// Marks the approval at a gate as spent, durably and at most once: of any number of callers, in any process and at
    /// any time, one gets [`Spending::First`].
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>>;
}

/// Whether an approval was still unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Spending {
    /// The approval was unused, and is spent now.
    First,
    /// The approval was spent before.
    Repeated,
}
