//! Changes that other processes tell by `NOTIFY`.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_core::store::{StoreChangeKind, TurnId};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::connection::{Database, tls_connector};
use super::notifier::Origin;
use crate::turns::changes::ChangeHub;

/// The task that listens to the server, until it is dropped.
pub(super) struct ListenTask(JoinHandle<()>);

impl ListenTask {
    /// Listens to changes, and passes them on. A connection that fails is made again.
    pub(super) fn spawn(database: &Arc<Database>, hub: &Arc<ChangeHub>, own: Origin) -> Self {
        let database = Arc::downgrade(database);
        let hub = Arc::downgrade(hub);
        #[expect(clippy::disallowed_methods, reason = "the task ends with the store")]
        Self(tokio::spawn(async move {
            while listen(&database, &hub, &own).await.is_some() {
                // What was told meanwhile is lost.
                match hub.upgrade() {
                    Some(hub) => hub.notify_unknown(),
                    None => return,
                }
                wait(RECONNECT_PAUSE).await;
            }
        }))
    }
}

impl Drop for ListenTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens until the connection fails. Returns `None` if the store was dropped.
async fn listen(database: &Weak<Database>, hub: &Weak<ChangeHub>, own: &Origin) -> Option<()> {
    let store = database.upgrade()?;
    let config = store.config.clone();
    let channel = store.channel_name();
    drop(store);
    let Ok(tls) = tls_connector() else { return Some(()) };
    let Ok((client, mut connection)) = config.connect(tls).await else { return Some(()) };
    let sql = format!("LISTEN {channel}");
    let mut listening = std::pin::pin!(client.batch_execute(&sql));
    let mut is_listening = false;
    loop {
        let message = tokio::select! {
            biased;
            done = &mut listening, if !is_listening => {
                if done.is_err() {
                    return Some(());
                }
                is_listening = true;
                // What was told before is not known.
                hub.upgrade()?.notify_unknown();
                continue;
            }
            message = poll_fn(|ctx| connection.poll_message(ctx)) => message,
        };
        match message {
            Some(Ok(AsyncMessage::Notification(told))) => {
                let hub = hub.upgrade()?;
                if own.is_of(told.payload()) {
                    continue;
                }
                match read_change(told.payload()) {
                    Some((turn, kind)) => hub.notify(&turn, kind),
                    None => hub.notify_unknown(),
                }
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Some(()),
        }
    }
}

/// What a notification says, if it can be read.
fn read_change(text: &str) -> Option<(TurnId, StoreChangeKind)> {
    let mut words = text.splitn(3, ' ').skip(1);
    let kind = StoreChangeKind::from_word(words.next()?)?;
    Some((words.next()?.parse().ok()?, kind))
}

#[expect(clippy::disallowed_methods, reason = "other processes are waited for, not replayed")]
async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
