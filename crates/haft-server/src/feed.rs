//! Live feeds: what changes in a turn, numbered, for any number of clients.
//!
//! A feed exists while clients follow its turn. A task waits for events of this process and for changes that the store
//! reports, looks at the summary of the turn and at the end of its journal, and reads the turn only if something was
//! written. It logs which rows of the timeline changed. A client that was disconnected continues after the last number
//! that it saw; if the log does not reach back that far, it is told to load the turn again.

mod known_turn;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft::events::{
    Event, EventFilter, EventHub, EventKind, LogLevel, ReceivedEvent, StreamDelta, StreamState,
    Subscription,
};
use haft::stores::{ChangeListener, StoreChange, TurnId, TurnSummary};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use self::known_turn::KnownTurn;
use crate::timeline::ReadTurn;
use crate::wire::{Notice, TextDelta, TurnChange, TurnDetail};

/// How many changes a feed remembers.
const MAX_LOG: usize = 4096;
/// How long a feed waits before it looks at the store again: journal entries of other processes are not reported.
const POLL: Duration = Duration::from_millis(400);
/// How long changes are gathered before the turn is read.
const GATHER: Duration = Duration::from_millis(60);
/// Reading a large turn takes time. A feed spends at most this fraction of its time reading: one part in `LOAD_SHARE`.
const LOAD_SHARE: u32 = 8;

/// Where a feed reads turns.
pub(crate) trait FeedSource: Send + Sync {
    /// The events of this process.
    fn hub(&self) -> Option<&EventHub>;

    /// Listens to changes of the store.
    fn listen(&self) -> Box<dyn ChangeListener>;

    /// Loads the summary of a turn.
    fn load_summary<'a>(&'a self, turn: &'a TurnId) -> FeedFuture<'a, TurnSummary>;

    /// Finds the number of the last journal entry, from a number on that was the last one before.
    fn find_journal_end<'a>(&'a self, turn: &'a TurnId, after: u64) -> FeedFuture<'a, u64>;

    /// Reads a turn from the store.
    fn read_turn<'a>(&'a self, turn: &'a TurnId) -> FeedFuture<'a, Arc<ReadTurn>>;

    /// Everything about a turn but its rows.
    fn describe(&self, read: &ReadTurn) -> TurnDetail;
}

/// The result of reading; `None` if it failed or the turn was removed.
pub(crate) type FeedFuture<'a, T> = Pin<Box<dyn Future<Output = Option<T>> + Send + 'a>>;

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
        source: Arc<dyn FeedSource>,
        turn: &TurnId,
        first: &ReadTurn,
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
        let known = KnownTurn::of(first, source.describe(first));
        let task = follow_turn(source, turn.clone(), Arc::downgrade(&feed), known);
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

    /// The position after the change with this id, or `None` if it is not of this feed, or too long ago.
    pub(crate) fn position_after(&self, id: &str) -> Option<u64> {
        let (epoch, number) = id.rsplit_once('-')?;
        // The id before the first change is that of the number before zero.
        let position = number.parse::<u64>().ok()?.wrapping_add(1);
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

/// Logs what changes in a turn, until it ends or no client follows it.
async fn follow_turn(
    source: Arc<dyn FeedSource>,
    turn: TurnId,
    feed: Weak<TurnFeed>,
    mut known: KnownTurn,
) {
    let mut follower = Follower {
        events: subscribe(&*source, &turn),
        listener: source.listen(),
        source,
        turn,
        journal_end: 0,
        summary: None,
    };
    // The journal is read once to its end, and then only what follows. The first look finds the turn changed, so that
    // nothing is missed that was written since the clients read it.
    let mut wait = Duration::ZERO;
    loop {
        let is_told = follower.wait(&feed, wait).await;
        let has_changed = follower.has_changed().await;
        let Some(following) = feed.upgrade() else { return };
        // What this process tells of may be written with the same time as before.
        if !has_changed && !is_told {
            wait = POLL;
            continue;
        }
        let begun = Instant::now();
        let Some(read) = follower.source.read_turn(&follower.turn).await else {
            following.end_log();
            return;
        };
        let detail = follower.source.describe(&read);
        let is_over = detail.turn.state.is_final();
        if let Some(update) = known.update(&read, detail) {
            following.push(&TurnChange::Update(Box::new(update)));
        }
        if is_over {
            following.end_log();
            return;
        }
        wait = POLL.max(begun.elapsed() * LOAD_SHARE);
    }
}

/// What a feed follows.
struct Follower {
    source: Arc<dyn FeedSource>,
    turn: TurnId,
    events: Option<Subscription>,
    listener: Box<dyn ChangeListener>,
    journal_end: u64,
    summary: Option<TurnSummary>,
}

impl Follower {
    /// Whether the turn was written since the last check. A removed turn counts as changed.
    async fn has_changed(&mut self) -> bool {
        let summary = self.source.load_summary(&self.turn).await;
        let end = self.source.find_journal_end(&self.turn, self.journal_end).await;
        let end = end.unwrap_or(self.journal_end);
        let is_same = summary.is_some() && summary == self.summary && end == self.journal_end;
        (self.summary, self.journal_end) = (summary, end);
        !is_same
    }

    /// Waits for the time, or until a change of the turn is reported. Passes on text that the model writes. Returns
    /// whether a change was reported.
    async fn wait(&mut self, feed: &Weak<TurnFeed>, time: Duration) -> bool {
        let mut until = Instant::now() + time;
        let mut is_told = false;
        loop {
            let next = next_signal(&mut self.events, &mut *self.listener);
            let Ok(signal) = timeout_at(until, next).await else { return is_told };
            let Some(following) = feed.upgrade() else { return is_told };
            match signal {
                Signal::Event(Some(received)) => {
                    match received.event().as_deref().and_then(live_change) {
                        Some(change) => {
                            following.push(&change);
                            continue;
                        }
                        None => is_told = true,
                    }
                }
                // A subscription ends with an attempt to run the turn. Another attempt may follow.
                Signal::Event(None) => {
                    self.events = subscribe(&*self.source, &self.turn);
                    is_told = true;
                }
                Signal::Store(StoreChange::Turn { turn, .. }) if turn != self.turn => continue,
                Signal::Store(StoreChange::Turn { .. }) => is_told = true,
                // Anything may have changed, also in other turns: the summary says it.
                Signal::Store(_) => {}
            }
            until = until.min(Instant::now() + GATHER);
        }
    }
}

/// What wakes a feed.
enum Signal {
    Event(Option<ReceivedEvent>),
    Store(StoreChange),
}

async fn next_signal(
    events: &mut Option<Subscription>,
    listener: &mut dyn ChangeListener,
) -> Signal {
    tokio::select! {
        event = next_event(events) => Signal::Event(event),
        change = listener.next_change() => Signal::Store(change),
    }
}

fn subscribe(source: &dyn FeedSource, turn: &TurnId) -> Option<Subscription> {
    source.hub().map(|hub| hub.subscribe(EventFilter::turn(turn.as_str())))
}

/// The next event; never without a subscription.
async fn next_event(events: &mut Option<Subscription>) -> Option<ReceivedEvent> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// What an event says that is not stored: text of the model, and notices.
fn live_change(event: &Event) -> Option<TurnChange> {
    if let EventKind::Log { level, topic, message, .. } = &event.kind {
        let level = match level {
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
            _ => return None,
        };
        return Some(TurnChange::Notice(Notice {
            step: event.iteration + 1,
            level: level.to_owned(),
            topic: topic.to_string(),
            text: message.to_string(),
        }));
    }
    text_delta(event).map(TurnChange::Delta)
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
    // Without random numbers the names of two feeds may be the same, and a client may miss changes of a restarted
    // server.
    let _ = getrandom::fill(&mut bytes);
    hex::encode(bytes)
}
