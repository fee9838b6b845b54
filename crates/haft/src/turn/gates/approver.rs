//! Deciding gates in the program that runs the turn, and what happens at gates that nothing decides.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::call::RecordId;
use haft_core::cancel::Cancellation;
use haft_core::context::DispatchContext;
use haft_core::event::{ErrorReport, EventKind, LogLevel};
use haft_core::gate::{Gate, GateDecision, GateError};
use haft_core::store::{GateId, StoreError};
use haft_core::tool::{PanicError, Tool, ToolEffect};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::super::deadline::Stopwatch;
use super::super::shared_turn::SharedTurn;
use super::{OpenGate, SettleError, read_gate, to_json};

/// Decides the gates of the turns that an agent runs.
///
/// Every function from a [`Gate`] to a future of a decision is one. A decision is `true` or `false`, a JSON value that
/// meets the schema of the gate, a [`GateDecision`], or an `Option` of one of these: `None` leaves the gate to others.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::Gate;
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft::Error> {
/// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
/// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
/// let agent = Agent::builder(ScriptExecutor::parse(script)?)
///     .tool(deploy.handler(|| "done").build()?)
///     .approver(async |gate: Gate| gate.call.is_some_and(|call| call.tool == "deploy"))
///     .build()?;
/// assert_eq!(agent.turn("Go!").system("You deploy.").report().await?.text(), "done");
/// # Ok(())
/// # }
/// ```
pub trait Approver: Send + Sync {
    /// Decides a gate, or leaves it to others.
    fn decide(&self, gate: Gate) -> BoxFuture<'_, Option<GateDecision>>;
}

impl<F, Fut> Approver for F
where
    F: Fn(Gate) -> Fut + Send + Sync,
    Fut: Future<Output: IntoGateDecision> + Send + 'static,
{
    fn decide(&self, gate: Gate) -> BoxFuture<'_, Option<GateDecision>> {
        let decision = self(gate);
        Box::pin(async move { decision.await.into_gate_decision() })
    }
}

/// What an approver can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the decision of a gate",
    note = "return bool, serde_json::Value, GateDecision, or an Option of one of them"
)]
pub trait IntoGateDecision {
    /// The decision; nothing to leave the gate to others.
    fn into_gate_decision(self) -> Option<GateDecision>;
}

impl IntoGateDecision for GateDecision {
    fn into_gate_decision(self) -> Option<GateDecision> {
        Some(self)
    }
}

impl IntoGateDecision for Value {
    fn into_gate_decision(self) -> Option<GateDecision> {
        Some(GateDecision::Resolved { value: self })
    }
}

/// `true` resolves the gate; `false` rejects it.
impl IntoGateDecision for bool {
    fn into_gate_decision(self) -> Option<GateDecision> {
        Some(match self {
            true => GateDecision::Resolved { value: Value::Bool(true) },
            false => GateDecision::Rejected { reason: "it was not approved".to_owned() },
        })
    }
}

impl<T: IntoGateDecision> IntoGateDecision for Option<T> {
    fn into_gate_decision(self) -> Option<GateDecision> {
        self.and_then(T::into_gate_decision)
    }
}

/// What an agent does at a gate that its approver does not decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatePolicy {
    /// It waits, because another task or another process decides it.
    #[default]
    Wait,
    /// It returns the turn as [`TurnOutcome::Waiting`](crate::turn::TurnOutcome::Waiting) as soon as nothing else of it
    /// can run. Once the gate is settled, [`Agent::resume`](crate::Agent::resume) continues the turn.
    ///
    /// A handler that waits at a gate of its own starts again when the turn is resumed, and finds its decision there. A
    /// handler whose effect must happen [once](ToolEffect::Once) cannot start again: its gate is closed instead, and it
    /// gets [`GateError::Aborted`](haft_core::gate::GateError::Aborted). Use `requires_approval` for such tools.
    Suspend,
}

/// What of a turn waits at gates.
#[derive(Default)]
pub(in crate::turn) struct GateWaits {
    counts: Mutex<WaitCounts>,
    /// Notified when everything that runs waits.
    all_wait: Notify,
}

#[derive(Default)]
struct WaitCounts {
    /// The calls that have begun and whose records are not stored. A list, because a step has few calls, and nearly
    /// always one.
    calls: Vec<CallWaits>,
    /// Calls among them that do not wait.
    active: usize,
    /// Gates that are left to others, in the order in which they were.
    gates: BTreeMap<u64, GateId>,
    next_gate: u64,
    /// The calls that wait for a slot. A slot that is free while a call waits for one is about to be used.
    slot_waiters: usize,
    free_slots: usize,
}

/// Where a call waits that has begun.
struct CallWaits {
    call: RecordId,
    /// In how many places.
    places: u32,
    /// Measures the time of its tool.
    watch: Arc<Stopwatch>,
    /// How long decisions have taken, in all processes that ran the turn.
    person: Duration,
}

impl GateWaits {
    /// Notes how long a decision has taken for which a call waited.
    pub(super) fn note_decision(&self, call: RecordId, time: Duration) {
        if let Some(waits) = self.lock().find(call) {
            waits.person += time;
        }
    }

    /// How long a call that runs has waited for decisions.
    pub(in crate::turn) fn decision_time(&self, call: RecordId) -> Duration {
        self.lock().find(call).map_or(Duration::ZERO, |it| it.person)
    }

    /// The stopwatch of a call that runs.
    pub(super) fn stopwatch(&self, call: RecordId) -> Option<Arc<Stopwatch>> {
        self.lock().find(call).map(|it| Arc::clone(&it.watch))
    }

    /// Sets how many calls may run in parallel from now on, while none does.
    pub(in crate::turn) fn set_slots(&self, count: usize) {
        self.update(|counts| counts.free_slots = count);
    }

    /// Waits until a call may run, or until the turn is cancelled. Until then the call counts as waiting.
    pub(in crate::turn) async fn acquire_slot<'s>(
        &'s self,
        call: RecordId,
        slots: &'s Semaphore,
        cancellation: &Cancellation,
    ) -> Option<CallSlot<'s>> {
        if let Ok(permit) = slots.try_acquire() {
            self.update(|counts| counts.free_slots = counts.free_slots.saturating_sub(1));
            return Some(CallSlot { waits: self, _permit: permit });
        }
        let waiting = SlotWait::begin(self, call);
        tokio::select! {
            permit = slots.acquire() => permit.ok().map(|permit| waiting.end_with(permit)),
            _ = cancellation.cancelled() => None,
        }
    }

    fn park(&self, gate: GateId, call: Option<RecordId>) -> ParkedGate<'_> {
        let mut number = 0;
        self.update(|counts| {
            number = counts.next_gate;
            counts.next_gate += 1;
            counts.gates.insert(number, gate);
            counts.begin_wait(call);
        });
        ParkedGate { waits: self, number, call }
    }

    /// Waits until everything that runs waits at gates, and returns the gates.
    pub(in crate::turn) async fn all_wait(&self) -> Vec<GateId> {
        loop {
            self.all_wait.notified().await;
            let counts = self.lock();
            if counts.is_idle() {
                return counts.gates.values().cloned().collect();
            }
        }
    }

    fn update(&self, change: impl FnOnce(&mut WaitCounts)) {
        let mut counts = self.lock();
        change(&mut counts);
        if counts.is_idle() {
            self.all_wait.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitCounts {
    /// Whether something waits at a gate, and nothing runs that does not wait. A gate outside of calls is the only one.
    fn is_idle(&self) -> bool {
        let gets_slot = self.slot_waiters > 0 && self.free_slots > 0;
        !self.gates.is_empty() && self.active == 0 && !gets_slot
    }

    fn find(&mut self, call: RecordId) -> Option<&mut CallWaits> {
        self.calls.iter_mut().find(|it| it.call == call)
    }

    /// A call waits in one more place. It may wait at several gates at once.
    fn begin_wait(&mut self, call: Option<RecordId>) {
        if let Some(waits) = call.and_then(|call| self.find(call)) {
            waits.places += 1;
            if waits.places == 1 {
                self.active = self.active.saturating_sub(1);
            }
        }
    }

    fn end_wait(&mut self, call: Option<RecordId>) {
        if let Some(waits) = call.and_then(|call| self.find(call)) {
            waits.places = waits.places.saturating_sub(1);
            if waits.places == 0 {
                self.active += 1;
            }
        }
    }
}

/// A call that runs, until this is dropped.
pub(in crate::turn) struct RunningCall {
    shared: Arc<SharedTurn>,
    call: RecordId,
    /// Measures the time of its tool. Gates pause it while the call waits at them.
    pub(in crate::turn) watch: Arc<Stopwatch>,
}

impl RunningCall {
    pub(in crate::turn) fn begin(shared: &Arc<SharedTurn>, call: RecordId) -> Self {
        let watch = Arc::new(Stopwatch::start());
        shared.waits.update(|counts| {
            let watch = Arc::clone(&watch);
            counts.calls.push(CallWaits { call, places: 0, watch, person: Duration::ZERO });
            counts.active += 1;
        });
        Self { shared: Arc::clone(shared), call, watch }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.shared.waits.update(|counts| {
            if counts.find(self.call).is_some_and(|it| it.places == 0) {
                counts.active = counts.active.saturating_sub(1);
            }
            counts.calls.retain(|it| it.call != self.call);
        });
    }
}

/// A call that waits for a slot.
struct SlotWait<'w> {
    waits: &'w GateWaits,
    call: RecordId,
    has_slot: bool,
}

impl<'w> SlotWait<'w> {
    fn begin(waits: &'w GateWaits, call: RecordId) -> Self {
        waits.update(|counts| {
            counts.slot_waiters += 1;
            counts.begin_wait(Some(call));
        });
        Self { waits, call, has_slot: false }
    }

    fn end_with(mut self, permit: SemaphorePermit<'w>) -> CallSlot<'w> {
        self.has_slot = true;
        CallSlot { waits: self.waits, _permit: permit }
    }
}

impl Drop for SlotWait<'_> {
    fn drop(&mut self) {
        let (call, taken) = (self.call, usize::from(self.has_slot));
        self.waits.update(|counts| {
            counts.slot_waiters = counts.slot_waiters.saturating_sub(1);
            counts.free_slots = counts.free_slots.saturating_sub(taken);
            counts.end_wait(Some(call));
        });
    }
}

/// The slot of a call that runs its handler.
pub(in crate::turn) struct CallSlot<'s> {
    waits: &'s GateWaits,
    /// Released after the slot is counted as free.
    _permit: SemaphorePermit<'s>,
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        self.waits.update(|counts| counts.free_slots += 1);
    }
}

/// A gate that the approver does not decide.
struct ParkedGate<'w> {
    waits: &'w GateWaits,
    number: u64,
    call: Option<RecordId>,
}

impl Drop for ParkedGate<'_> {
    fn drop(&mut self) {
        self.waits.update(|counts| {
            counts.gates.remove(&self.number);
            counts.end_wait(self.call);
        });
    }
}

impl SharedTurn {
    /// Lets the approver of the agent settle a gate. If it does not, other processes can decide the gate. Returns only
    /// if the store fails: the waiting call finds the settlement in the store.
    pub(super) async fn consult_approver(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
    ) -> Result<Infallible, GateError> {
        let is_settled = match self.ask_approver(ctx, gate).await {
            Ok(is_settled) => is_settled,
            // The gate stays open, and the approver is asked again when the turn is resumed.
            Err(SettleError::Store(error)) => return Err(error.into()),
            Err(error) => {
                ctx.emit_with(|| EventKind::Error(ErrorReport::of(&error)));
                false
            }
        };
        if is_settled {
            self.agent.gate_notifier.notify(&gate.id);
        } else if is_once(ctx) && self.agent.gate_policy == GatePolicy::Suspend {
            self.close_gate(gate).await?;
        } else {
            let _parked = self.waits.park(gate.id.clone(), gate.call);
            return std::future::pending().await;
        }
        std::future::pending().await
    }

    /// Asks the approver, and stores its decision. Returns whether there is one.
    async fn ask_approver(
        &self,
        ctx: &DispatchContext,
        gate: &OpenGate,
    ) -> Result<bool, SettleError> {
        let Some(approver) = &self.agent.approver else { return Ok(false) };
        let Some(row) = self.load_gate(&gate.id).await? else { return Ok(false) };
        let gate = read_gate(&row)?;
        let deciding = async { approver.decide(gate.clone()).await };
        let decision = PanicError::catch(deciding).await.unwrap_or_else(|panic| {
            let text = format!("the approver {panic}");
            ctx.log(LogLevel::Error, APPROVER, &text, None);
            None
        });
        let Some(decision) = decision else { return Ok(false) };
        if let GateDecision::Resolved { value } = &decision {
            gate.check(value).map_err(|problems| SettleError::Invalid { problems })?;
        }
        let now = self.agent.clock.now();
        let settlement = to_json(&self.agent.key.sign(&gate, decision, APPROVER, now))?;
        let settling = self.agent.store.settle(gate.id.clone(), settlement);
        self.recorder.watch(settling).await?;
        Ok(true)
    }

    /// Closes a gate that nothing will settle.
    async fn close_gate(&self, gate: &OpenGate) -> Result<(), StoreError> {
        self.recorder.commit(vec![self.close_write(gate, GateDecision::Aborted)?]).await?;
        self.agent.gate_notifier.notify(&gate.id);
        Ok(())
    }
}

/// Whether a handler waits whose effect must happen once.
fn is_once(ctx: &DispatchContext) -> bool {
    ctx.tool().map(Tool::effect) == Some(ToolEffect::Once)
}

/// The name in settlements of the approver of an agent.
const APPROVER: &str = "approver";
