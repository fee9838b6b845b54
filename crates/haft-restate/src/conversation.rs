//! The virtual object of a conversation.

use std::fmt;
use std::time::Duration;

use haft::error::Coded as _;
use haft::stores::{CancelRequest, GateId, StoreError, TurnId};
use haft::turn::{Clock as _, Gate, SettleError, SystemClock, TurnError, TurnOutcome};
use haft::{Agent, Turn, TurnReport};
use restate_sdk::prelude::*;
use serde_json::Value;

use crate::wire::{
    Attempt, CancelTurn, GateChoice, GateDecision, GateState, TurnRequest, TurnResult, WaitingTurn,
};

/// The state of an object that says what its handler waits for.
const WAITING: &str = "waiting";
/// What the model is told if a denial has no guidance.
const DENIAL: &str = "it was not approved";
/// How long to wait before a turn is resumed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long a handler waits for a decision before it checks the gates again, in case a notification was lost.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// A virtual object whose key is a conversation, and whose handlers run its turns. Its name is `HaftConversation`.
///
/// | handler | what it does |
/// |---|---|
/// | `submit` | stores a turn, runs it to its end and returns a [`TurnResult`]; one at a time per conversation |
/// | `decide` | settles a gate by a [`GateDecision`] and wakes the turn |
/// | `wake` | wakes the turn with this id, because one of its gates was settled elsewhere |
/// | `cancel` | asks for the end of a turn by a [`CancelTurn`] |
#[derive(Clone)]
pub struct ConversationObject {
    agent: Agent,
}

impl ConversationObject {
    /// Runs turns of an agent.
    ///
    /// The agent leaves turns that wait at gates ([`GatePolicy::Suspend`](haft::turn::GatePolicy::Suspend)), and its store
    /// outlives the process. No other worker claims the turns of this agent: Restate decides when they run.
    #[must_use]
    pub const fn new(agent: Agent) -> Self {
        Self { agent }
    }

    /// Runs a turn until it ends, waits, or cannot be run now.
    async fn attempt(&self, turn: &TurnId) -> Result<Attempt, HandlerError> {
        match self.agent.resume(turn).report().await {
            Ok(report) if report.is_resumable => Ok(Attempt::Retry),
            Ok(report) => match &report.outcome {
                TurnOutcome::Waiting { .. } => Ok(Attempt::Waiting),
                _ => Ok(Attempt::Ended(to_result(&report))),
            },
            // A process that died has the lease until it expires.
            Err(TurnError::Store(StoreError::Held { .. })) => Ok(Attempt::Retry),
            Err(error) if error.retryable() => Ok(Attempt::Retry),
            Err(error) => Err(explain(error)),
        }
    }

    /// Checks whether a waiting turn can continue.
    async fn look_at_gates(&self, turn: &TurnId) -> Result<GateState, HandlerError> {
        let failed = |error: StoreError| explain(error.into());
        let stored = self.agent.stored_turns().load_turn(turn).await.map_err(failed)?;
        let is_settled = stored.is_none_or(|stored| {
            stored.summary.cancel.is_some()
                || stored.summary.runnable_at.is_some_and(|at| at <= SystemClock::new().now())
        });
        if is_settled {
            return Ok(GateState::Settled);
        }
        let open = self.agent.gates().open_gates(Some(turn.clone())).await.map_err(failed)?;
        match open.is_empty() {
            true => Ok(GateState::Settled),
            false => Ok(GateState::Open { expires_in_ms: first_expiry(&open) }),
        }
    }

    async fn settle(&self, decision: GateDecision) -> Result<(), HandlerError> {
        let id: GateId = decision.gate.parse().map_err(|error| refuse(400, &error))?;
        let gates = self.agent.gates();
        let by = decision.by.as_str();
        let value = || decision.value.clone().ok_or_else(|| refuse(400, &"`value` is missing"));
        let settled = match decision.choice {
            GateChoice::Approve => gates.resolve(&id, Value::Bool(true), by).await,
            GateChoice::ApproveEdited => gates.approve_edited(&id, &value()?, by).await,
            GateChoice::Resolve => gates.resolve(&id, value()?, by).await,
            GateChoice::Deny => {
                let guidance = decision.guidance.as_deref().unwrap_or(DENIAL);
                gates.reject(&id, guidance, by).await
            }
        };
        if let Err(SettleError::Closed { .. }) = &settled
            && self.is_repeated(&id, &decision).await?
        {
            return Ok(());
        }
        settled.map_err(|error| match &error {
            SettleError::Closed { .. } => refuse(409, &error),
            SettleError::Store(StoreError::Unknown { .. }) => refuse(404, &error),
            SettleError::Invalid { .. } | SettleError::Edit(_) => refuse(422, &error),
            _ => HandlerError::from(error),
        })
    }
}

impl ConversationObject {
    /// Whether a gate is settled with this decision of this person: a handler that died after it had settled the gate
    /// runs again, and a client whose response was lost asks again.
    async fn is_repeated(&self, id: &GateId, wanted: &GateDecision) -> Result<bool, HandlerError> {
        let loaded = self.agent.gates().load_gate(id).await;
        let loaded = loaded.map_err(|error| explain(error.into()))?;
        let Some((_, Some(settlement))) = loaded else { return Ok(false) };
        let yes = Value::Bool(true);
        let (value, edited) = match wanted.choice {
            GateChoice::Approve => (Some(yes), None),
            GateChoice::ApproveEdited => (Some(yes), wanted.value.as_ref()),
            GateChoice::Resolve => (wanted.value.clone(), None),
            GateChoice::Deny => (None, None),
        };
        let reason = wanted.guidance.as_deref().unwrap_or(DENIAL).to_owned();
        let decision = match value {
            Some(value) => haft::turn::GateDecision::Resolved { value },
            None => haft::turn::GateDecision::Rejected { reason },
        };
        Ok(settlement.repeats(&decision, edited, &wanted.by))
    }
}

impl fmt::Debug for ConversationObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationObject").finish_non_exhaustive()
    }
}

#[object(name = "HaftConversation")]
impl ConversationObject {
    #[handler]
    async fn submit(
        &self,
        ctx: ObjectContext<'_>,
        request: Json<TurnRequest>,
    ) -> Result<Json<TurnResult>, HandlerError> {
        let turn = turn_of_invocation(ctx.invocation_id())?;
        let requested = self.agent.turn(request.0.message).id(turn.as_str());
        let requested = requested.conversation(ctx.key());
        ctx.run(|| store_turn(requested)).name("store the turn").await?;
        loop {
            let attempt = ctx.run(|| async { Ok(Json(self.attempt(&turn).await?)) });
            match attempt.name("run the turn").await?.0 {
                Attempt::Ended(result) => return Ok(Json(result)),
                Attempt::Retry => ctx.sleep(RETRY_DELAY).await?,
                Attempt::Waiting => self.await_decision(&ctx, &turn).await?,
            }
        }
    }

    #[handler]
    async fn decide(
        &self,
        ctx: SharedObjectContext<'_>,
        decision: Json<GateDecision>,
    ) -> Result<(), HandlerError> {
        let decision = decision.0;
        ctx.run(|| self.settle(decision)).name("settle the gate").await?;
        if let Some(waiting) = ctx.get::<Json<WaitingTurn>>(WAITING).await? {
            ctx.resolve_awakeable(&waiting.0.awakeable, waiting.0.turn);
        }
        Ok(())
    }

    #[handler]
    async fn wake(
        &self,
        ctx: SharedObjectContext<'_>,
        turn: Json<String>,
    ) -> Result<(), HandlerError> {
        let waiting = ctx.get::<Json<WaitingTurn>>(WAITING).await?;
        if let Some(waiting) = waiting.filter(|it| it.0.turn == turn.0) {
            ctx.resolve_awakeable(&waiting.0.awakeable, waiting.0.turn);
        }
        Ok(())
    }

    #[handler]
    async fn cancel(
        &self,
        ctx: SharedObjectContext<'_>,
        request: Json<CancelTurn>,
    ) -> Result<(), HandlerError> {
        let CancelTurn { turn, by, reason } = request.0;
        let id: TurnId = turn.parse().map_err(|error| refuse(400, &error))?;
        let cancel = || async {
            let asked =
                self.agent.stored_turns().request_cancel(&id, CancelRequest::new(by, reason)).await;
            asked.map(|_| ()).map_err(|error| match error {
                StoreError::Unknown { .. } => refuse(404, &error),
                error => explain(error.into()),
            })
        };
        ctx.run(cancel).name("ask for the end of the turn").await?;
        let waiting = ctx.get::<Json<WaitingTurn>>(WAITING).await?;
        if let Some(waiting) = waiting.filter(|it| it.0.turn == turn) {
            ctx.resolve_awakeable(&waiting.0.awakeable, waiting.0.turn);
        }
        Ok(())
    }
}

impl ConversationObject {
    /// Waits until a gate of the turn is settled, the first of them expires, or it is time to look again.
    async fn await_decision(
        &self,
        ctx: &ObjectContext<'_>,
        turn: &TurnId,
    ) -> Result<(), HandlerError> {
        let (awakeable, woken) = ctx.awakeable::<String>();
        ctx.set(WAITING, Json(WaitingTurn { turn: turn.to_string(), awakeable }));
        // The result of a run is stored after the state. From then on a decision finds the awakeable, and one that came before
        // is found here: no settlement falls between the two.
        ctx.run(|| async { Ok(()) }).name("wait for a decision").await?;
        let state = ctx.run(|| async { Ok(Json(self.look_at_gates(turn).await?)) });
        if let GateState::Open { expires_in_ms } = state.name("look at the gates").await?.0 {
            let expiry = expires_in_ms.map(Duration::from_millis);
            let wait = expiry.map_or(MAX_WAIT, |it| it.min(MAX_WAIT));
            restate_sdk::select! {
                woken = woken => { woken?; },
                slept = ctx.sleep(wait) => { slept?; }
            }
        }
        ctx.clear(WAITING);
        Ok(())
    }
}

/// Stores a turn, unless that was done before.
async fn store_turn(turn: Turn) -> Result<(), HandlerError> {
    match turn.submit().await {
        Ok(_) | Err(TurnError::Store(StoreError::Exists { .. })) => Ok(()),
        Err(error) => Err(explain(error)),
    }
}

/// The id of the turn of an invocation: the same one whenever the handler is replayed.
fn turn_of_invocation(invocation: &str) -> Result<TurnId, HandlerError> {
    format!("restate-{invocation}").parse().map_err(|error| refuse(500, &error))
}

fn first_expiry(gates: &[Gate]) -> Option<u64> {
    let now = SystemClock::new().now();
    let left = |gate: &Gate| {
        let micros = gate.expires_at?.as_micros().saturating_sub(now.as_micros());
        // A gate that has expired closes at once.
        Some(micros.max(0).unsigned_abs().div_ceil(1000))
    };
    gates.iter().filter_map(left).min()
}

fn to_result(report: &TurnReport) -> TurnResult {
    TurnResult {
        turn: report.turn.to_string(),
        status: report.status().as_str().to_owned(),
        text: report.text().to_owned(),
        error: report.error.as_ref().map(|it| it.message.to_string()),
    }
}

/// An error that another attempt does not change.
fn refuse(code: u16, error: &dyn fmt::Display) -> HandlerError {
    TerminalError::new_with_code(code, error.to_string()).into()
}

/// An error that Restate tries again if that can help.
fn explain(error: TurnError) -> HandlerError {
    match error.retryable() {
        true => HandlerError::from(error),
        false => TerminalError::new(error.to_string()).into(),
    }
}
