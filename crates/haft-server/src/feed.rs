//! Live feeds: what changes in a turn, numbered, for any number of clients.
//!
//! A feed exists while clients follow its turn. It logs which rows of the timeline changed. A client that was disconnected
//! continues after the last number that it saw; if the log does not reach back that far, it is told to load the turn again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft::stores::TurnId;
use tokio::sync::watch;

use crate::wire::TurnChange;

/// How many changes a feed remembers.
const MAX_LOG: usize = 4096;
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
    /// The feed of a turn. If no client follows the turn yet, the feed is new, and `start` has to start its follower.
    pub(crate) fn open(&self, turn: &TurnId, start: impl FnOnce(Weak<TurnFeed>)) -> Arc<TurnFeed> {
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
        start(Arc::downgrade(&feed));
        feed
    }
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

    pub(crate) fn push(&self, change: &TurnChange) {
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

    pub(crate) fn end_log(&self) {
        self.lock().has_ended = true;
        self.latest.send_modify(|next| *next += 0);
    }

    fn lock(&self) -> MutexGuard<'_, FeedLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name that no other feed has.
fn random_name() -> String {
    let mut bytes = [0; 8];
    // Without random numbers the names of two feeds may be the same, and a client may miss changes of a restarted
    // server.
    let _ = getrandom::fill(&mut bytes);
    hex::encode(bytes)
}
