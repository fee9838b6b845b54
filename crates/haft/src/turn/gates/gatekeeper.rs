//! Settling gates.

use std::fmt;
use std::sync::Arc;

use haft_core::clock::{Clock, Timestamp};
use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::gate::{
    ApprovalStore, Gate, GateDecision, GateKey, GateSettlement, GrantId, GrantRefusal, InvalidEdit,
    StandingApproval,
};
use haft_core::schema::Problems;
use haft_core::store::{GateId, SettleOutcome, StoreError, TurnId, TurnStore, TurnStoreExt as _};
use serde_json::Value;

use super::grants::ListedGrant;
use super::notifier::GateNotifier;
use super::{read_gate, read_settlement, to_json};

/// Settles gates. It works in any process that has the store and the key, whether or not the turn runs.
///
/// Nothing that runs inside a turn can get one: the model cannot approve its own calls.
///
/// ```
/// use std::sync::Arc;
/// use haft::stores::MemoryStore;
/// use haft::turn::{GateKey, Gatekeeper, SystemClock};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = GateKey::from_bytes([7; 32]);
/// let gates = Gatekeeper::new(Arc::new(MemoryStore::new()), key, Arc::new(SystemClock::new()));
/// assert!(gates.open_gates(None).await?.is_empty());
/// assert!(gates.resolve(&"gate-1".parse()?, true.into(), "Ada").await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gatekeeper {
    store: Arc<dyn TurnStore>,
    key: GateKey,
    clock: Arc<dyn Clock>,
    notifier: Option<Arc<GateNotifier>>,
    approvals: Option<Arc<dyn ApprovalStore>>,
}

/// A gate was not settled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The value breaks the schema of the gate, which stays open.
    #[error("the decision does not have the form that the gate asks for, and the gate stays open:\n{}", .problems.to_text("the decision"))]
    Invalid {
        /// Every problem.
        problems: Problems,
    },
    /// The edited arguments were refused, and the gate stays open.
    #[error(transparent)]
    Edit(#[from] InvalidEdit),
    /// Only the approval of a call can hold for later calls.
    #[error(
        "the gate does not wait for the approval of a call, so no later call can be approved at it"
    )]
    NotAnApproval,
    /// The gate was settled before, or the turn waits no longer.
    #[error("the gate was settled before: {settlement}")]
    Closed {
        /// How it was settled, and by whom.
        settlement: String,
    },
    /// The gate expired before the decision arrived.
    #[error("the gate expired at {at}, and the turn does not wait any more")]
    Expired {
        /// When it expired.
        at: Timestamp,
    },
    /// The store failed, or there is no such gate.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Coded for SettleError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => codes::INVALID_TURN_GATE_RESOLUTION,
            Self::Edit(error) => error.code(),
            Self::NotAnApproval => codes::INVALID_TURN_GATE_RESOLUTION,
            Self::Closed { .. } => codes::TURN_GATE_ALREADY_SETTLED,
            Self::Expired { .. } => codes::TURN_GATE_TIMEOUT,
            Self::Store(error) => error.code(),
        }
    }
}

impl Gatekeeper {
    /// Settles gates that stand in a store.
    #[must_use]
    pub fn new(store: Arc<dyn TurnStore>, key: GateKey, clock: Arc<dyn Clock>) -> Self {
        Self { store, key, clock, notifier: None, approvals: None }
    }

    /// Settles the gates of the turns in a directory.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn of_dir(dir: &haft_stores::TurnDir) -> Self {
        let (store, key) = (Arc::clone(dir.store()) as _, GateKey::from_bytes(dir.secret()));
        let clock = Arc::new(haft_core::clock::SystemClock::new());
        Self::new(store, key, clock).with_approvals(Arc::clone(dir.approvals()) as _)
    }

    /// Also lists and revokes the standing approvals in a store.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Arc<dyn ApprovalStore>) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Also notifies the turns of this process when a gate is settled.
    pub(in crate::turn) fn notifying(mut self, notifier: Arc<GateNotifier>) -> Self {
        self.notifier = Some(notifier);
        self
    }

    /// Lists the open gates, oldest first: those of one turn, or all.
    ///
    /// # Errors
    ///
    /// The store failed, or a gate in it cannot be read.
    pub async fn open_gates(&self, turn: Option<TurnId>) -> Result<Vec<Gate>, StoreError> {
        let rows = self.store.open_gates(turn).await?;
        rows.iter().map(read_gate).collect()
    }

    /// Loads a gate and its settlement, if it has one. Returns `None` if there is no such gate. The settlement is what
    /// the store says, and not verified.
    ///
    /// # Errors
    ///
    /// The store failed, or what it has cannot be read.
    pub async fn load_gate(
        &self,
        id: &GateId,
    ) -> Result<Option<(Gate, Option<GateSettlement>)>, StoreError> {
        let Some(row) = self.store.gate(id.clone()).await? else { return Ok(None) };
        let settlement = row.settlement.as_deref().map(|text| read_settlement(id, text));
        Ok(Some((read_gate(&row)?, settlement.transpose()?)))
    }

    /// Settles a gate with a value, in the name of the person who decided.
    ///
    /// # Errors
    ///
    /// The value breaks the schema, the gate is closed, or the store failed.
    pub async fn resolve(&self, id: &GateId, value: Value, by: &str) -> Result<(), SettleError> {
        let gate = self.load_open_gate(id).await?;
        gate.check(&value).map_err(|problems| SettleError::Invalid { problems })?;
        let decision = GateDecision::Resolved { value };
        self.settle_gate(&gate, self.key.sign(&gate, decision, by, self.clock.now())).await
    }

    /// Approves a call with other arguments than the model proposed, in the name of the person who decided. The
    /// arguments must meet the schema of the tool, which the gate has in `argument_schema`. The record of the call
    /// keeps the proposed arguments, the edited ones and those that the handler received, and the model is told.
    ///
    /// # Errors
    ///
    /// The gate does not ask for approval of a call, the arguments break the schema, the gate is closed, or the store
    /// failed.
    pub async fn approve_edited(
        &self,
        id: &GateId,
        arguments: &Value,
        by: &str,
    ) -> Result<(), SettleError> {
        let gate = self.load_open_gate(id).await?;
        gate.check_arguments(arguments)?;
        let settlement = self.key.sign_edited(&gate, arguments, by, self.clock.now());
        self.settle_gate(&gate, settlement).await
    }

    /// Approves a call and later calls like it, in the name of the person who decided. The agent that asked stores the
    /// grant when it reads the decision, so a gate that was changed in the store grants nothing.
    ///
    /// # Errors
    ///
    /// The gate does not ask for approval of a call, the gate is closed, or the store failed.
    pub async fn approve_always(
        &self,
        id: &GateId,
        always: StandingApproval,
        by: &str,
    ) -> Result<(), SettleError> {
        let gate = self.load_open_gate(id).await?;
        if !gate.approval {
            return Err(SettleError::NotAnApproval);
        }
        let settlement = self.key.sign_always(&gate, always, by, self.clock.now());
        self.settle_gate(&gate, settlement).await
    }

    /// Lists the standing approvals, with the reason for each that approves nothing any more.
    ///
    /// # Errors
    ///
    /// The store of grants failed.
    pub async fn grants(&self) -> Result<Vec<ListedGrant>, StoreError> {
        let Some(grants) = &self.approvals else { return Ok(Vec::new()) };
        let (rows, now) = (grants.load_grants().await?, self.clock.now());
        let listed = rows.iter().map(|row| {
            let mut listed = ListedGrant::of(row, &self.key);
            if listed.refusal.is_none()
                && listed.grant.as_ref().is_some_and(|it| it.is_expired(now))
            {
                listed.refusal = Some(GrantRefusal::Expired);
            }
            listed
        });
        Ok(listed.collect())
    }

    /// Revokes a standing approval for good. Returns whether it was there. Calls that run already are not stopped.
    ///
    /// # Errors
    ///
    /// The store of grants failed.
    pub async fn revoke_grant(&self, id: GrantId) -> Result<bool, StoreError> {
        match &self.approvals {
            Some(grants) => grants.revoke_grant(id).await,
            None => Ok(false),
        }
    }

    /// Rejects what a gate asks for, in the name of the person who decided. The model is told the reason.
    ///
    /// # Errors
    ///
    /// The gate is closed, or the store failed.
    pub async fn reject(&self, id: &GateId, reason: &str, by: &str) -> Result<(), SettleError> {
        let gate = self.load_open_gate(id).await?;
        let decision = GateDecision::Rejected { reason: reason.to_owned() };
        self.settle_gate(&gate, self.key.sign(&gate, decision, by, self.clock.now())).await
    }

    async fn load_open_gate(&self, id: &GateId) -> Result<Gate, SettleError> {
        let row = self.store.gate(id.clone()).await?;
        let row = row.ok_or_else(|| StoreError::unknown_gate(id))?;
        if let Some(settlement) = &row.settlement {
            return Err(SettleError::Closed { settlement: describe_settlement(settlement) });
        }
        let gate = read_gate(&row)?;
        match gate.expires_at {
            Some(at) if self.clock.now() >= at => Err(SettleError::Expired { at }),
            _ => Ok(gate),
        }
    }

    /// Stores a signed decision, if it is the first.
    async fn settle_gate(
        &self,
        gate: &Gate,
        settlement: GateSettlement,
    ) -> Result<(), SettleError> {
        let text = to_json(&settlement)?;
        let SettleOutcome { settlement, first, .. } =
            self.store.settle(gate.id.clone(), text).await?;
        if !first {
            return Err(SettleError::Closed { settlement: describe_settlement(&settlement) });
        }
        if let Some(notifier) = &self.notifier {
            notifier.notify(&gate.id);
        }
        Ok(())
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper").field("store", &self.store).finish_non_exhaustive()
    }
}

/// How a gate was settled and by whom, in words.
fn describe_settlement(settlement: &str) -> String {
    match serde_json::from_str::<GateSettlement>(settlement) {
        Ok(it) => format!("{} by {}", it.decision.as_str(), it.by),
        Err(_) => "in a way that cannot be read".to_owned(),
    }
}
