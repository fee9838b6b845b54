//! Live feeds: what changes in a turn, numbered, for any number of clients.
//!
//! A feed exists while clients follow its turn. A task reads the store when an event of this process says that something
//! happened, and every now and then for turns that other processes run, and logs what changed. A client that was
//! disconnected continues after the last number that it saw; if the log does not reach back that far, it is told to load
//! the turn again.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft::events::{
    Event, EventFilter, EventHub, EventKind, ReceivedEvent, StreamDelta, StreamState, Subscription,
};
use haft::stores::TurnId;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::wire::{StepRow, TextDelta, TimelineItem, TurnChange, TurnDetail, TurnUpdate};

/// How many changes a feed remembers.
const MAX_LOG: usize = 4096;
/// How long a feed waits before it reads the store again, at least.
const MIN_POLL: Duration = Duration::from_millis(400);
/// How long changes are gathered before they are read.
const GATHER: Duration = Duration::from_millis(60);
/// Reading a large turn takes time. A feed reads during at most one part in so many of its time.
const LOAD_SHARE: u32 = 8;

/// Where a feed reads turns.
pub(crate) trait FeedSource: Send + Sync {
    /// The events of this process.
    fn hub(&self) -> Option<&EventHub>;

    /// Loads a turn with its timeline; nothing if that fails.
    fn load_detail<'a>(&'a self, turn: &'a TurnId) -> DetailFuture<'a>;
}

/// What loading a turn returns.
pub(crate) type DetailFuture<'a> = Pin<Box<dyn Future<Output = Option<TurnDetail>> + Send + 'a>>;

/// The feeds that clients follow.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    feeds: Mutex<HashMap<TurnId, Weak<TurnFeed>>>,
}

/// The feed of a turn.
#[derive(Debug)]
pub(crate) struct TurnFeed {
    /// A name that no other feed of this turn has had.
    epoch: String,
    log: Mutex<FeedLog>,
    latest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct FeedLog {
    changes: VecDeque<(u64, Arc<str>)>,
    next: u64,
    has_ended: bool,
}

/// What a client gets next.
#[derive(Debug)]
pub(crate) enum FeedRead {
    /// Changes with their ids.
    Changes(Vec<(String, Arc<str>)>),
    /// The turn has ended, and nothing follows.
    Ended,
}

impl Feeds {
    /// The feed of a turn, which is started if no client follows the turn yet.
    pub(crate) fn follow(
        &self,
        shared: Arc<dyn FeedSource>,
        turn: &TurnId,
        first: &TurnDetail,
    ) -> Arc<TurnFeed> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = feeds.get(turn).and_then(Weak::upgrade)
            && !feed.lock().has_ended
        {
            return feed;
        }
        let feed = Arc::new(TurnFeed {
            epoch: random_name(),
            log: Mutex::default(),
            latest: watch::Sender::new(0),
        });
        feeds.insert(turn.clone(), Arc::downgrade(&feed));
        let task = follow_turn(shared, turn.clone(), Arc::downgrade(&feed), KnownTurn::of(first));
        spawn_follower(task);
        feed
    }
}

#[expect(clippy::disallowed_methods, reason = "the task ends when no client follows the turn")]
fn spawn_follower(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

impl TurnFeed {
    /// The position after everything that was logged.
    pub(crate) fn end(&self) -> u64 {
        self.lock().next
    }

    /// The position after the change with this id; nothing if it is not of this feed, or too long ago.
    pub(crate) fn position_after(&self, id: &str) -> Option<u64> {
        let (epoch, number) = id.rsplit_once('-')?;
        let position = number.parse::<u64>().ok()?.checked_add(1)?;
        let log = self.lock();
        let oldest = log.changes.front().map_or(log.next, |(number, _)| *number);
        (epoch == self.epoch && (oldest..=log.next).contains(&position)).then_some(position)
    }

    /// The id of the last change before a position.
    pub(crate) fn id_before(&self, position: u64) -> String {
        format!("{}-{}", self.epoch, position.wrapping_sub(1))
    }

    /// Waits for changes from a position on.
    pub(crate) async fn read_from(&self, position: u64) -> FeedRead {
        let mut latest = self.latest.subscribe();
        loop {
            {
                let log = self.lock();
                if log.next > position {
                    let later = log.changes.iter().filter(|(number, _)| *number >= position);
                    let later = later.map(|(number, text)| {
                        (format!("{}-{number}", self.epoch), Arc::clone(text))
                    });
                    return FeedRead::Changes(later.collect());
                }
                if log.has_ended {
                    return FeedRead::Ended;
                }
            }
            if latest.changed().await.is_err() {
                return FeedRead::Ended;
            }
        }
    }

    fn push(&self, change: &TurnChange) {
        let Ok(text) = serde_json::to_string(change) else { return };
        let mut log = self.lock();
        let number = log.next;
        log.next += 1;
        log.changes.push_back((number, text.into()));
        if log.changes.len() > MAX_LOG {
            log.changes.pop_front();
        }
        let next = log.next;
        drop(log);
        self.latest.send_replace(next);
    }

    fn end_log(&self) {
        self.lock().has_ended = true;
        self.latest.send_modify(|next| *next += 0);
    }

    fn lock(&self) -> MutexGuard<'_, FeedLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the clients of a feed have.
#[derive(Debug)]
struct KnownTurn {
    detail: TurnDetail,
    items: HashMap<String, TimelineItem>,
    steps: HashMap<u32, StepRow>,
}

impl KnownTurn {
    fn of(detail: &TurnDetail) -> Self {
        Self {
            items: detail.items.iter().map(|it| (it.key.clone(), it.clone())).collect(),
            steps: detail.steps.iter().map(|it| (it.number, it.clone())).collect(),
            detail: TurnDetail { items: Vec::new(), steps: Vec::new(), ..detail.clone() },
        }
    }

    /// What is different now; nothing if nothing is.
    fn update(&mut self, mut now: TurnDetail) -> Option<TurnUpdate> {
        let items = std::mem::take(&mut now.items).into_iter();
        let items: Vec<TimelineItem> =
            items.filter(|it| self.items.get(&it.key) != Some(it)).collect();
        let steps = std::mem::take(&mut now.steps).into_iter();
        let steps: Vec<StepRow> =
            steps.filter(|it| self.steps.get(&it.number) != Some(it)).collect();
        self.items.extend(items.iter().map(|it| (it.key.clone(), it.clone())));
        self.steps.extend(steps.iter().map(|it| (it.number, it.clone())));
        // The duration of a running turn grows without an event; clients count themselves.
        let mut before = self.detail.clone();
        before.turn.duration_ms = now.turn.duration_ms;
        let is_same = items.is_empty() && steps.is_empty() && before == now;
        self.detail = now.clone();
        let TurnDetail { turn, gates, artifacts, error, actions, .. } = now;
        (!is_same).then_some(TurnUpdate { turn, steps, items, gates, artifacts, error, actions })
    }
}

/// Logs what changes in a turn, until it ends or no client follows it.
async fn follow_turn(
    shared: Arc<dyn FeedSource>,
    turn: TurnId,
    feed: Weak<TurnFeed>,
    mut known: KnownTurn,
) {
    let mut events = subscribe(&*shared, &turn);
    let mut wait = MIN_POLL;
    loop {
        let mut until = Instant::now() + wait;
        while let Ok(received) = timeout_at(until, next_event(&mut events)).await {
            let Some(following) = feed.upgrade() else { return };
            match received {
                Some(received) => match received.event().as_deref().and_then(text_delta) {
                    Some(delta) => following.push(&TurnChange::Delta(delta)),
                    None => until = until.min(Instant::now() + GATHER),
                },
                None => {
                    // A subscription ends with an attempt to run the turn. Another attempt may follow.
                    events = subscribe(&*shared, &turn);
                    until = until.min(Instant::now() + GATHER);
                }
            }
        }
        let Some(following) = feed.upgrade() else { return };
        let begun = Instant::now();
        let Some(detail) = shared.load_detail(&turn).await else {
            following.end_log();
            return;
        };
        let is_over = detail.turn.state.is_final();
        if let Some(update) = known.update(detail) {
            following.push(&TurnChange::Update(Box::new(update)));
        }
        if is_over {
            following.end_log();
            return;
        }
        wait = MIN_POLL.max(begun.elapsed() * LOAD_SHARE);
    }
}

fn subscribe(shared: &dyn FeedSource, turn: &TurnId) -> Option<Subscription> {
    shared.hub().map(|hub| hub.subscribe(EventFilter::turn(turn.as_str())))
}

/// The next event; never without a subscription.
async fn next_event(events: &mut Option<Subscription>) -> Option<ReceivedEvent> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// The text that an event adds to a message or a thought.
fn text_delta(event: &Event) -> Option<TextDelta> {
    let (delta, kind): (&StreamDelta, &str) = match &event.kind {
        EventKind::Message(delta) => (delta, "message"),
        EventKind::Thought(delta) => (delta, "thought"),
        _ => return None,
    };
    let restart = delta.state == StreamState::Superseded;
    Some(TextDelta {
        key: format!("{kind}/{}", delta.id),
        step: event.iteration + 1,
        is_thought: kind == "thought",
        text: delta.delta.to_string(),
        restart,
    })
}

/// A name that no other feed has.
fn random_name() -> String {
    let mut bytes = [0; 8];
    // Without random numbers the names of two feeds may be the same, and a client may miss changes of a restarted server.
    let _ = getrandom::fill(&mut bytes);
    hex::encode(bytes)
}
