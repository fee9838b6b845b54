//! Where approvals are remembered.

use std::fmt;

use super::GrantId;
use crate::BoxFuture;
use crate::store::{GateId, StoreError};

/// Remembers approvals: which of them were used, so that none is used twice, and the standing ones.
///
/// A store of turns can be rolled back: a backup is restored, or a row is edited. An approval that was given once would
/// then be valid again, and a revoked one too. Approvals are therefore a contract of their own, and belong where the
/// store's writers cannot change them: files next to the key, or tables with another owner.
///
/// The runner marks the approval of a call that must not be repeated before it starts the handler. If the approval is
/// found to be spent, the outcome of the call is unknown and the handler does not start.
///
/// A signature keeps a grant from being edited; the store must ensure that a revoked grant stays revoked, even if a copy
/// of the grant is restored.
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    /// Marks the approval at a gate as spent, durably and at most once: of any number of callers, in any process and at
    /// any time, one gets [`Spending::First`].
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>>;

    /// Stores a grant durably. A grant of the same name that exists, or was revoked, stays as it is.
    fn insert_grant(&self, id: GrantId, json: String) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Loads all grants, in the order of their names.
    fn load_grants(&self) -> BoxFuture<'_, Result<Vec<GrantRow>, StoreError>>;

    /// Revokes a grant durably and permanently. Returns whether it existed and was valid until now.
    fn revoke_grant(&self, id: GrantId) -> BoxFuture<'_, Result<bool, StoreError>>;
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

/// A grant as a store returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantRow {
    /// Its name.
    pub id: GrantId,
    /// Its JSON text, which the reader verifies.
    pub json: String,
    /// Whether it was revoked.
    pub is_revoked: bool,
}

impl GrantRow {
    /// A grant with its text.
    #[must_use]
    pub const fn new(id: GrantId, json: String, is_revoked: bool) -> Self {
        Self { id, json, is_revoked }
    }
}
