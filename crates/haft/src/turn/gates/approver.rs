//! Deciding gates in the program that runs the turn, and what happens at gates that nothing decides.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::context::{GateContext, RecordWriter as _};
use haft_core::event::{ErrorReport, EventKind, LogLevel};
use haft_core::gate::{Gate, GateDecision, GateSettlement};
use haft_core::store::{GateId, StoreWrite};
use haft_core::tool::{Tool, ToolEffect};
use serde_json::Value;
use tokio::sync::Notify;

use super::super::deadline::CatchUnwind;
use super::{OpenGate, SettleError, TurnGates, read_gate, write};

/// Decides the gates of the turns that a runner runs.
///
/// Every function from a [`Gate`] to a future of a decision is one. A decision is `true` or `false`, a JSON value that
/// meets the schema of the gate, a [`GateDecision`], or an `Option` of one of these: `None` leaves the gate to others.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::turn::Gate;
/// use haft::{Tool, TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft::Error> {
/// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
/// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
/// let runner = TurnRunner::builder(ScriptExecutor::parse(script)?)
///     .tool(deploy.handler(|| "done").build()?)
///     .approver(async |gate: Gate| gate.call.is_some_and(|call| call.tool == "deploy"))
///     .build()?;
/// assert_eq!(runner.run(TurnInput::new("You deploy.").user("Go!")).await?.text(), "done");
/// # Ok(())
/// # }
/// ```
pub trait Approver: Send + Sync {
    /// Decides a gate, or leaves it to others.
    fn decide(&self, gate: Gate) -> ApproverFuture<'_>;
}

/// What an approver returns.
pub type ApproverFuture<'a> = Pin<Box<dyn Future<Output = Option<GateDecision>> + Send + 'a>>;

impl<F, Fut> Approver for F
where
    F: Fn(Gate) -> Fut + Send + Sync,
    Fut: Future<Output: IntoGateDecision> + Send + 'static,
{
    fn decide(&self, gate: Gate) -> ApproverFuture<'_> {
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

/// What a runner does at a gate that its approver does not decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatePolicy {
    /// It waits, because another task or another process decides it.
    #[default]
    Wait,
    /// It returns the turn as [`TurnOutcome::Waiting`](crate::turn::TurnOutcome::Waiting) as soon as nothing else of it
    /// can run. Once the gate is settled, [`TurnRunner::resume`](crate::TurnRunner::resume) continues the turn.
    ///
    /// A handler that waits at a gate of its own starts again when the turn is resumed, and finds its decision there. A
    /// handler whose effect must happen [once](ToolEffect::Once) cannot start again: its gate is closed instead, and it
    /// gets [`GateError::Aborted`](haft_core::gate::GateError::Aborted). Use `requires_approval` for such tools.
    Suspend,
}

/// What of a turn waits at gates. Clones are the same.
#[derive(Clone, Default)]
pub(in crate::turn) struct GateWaits(Arc<WaitState>);

#[derive(Default)]
struct WaitState {
    counts: Mutex<WaitCounts>,
    /// Notified when everything that runs waits.
    all_wait: Notify,
}

#[derive(Default)]
struct WaitCounts {
    /// Calls that have begun and whose records are not stored.
    calls: usize,
    /// Calls among them that wait until another one has ended.
    queued: usize,
    /// Gates that are left to others.
    gates: Vec<GateId>,
}

impl GateWaits {
    /// Counts a call until the returned guard is dropped.
    pub(in crate::turn) fn begin_call(&self) -> RunningCall {
        self.update(|counts| counts.calls += 1);
        RunningCall(self.clone())
    }

    /// Counts a call as waiting for another one until the returned guard is dropped.
    pub(in crate::turn) fn queue_call(&self) -> QueuedCall {
        self.update(|counts| counts.queued += 1);
        QueuedCall(self.clone())
    }

    fn park(&self, gate: GateId) -> ParkedGate {
        self.update(|counts| counts.gates.push(gate.clone()));
        ParkedGate { waits: self.clone(), gate }
    }

    /// Waits until everything that runs waits at gates, and returns the gates.
    pub(in crate::turn) async fn all_wait(&self) -> Vec<GateId> {
        loop {
            self.0.all_wait.notified().await;
            let counts = self.lock();
            if counts.is_idle() {
                return counts.gates.clone();
            }
        }
    }

    fn update(&self, change: impl FnOnce(&mut WaitCounts)) {
        let mut counts = self.lock();
        change(&mut counts);
        if counts.is_idle() {
            self.0.all_wait.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitCounts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitCounts {
    /// Whether something waits at a gate, and nothing runs that does not wait. A gate outside of calls is the only one.
    fn is_idle(&self) -> bool {
        !self.gates.is_empty() && self.calls <= self.gates.len() + self.queued
    }
}

/// A call that runs.
pub(in crate::turn) struct RunningCall(GateWaits);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.update(|counts| counts.calls = counts.calls.saturating_sub(1));
    }
}

/// A call that waits for another one.
pub(in crate::turn) struct QueuedCall(GateWaits);

impl Drop for QueuedCall {
    fn drop(&mut self) {
        self.0.update(|counts| counts.queued = counts.queued.saturating_sub(1));
    }
}

/// A gate that is left to others.
struct ParkedGate {
    waits: GateWaits,
    gate: GateId,
}

impl Drop for ParkedGate {
    fn drop(&mut self) {
        self.waits.update(|counts| {
            if let Some(at) = counts.gates.iter().position(|gate| *gate == self.gate) {
                counts.gates.swap_remove(at);
            }
        });
    }
}

impl TurnGates {
    /// Lets the approver of the runner settle a gate. If it does not, the gate is left to others. Never returns: who
    /// waits at the gate finds the settlement in the store.
    pub(super) async fn consult_approver(
        &self,
        ctx: GateContext<'_>,
        gate: &OpenGate,
    ) -> Infallible {
        let settled = self.ask_approver(ctx, gate).await.unwrap_or_else(|error| {
            ctx.emit_with(|| EventKind::Error(ErrorReport::of(&error)));
            false
        });
        if settled {
            self.runner.gate_notifier.notify(&gate.id);
        } else if is_once(ctx) && self.runner.gate_policy == GatePolicy::Suspend {
            self.close_gate(gate).await;
        } else {
            let _parked = self.waits.park(gate.id.clone());
            return std::future::pending().await;
        }
        std::future::pending().await
    }

    /// Asks the approver, and stores its decision. Returns whether there is one.
    async fn ask_approver(
        &self,
        ctx: GateContext<'_>,
        gate: &OpenGate,
    ) -> Result<bool, SettleError> {
        let Some(approver) = &self.runner.approver else { return Ok(false) };
        let Some(row) = self.runner.store.gate(gate.id.clone()).await? else { return Ok(false) };
        let gate = read_gate(&row)?;
        let asked = CatchUnwind(approver.decide(gate.clone())).await;
        let decision = asked.unwrap_or_else(|panic| {
            let text = format!("the approver panicked: {panic}");
            match ctx {
                GateContext::Turn(ctx) => ctx.log(LogLevel::Error, APPROVER, &text, None),
                GateContext::Dispatch(ctx) => ctx.log(LogLevel::Error, APPROVER, &text, None),
                _ => {}
            }
            None
        });
        let Some(decision) = decision else { return Ok(false) };
        if let GateDecision::Resolved { value } = &decision {
            gate.check(value).map_err(|problems| SettleError::Invalid { problems })?;
        }
        let now = self.runner.clock.now();
        let settlement = self.runner.key.sign(&gate, decision, APPROVER, now);
        self.runner.store.settle(gate.id.clone(), write(&settlement)?).await?;
        Ok(true)
    }

    /// Closes a gate that nothing will settle.
    async fn close_gate(&self, gate: &OpenGate) {
        let closed = GateSettlement::closed(GateDecision::Aborted, self.runner.clock.now());
        if let Ok(settlement) = write(&closed) {
            let close = StoreWrite::CloseGate { id: gate.id.clone(), settlement };
            if self.recorder.commit(vec![close]).await.is_ok() {
                self.runner.gate_notifier.notify(&gate.id);
            }
        }
    }
}

/// Whether a handler waits whose effect must happen once.
fn is_once(ctx: GateContext<'_>) -> bool {
    let effect = match ctx {
        GateContext::Dispatch(ctx) => ctx.tool().map(Tool::effect),
        _ => None,
    };
    effect == Some(ToolEffect::Once)
}

/// The name in settlements of the approver of a runner.
const APPROVER: &str = "approver";
