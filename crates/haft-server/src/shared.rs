//! What the handlers share: the runner, the agents, and what is cached.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use haft::TurnRunner;
use haft::artifacts::SpooledArtifact;
use haft::events::EventHub;
use haft::stores::{StoredTurn, TurnId};
use haft::turn::{Cancellation, Clock, Timestamp};

use crate::agents::AgentSource;
use crate::error::ApiError;
use crate::feed::{DetailFuture, FeedSource, Feeds};
use crate::timeline::ReadTurn;
use crate::turn_index::TurnIndex;
use crate::wire::{TurnActions, TurnDetail, TurnState};

/// What the handlers share.
pub(crate) struct ApiShared {
    pub(crate) runner: TurnRunner,
    pub(crate) hub: Option<EventHub>,
    pub(crate) agents: Option<Arc<dyn AgentSource>>,
    pub(crate) access: Access,
    pub(crate) store_name: String,
    pub(crate) actor: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) index: TurnIndex,
    pub(crate) feeds: Feeds,
    pub(crate) artifacts: Mutex<VecDeque<(TurnId, String, SpooledArtifact)>>,
    pub(crate) running: Mutex<Vec<(TurnId, Cancellation)>>,
}

/// What clients may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// They may look. Actions are refused.
    #[default]
    ReadOnly,
    /// They may decide gates, cancel, resume and fork turns, replay recordings and call tools.
    Act,
}

/// How many opened artifacts are remembered.
const MAX_OPEN_ARTIFACTS: usize = 16;
/// How long a request may take that reads the store.
const MAX_LOAD_TIME: Duration = Duration::from_secs(30);

impl ApiShared {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The agent that began a turn.
    pub(crate) fn agent_of(&self, turn: &StoredTurn) -> Option<String> {
        self.agents.as_ref().and_then(|agents| agents.agent_of_turn(turn))
    }

    /// Refuses an action of a client that may only look.
    pub(crate) fn check_access(&self) -> Result<(), ApiError> {
        match self.access {
            Access::Act => Ok(()),
            Access::ReadOnly => {
                let message = "this server is read-only";
                Err(ApiError::new(StatusCode::FORBIDDEN, "E_API_READ_ONLY", message))
            }
        }
    }

    /// The agents, if the server has some.
    pub(crate) fn agent_source(&self) -> Result<&Arc<dyn AgentSource>, ApiError> {
        let error = || ApiError::unavailable("this server knows no agents");
        self.agents.as_ref().ok_or_else(error)
    }

    /// Loads a turn.
    pub(crate) async fn load_turn(&self, id: &TurnId) -> Result<StoredTurn, ApiError> {
        let loaded = tokio::time::timeout(MAX_LOAD_TIME, self.runner.load_turn(id)).await;
        let late = |_| {
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "E_API_TIMEOUT", "the store took too long")
        };
        let stored = loaded.map_err(late)??;
        stored.ok_or_else(|| ApiError::not_found(format!("there is no turn `{id}`")))
    }

    /// Loads a turn with its timeline.
    pub(crate) async fn load_detail(&self, id: &TurnId) -> Result<TurnDetail, ApiError> {
        let stored = self.load_turn(id).await?;
        let agent = self.agent_of(&stored);
        let read = ReadTurn::new(&stored, self.now())?;
        let mut detail = read.to_detail(agent.clone(), TurnActions::default());
        let can_act = self.access == Access::Act;
        let state = detail.turn.state;
        detail.actions = TurnActions {
            resume: can_act && self.is_resumable(state, &detail, id),
            cancel: can_act && !state.is_final(),
            fork: can_act && agent.is_some() && detail.turn.steps > 0,
        };
        Ok(detail)
    }

    fn is_resumable(&self, state: TurnState, detail: &TurnDetail, id: &TurnId) -> bool {
        let is_idle = self.running_turn(id).is_none();
        match state {
            TurnState::Interrupted => is_idle,
            TurnState::Waiting => is_idle && detail.turn.open_gates == 0,
            _ => false,
        }
    }

    /// Opens an artifact of a turn. The last ones stay open.
    pub(crate) async fn open_artifact(
        &self,
        turn: &TurnId,
        handle: &str,
    ) -> Result<SpooledArtifact, ApiError> {
        let lock = || self.artifacts.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            lock().iter().find(|(id, name, _)| id == turn && name == handle).map(|it| it.2.clone());
        if let Some(artifact) = known {
            return Ok(artifact);
        }
        let opened = self.runner.open_artifact(turn, handle).await?;
        let missing = || ApiError::not_found(format!("turn `{turn}` has no artifact `{handle}`"));
        let artifact = opened.ok_or_else(missing)?;
        let mut open = lock();
        open.push_back((turn.clone(), handle.to_owned(), artifact.clone()));
        if open.len() > MAX_OPEN_ARTIFACTS {
            open.pop_front();
        }
        Ok(artifact)
    }

    /// Remembers a turn that this server runs, so that it can be cancelled here.
    pub(crate) fn add_running(
        &self,
        turn: TurnId,
        cancellation: Cancellation,
        limit: usize,
    ) -> Result<(), ApiError> {
        let mut running = self.lock_running();
        if running.len() >= limit {
            return Err(ApiError::unavailable(format!("this server runs {limit} turns already")));
        }
        running.push((turn, cancellation));
        Ok(())
    }

    /// Forgets a turn that this server ran.
    pub(crate) fn remove_running(&self, turn: &TurnId) {
        self.lock_running().retain(|(id, _)| id != turn);
    }

    /// What cancels a turn that this server runs.
    pub(crate) fn running_turn(&self, turn: &TurnId) -> Option<Cancellation> {
        self.lock_running().iter().find(|(id, _)| id == turn).map(|(_, it)| it.clone())
    }

    fn lock_running(&self) -> std::sync::MutexGuard<'_, Vec<(TurnId, Cancellation)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnState {
    /// Whether nothing more happens in a turn.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::LimitReached)
    }
}

impl FeedSource for ApiShared {
    fn hub(&self) -> Option<&EventHub> {
        self.hub.as_ref()
    }

    fn load_detail<'a>(&'a self, turn: &'a TurnId) -> DetailFuture<'a> {
        Box::pin(async move { self.load_detail(turn).await.ok() })
    }
}
