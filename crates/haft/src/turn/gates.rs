//! Waiting at gates, and answering them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::call::RecordId;
use haft_core::cancel::Cancellation;
use haft_core::clock::Clock;
use haft_core::context::{Asking, DispatchContext, GateFuture, Gates, Recorder as _};
use haft_core::error::{Code, Coded};
use haft_core::event::{EventKind, GateResult};
use haft_core::gate::{BoundCall, Decision, Gate, GateError, GateKey, GateRequest, Settlement};
use haft_core::schema::Problems;
use haft_core::store::{GateId, GateRow, Settled, Store, StoreError, TurnId, TurnStatus, Write};
use serde_json::Value;
use tokio::sync::Notify;

use super::lease::LeasedRecorder;
use super::watch::{Stopwatch, beside, sleep};

/// Answers gates. It works from any process that has the store and the key, and needs no turn to run.
///
/// Nothing that runs inside a turn can get one: the model cannot allow itself what it asks for.
#[derive(Clone)]
pub struct Gatekeeper {
    store: Arc<dyn Store>,
    key: GateKey,
    clock: Arc<dyn Clock>,
    bells: Option<Arc<Bells>>,
}

/// A gate was not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The answer breaks the schema; the gate stays open.
    #[error("the answer does not fit the question:\n{problems}")]
    Invalid {
        /// Every problem.
        problems: Problems,
    },
    /// Somebody was faster, or the turn waits no longer.
    #[error("the gate is closed already: {how}")]
    Closed {
        /// How.
        how: String,
    },
    /// The store failed, or there is no such gate.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Coded for AnswerError {
    fn error_code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidTurnGateResolution,
            Self::Closed { .. } => Code::TurnGateAborted,
            Self::Store(error) => error.error_code(),
        }
    }
}

impl Gatekeeper {
    /// Answers gates that are kept in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, key: GateKey, clock: Arc<dyn Clock>) -> Self {
        Self { store, key, clock, bells: None }
    }

    pub(super) fn ringing(mut self, bells: Arc<Bells>) -> Self {
        self.bells = Some(bells);
        self
    }

    /// The gates that are open, oldest first: those of one turn, or all.
    ///
    /// # Errors
    ///
    /// The store failed, or holds something that is no gate.
    pub async fn open(&self, turn: Option<TurnId>) -> Result<Vec<Gate>, StoreError> {
        let rows = self.store.open_gates(turn).await?;
        rows.iter().map(read_gate).collect()
    }

    /// Answers with a value, in somebody's name.
    ///
    /// # Errors
    ///
    /// The value breaks the schema, the gate is closed, or the store failed.
    pub async fn resolve(&self, id: &GateId, value: Value, by: &str) -> Result<(), AnswerError> {
        let gate = self.find(id).await?;
        gate.check(&value).map_err(|problems| AnswerError::Invalid { problems })?;
        self.settle(&gate, Decision::Resolved { value }, by).await
    }

    /// Says no, in somebody's name. The model is told the reason.
    ///
    /// # Errors
    ///
    /// The gate is closed, or the store failed.
    pub async fn reject(&self, id: &GateId, reason: &str, by: &str) -> Result<(), AnswerError> {
        let gate = self.find(id).await?;
        self.settle(&gate, Decision::Rejected { reason: reason.to_owned() }, by).await
    }

    async fn find(&self, id: &GateId) -> Result<Gate, AnswerError> {
        let row = self.store.gate(id.clone()).await?;
        let row = row.ok_or_else(|| StoreError::unknown_gate(id))?;
        if let Some(settlement) = &row.settlement {
            return Err(AnswerError::Closed { how: how(settlement) });
        }
        Ok(read_gate(&row)?)
    }

    async fn settle(&self, gate: &Gate, decision: Decision, by: &str) -> Result<(), AnswerError> {
        let settlement = self.key.sign(gate, decision, by, self.clock.now());
        let text = write(&settlement)?;
        let Settled { settlement, first, .. } = self.store.settle(gate.id.clone(), text).await?;
        if !first {
            return Err(AnswerError::Closed { how: how(&settlement) });
        }
        if let Some(bells) = &self.bells {
            bells.ring(&gate.id);
        }
        Ok(())
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Tells turns of this process that their gates were settled, here or elsewhere.
pub(super) struct Bells {
    store: Arc<dyn Store>,
    poll: Duration,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// More than one waits at a gate when a turn was taken over by the runner that lost it.
    bells: HashMap<GateId, Vec<Arc<Notify>>>,
    polling: bool,
}

impl Bells {
    pub(super) fn new(store: Arc<dyn Store>, poll: Duration) -> Arc<Self> {
        Arc::new(Self { store, poll, waiting: Mutex::default() })
    }

    fn ring(&self, id: &GateId) {
        if let Some(bells) = self.waiting().bells.get(id) {
            bells.iter().for_each(|bell| bell.notify_one());
        }
    }

    /// A bell that rings when the gate was settled. One task asks the store for all of them.
    fn hang(self: &Arc<Self>, id: GateId) -> Bell {
        let mut waiting = self.waiting();
        let notify = Arc::new(Notify::new());
        waiting.bells.entry(id.clone()).or_default().push(Arc::clone(&notify));
        if !std::mem::replace(&mut waiting.polling, true) {
            beside(Self::poll(Polling { bells: Arc::clone(self), ended: false }));
        }
        Bell { bells: Arc::clone(self), id, notify }
    }

    async fn poll(mut polling: Polling) {
        let bells = Arc::clone(&polling.bells);
        loop {
            sleep(bells.poll).await;
            {
                let mut waiting = bells.waiting();
                if waiting.bells.is_empty() {
                    waiting.polling = false;
                    polling.ended = true;
                    return;
                }
            }
            let Ok(open) = bells.store.open_gates(None).await else { continue };
            let open: std::collections::HashSet<_> = open.into_iter().map(|row| row.id).collect();
            let waiting = bells.waiting();
            let settled = waiting.bells.iter().filter(|(id, _)| !open.contains(id));
            settled.flat_map(|(_, bells)| bells).for_each(|bell| bell.notify_one());
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bells({})", self.waiting().bells.len())
    }
}

/// The task that asks the store. It may end with its runtime, while turns on another one go on.
struct Polling {
    bells: Arc<Bells>,
    ended: bool,
}

impl Drop for Polling {
    fn drop(&mut self) {
        if !self.ended {
            self.bells.waiting().polling = false;
        }
    }
}

struct Bell {
    bells: Arc<Bells>,
    id: GateId,
    notify: Arc<Notify>,
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut waiting = self.bells.waiting();
        if let Some(bells) = waiting.bells.get_mut(&self.id) {
            bells.retain(|bell| !Arc::ptr_eq(bell, &self.notify));
            if bells.is_empty() {
                waiting.bells.remove(&self.id);
            }
        }
    }
}

/// The gates of one turn.
pub(super) struct TurnGates {
    pub(super) turn: TurnId,
    pub(super) store: Arc<dyn Store>,
    pub(super) key: GateKey,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Arc<LeasedRecorder>,
    pub(super) bells: Arc<Bells>,
    pub(super) watch: Stopwatch,
    /// The watches of calls, which stop while a call waits.
    pub(super) calls: Mutex<HashMap<RecordId, Stopwatch>>,
    /// What runs: a pipeline or the executor.
    pub(super) stage: Mutex<&'static str>,
    /// How many gates each place has opened.
    pub(super) opened: Mutex<HashMap<String, u32>>,
    /// Gates that another process opened for this turn before it died.
    pub(super) known: Vec<GateRow>,
}

impl TurnGates {
    /// Says what runs from now on. When a turn is resumed, not everything runs again, so that every stage
    /// counts its gates by itself.
    pub(super) fn enter(&self, stage: &'static str) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Asks for leave to make a call.
    pub(super) async fn approve(
        &self,
        ctx: &DispatchContext,
        question: &str,
        call: BoundCall,
    ) -> Result<(), GateError> {
        let id = self.name(&format!("{}/approval", call.record));
        let shown = serde_json::json!({
            "tool": &call.tool,
            "arguments": serde_json::from_str::<Value>(&call.accepted).unwrap_or(Value::Null),
        });
        let answer = serde_json::json!({"type": "boolean"});
        let request = GateRequest::new(question).payload(shown).schema(answer);
        let gate = Gate::open(id, self.turn.clone(), request, self.clock.now())?;
        match self.ask(Asking::Dispatch(ctx), gate.bound_to(call).asking_leave()).await? {
            Value::Bool(true) => Ok(()),
            _ => Err(GateError::Rejected {
                by: "whoever was asked".to_owned(),
                reason: "this call is not allowed".to_owned(),
            }),
        }
    }

    /// Opens a gate, waits, and gives the answer.
    async fn ask(&self, ctx: Asking<'_>, gate: Gate) -> Result<Value, GateError> {
        let gate = self.recall(gate)?;
        self.recorder
            .commit(vec![
                Write::OpenGate { id: gate.id.clone(), json: write(&gate)? },
                Write::Status(TurnStatus::Waiting),
            ])
            .await?;
        ctx.emit_with(|| EventKind::TurnGateOpen {
            gate_id: gate.id.as_str().into(),
            reason: gate.reason.as_str().into(),
            payload: gate.payload.clone().into(),
            schema: gate.schema.clone().map(Into::into),
            timeout: gate.expires_at.map(|at| at.duration_since(gate.opened_at)),
        });
        let settlement = {
            let _turn = self.watch.pause();
            let _call = ctx.record_id().and_then(|id| self.call_watch(id)).map(|it| it.pause());
            self.settlement(&gate, ctx.cancellation()).await?
        };
        self.recorder.defer(Write::Status(TurnStatus::Running));
        let verified = self.key.verify(&gate, &settlement);
        let result = match settlement.decision {
            _ if verified.is_err() => GateResult::Rejected,
            Decision::Resolved { .. } => GateResult::Resolved,
            Decision::Timeout => GateResult::Timeout,
            Decision::Aborted => GateResult::Aborted,
            _ => GateResult::Rejected,
        };
        ctx.emit_with(|| EventKind::TurnGateClosed { gate_id: gate.id.as_str().into(), result });
        verified?;
        match settlement.decision {
            // Whoever signed it may have answered past the schema.
            Decision::Resolved { value } if gate.check(&value).is_err() => Err(GateError::forged()),
            Decision::Resolved { value } => Ok(value),
            Decision::Rejected { reason } => Err(GateError::Rejected { by: settlement.by, reason }),
            Decision::Timeout => Err(GateError::Timeout),
            _ => Err(GateError::Aborted),
        }
    }

    /// The gate as it was opened before a crash. One that somebody has changed since is refused.
    fn recall(&self, gate: Gate) -> Result<Gate, GateError> {
        let Some(row) = self.known.iter().find(|row| row.id == gate.id) else { return Ok(gate) };
        let known = read_gate(row)?;
        if gate.opened_with(&known) == known { Ok(known) } else { Err(GateError::forged()) }
    }

    /// Waits until the gate is settled, by somebody or by its time.
    async fn settlement(
        &self,
        gate: &Gate,
        cancellation: &Cancellation,
    ) -> Result<Settlement, GateError> {
        let bell = self.bells.hang(gate.id.clone());
        loop {
            let row = self.store.gate(gate.id.clone()).await?;
            let row = row.ok_or_else(|| StoreError::unknown_gate(&gate.id))?;
            if let Some(text) = row.settlement {
                return read_settlement(&gate.id, &text).map_err(Into::into);
            }
            let late = async {
                match gate.expires_at {
                    Some(at) => sleep(at.duration_since(self.clock.now())).await,
                    None => std::future::pending().await,
                }
            };
            let closed = tokio::select! {
                () = bell.notify.notified() => continue,
                () = late => Decision::Timeout,
                _ = cancellation.cancelled() => Decision::Aborted,
            };
            let closing = Settlement::closed(closed, self.clock.now());
            let close = Write::CloseGate { id: gate.id.clone(), settlement: write(&closing)? };
            self.recorder.commit(vec![close]).await?;
            // Somebody may have been faster: what the store has holds.
        }
    }

    fn call_watch(&self, id: RecordId) -> Option<Stopwatch> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// The name of a gate: the same when the turn is resumed.
    fn name(&self, place: &str) -> GateId {
        let text = format!("{}/{place}", self.turn);
        GateId::of(&text)
    }
}

impl Gates for TurnGates {
    fn wait_for<'a>(&'a self, ctx: Asking<'a>, request: GateRequest) -> GateFuture<'a> {
        Box::pin(async move {
            let stage = || *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let place = match (ctx, ctx.record_id()) {
                (_, Some(record)) => record.to_string(),
                (Asking::Dispatch(ctx), None) => format!("{}/{}", ctx.iteration(), stage()),
                _ => format!("turn/{}", stage()),
            };
            let number = {
                let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
                let number = opened.entry(place.clone()).or_default();
                *number += 1;
                *number
            };
            let id = self.name(&format!("{place}/{number}"));
            let gate = Gate::open(id, self.turn.clone(), request, self.clock.now())?;
            self.ask(ctx, gate).await
        })
    }
}

fn read_gate(row: &GateRow) -> Result<Gate, StoreError> {
    serde_json::from_str(&row.json).map_err(|error| damaged(&row.id, &error))
}

fn read_settlement(id: &GateId, text: &str) -> Result<Settlement, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(id, &error))
}

fn damaged(id: &GateId, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged { what: format!("gate `{id}`"), reason: error.to_string() }
}

fn write(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::backend("write a gate", error))
}

/// How a gate was settled, in words.
fn how(settlement: &str) -> String {
    match serde_json::from_str::<Settlement>(settlement) {
        Ok(it) => format!("{} by {}", it.decision.as_str(), it.by),
        Err(_) => "in a way that cannot be read".to_owned(),
    }
}
