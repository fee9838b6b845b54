//! Turns behind HTTP. A browser starts a turn and receives its events as a stream; a person approves calls with a second
//! request, from the same page or another one.
//!
//! | request | response |
//! |---|---|
//! | `POST /turns` with `{"prompt": "…"}` | the events of the turn, as server-sent events |
//! | `GET /gates` | the calls that wait for approval, with their arguments |
//! | `POST /gates/{*id}` with `{"approve": true}` | 204; the turn continues |
//! | `GET /turns/{id}` | how the turn ended, also after a restart of the server |
//!
//! The server has no users. Put it behind your own authentication before another machine can reach it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, KeepAliveStream, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_core::Stream;
use haft::events::{EventFilter, EventHub, ReceivedEvent, Subscription};
use haft::tools::ToolEffect;
use haft::turn::{SettleError, TurnError};
use haft::{Agent, Tool, ToolArgs, ToolFailure, TurnReport};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// What the requests share.
#[derive(Clone, Debug)]
pub struct Server {
    agent: Agent,
    hub: EventHub,
}

impl Server {
    /// A server for the turns of an agent whose events go to the hub.
    #[must_use]
    pub fn new(agent: Agent, hub: EventHub) -> Self {
        Self { agent, hub }
    }

    /// Its routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/turns", post(start_turn))
            .route("/turns/{id}", get(show_turn))
            .route("/gates", get(list_gates))
            .route("/gates/{*id}", post(settle_gate))
            .with_state(self)
    }
}

/// The body of `POST /turns`.
#[derive(Debug, Deserialize)]
struct NewTurn {
    prompt: String,
}

/// Starts a turn and streams its events. The turn belongs to the server and not to the connection: it goes on when the
/// browser is gone.
#[expect(
    clippy::disallowed_methods,
    reason = "the turn goes on without its connection, and the store has it"
)]
async fn start_turn(
    State(server): State<Server>,
    Json(new): Json<NewTurn>,
) -> Sse<KeepAliveStream<TurnEvents>> {
    let id = Uuid::new_v4().to_string();
    // The subscription comes first, so that it has every event.
    let events = TurnEvents(server.hub.subscribe(EventFilter::turn(id.as_str())));
    let input = server.agent.turn(new.prompt).system("You help in a shop.").id(id);
    tokio::spawn(run_turn(input.report()));
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Tells the operator about a turn that did not complete. The browser learns it from the events.
#[expect(clippy::print_stderr, reason = "the operator of an example reads standard error")]
async fn run_turn(turn: impl Future<Output = Result<TurnReport, TurnError>>) {
    let report = turn.await.map_err(haft::Error::from);
    if let Err(error) = report.and_then(|report| Ok(report.into_result()?)) {
        eprintln!("{error:?}");
    }
}

/// The events of one turn. The stream ends when the turn does.
struct TurnEvents(Subscription);

impl Stream for TurnEvents {
    type Item = Result<Event, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let received = ready!(Pin::new(&mut self.0).poll_next(cx));
        Poll::Ready(received.map(|received| match received {
            ReceivedEvent::Event(event) => {
                let name = event.kind.name().as_str();
                Event::default().event(name).json_data(&*event)
            }
            // A browser that reads too slowly is told, and can ask for the turn.
            _ => Ok(Event::default().event("lagged").data("{}")),
        }))
    }
}

/// Lists the calls that wait for approval. `preview` is what a call would change, if its tool can tell.
async fn list_gates(State(server): State<Server>) -> Result<Json<Value>, HttpError> {
    let open = server.agent.gates().open_gates(None).await.map_err(HttpError::internal)?;
    let gates = open.iter().map(|gate| {
        json!({
            "id": gate.id.as_str(), "turn": gate.turn.as_str(), "question": gate.reason,
            "call": gate.payload, "preview": gate.preview,
        })
    });
    Ok(Json(gates.collect()))
}

/// The body of `POST /gates/{id}`.
#[derive(Debug, Deserialize)]
struct Decision {
    approve: bool,
    #[serde(default)]
    reason: String,
}

/// Decides on a call. The decision is signed and holds for exactly the arguments that were listed.
async fn settle_gate(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(decision): Json<Decision>,
) -> Result<StatusCode, HttpError> {
    let id = id.parse().map_err(|_| HttpError(StatusCode::NOT_FOUND, "no gate".to_owned()))?;
    let gates = server.agent.gates();
    let settled = match decision.approve {
        true => gates.resolve(&id, true.into(), "the page").await,
        false => gates.reject(&id, &decision.reason, "the page").await,
    };
    match settled {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error @ SettleError::Closed { .. }) => {
            Err(HttpError(StatusCode::CONFLICT, error.to_string()))
        }
        Err(error) => Err(HttpError(StatusCode::NOT_FOUND, error.to_string())),
    }
}

/// Says how a turn ended. A turn that was interrupted is resumed by this.
async fn show_turn(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<Json<Value>, HttpError> {
    let report = server.agent.resume(id).report().await.map_err(|error| match error {
        TurnError::Store(error) => HttpError(StatusCode::CONFLICT, error.to_string()),
        error => HttpError::internal(error),
    })?;
    Ok(Json(json!({"outcome": report.outcome.to_string(), "text": report.text()})))
}

/// A status and a text.
struct HttpError(StatusCode, String);

impl HttpError {
    fn internal(error: impl std::fmt::Display) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl axum::response::IntoResponse for HttpError {
    fn into_response(self) -> axum::response::Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

/// Refunds an order.
#[derive(Debug, ToolArgs)]
struct Refund {
    /// Number of the order
    #[arg(min = 1)]
    order: u32,
    /// Amount in cents
    #[arg(min = 1, max = 100000)]
    cents: u32,
}

/// The tools of the shop.
///
/// # Errors
///
/// A definition is wrong.
pub fn shop_tools() -> Result<Vec<Tool>, haft::Error> {
    let refund = Tool::builder("refund")
        .description("Pays money back to the customer of an order.")
        .requires_approval("Refund {cents} cents of order {order}?")
        // Money is not paid twice, also after a crash.
        .effect(ToolEffect::Once)
        .handler(async |args: Refund| {
            Ok::<_, ToolFailure>(format!("refunded {} cents of order {}", args.cents, args.order))
        })
        .build()?;
    Ok(vec![refund])
}
