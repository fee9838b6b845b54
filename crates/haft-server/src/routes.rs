//! The routes and their handlers.

mod actions;
mod agents;
mod artifacts;
mod content;
mod events;
mod gates;
mod requests;
mod submit;
mod table_row;
mod turns;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use haft::stores::TurnId;
use serde_json::Value;

use crate::error::ApiError;
use crate::shared::{Access, ApiShared};
use crate::wire::ServerInfo;

/// What handlers get.
type Shared = State<Arc<ApiShared>>;

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 4 << 20;
/// The longest recording, in bytes.
const MAX_RECORDING: usize = 64 << 20;

/// All routes. [`OPERATIONS`](crate::openapi::OPERATIONS) lists them too, and a test compares the two.
pub(crate) fn router(shared: Arc<ApiShared>) -> Router {
    let artifact = Router::new()
        .route("/", get(artifacts::show_artifact))
        .route("/lines", get(artifacts::read_lines))
        .route("/search", get(artifacts::search_lines))
        .route("/outline", get(artifacts::read_outline))
        .route("/rows", get(artifacts::read_rows))
        .route("/content", get(content::read_content))
        .route("/query", post(artifacts::run_query));
    let turn = Router::new()
        .route("/", get(turns::show_turn))
        .route("/events", get(events::follow_turn))
        .route("/facts", get(turns::show_facts))
        .route("/rows", get(turns::read_rows))
        .route("/matches", get(turns::find_rows))
        .route("/steps", get(turns::list_steps))
        .route("/calls", get(turns::list_calls))
        .route("/calls/{record}", get(turns::show_call))
        .route("/steps/{step}/request", get(requests::show_request))
        .route("/steps/{step}/response", get(requests::show_response))
        .route("/artifacts", get(artifacts::list_artifacts))
        .nest("/artifacts/{handle}", artifact)
        .route("/media/{name}", get(artifacts::read_media))
        .route("/cancel", post(actions::cancel_turn))
        .route("/resume", post(actions::resume_turn))
        .route("/fork", post(actions::fork_turn));
    Router::new()
        .route("/", get(show_server))
        .route("/openapi.json", get(show_openapi))
        .route("/events", get(events::follow_list))
        .route("/turns", get(turns::list_turns).post(submit::submit_turn))
        .route("/counts", get(turns::count_turns))
        .route("/conversations", get(turns::list_conversations))
        .nest("/turns/{turn}", turn)
        .route("/gates", get(gates::list_gates))
        .route("/gates/{gate}/check", post(gates::check_gate))
        .route("/gates/{gate}/decision", post(gates::decide_gate))
        .route("/grants", get(gates::list_grants))
        .route("/grants/{grant}/revoke", post(gates::revoke_grant))
        .route("/agents", get(agents::list_agents))
        .route("/agents/{agent}", get(agents::show_agent))
        .route("/agents/{agent}/tools/{tool}/calls", post(agents::call_tool))
        .route(
            "/replays",
            post(actions::replay_recording).layer(DefaultBodyLimit::max(MAX_RECORDING)),
        )
        .fallback(async || ApiError::not_found("there is no such resource"))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shared)
}

async fn show_server(State(shared): Shared) -> Json<ServerInfo> {
    Json(ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        read_only: shared.access == Access::ReadOnly,
        store: shared.store_name.clone(),
        has_agents: shared.agents.is_some(),
    })
}

async fn show_openapi(State(shared): Shared) -> Json<Value> {
    Json((shared.document)())
}

/// Parses the id of a turn.
fn parse_turn(text: &str) -> Result<TurnId, ApiError> {
    text.parse().map_err(|error| ApiError::invalid(format!("the id of the turn: {error}")))
}
