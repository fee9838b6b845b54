//! Opening gates, awaiting their settlement, and settling them.

mod approver;
mod gatekeeper;
mod grants;
mod notifier;
mod open_gate;
mod preview;
mod question;

use std::collections::{BTreeSet, HashSet};
use std::sync::{MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::cancel::Cancellation;
use haft_core::clock::{Clock, Timestamp};
use haft_core::context::{DispatchContext, Gates};
use haft_core::event::{EventKind, GateResult, LogLevel};
use haft_core::gate::{
    BoundCall, Gate, GateDecision, GateError, GateRequest, GateSettlement, GrantId,
};
use haft_core::pipeline::Stage;
use haft_core::store::{GateId, GateRow, StoreError, StoreWrite, TurnStatus, TurnStoreExt as _};
use haft_core::tool::Tool;
use serde_json::Value;
use sha2::Digest as _;

pub use self::approver::{Approver, GatePolicy, IntoGateDecision};
pub(super) use self::approver::{GateWaits, RunningCall};
pub use self::gatekeeper::{Gatekeeper, SettleError};
pub use self::grants::ListedGrant;
pub(super) use self::notifier::GateNotifier;
pub(super) use self::open_gate::{OpenGate, gate_open_event};
use self::preview::make_preview;
use self::question::fill_question;
use super::report::LogTopic;
use super::shared_turn::SharedTurn;
use crate::sync::sleep;

/// What opens gates outside of calls. It is part of the ids of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateScope {
    /// The turn stores its input; nothing opens gates.
    Opening,
    /// The middleware of a pipeline.
    Stage(Stage),
    /// The executor.
    Step,
}

impl GateScope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "",
            Self::Stage(stage) => stage.as_str(),
            Self::Step => "step",
        }
    }
}

impl SharedTurn {
    /// Opens the gate at which the approval of a call is awaited, and settles it if a grant covers the call.
    pub(super) async fn open_approval_gate(
        &self,
        ctx: &DispatchContext,
        (tool, question): (&Tool, &str),
        call: BoundCall,
        attempt: u32,
    ) -> Result<OpenGate, GateError> {
        let id = self.approval_gate_id(call.record, call.definition, attempt);
        self.close_outdated_gates(ctx, &id, &call).await?;
        let shown = serde_json::json!({
            "tool": &call.tool,
            "arguments": serde_json::from_str::<Value>(&call.accepted).unwrap_or(Value::Null),
        });
        let answer = serde_json::json!({"type": "boolean"});
        let question = fill_question(question, shown.get("arguments").unwrap_or(&Value::Null));
        let request = GateRequest::new(question).payload(shown).schema(answer);
        let gate = Gate::open(id, self.turn.clone(), request, self.agent.clock.now())?;
        let gate = gate.bound_to(call).requiring_approval();
        let mut gate = gate.with_argument_schema(tool.input_schema().json_schema());
        // A gate that is stored already has the preview of the time at which it was opened.
        if !self.known.iter().any(|row| row.id == gate.id) {
            gate.preview = Box::pin(make_preview(tool, &gate)).await;
        }
        let (gate, digest) = self.store_gate(gate).await?;
        let is_settled = |row: &GateRow| row.id == gate.id && row.settlement.is_some();
        if !self.known.iter().any(is_settled) {
            // The gate is announced afterwards, so that no person is asked about a call that a grant covers.
            Box::pin(self.settle_by_grant(ctx, &gate)).await?;
        }
        Ok(announce_gate(ctx, gate, digest))
    }

    /// Closes gates that asked for approval of the same call while its tool had another definition, and says that the
    /// approval is asked for again.
    async fn close_outdated_gates(
        &self,
        ctx: &DispatchContext,
        id: &GateId,
        call: &BoundCall,
    ) -> Result<(), GateError> {
        let mut closing = Vec::new();
        for row in self.known.iter().filter(|row| row.id != *id) {
            let gate = read_gate(row)?;
            let is_outdated =
                |it: &BoundCall| it.record == call.record && it.definition != call.definition;
            if !gate.approval || !gate.call.as_ref().is_some_and(is_outdated) {
                continue;
            }
            if let Some(settlement) = row.settlement.as_deref() {
                self.check_rejection(&gate, read_settlement(&row.id, settlement)?)?;
            }
            let text = format!(
                "`{}` is not the tool any more that approval `{}` is about; the approval is asked for again",
                call.tool, row.id
            );
            ctx.log(LogLevel::Warn, LogTopic::ApprovalOutdated.as_str(), &text, None);
            if row.settlement.is_none() {
                let aborted = GateSettlement::closed(GateDecision::Aborted, self.agent.clock.now());
                let settlement = to_json(&aborted)?;
                closing.push(StoreWrite::CloseGate { id: row.id.clone(), settlement });
            }
        }
        if closing.is_empty() { Ok(()) } else { Ok(self.recorder.commit(closing).await?) }
    }

    /// Writes that close the gates of a turn that ends: those that earlier processes left open, and those that a
    /// handler or a middleware of this one stopped waiting at. A gate that was settled meanwhile stays so.
    pub(super) fn close_open_gates(&self) -> Vec<StoreWrite> {
        let earlier = self.known.iter().filter(|row| row.settlement.is_none());
        let unsettled = self.lock_unsettled();
        let open: BTreeSet<GateId> =
            earlier.map(|row| &row.id).chain(&*unsettled).cloned().collect();
        drop(unsettled);
        if open.is_empty() {
            return Vec::new();
        }
        let aborted = GateSettlement::closed(GateDecision::Aborted, self.agent.clock.now());
        let Ok(settlement) = to_json(&aborted) else { return Vec::new() };
        let close = |id| StoreWrite::CloseGate { id, settlement: settlement.clone() };
        open.into_iter().map(close).collect()
    }

    fn lock_unsettled(&self) -> MutexGuard<'_, HashSet<GateId>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads a gate. If the store fails, the turn remembers it.
    async fn load_gate(&self, id: &GateId) -> Result<Option<GateRow>, StoreError> {
        self.recorder.watch(self.agent.store.gate(id.clone())).await
    }

    /// Fails if the call was rejected at a gate that is outdated: a rejection stays valid when the tool changes.
    fn check_rejection(&self, gate: &Gate, settlement: GateSettlement) -> Result<(), GateError> {
        let reason = match &settlement.decision {
            GateDecision::Rejected { reason } => reason.clone(),
            GateDecision::Resolved { value: Value::Bool(false) } => NOT_ALLOWED.to_owned(),
            _ => return Ok(()),
        };
        self.agent.key.verify(gate, &settlement)?;
        Err(GateError::Rejected { by: settlement.by, reason })
    }

    /// Awaits the approval of a call. `None` if the gate was settled by a grant that does not count any more: the call
    /// needs another approval.
    pub(super) async fn await_approval(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
    ) -> Result<Option<Approval>, GateError> {
        let decision = self.await_settlement(ctx, gate).await?;
        // Boxed, so that a call that waits takes no room for what comes after.
        Box::pin(self.use_decision(ctx, decision)).await
    }

    /// Makes an approval of a verified decision, and stores the grant that it gives.
    async fn use_decision(
        &self,
        ctx: &DispatchContext,
        decision: VerifiedDecision,
    ) -> Result<Option<Approval>, GateError> {
        let VerifiedDecision { value, gate, settlement } = decision;
        if value != Value::Bool(true) {
            let (by, reason) = (settlement.by, NOT_ALLOWED.to_owned());
            return Err(GateError::Rejected { by, reason });
        }
        if let Some(grant) = settlement.grant
            && !self.is_grant_valid(grant, &gate).await
        {
            let text = format!(
                "the standing approval `{grant}` does not count any more; the approval is asked for again"
            );
            ctx.log(LogLevel::Warn, LogTopic::StandingApproval.as_str(), &text, None);
            return Ok(None);
        }
        self.store_grant(ctx, &gate, &settlement).await;
        let call = gate.call.ok_or_else(GateError::forged)?;
        let ledger_id = self.approval_gate_id(call.record, call.definition, 0);
        Ok(Some(Approval { ledger_id, edited: settlement.edited, grant: settlement.grant }))
    }

    /// Awaits the decision at a gate. This may take days: meanwhile little memory is used, and the gate is in the
    /// store.
    async fn await_decision(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
    ) -> Result<Value, GateError> {
        self.await_settlement(ctx, gate).await.map(|decision| decision.value)
    }

    /// Awaits the settlement of a gate, and verifies it.
    async fn await_settlement(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
    ) -> Result<VerifiedDecision, GateError> {
        let settled = {
            let _turn = self.watch.pause();
            let call = ctx.record_id().and_then(|id| self.waits.stopwatch(id));
            let _call = call.as_ref().map(|it| it.pause());
            if self.agent.approver.is_some() || self.agent.gate_policy == GatePolicy::Suspend {
                // Boxed, so that gates without either of them take no room for it.
                let polled = self.poll_gate(gate, ctx.cancellation());
                Box::pin(self.await_with_approver(ctx, gate, polled)).await?
            } else {
                self.poll_gate(gate, ctx.cancellation()).await?
            }
        };
        self.verify_decision(ctx, gate, &settled)
    }

    /// Awaits a decision while the approver is consulted. A gate that is settled already is not left to others: the
    /// store is asked before.
    async fn await_with_approver(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
        polled: impl Future<Output = Result<GateRow, GateError>>,
    ) -> Result<GateRow, GateError> {
        let known = self.load_gate(&gate.id).await?;
        let is_settled = known.is_some_and(|row| row.settlement.is_some());
        // A gate whose time is up is closed, and not left to others once more.
        if is_settled || gate.is_expired_at(self.agent.clock.now()) {
            return polled.await;
        }
        tokio::select! {
            biased;
            settled = polled => settled,
            failed = self.consult_approver(ctx, gate) => failed.map(|never| match never {}),
        }
    }

    /// Opens a gate for a request of a handler, a middleware or the executor.
    async fn open_requested_gate(
        &self,
        ctx: &DispatchContext,
        request: GateRequest,
    ) -> Result<OpenGate, GateError> {
        let scope = || self.scope.lock().unwrap_or_else(PoisonError::into_inner).as_str();
        let is_of_turn = ctx.dispatch_id() == ctx.turn_id();
        let place = match ctx.record_id() {
            Some(record) => record.to_string(),
            None if is_of_turn => format!("turn/{}", scope()),
            None => format!("{}/{}", ctx.iteration(), scope()),
        };
        let number = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let number = opened.entry(place.clone()).or_default();
            *number += 1;
            *number
        };
        let id = self.gate_id(&format!("{place}/{number}"));
        let gate = Gate::open(id, self.turn.clone(), request, self.agent.clock.now())?;
        self.open_gate(ctx, gate).await
    }

    /// Stores a gate, and tells observers that it is open.
    async fn open_gate(&self, ctx: &DispatchContext, gate: Gate) -> Result<OpenGate, GateError> {
        let (gate, digest) = self.store_gate(gate).await?;
        Ok(announce_gate(ctx, gate, digest))
    }

    /// Stores a gate. Returns it as it is stored, with the digest of its text.
    async fn store_gate(&self, gate: Gate) -> Result<(Gate, [u8; 32]), GateError> {
        let (gate, json) = self.match_known_gate(gate)?;
        let digest = digest(&json);
        let expires_at = gate.expires_at.map(|at| self.to_store_time(at));
        let open = StoreWrite::OpenGate { id: gate.id.clone(), json, expires_at };
        self.lock_unsettled().insert(gate.id.clone());
        self.recorder.commit(vec![open, StoreWrite::Status(TurnStatus::Waiting)]).await?;
        Ok((gate, digest))
    }

    /// Verifies that a settlement is signed and settles the gate that was opened.
    fn verify_decision(
        &self,
        ctx: &DispatchContext,
        opened: &OpenGate,
        row: &GateRow,
    ) -> Result<VerifiedDecision, GateError> {
        let settlement = read_settlement(&row.id, row.settlement.as_deref().unwrap_or_default())?;
        let settlement = opened.apply_timeout(settlement);
        self.mark_settled(&row.id);
        if let Some(call) = opened.call.filter(|_| settlement.grant.is_none()) {
            self.waits.note_decision(call, settlement.at.duration_since(opened.opened_at));
        }
        // Texts are stored byte by byte: another text was written from outside.
        let unchanged = digest(&row.json) == opened.digest;
        let gate = if unchanged { Some(read_gate(row)?) } else { None };
        let verified = match &gate {
            Some(gate) => self.agent.key.verify(gate, &settlement).map_err(GateError::from),
            None => Err(GateError::forged()),
        };
        let result = match verified {
            Ok(()) => GateResult::from(&settlement.decision),
            Err(_) => GateResult::Rejected,
        };
        let grant = settlement.grant.filter(|_| result == GateResult::Resolved);
        let gate_id = row.id.as_str().into();
        ctx.emit_with(|| EventKind::TurnGateClosed { gate_id, result, grant });
        verified?;
        let fits = |value: &Value| gate.as_ref().is_some_and(|gate| gate.check(value).is_ok());
        match &settlement.decision {
            // The signature does not say that the value fits the schema.
            GateDecision::Resolved { value } if fits(value) => {
                let (value, gate) = (value.clone(), gate.ok_or_else(GateError::forged)?);
                Ok(VerifiedDecision { value, gate, settlement })
            }
            GateDecision::Resolved { .. } => Err(GateError::forged()),
            GateDecision::Rejected { reason } => {
                Err(GateError::Rejected { by: settlement.by, reason: reason.clone() })
            }
            GateDecision::Timeout => Err(GateError::Timeout),
            _ => Err(GateError::Aborted),
        }
    }

    /// Notes that a gate is settled. A turn that waits at no other gate runs again.
    fn mark_settled(&self, id: &GateId) {
        let mut unsettled = self.lock_unsettled();
        unsettled.remove(id);
        if unsettled.is_empty() {
            // No memory is used for gates while none is open.
            *unsettled = HashSet::new();
            self.recorder.defer(StoreWrite::Status(TurnStatus::Running));
        }
    }

    /// The gate and its text, as an earlier process opened them. One that was changed since is refused.
    fn match_known_gate(&self, gate: Gate) -> Result<(Gate, String), GateError> {
        let Some(row) = self.known.iter().find(|row| row.id == gate.id) else {
            let mut json = to_json(&gate)?;
            json.shrink_to_fit();
            return Ok((gate, json));
        };
        let known = read_gate(row)?;
        // The text in the store, which another version of the program may have written differently.
        let same = gate.with_times_of(&known) == known;
        if same { Ok((known, row.json.to_string())) } else { Err(GateError::forged()) }
    }

    /// Polls a gate until it is settled, and closes it when its time is up or the turn is cancelled.
    async fn poll_gate(
        &self,
        gate: &OpenGate,
        cancellation: &Cancellation,
    ) -> Result<GateRow, GateError> {
        let subscription = self.agent.gate_notifier.subscribe(gate.id.clone());
        loop {
            // Boxed, so that the wait that follows takes no room for it.
            if let Some(settled) = Box::pin(self.load_settled_gate(&gate.id)).await? {
                return Ok(*settled);
            }
            let expiry = async {
                match gate.expires_at {
                    Some(at) => Box::pin(sleep(at.duration_since(self.agent.clock.now()))).await,
                    None => std::future::pending().await,
                }
            };
            let closed = tokio::select! {
                () = subscription.notified() => continue,
                () = expiry => GateDecision::Timeout,
                _ = cancellation.cancelled() => GateDecision::Aborted,
            };
            // Boxed, as above.
            Box::pin(self.recorder.commit(vec![self.close_write(gate, closed)?])).await?;
            // A decision may have come first: the settlement in the store counts.
        }
    }

    /// Loads a gate that must exist. Returns `None` if it is not settled.
    async fn load_settled_gate(&self, id: &GateId) -> Result<Option<Box<GateRow>>, GateError> {
        let row = self.load_gate(id).await?.ok_or_else(|| StoreError::unknown_gate(id))?;
        Ok(row.settlement.is_some().then(|| Box::new(row)))
    }

    /// The write that closes a gate which nothing will settle.
    fn close_write(
        &self,
        gate: &OpenGate,
        decision: GateDecision,
    ) -> Result<StoreWrite, StoreError> {
        let closed = GateSettlement::closed(decision, self.agent.clock.now());
        Ok(StoreWrite::CloseGate { id: gate.id.clone(), settlement: to_json(&closed)? })
    }

    /// A time of this process's clock, by the clock of the store. The store wakes the turn then if no process runs it.
    fn to_store_time(&self, at: Timestamp) -> Timestamp {
        let left = at.duration_since(self.agent.clock.now());
        self.recorder.store_time().saturating_add(left)
    }

    /// The id of a gate, which is the same when the turn is resumed.
    fn gate_id(&self, place: &str) -> GateId {
        let text = format!("{}/{place}", self.turn);
        GateId::of(&text)
    }
}

impl Gates for SharedTurn {
    fn ask<'a>(
        &'a self,
        ctx: &'a DispatchContext,
        request: GateRequest,
    ) -> BoxFuture<'a, Result<Value, GateError>> {
        let opening = Box::pin(self.open_requested_gate(ctx, request));
        Box::pin(async move { self.await_decision(ctx, &opening.await?).await })
    }
}

/// The reason of a rejection that has none.
const NOT_ALLOWED: &str = "this call is not allowed";

/// A settlement that resolves a gate and that was verified.
struct VerifiedDecision {
    value: Value,
    /// The gate as it was opened.
    gate: Gate,
    settlement: GateSettlement,
}

/// The approval of a call.
pub(super) struct Approval {
    /// The gate under which the ledger has the approval: the first one of the call, also if the call was asked for
    /// again.
    pub(super) ledger_id: GateId,
    /// The standing approval that approved it.
    pub(super) grant: Option<GrantId>,
    /// The arguments that the call was approved with, if they are not the proposed ones.
    pub(super) edited: Option<String>,
}

/// Tells observers that a gate is open.
fn announce_gate(ctx: &DispatchContext, gate: Gate, digest: [u8; 32]) -> OpenGate {
    ctx.emit_with(|| gate_open_event(&gate));
    let call = ctx.record_id().or(gate.call.map(|call| call.record));
    let Gate { id, opened_at, expires_at, .. } = gate;
    OpenGate { id, call, opened_at, expires_at, digest }
}

fn digest(text: &str) -> [u8; 32] {
    sha2::Sha256::digest(text).into()
}

pub(super) fn read_gate(row: &GateRow) -> Result<Gate, StoreError> {
    serde_json::from_str(&row.json).map_err(|error| damaged(&row.id, &error))
}

pub(super) fn read_settlement(id: &GateId, text: &str) -> Result<GateSettlement, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(id, &error))
}

fn damaged(id: &GateId, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged { what: format!("gate `{id}`"), reason: error.to_string() }
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::backend("write a gate", error))
}
