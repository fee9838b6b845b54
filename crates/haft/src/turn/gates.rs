//! Waiting at gates, and answering them.

mod bells;

use haft_core::error::codes;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::call::RecordId;
use haft_core::cancel::Cancellation;
use haft_core::clock::{Clock, Timestamp};
use haft_core::context::{Asking, DispatchContext, GateFuture, Gates, Recorder as _};
use haft_core::error::{Coded, ErrorCode};
use haft_core::event::{EventKind, GateResult};
use haft_core::gate::{BoundCall, Decision, Gate, GateError, GateKey, GateRequest, Settlement};
use haft_core::schema::Problems;
use haft_core::store::{GateId, GateRow, Settled, Store, StoreError, TurnId, TurnStatus, Write};
use serde_json::Value;
use sha2::Digest as _;

pub(super) use self::bells::Bells;
use super::lease::LeasedRecorder;
use super::runner::Shared;
use super::watch::{Stopwatch, sleep};

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
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => codes::INVALID_TURN_GATE_RESOLUTION,
            Self::Closed { .. } => codes::TURN_GATE_ABORTED,
            Self::Store(error) => error.code(),
        }
    }
}

impl Gatekeeper {
    /// Answers gates that are kept in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, key: GateKey, clock: Arc<dyn Clock>) -> Self {
        Self { store, key, clock, bells: None }
    }

    /// Settles the gates of the turns in a directory.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn of_dir(dir: &haft_stores::TurnDir) -> Self {
        let (store, key) = (Arc::clone(dir.store()) as _, GateKey::from_bytes(dir.secret()));
        Self::new(store, key, Arc::new(haft_core::clock::SystemClock::new()))
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

/// The gates of one turn.
pub(super) struct TurnGates {
    pub(super) runner: Arc<Shared>,
    pub(super) turn: TurnId,
    pub(super) recorder: Arc<LeasedRecorder>,
    pub(super) watch: Stopwatch,
    /// The watches of calls, which stop while a call waits.
    pub(super) calls: Mutex<Vec<(RecordId, Stopwatch)>>,
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
    pub(super) async fn ask_leave(
        &self,
        ctx: &DispatchContext,
        question: &str,
        call: BoundCall,
    ) -> Result<Waiting, GateError> {
        let id = self.name(&format!("{}/approval", call.record));
        let shown = serde_json::json!({
            "tool": &call.tool,
            "arguments": serde_json::from_str::<Value>(&call.accepted).unwrap_or(Value::Null),
        });
        let answer = serde_json::json!({"type": "boolean"});
        let request = GateRequest::new(question).payload(shown).schema(answer);
        let gate = Gate::open(id, self.turn.clone(), request, self.runner.clock.now())?;
        self.open(Asking::Dispatch(ctx), gate.bound_to(call).asking_leave()).await
    }

    /// Waits for the leave that was asked for.
    pub(super) async fn leave(
        &self,
        ctx: &DispatchContext,
        waiting: &Waiting,
    ) -> Result<(), GateError> {
        match self.answered(Asking::Dispatch(ctx), waiting).await? {
            Value::Bool(true) => Ok(()),
            _ => Err(GateError::Rejected {
                by: "whoever was asked".to_owned(),
                reason: "this call is not allowed".to_owned(),
            }),
        }
    }

    /// Waits, and gives the answer. It may wait for days: until then little is held, and the gate stands in
    /// the store.
    async fn answered(&self, ctx: Asking<'_>, waiting: &Waiting) -> Result<Value, GateError> {
        let settled = {
            let _turn = self.watch.pause();
            let _call = ctx.record_id().and_then(|id| self.call_watch(id)).map(|it| it.pause());
            self.settled(waiting, ctx.cancellation()).await?
        };
        self.answer(ctx, waiting, &settled)
    }

    /// Opens a gate for a question of a handler or a middleware.
    async fn ask(&self, ctx: Asking<'_>, request: GateRequest) -> Result<Waiting, GateError> {
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
        let gate = Gate::open(id, self.turn.clone(), request, self.runner.clock.now())?;
        self.open(ctx, gate).await
    }

    async fn open(&self, ctx: Asking<'_>, gate: Gate) -> Result<Waiting, GateError> {
        let (gate, json) = self.recall(gate)?;
        let digest = digest(&json);
        let open = Write::OpenGate { id: gate.id.clone(), json };
        self.recorder.commit(vec![open, Write::Status(TurnStatus::Waiting)]).await?;
        ctx.emit_with(|| EventKind::TurnGateOpen {
            gate_id: gate.id.as_str().into(),
            reason: gate.reason.as_str().into(),
            payload: gate.payload.clone().into(),
            schema: gate.schema.clone().map(Into::into),
            timeout: gate.expires_at.map(|at| at.duration_since(gate.opened_at)),
        });
        Ok(Waiting { id: gate.id, expires_at: gate.expires_at, digest })
    }

    /// What was answered, if it was answered to the question that was asked.
    fn answer(
        &self,
        ctx: Asking<'_>,
        waiting: &Waiting,
        row: &GateRow,
    ) -> Result<Value, GateError> {
        let settlement = read_settlement(&row.id, row.settlement.as_deref().unwrap_or_default())?;
        self.recorder.defer(Write::Status(TurnStatus::Running));
        // Texts are kept byte by byte: another one is the work of somebody else.
        let unchanged = digest(&row.json) == waiting.digest;
        let gate = if unchanged { Some(read_gate(row)?) } else { None };
        let verified = match &gate {
            Some(gate) => self.runner.key.verify(gate, &settlement).map_err(GateError::from),
            None => Err(GateError::forged()),
        };
        let result = match settlement.decision {
            _ if verified.is_err() => GateResult::Rejected,
            Decision::Resolved { .. } => GateResult::Resolved,
            Decision::Timeout => GateResult::Timeout,
            Decision::Aborted => GateResult::Aborted,
            _ => GateResult::Rejected,
        };
        ctx.emit_with(|| EventKind::TurnGateClosed { gate_id: row.id.as_str().into(), result });
        verified?;
        let fits = |value: &Value| gate.as_ref().is_some_and(|gate| gate.check(value).is_ok());
        match settlement.decision {
            // Whoever signed it may have answered past the schema.
            Decision::Resolved { value } if !fits(&value) => Err(GateError::forged()),
            Decision::Resolved { value } => Ok(value),
            Decision::Rejected { reason } => Err(GateError::Rejected { by: settlement.by, reason }),
            Decision::Timeout => Err(GateError::Timeout),
            _ => Err(GateError::Aborted),
        }
    }

    /// The gate and its text, as they were opened before a crash. One that somebody has changed since is
    /// refused.
    fn recall(&self, gate: Gate) -> Result<(Gate, String), GateError> {
        let Some(row) = self.known.iter().find(|row| row.id == gate.id) else {
            let mut json = write(&gate)?;
            json.shrink_to_fit();
            return Ok((gate, json));
        };
        let known = read_gate(row)?;
        // The text that stands in the store, which another version may have written in other words.
        let same = gate.opened_with(&known) == known;
        if same { Ok((known, row.json.to_string())) } else { Err(GateError::forged()) }
    }

    /// Waits until the gate is settled, by somebody or by its time.
    async fn settled(
        &self,
        gate: &Waiting,
        cancellation: &Cancellation,
    ) -> Result<GateRow, GateError> {
        let bell = self.runner.bells.hang(gate.id.clone());
        loop {
            let row = self.runner.store.gate(gate.id.clone()).await?;
            let row = row.ok_or_else(|| StoreError::unknown_gate(&gate.id))?;
            if row.settlement.is_some() {
                return Ok(row);
            }
            let late = async {
                match gate.expires_at {
                    Some(at) => Box::pin(sleep(at.duration_since(self.runner.clock.now()))).await,
                    None => std::future::pending().await,
                }
            };
            let closed = tokio::select! {
                () = bell.rings() => continue,
                () = late => Decision::Timeout,
                _ = cancellation.cancelled() => Decision::Aborted,
            };
            let closing = Settlement::closed(closed, self.runner.clock.now());
            let close = Write::CloseGate { id: gate.id.clone(), settlement: write(&closing)? };
            self.recorder.commit(vec![close]).await?;
            // Somebody may have been faster: what the store has holds.
        }
    }

    fn call_watch(&self, id: RecordId) -> Option<Stopwatch> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().find(|(call, _)| *call == id).map(|(_, watch)| watch.clone())
    }

    /// The name of a gate: the same when the turn is resumed.
    fn name(&self, place: &str) -> GateId {
        let text = format!("{}/{place}", self.turn);
        GateId::of(&text)
    }
}

impl Gates for TurnGates {
    fn wait_for<'a>(&'a self, ctx: Asking<'a>, request: GateRequest) -> GateFuture<'a> {
        let asking = Box::pin(self.ask(ctx, request));
        Box::pin(async move { self.answered(ctx, &asking.await?).await })
    }
}

/// A gate that somebody is to settle.
pub(super) struct Waiting {
    id: GateId,
    expires_at: Option<Timestamp>,
    /// Of its text, as it was opened.
    digest: [u8; 32],
}

fn digest(text: &str) -> [u8; 32] {
    sha2::Sha256::digest(text).into()
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
