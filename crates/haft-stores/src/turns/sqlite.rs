//! Stores turns in an SQLite file.

mod busy;
mod database_file;
mod error;
mod leases;
mod options;
mod read_pool;
mod schema;
mod transaction;
mod version;
mod write_queue;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::clock::{Clock, SystemClock};
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome,
    StoreChangeKind, StoreError, StoreKey, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore,
    TurnSummary, check_text, check_title,
};

use self::database_file::DatabaseFile;
pub(crate) use self::database_file::KEY_FILE;
use self::error::SqliteError;
use self::leases::expire_dead_leases;
pub use self::options::{SqliteOptions, Synchronous};
use self::read_pool::ReadPool;
use self::transaction::{SqliteTransaction, finish};
use self::write_queue::WriteQueue;
use super::changes::{ChangeHub, PolledListener};
use super::sql;
use super::turn_row::Holder;
use crate::process::read_own_mark;

/// Stores turns in an SQLite file, where they survive a crash of the process and a power failure.
///
/// One thread writes. It groups all waiting writes into one transaction, so that many turns share the cost of an
/// fsync; each write still succeeds or fails on its own. The queue is bounded, so a caller that writes faster than
/// the disk has to wait. Reads use separate connections and see every committed write. No method blocks the thread
/// that polls it, provided that the thread belongs to a Tokio runtime.
///
/// Several processes, and several stores in one process, can use the same file. The file has to be on a local file
/// system.
///
/// A lease whose process is provably dead is free at once: on Linux, if it ran on this system and in this namespace of
/// process ids, and its process id is unused or belongs to a process that started at another time.
///
/// While other processes write, an operation waits for up to [`SqliteOptions::busy_timeout`]. A file that was deleted or
/// replaced while it was open is noticed by the next write, which fails with [`StoreError::Replaced`].
///
/// The store belongs to a key: the file `gate.key` next to it, which the first process creates, or the secret that the
/// options name. Every row has a mark that only a holder of the key can make, and reading a row compares it: what was
/// edited, moved, removed or made with another key is [`StoreError::Damaged`].
///
/// After a store is dropped, the writer thread finishes the queued writes in the background. [`SqliteStore::close`]
/// waits for it, and brings what is in the write-ahead log into the file.
///
/// ```
/// use haft_core::store::{TurnStore as _, TurnQuery};
/// use haft_stores::SqliteStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = SqliteStore::open(dir.path())?;
/// assert!(store.file().ends_with("haft.sqlite"));
/// assert!(store.turns(TurnQuery::default()).await?.is_empty());
/// store.close().await;
/// # Ok(())
/// # }
/// ```
pub struct SqliteStore {
    file: PathBuf,
    key: StoreKey,
    // Dropped before the write queue: the last connection that closes checkpoints the log, and that has to be the
    // connection of the writer thread.
    read_pool: ReadPool,
    write_queue: WriteQueue,
    clock: Arc<dyn Clock>,
    changes: Arc<ChangeHub>,
    /// The mark of this process.
    process: Option<Arc<str>>,
}

impl SqliteStore {
    /// Opens the store in a file. The file is created if it does not exist. If the path is a directory, the file is
    /// `haft.sqlite` in that directory. This call blocks on the disk.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::OtherVersion`] if a program of another version has written the file, and [`StoreError::Backend`] if
    /// the file cannot be opened or written, is locked, or is a database of another program. Returns
    /// [`StoreError::Foreign`] if the database contains a trigger or a view, which could change what is stored,
    /// [`StoreError::OtherSecret`] if it was made with another key, and [`StoreError::NoKey`] if its key is missing. The
    /// file is unchanged then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the store with custom options.
    ///
    /// ```
    /// use haft_stores::{SqliteOptions, SqliteStore, Synchronous};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("turns.db");
    /// let options = SqliteOptions::default().synchronous(Synchronous::Normal);
    /// let store = SqliteStore::open_with(&path, options)?;
    /// assert_eq!(store.file().file_name(), path.file_name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`SqliteStore::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let file = DatabaseFile::locate(path.as_ref(), options)?;
        let (opened, key) = file.open()?;
        let path = file.path.clone();
        let changes = Arc::new(ChangeHub::new());
        let write_queue = WriteQueue::start(opened, &file, Arc::clone(&changes))?;
        Ok(Self::new((path, key), ReadPool::new(file), write_queue, changes))
    }

    /// Opens a store that is only read, also in a directory or on a file system that cannot be written. Nothing is
    /// created, and every write fails.
    ///
    /// ```
    /// use haft_core::store::{TurnQuery, TurnStore as _};
    /// use haft_stores::SqliteStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// SqliteStore::open(dir.path())?.close().await;
    /// let store = SqliteStore::open_read_only(dir.path())?;
    /// assert!(store.turns(TurnQuery::default()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`SqliteStore::open`], and if there is no store.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = DatabaseFile::locate_read_only(path.as_ref(), SqliteOptions::default())?;
        let key = file.check_readable()?;
        let path = file.path.clone();
        let changes = Arc::new(ChangeHub::new());
        Ok(Self::new((path, key), ReadPool::new(file), WriteQueue::read_only(), changes))
    }

    fn new(
        (file, key): (PathBuf, StoreKey),
        read_pool: ReadPool,
        write_queue: WriteQueue,
        changes: Arc<ChangeHub>,
    ) -> Self {
        Self {
            file,
            key,
            read_pool,
            write_queue,
            clock: Arc::new(SystemClock::new()),
            changes,
            process: read_own_mark().map(Into::into),
        }
    }

    /// Runs a write in a transaction.
    async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&SqliteTransaction<'_>, &StoreKey) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (clock, key) = (Arc::clone(&self.clock), self.key.clone());
        let work =
            move |connection: &_| work(&SqliteTransaction { connection, clock: &*clock }, &key);
        self.write_queue.run(doing, work).await
    }

    /// Runs a write that a power failure may undo.
    async fn write_without_fsync<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&SqliteTransaction<'_>, &StoreKey) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (clock, key) = (Arc::clone(&self.clock), self.key.clone());
        let work =
            move |connection: &_| work(&SqliteTransaction { connection, clock: &*clock }, &key);
        self.write_queue.run_without_fsync(doing, work).await
    }

    /// Runs a read in a transaction that sees one snapshot.
    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&SqliteTransaction<'_>, &StoreKey) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (clock, key) = (Arc::clone(&self.clock), self.key.clone());
        let work =
            move |connection: &_| work(&SqliteTransaction { connection, clock: &*clock }, &key);
        self.read_pool.run(doing, work).await
    }

    /// Uses this clock for the expiry of leases (default: that of the machine, which all processes that can open the
    /// file share).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use haft_core::clock::ManualClock;
    /// use haft_stores::SqliteStore;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = SqliteStore::open(dir.path())?.with_clock(Arc::new(ManualClock::default()));
    /// # let _ = store;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The files of the store at a path, also those that do not exist yet: the database first.
    pub(crate) fn list_files(path: &Path) -> Vec<PathBuf> {
        database_file::list_files(path)
    }

    /// The path of the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Closes the store: commits all queued writes, writes the write-ahead log into the file and closes it. Every later
    /// operation fails, also through other references to the store.
    pub async fn close(&self) {
        self.read_pool.close();
        self.write_queue.close().await;
    }
}

impl TurnStore for SqliteStore {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            let (id, process) = (turn.id.clone(), self.process.clone());
            let insert = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::insert(tx, key, &turn, process.as_ref()))
            };
            let lease = self.write("begin a turn", insert).await?;
            if lease.is_none() {
                self.changes.notify(&id, StoreChangeKind::Claimable);
            }
            Ok(lease)
        })
    }

    fn claim_turns(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            let process = self.process.clone();
            let claim = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                let holder = Holder { request: &holder, process: process.as_ref() };
                expire_dead_leases(tx, holder)?;
                if let Some(turn) = &filter.turn {
                    return Ok(vec![finish(sql::claim(tx, key, (turn, &filter), holder))?]);
                }
                let mut claimed = Vec::new();
                let mut skipped = Vec::new();
                // Damaged turns are skipped, and turns of a conversation of which another one was just claimed.
                loop {
                    let room = count.saturating_sub(claimed.len());
                    let attempt =
                        finish(sql::claim_next(tx, key, (&filter, room, &skipped), holder))?;
                    claimed.extend(attempt.claimed);
                    if attempt.skipped.is_empty() || skipped.len() >= sql::MAX_SKIPPED {
                        return Ok(claimed);
                    }
                    skipped.extend(attempt.skipped);
                }
            };
            self.write("claim a turn", claim).await
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        // A lost renewal matters only to processes on this machine, and a power failure ends those as well.
        Box::pin(self.write_without_fsync("renew a lease", move |tx, key| {
            finish(sql::renew(tx, key, lease.clone()))
        }))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let turn = lease.turn.clone();
            let release = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::release(tx, key, &lease))
            };
            // A lease that reappears after a power failure expires.
            if self.write_without_fsync("give a lease back", release).await? {
                self.changes.notify(&turn, StoreChangeKind::Claimable);
            }
            Ok(())
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            let turn = lease.turn.clone();
            let commit = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::commit(tx, key, &lease, &writes))
            };
            if self.write("commit", commit).await?.0 {
                self.changes.notify(&turn, StoreChangeKind::Ended);
            }
            Ok(())
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            request.check()?;
            let id = turn.clone();
            let cancel = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::cancel(tx, key, &turn, &request))
            };
            let outcome = self.write("ask for the end of a turn", cancel).await?;
            if outcome == CancelOutcome::Requested {
                self.changes.notify(&id, StoreChangeKind::CancelRequested);
            }
            Ok(outcome)
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(self.read("load a turn", move |tx, key| finish(sql::load_turn(tx, key, &turn))))
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(self.read("read a journal", move |tx, key| {
            finish(sql::read_journal(tx, key, &turn, (after, limit)))
        }))
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(self.read("list turns", move |tx, key| finish(sql::list_turns(tx, key, &query))))
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(
            self.write("remove turns", move |tx, key| finish(sql::remove_turns(tx, key, &query))),
        )
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(self.read("look for unused content", move |tx, _| {
            finish(sql::list_unreferenced_keys(tx, keys))
        }))
    }

    fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(self.read("list gates", move |tx, key| finish(sql::list_gates(tx, key, &query))))
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            let settle = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::settle(tx, key, &gate, &settlement))
            };
            let (outcome, turn) = self.write("settle a gate", settle).await?;
            if outcome.first {
                self.changes.notify(&turn, StoreChangeKind::GateSettled);
            }
            Ok(outcome)
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
        Box::pin(
            self.read("load memories", move |tx, key| finish(sql::load_memories(tx, key, &scope))),
        )
    }

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            check_title(&tenant, &conversation, title.as_deref())?;
            let set = move |tx: &SqliteTransaction<'_>, key: &StoreKey| {
                finish(sql::set_title(tx, key, (&tenant, &conversation), title.as_deref()))
            };
            self.write("set a title", set).await
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        Box::pin(self.read("load titles", move |tx, key| {
            finish(sql::load_titles(tx, key, &tenant, &conversations))
        }))
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        let listener = self.changes.listen();
        if self.write_queue.is_read_only() {
            // Without a connection that writes, nothing tells of the writes of others.
            return Box::new(PolledListener::new(listener, READ_ONLY_POLL));
        }
        self.write_queue.look_for_changes();
        Box::new(listener)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteStore({})", self.file.display())
    }
}

/// How often a listener looks at a store that is only read.
const READ_ONLY_POLL: Duration = Duration::from_millis(250);
