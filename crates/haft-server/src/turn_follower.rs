//! Follows a turn for its feed.
//!
//! A task waits for events of this process and for changes that the store reports, looks at the summary of the turn and at
//! the end of its journal, and reads the turn only if something was written.

mod known_turn;

use std::sync::{Arc, Weak};
use std::time::Duration;

use haft::events::{
    Event, EventFilter, EventKind, LogLevel, ReceivedEvent, StreamDelta, StreamState, Subscription,
};
use haft::stores::{ChangeListener, StoreChange, TurnId, TurnSummary};
use tokio::time::{Instant, timeout_at};

use self::known_turn::KnownTurn;
use crate::feed::TurnFeed;
use crate::shared::ApiShared;
use crate::timeline::ReadTurn;
use crate::wire::{Notice, RowRange, TextDelta, TurnChange, TurnDetail};

/// How long a feed waits before it looks at the store again: journal entries of other processes are not reported.
const POLL: Duration = Duration::from_millis(400);
/// How long changes are gathered before the turn is read.
const GATHER: Duration = Duration::from_millis(60);
/// Reading a large turn takes time. A feed spends at most this fraction of its time reading: one part in `LOAD_SHARE`.
const LOAD_SHARE: u32 = 8;

/// How many new entries of a journal are read at once.
const MAX_ENTRIES: usize = 1000;

impl ApiShared {
    /// The feed of a turn, which is followed from now on if no client followed it yet.
    #[expect(clippy::disallowed_methods, reason = "the task ends when no client follows the turn")]
    pub(crate) fn follow(self: &Arc<Self>, turn: &TurnId, first: &ReadTurn) -> Arc<TurnFeed> {
        self.feeds.open(turn, |feed| {
            let known = KnownTurn::of(first, self.describe(first));
            tokio::spawn(follow_turn(Arc::clone(self), turn.clone(), feed, known));
        })
    }

    /// Everything about a turn but its rows.
    fn describe(&self, read: &ReadTurn) -> TurnDetail {
        let no_rows = RowRange { count: Some(0), ..RowRange::default() };
        read.to_detail(read.row_page(&no_rows), self.actions(read), self.now())
    }
}

/// Logs what changes in a turn, until it ends or no client follows it.
async fn follow_turn(
    shared: Arc<ApiShared>,
    turn: TurnId,
    feed: Weak<TurnFeed>,
    mut known: KnownTurn,
) {
    let mut follower = Follower {
        events: subscribe(&shared, &turn),
        listener: shared.turns.listen(),
        shared,
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
        let Ok(read) = follower.shared.read_stored_turn(&follower.turn).await else {
            following.end_log();
            return;
        };
        let detail = follower.shared.describe(&read);
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
    shared: Arc<ApiShared>,
    turn: TurnId,
    events: Option<Subscription>,
    listener: Box<dyn ChangeListener>,
    journal_end: u64,
    summary: Option<TurnSummary>,
}

impl Follower {
    /// Whether the turn was written since the last check. A removed turn counts as changed.
    async fn has_changed(&mut self) -> bool {
        let summary = self.shared.load_summary(&self.turn).await.ok();
        let end = find_journal_end(&self.shared, &self.turn, self.journal_end).await;
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
                    self.events = subscribe(&self.shared, &self.turn);
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

/// Finds the number of the last journal entry, starting at one that is known; nothing if the store failed.
async fn find_journal_end(shared: &ApiShared, turn: &TurnId, known: u64) -> Option<u64> {
    let mut end = known;
    loop {
        let entries = shared.turns.read_journal(turn, end, MAX_ENTRIES).await.ok()?;
        end = entries.last().map_or(end, |entry| entry.number);
        if entries.len() < MAX_ENTRIES {
            return Some(end);
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

fn subscribe(shared: &ApiShared, turn: &TurnId) -> Option<Subscription> {
    shared.hub.as_ref().map(|hub| hub.subscribe(EventFilter::turn(turn.as_str())))
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
