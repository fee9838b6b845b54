//! What the handlers share: the stored turns, the agents, and what is cached.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use haft::Agent;
use haft::events::EventHub;
use haft::executors::ExecutorDescription;
use haft::stores::{StoredTurn, TurnId, TurnSummary};
use haft::turn::{Cancellation, Clock, StoredTurns, Timestamp, TurnHistory};

use crate::agents::{AgentPurpose, AgentSource};
use crate::error::ApiError;
use crate::feed::Feeds;
use crate::open_artifacts::{OpenArtifact, OpenArtifacts};
use crate::prices::PriceList;
use crate::timeline::{ReadTurn, state_of};
use crate::turn_cache::TurnCache;
use crate::wire::{RowRange, TurnActions, TurnDetail, TurnState};

/// What the handlers share.
pub(crate) struct ApiShared {
    pub(crate) turns: StoredTurns,
    /// Runs the turns whose agent is not known.
    pub(crate) agent: Option<Agent>,
    pub(crate) hub: Option<EventHub>,
    pub(crate) agents: Option<Arc<dyn AgentSource>>,
    pub(crate) access: Access,
    pub(crate) store_name: String,
    pub(crate) actor: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) prices: PriceList,
    pub(crate) cache: TurnCache,
    pub(crate) feeds: Feeds,
    pub(crate) artifacts: OpenArtifacts,
    pub(crate) running: Mutex<Vec<(TurnId, Cancellation)>>,
    /// The tenant whose turns these are; empty if there is only one.
    pub(crate) tenant: String,
    pub(crate) max_unfinished_turns: usize,
    /// Describes the API.
    pub(crate) document: fn() -> serde_json::Value,
    /// One permit, which a request has while it submits a turn.
    pub(crate) submissions: tokio::sync::Semaphore,
}

/// Who sent a request, as its token says.
#[derive(Clone)]
pub(crate) struct TokenActor(pub(crate) Arc<str>);

/// The name under which the action of a request is recorded: that of its token, else that of the server.
pub(crate) struct Actor(pub(crate) Arc<str>);

impl FromRequestParts<Arc<ApiShared>> for Actor {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Arc<ApiShared>,
    ) -> Result<Self, Infallible> {
        let of_token = parts.extensions.get::<TokenActor>().map(|it| Arc::clone(&it.0));
        Ok(Self(of_token.unwrap_or_else(|| shared.actor.as_str().into())))
    }
}

/// What clients may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// They may look. Actions are refused.
    #[default]
    ReadOnly,
    /// They may submit and cancel turns and decide gates. Workers run the turns.
    Submit,
    /// They may also resume and fork turns, replay recordings and call tools, which this process does.
    Act,
}

/// How long a request may take that reads the store.
const MAX_LOAD_TIME: Duration = Duration::from_secs(30);

impl ApiShared {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The agent that began a turn.
    pub(crate) fn agent_of(&self, turn: &TurnSummary, history: &TurnHistory) -> Option<String> {
        self.agents.as_ref().and_then(|agents| agents.agent_of_turn(turn, history))
    }

    /// Refuses an action of a client that may only look.
    pub(crate) fn check_access(&self) -> Result<(), ApiError> {
        match self.access {
            Access::Act => Ok(()),
            Access::Submit => {
                let message = "this server does not allow this action";
                Err(ApiError::new(StatusCode::FORBIDDEN, "E_API_NOT_ALLOWED", message))
            }
            Access::ReadOnly => self.check_submit(),
        }
    }

    /// Refuses to submit, cancel or decide for a client that may only look.
    pub(crate) fn check_submit(&self) -> Result<(), ApiError> {
        match self.access {
            Access::Act | Access::Submit => Ok(()),
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

    /// The agent of a turn, with the executor that took its steps so far; without a name that of the server.
    pub(crate) async fn build_agent_of(
        &self,
        agent: Option<&str>,
        begun_by: Option<&ExecutorDescription>,
        purpose: AgentPurpose,
    ) -> Result<Agent, ApiError> {
        let (Some(agents), Some(name)) = (&self.agents, agent) else {
            let error = || ApiError::unavailable("the agent of the turn is not known here");
            return self.agent.clone().ok_or_else(error);
        };
        let agent = agents.load_agent(name, purpose).await?;
        let executor = agent.executor(begun_by, purpose)?;
        Ok(agent.build_agent(executor, agent.tools())?)
    }

    /// Waits for a read of the store, but not for too long.
    pub(crate) async fn limit_load<T, E: Into<ApiError>>(
        &self,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ApiError> {
        let loaded = tokio::time::timeout(MAX_LOAD_TIME, read).await;
        loaded.map_err(|_| late())?.map_err(Into::into)
    }

    /// Loads a turn.
    pub(crate) async fn load_turn(&self, id: &TurnId) -> Result<StoredTurn, ApiError> {
        self.limit_load(self.turns.load_turn(id)).await?.ok_or_else(|| no_turn(id))
    }

    /// Loads the summary of a turn.
    pub(crate) async fn load_summary(&self, id: &TurnId) -> Result<TurnSummary, ApiError> {
        let summary = self.limit_load(self.turns.load_summary(id)).await?;
        if summary.is_none() {
            self.cache.remove(id);
        }
        summary.ok_or_else(|| no_turn(id))
    }

    /// Reads a turn, from the cache if nothing of it has changed.
    pub(crate) async fn read_turn(&self, id: &TurnId) -> Result<Arc<ReadTurn>, ApiError> {
        let summary = self.load_summary(id).await?;
        match self.cache.get(&summary) {
            Some(read) => Ok(read),
            None => self.read_stored_turn(id).await,
        }
    }

    /// Reads a turn from the store.
    pub(crate) async fn read_stored_turn(&self, id: &TurnId) -> Result<Arc<ReadTurn>, ApiError> {
        let stored = self.load_turn(id).await?;
        let read = Arc::new(self.view_turn(&stored).await?);
        self.cache.insert(Arc::clone(&read));
        Ok(read)
    }

    /// Reads the journal, the records and the gates of a turn that was loaded.
    pub(crate) async fn view_turn(&self, stored: &StoredTurn) -> Result<ReadTurn, ApiError> {
        let history = TurnHistory::read(stored)?;
        let agent = self.agent_of(&stored.summary, &history);
        let read = ReadTurn::load(&self.turns, stored, history, agent).await;
        Ok(read.with_prices(&self.prices))
    }

    /// Loads a turn with a window of its timeline.
    pub(crate) async fn load_detail(
        &self,
        id: &TurnId,
        range: &RowRange,
    ) -> Result<TurnDetail, ApiError> {
        let summary = self.load_summary(id).await?;
        let cached = self.cache.get(&summary);
        let read = match cached {
            Some(read) => read,
            None => self.read_stored_turn(id).await?,
        };
        Ok(read.to_detail(read.row_page(range), self.actions(&read), self.now()))
    }

    /// What a client may do with a turn.
    pub(crate) fn actions(&self, read: &ReadTurn) -> TurnActions {
        let can_act = self.access == Access::Act;
        let state = state_of(&read.summary, self.now());
        let is_idle = self.running_turn(&read.summary.id).is_none();
        let is_resumable = match state {
            TurnState::Interrupted => is_idle,
            TurnState::Waiting => is_idle && read.facts().open_gates == 0,
            _ => false,
        };
        TurnActions {
            resume: can_act && is_resumable,
            cancel: self.access != Access::ReadOnly
                && !state.is_final()
                && state != TurnState::CancelRequested,
            fork: can_act && read.agent.is_some() && read.step_count() > 0,
        }
    }

    /// Opens an artifact of a turn. The last ones stay open.
    pub(crate) async fn open_artifact(
        &self,
        turn: &TurnId,
        handle: &str,
    ) -> Result<OpenArtifact, ApiError> {
        if let Some(known) = self.artifacts.get(turn, handle) {
            return Ok(known);
        }
        let opened = self.turns.open_artifact(turn, handle).await?;
        let missing = || ApiError::not_found(format!("turn `{turn}` has no artifact `{handle}`"));
        Ok(self.artifacts.insert(turn, handle, opened.ok_or_else(missing)?))
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

fn late() -> ApiError {
    ApiError::new(StatusCode::GATEWAY_TIMEOUT, "E_API_TIMEOUT", "the store took too long")
}

fn no_turn(id: &TurnId) -> ApiError {
    ApiError::not_found(format!("there is no turn `{id}`"))
}

impl TurnState {
    /// Whether nothing more happens in a turn.
    #[must_use]
    pub(crate) const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::LimitReached | Self::Damaged
        )
    }
}
