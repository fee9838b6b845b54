//! Tells other processes of changes by `NOTIFY`.

use std::sync::Arc;

use haft_core::store::{StoreChangeKind, StoreError, TurnId};
use tokio::sync::{mpsc, oneshot};

use super::connection::Database;
use super::error::PostgresError;

/// Sends the notifications of a process, those that wait in one transaction.
///
/// A transaction that notifies holds a lock of the whole server until its end. So notifications have transactions of their own,
/// which write nothing, and there is one at a time. Who misses one finds the change when it looks again.
pub(super) struct Notifier(mpsc::UnboundedSender<Notice>);

/// A notification that waits.
struct Notice {
    text: (TurnId, StoreChangeKind),
    /// Told when it was sent.
    sent: Option<oneshot::Sender<()>>,
}

impl Notifier {
    /// Starts the task that sends, which ends with the store.
    pub(super) fn spawn(database: &Arc<Database>, origin: Origin) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let database = Arc::clone(database);
        #[expect(clippy::disallowed_methods, reason = "the task ends with the store")]
        tokio::spawn(send_notices(database, origin, receiver));
        Self(sender)
    }

    /// Notifies other processes, and waits until that is done or has failed.
    pub(super) async fn notify(&self, turn: &TurnId, kind: StoreChangeKind) {
        let (sent, done) = oneshot::channel();
        let notice = Notice { text: (turn.clone(), kind), sent: Some(sent) };
        if self.0.send(notice).is_ok() {
            let _ = done.await;
        }
    }

    /// Notifies other processes soon.
    pub(super) fn notify_later(&self, turn: &TurnId, kind: StoreChangeKind) {
        // Without the task there is nobody who sends.
        let _ = self.0.send(Notice { text: (turn.clone(), kind), sent: None });
    }
}

async fn send_notices(
    database: Arc<Database>,
    origin: Origin,
    mut receiver: mpsc::UnboundedReceiver<Notice>,
) {
    let mut notices = Vec::new();
    while receiver.recv_many(&mut notices, MAX_JOINED).await > 0 {
        let texts: Vec<String> =
            notices.iter().map(|it| origin.change_text(&it.text.0, it.text.1)).collect();
        // Processes that are not told look again after a while.
        let _ = send_texts(&database, &texts).await;
        for notice in notices.drain(..) {
            let _ = notice.sent.map(|sent| sent.send(()));
        }
    }
}

async fn send_texts(database: &Database, texts: &[String]) -> Result<(), PostgresError> {
    let client = database.acquire_client().await?;
    let statement =
        client.prepare_cached("SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text").await?;
    client.query(&statement, &[&database.channel_name(), &texts]).await?;
    Ok(())
}

/// The name of a process in its notifications, so that it leaves its own alone.
#[derive(Clone, Debug)]
pub(super) struct Origin(Arc<str>);

impl Origin {
    pub(super) fn random() -> Result<Self, StoreError> {
        let mut bytes = [0; 8];
        let failed = |error| StoreError::backend("make a random name", error);
        getrandom::fill(&mut bytes).map_err(failed)?;
        Ok(Self(hex::encode(bytes).into()))
    }

    fn change_text(&self, turn: &TurnId, kind: StoreChangeKind) -> String {
        format!("{} {} {turn}", self.0, kind.as_str())
    }

    /// Whether a notification comes from this process, whose listeners know the change already.
    pub(super) fn is_of(&self, text: &str) -> bool {
        text.split_once(' ').is_some_and(|(origin, _)| origin == &*self.0)
    }
}

/// How many notifications one transaction has.
const MAX_JOINED: usize = 256;
