//! Actions on turns: cancel, resume, fork, replay.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use haft::executors::{Fork, LaterCalls, Recording};
use haft::stores::{CancelRequest, StoreError, StoredTurn, TurnId};
use haft::turn::{Cancellation, TurnError, TurnHistory};
use haft::{Agent, Turn};
use tokio::sync::oneshot;

use super::agents::load_agent;
use super::{Shared, parse_turn};
use crate::agents::{AgentPurpose, HostedAgent};
use crate::error::{ApiError, ApiResult};
use crate::extract::{JsonBody, PathParams};
use crate::shared::{Access, Actor, ApiShared};
use crate::timeline::{is_held, state_of};
use crate::wire::{
    ForkCalls, ForkRequest, ForkTools, ReasonRequest, ReplayRequest, StartedTurn, TurnState,
};

/// How many turns a server runs at the same time.
const MAX_RUNNING: usize = 32;

/// Cancels a turn: at once if no process runs it, else through the process that does, wherever it runs. The request is stored
/// first, so that it counts even if this server ends.
pub(super) async fn cancel_turn(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    Actor(actor): Actor,
    JsonBody(request): JsonBody<ReasonRequest>,
) -> ApiResult<StartedTurn> {
    shared.check_submit()?;
    let id = parse_turn(&turn)?;
    let reason = request.reason.filter(|it| !it.trim().is_empty());
    let reason = reason.unwrap_or_else(|| format!("cancelled by {actor}"));
    if let Some(cancellation) = shared.running_turn(&id) {
        cancellation.cancel(reason.as_str());
        return Ok(Json(StartedTurn { turn }));
    }
    let request = CancelRequest::new(&*actor, reason.as_str());
    shared.turns.request_cancel(&id, request).await?;
    match shared.turns.cancel_turn(&id, reason.as_str()).await {
        // The process that runs the turn ends it when it renews its lease.
        Ok(_) | Err(TurnError::Store(StoreError::Held { .. })) => Ok(Json(StartedTurn { turn })),
        Err(error) => Err(error.into()),
    }
}

/// Resumes a turn that no process runs.
pub(super) async fn resume_turn(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
) -> ApiResult<StartedTurn> {
    shared.check_access()?;
    let id = parse_turn(&turn)?;
    let stored = shared.load_turn(&id).await?;
    let state = state_of(&stored.summary, shared.now());
    if state.is_final() {
        return Err(ApiError::unavailable("the turn has ended"));
    }
    if state == TurnState::Running || shared.running_turn(&id).is_some() {
        return Err(ApiError::unavailable("a process runs the turn"));
    }
    let agent = load_agent_of(&shared, &stored).await?;
    spawn_turn(&shared, id.clone(), async move |cancellation| {
        let _ = agent.resume(&id).cancellation(&cancellation).report().await;
    })?;
    Ok(Json(StartedTurn { turn }))
}

/// Resumes a turn whose last gate was decided, if no process waits with it. A failure shows in the turn.
pub(super) async fn resume_after_decision(shared: &Arc<ApiShared>, turn: &TurnId) {
    if shared.access != Access::Act || shared.running_turn(turn).is_some() {
        return;
    }
    let Ok(stored) = shared.load_turn(turn).await else { return };
    let has_open_gates = stored.gates.iter().any(|gate| gate.settlement.is_none());
    let is_over = stored.summary.status.is_final();
    if has_open_gates || is_over || is_held(&stored.summary, shared.now()) {
        return;
    }
    let Ok(agent) = load_agent_of(shared, &stored).await else { return };
    let id = turn.clone();
    let _ = spawn_turn(shared, turn.clone(), async move |cancellation| {
        let _ = agent.resume(&id).cancellation(&cancellation).report().await;
    });
}

/// The agent of a turn with the executor that began it, else the agent of the server.
async fn load_agent_of(shared: &ApiShared, stored: &StoredTurn) -> Result<Agent, ApiError> {
    let history = TurnHistory::read(stored)?;
    let agent = shared.agent_of(&stored.summary, &history);
    shared.build_agent_of(agent.as_deref(), Some(&history.executor), AgentPurpose::Run).await
}

/// Starts a new turn that repeats the steps of another one up to a step.
pub(super) async fn fork_turn(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    JsonBody(request): JsonBody<ForkRequest>,
) -> ApiResult<StartedTurn> {
    shared.check_access()?;
    let id = parse_turn(&turn)?;
    let stored = shared.load_turn(&id).await?;
    let history = TurnHistory::read(&stored)?;
    let steps = history.steps.len();
    if request.step == 0 || request.step as usize > steps {
        return Err(ApiError::invalid(format!(
            "the turn has {steps} steps, and the fork begins at step {}",
            request.step
        )));
    }
    if history.earlier_turns.is_some() {
        return Err(ApiError::unavailable(
            "a turn that shows earlier turns of its conversation cannot be forked",
        ));
    }
    let name = shared.agent_of(&stored.summary, &history);
    let name = name.ok_or_else(|| ApiError::unavailable("the agent of the turn is not known"))?;
    let agent = shared.agent_source()?.load_agent(&name, AgentPurpose::Run).await?;
    let later = match request.later_calls {
        ForkTools::Run => LaterCalls::Run,
        ForkTools::FromRecord => LaterCalls::FromRecord,
    };
    let fork = Fork::load(&shared.turns, &id, request.step - 1).await?.later_calls(later);
    let fork = match request.earlier_calls {
        ForkCalls::RunAgain => fork.run_earlier_calls(),
        ForkCalls::FromRecord => fork,
    };
    let fork = match request.message.filter(|it| !it.trim().is_empty()) {
        Some(message) => fork.message(message),
        None => fork,
    };
    let inner = agent.executor(Some(&history.executor), AgentPurpose::Run)?;
    let messages = fork.messages();
    let executor = fork.executor(inner, agent.tools());
    let built = agent.build_agent(Arc::new(executor), agent.tools())?;
    Ok(Json(start_turn(&shared, agent.prepare_turn(built.turn(messages))?).await?))
}

/// Replays a recording in a new turn. No handler of a recorded tool runs.
pub(super) async fn replay_recording(
    State(shared): Shared,
    JsonBody(request): JsonBody<ReplayRequest>,
) -> ApiResult<StartedTurn> {
    shared.check_access()?;
    let agent: Arc<dyn HostedAgent> =
        load_agent(&shared, &request.agent, AgentPurpose::Run).await?;
    let recording = Recording::from_json(&request.recording)
        .map_err(|error| ApiError::invalid(error.to_string()))?;
    let replay = recording
        .replay(agent.tools())
        .map_err(|error| ApiError::unavailable(error.to_string()))?;
    let tools = replay.tools();
    let built = agent.build_agent(Arc::new(replay), tools)?;
    let message = request.message.unwrap_or_else(|| "Replay of a recording".to_owned());
    Ok(Json(start_turn(&shared, agent.prepare_turn(built.turn(message))?).await?))
}

/// Starts a turn in the background and returns its id when it is stored.
pub(super) async fn start_turn(
    shared: &Arc<ApiShared>,
    turn: Turn,
) -> Result<StartedTurn, ApiError> {
    let id = new_turn_id()?;
    let turn = turn.id(id.as_str());
    let (sender, mut failed) = oneshot::channel();
    spawn_turn(shared, id.clone(), async move |cancellation| {
        if let Err(error) = turn.cancellation(&cancellation).report().await {
            let _ = sender.send(error);
        }
    })?;
    for _ in 0..MAX_CREATE_CHECKS {
        if shared.turns.load_summary(&id).await?.is_some() {
            break;
        }
        // Without an error the turn is about to be stored, or has been.
        if let Ok(Ok(error)) = tokio::time::timeout(CREATE_CHECK, &mut failed).await {
            return Err(error.into());
        }
    }
    Ok(StartedTurn { turn: id.to_string() })
}

/// How often a new turn is looked for, and how long until it is looked for again.
const MAX_CREATE_CHECKS: usize = 500;
const CREATE_CHECK: Duration = Duration::from_millis(10);

fn new_turn_id() -> Result<TurnId, ApiError> {
    let id = uuid::Uuid::now_v7().to_string();
    id.parse().map_err(|error| ApiError::invalid(format!("the id of the turn: {error}")))
}

/// Runs work on a turn in the background. The turn can be cancelled here until the work is done.
#[expect(
    clippy::disallowed_methods,
    reason = "the work outlives the request, and its turn is stored"
)]
fn spawn_turn<F>(
    shared: &Arc<ApiShared>,
    turn: TurnId,
    work: impl FnOnce(Cancellation) -> F,
) -> Result<(), ApiError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let cancellation = Cancellation::new();
    shared.add_running(turn.clone(), cancellation.clone(), MAX_RUNNING)?;
    let (work, shared) = (work(cancellation), Arc::clone(shared));
    tokio::spawn(async move {
        let _running = RunningTurn { shared, turn };
        work.await;
    });
    Ok(())
}

/// Forgets a turn when its work ends, also by a panic.
struct RunningTurn {
    shared: Arc<ApiShared>,
    turn: TurnId,
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.shared.remove_running(&self.turn);
    }
}
