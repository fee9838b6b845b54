//! Listens to changes of a file, also to those by other processes.

use std::fmt;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::store::{ChangeListener, StoreChange};

use super::database_file::{DatabaseFile, ReadConnection};
use crate::blocking::run_blocking;
use crate::turns::changes::HubListener;

/// Is notified at once of changes by this store object, and polls the file for changes by others.
pub(super) struct FileListener {
    own: HubListener,
    file: DatabaseFile,
    /// The connection that polls, and the version that it saw last. Versions of different connections cannot be compared.
    seen: Option<(ReadConnection, i64)>,
}

impl FileListener {
    pub(super) fn new(own: HubListener, file: DatabaseFile) -> Self {
        // A file that cannot be read now is opened at the first poll.
        let seen = read_version(&file, None).ok();
        Self { own, file, seen }
    }

    async fn next(&mut self) -> StoreChange {
        loop {
            let poll = wait(POLL_INTERVAL);
            tokio::select! {
                biased;
                change = self.own.receive() => return change,
                () = poll => {}
            }
            if self.poll_file().await {
                return StoreChange::Unknown;
            }
        }
    }

    /// Returns whether the file may have changed.
    async fn poll_file(&mut self) -> bool {
        let file = self.file.clone();
        let seen = self.seen.take();
        let last = seen.as_ref().map(|(_, version)| *version);
        // A dropped future loses the connection: the next poll opens another one, and says that anything may have changed.
        let polled =
            run_blocking(move || Ok(read_version(&file, seen.map(|(it, _)| it)).ok())).await;
        self.seen = polled.ok().flatten();
        // A file that cannot be read has not told anything.
        let Some((_, version)) = &self.seen else { return false };
        last != Some(*version)
    }
}

/// Reads the number that changes when another connection commits.
fn read_version(
    file: &DatabaseFile,
    connection: Option<ReadConnection>,
) -> Result<(ReadConnection, i64), rusqlite::Error> {
    let connection = match connection.filter(|it| it.sees_writers) {
        Some(connection) => connection,
        None => file.open_read_only()?,
    };
    let version = connection.connection.pragma_query_value(None, "data_version", |it| it.get(0))?;
    Ok((connection, version))
}

impl ChangeListener for FileListener {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(self.next())
    }
}

impl fmt::Debug for FileListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileListener({})", self.file.path.display())
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes are waited for, not replayed")]
async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

/// How often the file is polled for changes of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
