//! Submits turns, which workers run.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use haft::stores::{StoreError, TurnId, TurnQuery};
use haft::turn::{Turn, TurnError};
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::agents::load_agent;
use crate::agents::AgentPurpose;
use crate::error::{ApiError, ApiResult};
use crate::extract::JsonBody;
use crate::shared::ApiShared;
use crate::wire::{MAX_CONVERSATION_CHARS, MIN_PRIORITY, StartedTurn, SubmitRequest};

/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 200;

/// Stores a turn for the workers and returns its id.
pub(super) async fn submit_turn(
    State(shared): Shared,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SubmitRequest>,
) -> ApiResult<StartedTurn> {
    shared.check_submit()?;
    request.check()?;
    let key = idempotency_key(&headers)?;
    let agent = load_agent(&shared, &request.agent, AgentPurpose::Show).await?;
    // No step is taken here, so that no API key is needed.
    let executor = agent.executor(None, AgentPurpose::Show)?;
    let built = agent.build_agent(executor, agent.tools())?;
    let mut turn = agent.prepare_turn(built.turn(request.message))?.agent(request.agent);
    turn = turn.priority(request.priority);
    turn = turn.start_after(Duration::from_secs(request.delay_seconds.into()));
    if let Some(conversation) = request.conversation {
        turn = turn.conversation(conversation);
    }
    let turn = match key {
        Some(key) => submit_once(&shared, turn, key).await?,
        None => submit(&shared, turn).await?,
    };
    Ok(Json(StartedTurn { turn: turn.to_string() }))
}

impl SubmitRequest {
    fn check(&self) -> Result<(), ApiError> {
        if self.message.trim().is_empty() {
            return Err(ApiError::invalid("`message` is empty"));
        }
        let chars = self.conversation.as_ref().map(|it| it.chars().count());
        if chars.is_some_and(|it| !(1..=MAX_CONVERSATION_CHARS).contains(&it)) {
            let limit = MAX_CONVERSATION_CHARS;
            return Err(ApiError::invalid(format!("`conversation` has 1 to {limit} characters")));
        }
        if self.conversation.as_ref().is_some_and(|it| it.contains(char::is_control)) {
            return Err(ApiError::invalid("`conversation` has no control characters"));
        }
        if !(MIN_PRIORITY..=0).contains(&self.priority) {
            return Err(ApiError::invalid(format!("`priority` is from {MIN_PRIORITY} to 0")));
        }
        Ok(())
    }
}

/// Reads the key by which a client recognizes a request that it repeats.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|it| !it.is_empty() && it.len() <= MAX_KEY_BYTES);
    let error =
        || ApiError::invalid(format!("`Idempotency-Key` has 1 to {MAX_KEY_BYTES} characters"));
    key.map(Some).ok_or_else(error)
}

/// Submits a turn unless a request with the same key has done so.
async fn submit_once(shared: &ApiShared, turn: Turn, key: &str) -> Result<TurnId, ApiError> {
    let id = turn_of_key(&shared.tenant, key)?;
    // A repeated request is answered also when the tenant may not submit more.
    if shared.turns.load_summary(&id).await?.is_some() {
        return Ok(id);
    }
    match submit(shared, turn.id(id.as_str())).await {
        Err(SubmitError::Exists) => Ok(id),
        submitted => Ok(submitted?),
    }
}

/// The id of the turn that a key stands for. Keys of two tenants never stand for the same turn.
fn turn_of_key(tenant: &str, key: &str) -> Result<TurnId, ApiError> {
    let hash = Sha256::new_with_prefix(b"haft submitted turn\n");
    let length = (tenant.len() as u64).to_be_bytes();
    let hash = hash.chain_update(length).chain_update(tenant).chain_update(key).finalize();
    let bytes = hash.first_chunk::<16>().copied().unwrap_or_default();
    let id = uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string();
    id.parse().map_err(|error| ApiError::invalid(format!("the id of the turn: {error}")))
}

/// Why a turn was not stored.
enum SubmitError {
    /// There is a turn of this id.
    Exists,
    Other(ApiError),
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Exists => Self::unavailable("there is a turn of this id"),
            SubmitError::Other(error) => error,
        }
    }
}

/// Stores a turn, unless there are too many unfinished ones.
async fn submit(shared: &ApiShared, turn: Turn) -> Result<TurnId, SubmitError> {
    // One at a time, so that requests at the same time do not exceed the limit together.
    let _permit = shared.submissions.acquire().await;
    let max = shared.max_unfinished_turns;
    let unfinished = TurnQuery::default().unfinished().limit(max.max(1));
    let listed = shared.turns.list_turns(unfinished).await;
    if listed.map_err(|error| SubmitError::Other(error.into()))?.len() >= max {
        let message = format!("{max} turns are unfinished; submit more when some have ended");
        let status = StatusCode::TOO_MANY_REQUESTS;
        let error = ApiError::new(status, "E_API_TOO_MANY_TURNS", message);
        return Err(SubmitError::Other(error));
    }
    turn.submit().await.map_err(|error| match error {
        TurnError::Store(StoreError::Exists { .. }) => SubmitError::Exists,
        error => SubmitError::Other(error.into()),
    })
}
