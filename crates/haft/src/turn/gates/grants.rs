//! Standing approvals: grants that settle the gates of calls, and grants that decisions give.

use haft_core::call::RecordId;
use haft_core::clock::Clock as _;
use haft_core::context::DispatchContext;
use haft_core::event::LogLevel;
use haft_core::gate::{
    ApprovalStore, Gate, GateKey, GateSettlement, Grant, GrantId, GrantRefusal, GrantRow,
    GrantSubject,
};
use haft_core::store::{GateId, StoreError};
use haft_core::tool::Digest;

use super::super::report::LogTopic;
use super::super::shared_turn::SharedTurn;
use super::to_json;

/// A grant and whether it still approves calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedGrant {
    /// Its name.
    pub id: GrantId,
    /// What it approves, or `None` if it cannot be read.
    pub grant: Option<Grant>,
    /// Why it approves nothing any more.
    pub refusal: Option<GrantRefusal>,
}

impl ListedGrant {
    /// Reads a stored grant and verifies it.
    pub(super) fn of(row: &GrantRow, key: &GateKey) -> Self {
        let (grant, refusal) = match read_grant(row, key) {
            Ok(grant) => (Some(grant), row.is_revoked.then_some(GrantRefusal::Revoked)),
            Err(refusal) => (None, Some(refusal)),
        };
        Self { id: row.id, grant, refusal }
    }
}

/// Reads a stored grant whose signature is valid and whose name is its own.
fn read_grant(row: &GrantRow, key: &GateKey) -> Result<Grant, GrantRefusal> {
    let grant: Grant = serde_json::from_str(&row.json).map_err(|_| GrantRefusal::Forged)?;
    let verified = grant.id == row.id && key.verify_grant(&grant).is_ok();
    if verified { Ok(grant) } else { Err(GrantRefusal::Forged) }
}

impl SharedTurn {
    /// Settles the gate of a call if a grant covers the call. If the grants cannot be read, the call is asked for.
    pub(super) async fn settle_by_grant(
        &self,
        ctx: &DispatchContext,
        gate: &Gate,
    ) -> Result<(), StoreError> {
        let found = match self.find_grant(ctx, gate).await {
            Ok(found) => found,
            Err(error) => {
                let text = format!("the standing approvals cannot be read: {error}");
                ctx.log(LogLevel::Warn, LogTopic::StandingApproval.as_str(), &text, None);
                None
            }
        };
        let Some(grant) = found else { return Ok(()) };
        let settlement = self.agent.key.sign_granted(gate, &grant, self.agent.clock.now());
        // A decision that came first counts.
        let settling = self.agent.store.settle(gate.id.clone(), to_json(&settlement)?);
        self.recorder.watch(settling).await?;
        Ok(())
    }

    /// Finds a grant that covers the call of a gate. A grant of the tool that would cover it if it were valid is logged
    /// with the reason.
    async fn find_grant(
        &self,
        ctx: &DispatchContext,
        gate: &Gate,
    ) -> Result<Option<Grant>, StoreError> {
        for row in self.load_grants().await? {
            match self.check_grant(&row, gate) {
                Ok(grant) => return Ok(Some(grant)),
                Err(
                    GrantRefusal::OtherTool
                    | GrantRefusal::OtherScope
                    | GrantRefusal::OtherArguments,
                ) => {}
                Err(refusal) => {
                    let text =
                        format!("the standing approval `{}` does not count: {refusal}", row.id);
                    ctx.log(LogLevel::Warn, LogTopic::StandingApproval.as_str(), &text, None);
                }
            }
        }
        Ok(None)
    }

    /// Whether a grant that settled a gate still covers its call. A grant that cannot be read does not.
    pub(super) async fn is_grant_valid(&self, id: GrantId, gate: &Gate) -> bool {
        let rows = self.load_grants().await.unwrap_or_default();
        rows.iter().any(|row| row.id == id && self.check_grant(row, gate).is_ok())
    }

    /// Verifies a grant and checks that it covers the call of a gate now.
    fn check_grant(&self, row: &GrantRow, gate: &Gate) -> Result<Grant, GrantRefusal> {
        let call = gate.call.as_ref().filter(|_| gate.approval).ok_or(GrantRefusal::OtherTool)?;
        let agent = self.agent.identity.as_deref();
        let at = self.agent.clock.now();
        let grant = read_grant(row, &self.agent.key)?;
        grant.check(&GrantSubject { turn: &self.turn, agent, call, at })?;
        if row.is_revoked { Err(GrantRefusal::Revoked) } else { Ok(grant) }
    }

    async fn load_grants(&self) -> Result<Vec<GrantRow>, StoreError> {
        match &self.agent.approvals {
            None => Ok(Vec::new()),
            Some(approvals) => {
                self.agent.store.with_deadline(LOADING, approvals.load_grants()).await
            }
        }
    }

    /// Stores the grant that a verified decision gives. The call is approved in any case.
    pub(super) async fn store_grant(
        &self,
        ctx: &DispatchContext,
        gate: &Gate,
        settlement: &GateSettlement,
    ) {
        let (Some(always), Some(call)) = (&settlement.always, &gate.call) else { return };
        let agent = self.agent.identity.as_deref();
        let subject = GrantSubject { turn: &self.turn, agent, call, at: settlement.at };
        let grant = Grant::new(&gate.id, always, &subject, settlement.by.as_str());
        let stored = match (&self.agent.approvals, grant) {
            (None, _) => Err("the agent has no store for them".to_owned()),
            (_, None) => Err("the agent has no name".to_owned()),
            (Some(approvals), Some(grant)) => {
                self.insert_grant(&**approvals, grant).await.map_err(|error| error.to_string())
            }
        };
        if let Err(reason) = stored {
            let text = format!(
                "the approval of `{}` holds for this call alone, and not for later ones: {reason}",
                call.tool
            );
            ctx.log(LogLevel::Warn, LogTopic::StandingApproval.as_str(), &text, None);
        }
    }

    async fn insert_grant(
        &self,
        approvals: &dyn ApprovalStore,
        grant: Grant,
    ) -> Result<(), StoreError> {
        let grant = self.agent.key.sign_grant(grant);
        let inserted = approvals.insert_grant(grant.id, to_json(&grant)?);
        self.agent.store.with_deadline(STORING, inserted).await
    }

    /// The id of the gate at which a call is approved. The definition is part of it: a tool that was changed asks
    /// again. People type ids, so its first digits must do; the gate itself has all of them.
    ///
    /// A gate that was settled by a grant which does not count any more cannot be settled again, so the next attempt
    /// has another gate.
    pub(super) fn approval_gate_id(
        &self,
        record: RecordId,
        definition: Digest,
        attempt: u32,
    ) -> GateId {
        let digits: String = definition.to_string().chars().take(12).collect();
        match attempt {
            0 => self.gate_id(&format!("{record}/approval/{digits}")),
            attempt => self.gate_id(&format!("{record}/approval/{digits}/{}", attempt + 1)),
        }
    }
}

/// What the store of approvals does, as its deadline says it.
const LOADING: &str = "load the standing approvals";
const STORING: &str = "store a standing approval";
