//! Server-sent events: what changes in a turn, and in the list of turns.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_core::Stream;
use haft::events::{EventFilter, EventName, Subscription};
use haft::stores::{ChangeListener, TurnId, TurnQuery, TurnSummary};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{Shared, parse_turn};
use crate::error::ApiError;
use crate::extract::{PathParams, QueryParams};
use crate::feed::{FeedRead, TurnFeed};
use crate::shared::ApiShared;
use crate::timeline::state_of;
use crate::wire::{ListChange, RowRange, StreamEnd, TurnRow, TurnState};

/// Events as axum wants them.
pub(super) struct EventStream(mpsc::Receiver<Event>);

impl Stream for EventStream {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// How many events wait for a client that reads slowly. The task that sends them waits then.
const MAX_WAITING: usize = 64;

/// Runs a task that sends events until it ends or the client is gone.
#[expect(clippy::disallowed_methods, reason = "the task ends when its client is gone")]
pub(super) fn stream_events<F>(task: impl FnOnce(EventSender) -> F) -> EventResponse
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    tokio::spawn(task(EventSender(sender)));
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    Sse::new(EventStream(receiver)).keep_alive(keep_alive)
}

/// Sends events to one client.
pub(super) struct EventSender(mpsc::Sender<Event>);

impl EventSender {
    /// Sends an event. Returns whether the client is still there.
    pub(super) async fn send(&self, event: Event) -> bool {
        self.0.send(event).await.is_ok()
    }

    /// Sends a value as JSON.
    pub(super) async fn send_json(
        &self,
        name: &str,
        value: &(impl serde::Serialize + Sync),
    ) -> bool {
        let Ok(text) = serde_json::to_string(value) else { return true };
        self.send(Event::default().event(name).data(text)).await
    }

    /// Waits until the client is gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// A response of events.
pub(super) type EventResponse = Sse<axum::response::sse::KeepAliveStream<EventStream>>;

/// Streams the changes of a turn. The first event has the id `start`, from which a client that loses the connection at once
/// continues; `reset` tells a client to load the turn again.
pub(super) async fn follow_turn(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
    QueryParams(range): QueryParams<RowRange>,
    headers: HeaderMap,
) -> Result<EventResponse, ApiError> {
    let id = parse_turn(&turn)?;
    let read = shared.read_stored_turn(&id).await?;
    let detail = read.to_detail(read.row_page(&range), shared.actions(&read), shared.now());
    let feed = shared.follow(&id, &read);
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok()).map(str::to_owned);
    let task = move |sender: EventSender| async move {
        let resumed = last.as_deref().and_then(|last| feed.position_after(last));
        let position = resumed.unwrap_or_else(|| feed.end());
        if resumed.is_none() {
            // A client that lost changes, or has none yet, begins with the whole turn.
            let Ok(text) = serde_json::to_string(&detail) else { return };
            let event = Event::default().event("reset").id(feed.id_before(position)).data(text);
            if !sender.send(event).await {
                return;
            }
        }
        tokio::select! {
            () = send_changes(&feed, position, &sender) => {}
            () = sender.closed() => {}
        }
    };
    Ok(stream_events(task))
}

async fn send_changes(feed: &Arc<TurnFeed>, mut position: u64, sender: &EventSender) {
    loop {
        match feed.read_from(position).await {
            FeedRead::Changes(changes) => {
                position += changes.len() as u64;
                for (id, text) in changes {
                    if !sender.send(Event::default().event("change").id(id).data(&*text)).await {
                        return;
                    }
                }
            }
            FeedRead::Ended => {
                sender.send_json("end", &StreamEnd {}).await;
                return;
            }
        }
    }
}

/// How often the list is read when nothing says that it changed.
const LIST_POLL: Duration = Duration::from_millis(1500);
/// How long events are gathered before the list is read.
const LIST_GATHER: Duration = Duration::from_millis(150);
/// How many turns of the list are followed.
const FOLLOWED: usize = 60;

/// Streams the changes of the newest turns.
pub(super) async fn follow_list(State(shared): Shared) -> EventResponse {
    stream_events(move |sender| async move {
        tokio::select! {
            () = send_list_changes(&shared, &sender) => {}
            () = sender.closed() => {}
        }
    })
}

async fn send_list_changes(shared: &Arc<ApiShared>, sender: &EventSender) {
    let names = [
        EventName::TurnStart,
        EventName::TurnEnd,
        EventName::TurnGateOpen,
        EventName::TurnGateClosed,
    ];
    let names = names.into_iter().chain([EventName::IterationEnd]);
    let filter = EventFilter::all().only(names);
    let mut events = shared.hub.as_ref().map(|hub| hub.subscribe(filter));
    let mut listener = shared.turns.listen();
    let mut known = HashMap::new();
    let mut open_gates = usize::MAX;
    loop {
        if let Ok((turns, gates)) = read_list(shared, &mut known).await
            && (!turns.is_empty() || gates != open_gates)
        {
            open_gates = gates;
            if !sender.send_json("list", &ListChange { turns, open_gates }).await {
                return;
            }
        }
        wait_for_change(&mut events, &mut *listener).await;
    }
}

/// Waits until something happened in this process or in the store, or it is time to look.
async fn wait_for_change(events: &mut Option<Subscription>, listener: &mut dyn ChangeListener) {
    let mut until = Instant::now() + LIST_POLL;
    loop {
        let next = async {
            match events {
                Some(events) => tokio::select! {
                    event = events.next() => event.is_some(),
                    _ = listener.next_change() => true,
                },
                None => {
                    listener.next_change().await;
                    true
                }
            }
        };
        match timeout_at(until, next).await {
            Ok(true) => until = until.min(Instant::now() + LIST_GATHER),
            Ok(false) => *events = None,
            Err(_) => return,
        }
    }
}

/// The rows whose summaries or states changed since they were read last.
async fn read_list(
    shared: &Arc<ApiShared>,
    known: &mut HashMap<TurnId, (TurnSummary, TurnState)>,
) -> Result<(Vec<TurnRow>, usize), ApiError> {
    let summaries = shared.turns.list_turns(TurnQuery::default().limit(FOLLOWED)).await?;
    let (mut rows, mut latest) = (Vec::new(), HashMap::new());
    for summary in summaries {
        // A lease that is renewed changes no row; one that has expired changes the state.
        let state = state_of(&summary, shared.now());
        let is_same = known.get(&summary.id).is_some_and(|(before, last_state)| {
            let mut before = before.clone();
            before.held_until = summary.held_until;
            before == summary && *last_state == state
        });
        if !is_same {
            rows.push(shared.to_row(&summary));
        }
        latest.insert(summary.id.clone(), (summary, state));
    }
    shared.add_questions(&mut rows).await?;
    *known = latest;
    Ok((rows, shared.turns.gates().open_gates(None).await?.len()))
}
