//! Notifies the listeners of this process of changes.

use std::fmt;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::store::{ChangeListener, StoreChange, StoreChangeKind, TurnId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Passes changes on to all listeners of a store.
pub(super) struct ChangeHub {
    sender: broadcast::Sender<StoreChange>,
}

impl ChangeHub {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::channel(MAX_WAITING).0 }
    }

    pub(super) fn has_listeners(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Reports a change. Does nothing without listeners.
    pub(super) fn notify(&self, turn: &TurnId, kind: StoreChangeKind) {
        if self.has_listeners() {
            let _ = self.sender.send(StoreChange::Turn { turn: turn.clone(), kind });
        }
    }

    /// Reports that anything may have changed.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn notify_unknown(&self) {
        let _ = self.sender.send(StoreChange::Unknown);
    }

    pub(super) fn listen(&self) -> HubListener {
        HubListener { receiver: self.sender.subscribe() }
    }
}

/// Listens to the changes of one store object.
pub(super) struct HubListener {
    receiver: broadcast::Receiver<StoreChange>,
}

impl HubListener {
    pub(super) async fn receive(&mut self) -> StoreChange {
        match self.receiver.recv().await {
            Ok(change) => change,
            Err(RecvError::Lagged(_)) => StoreChange::Unknown,
            // The store is gone, and nothing changes through it any more.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl ChangeListener for HubListener {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(self.receive())
    }
}

/// Reports the changes of one store object, and an unknown change after each interval without one, for what nobody tells.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
#[derive(Debug)]
pub(super) struct PolledListener {
    told: HubListener,
    interval: Duration,
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl PolledListener {
    pub(super) const fn new(told: HubListener, interval: Duration) -> Self {
        Self { told, interval }
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
#[expect(clippy::disallowed_methods, reason = "other processes are waited for, not replayed")]
impl ChangeListener for PolledListener {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(async {
            tokio::select! {
                biased;
                change = self.told.receive() => change,
                () = tokio::time::sleep(self.interval) => StoreChange::Unknown,
            }
        })
    }
}

impl fmt::Debug for HubListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HubListener")
    }
}

/// How many changes wait for a listener. If there are more, it learns only that anything may have changed.
const MAX_WAITING: usize = 1024;
