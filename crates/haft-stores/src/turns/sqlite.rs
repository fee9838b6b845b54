//! Stores turns in an SQLite file.

mod busy;
mod checksum;
mod database_file;
mod error;
mod listener;
mod options;
mod queries;
mod read_pool;
mod schedule;
mod schema;
mod updates;
mod version;
mod write_queue;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::clock::{Clock, SystemClock, Timestamp};
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateRow, JournalRow, Lease,
    LeaseRequest, MemoryRow, MemoryScope, NewTurn, NumberedRow, SettleOutcome, StoreChangeKind,
    StoreError, StoreWrite, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnStore, TurnSummary,
    check_text, check_title,
};
use rusqlite::Connection;

use self::database_file::DatabaseFile;
use self::error::SqliteError;
use self::listener::FileListener;
pub use self::options::{SqliteOptions, Synchronous};
use self::read_pool::ReadPool;
use self::schedule::Holder;
use self::write_queue::WriteQueue;
use super::changes::ChangeHub;
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
    // Dropped before the write queue: the last connection that closes checkpoints the log, and that has to be the
    // connection of the writer thread.
    read_pool: ReadPool,
    write_queue: WriteQueue,
    clock: Arc<dyn Clock>,
    changes: ChangeHub,
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
    /// [`StoreError::Foreign`] if the database contains a trigger or a view, which could change what is stored. The file
    /// is unchanged then.
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
        let opened = file.open()?;
        let path = file.path.clone();
        let write_queue = WriteQueue::start(opened, &file)?;
        Ok(Self::new(path, ReadPool::new(file), write_queue))
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
        file.check_readable()?;
        let path = file.path.clone();
        Ok(Self::new(path, ReadPool::new(file), WriteQueue::read_only()))
    }

    fn new(file: PathBuf, read_pool: ReadPool, write_queue: WriteQueue) -> Self {
        let (clock, changes) = (Arc::new(SystemClock::new()), ChangeHub::new());
        let process = read_own_mark().map(Into::into);
        Self { file, read_pool, write_queue, clock, changes, process }
    }

    /// Runs a write that gives out a lease to this process.
    async fn lease<T: Send + 'static>(
        &self,
        doing: &'static str,
        request: LeaseRequest,
        work: impl Fn(&Connection, &Holder<'_>, Timestamp) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        request.check()?;
        let process = self.process.clone();
        let clock = Arc::clone(&self.clock);
        let lease = move |it: &Connection| {
            let holder = Holder { request: &request, process: process.as_ref() };
            work(it, &holder, clock.now())
        };
        self.write_queue.run(doing, lease).await
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
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            self.lease("begin a turn", holder, move |it, holder, now| {
                updates::create_turn(it, &turn, holder, now)
            })
            .await
        })
    }

    fn enqueue(&self, turn: NewTurn) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            turn.check()?;
            let (id, clock) = (turn.id.clone(), Arc::clone(&self.clock));
            let enqueue = move |it: &Connection| updates::enqueue_turn(it, &turn, clock.now());
            self.write_queue.run("enqueue a turn", enqueue).await?;
            self.changes.notify(&id, StoreChangeKind::Claimable);
            Ok(())
        })
    }

    fn claim(
        &self,
        turn: TurnId,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.lease("take a turn over", holder, move |it, holder, now| {
                schedule::claim_turn(it, &turn, holder, now)
            })
            .await
        })
    }

    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            self.lease("claim a turn", holder, move |it, holder, now| {
                schedule::claim_next_turn(it, &filter, holder, now)
            })
            .await
        })
    }

    fn count_claimable(&self, filter: ClaimFilter) -> BoxFuture<'_, Result<u64, StoreError>> {
        let clock = Arc::clone(&self.clock);
        let count = move |it: &Connection| schedule::count_claimable(it, &filter, clock.now());
        Box::pin(self.read_pool.run("count turns", count))
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        let clock = Arc::clone(&self.clock);
        // A lost renewal matters only to processes on this machine, and a power failure ends those as well.
        Box::pin(self.write_queue.run_without_fsync("renew a lease", move |it| {
            schedule::renew_lease(it, &lease, clock.now())
        }))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (turn, clock) = (lease.turn.clone(), Arc::clone(&self.clock));
            let release = move |it: &Connection| schedule::release_lease(it, &lease, clock.now());
            // A lease that reappears after a power failure expires.
            if self.write_queue.run_without_fsync("give a lease back", release).await? {
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
            let (turn, clock) = (lease.turn.clone(), Arc::clone(&self.clock));
            let commit =
                move |it: &Connection| updates::commit_writes(it, &lease, &writes, clock.now());
            if self.write_queue.run("commit", commit).await? {
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
            let (id, clock) = (turn.clone(), Arc::clone(&self.clock));
            let cancel =
                move |it: &Connection| schedule::request_cancel(it, &turn, &request, clock.now());
            let outcome = self.write_queue.run("ask for the end of a turn", cancel).await?;
            if outcome == CancelOutcome::Requested {
                self.changes.notify(&id, StoreChangeKind::CancelRequested);
            }
            Ok(outcome)
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(self.read_pool.run("load a turn", move |it| queries::load_turn(it, &turn)))
    }

    fn summary(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnSummary>, StoreError>> {
        Box::pin(self.read_pool.run("load a turn", move |it| queries::load_summary(it, &turn)))
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(
            self.read_pool
                .run("read a journal", move |it| queries::read_journal(it, &turn, after, limit)),
        )
    }

    fn outline(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnOutline>, StoreError>> {
        Box::pin(self.read_pool.run("read a turn", move |it| queries::read_outline(it, &turn)))
    }

    fn read_rows(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<NumberedRow>, StoreError>> {
        Box::pin(
            self.read_pool
                .run("read a turn", move |it| queries::read_rows(it, &turn, after, limit)),
        )
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(self.read_pool.run("list turns", move |it| queries::list_turns(it, &query)))
    }

    fn remove(&self, turn: TurnId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let clock = Arc::clone(&self.clock);
        Box::pin(
            self.write_queue
                .run("remove a turn", move |it| updates::remove_turn(it, &turn, clock.now())),
        )
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        let clock = Arc::clone(&self.clock);
        Box::pin(
            self.write_queue
                .run("remove turns", move |it| updates::remove_turns(it, &query, clock.now())),
        )
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(
            self.read_pool.run("look for unused content", move |it| {
                queries::list_unreferenced_keys(it, keys)
            }),
        )
    }

    fn gate(&self, gate: GateId) -> BoxFuture<'_, Result<Option<GateRow>, StoreError>> {
        Box::pin(self.read_pool.run("read a gate", move |it| queries::load_gate(it, &gate)))
    }

    fn open_gates(&self, turn: Option<TurnId>) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(
            self.read_pool.run("list gates", move |it| queries::list_open_gates(it, turn.as_ref())),
        )
    }

    fn open_gates_of(&self, tenant: String) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(
            self.read_pool.run("list gates", move |it| queries::list_tenant_gates(it, &tenant)),
        )
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            let clock = Arc::clone(&self.clock);
            let settle =
                move |it: &Connection| updates::settle_gate(it, &gate, &settlement, clock.now());
            let (outcome, turn) = self.write_queue.run("settle a gate", settle).await?;
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
        Box::pin(self.read_pool.run("load memories", move |it| queries::load_memories(it, &scope)))
    }

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            check_title(&tenant, &conversation, title.as_deref())?;
            let set = move |it: &Connection| {
                updates::set_title(it, (&tenant, &conversation), title.as_deref())
            };
            self.write_queue.run("set a title", set).await
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        let load = move |it: &Connection| queries::load_titles(it, &tenant, conversations);
        Box::pin(self.read_pool.run("load titles", load))
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(FileListener::new(self.changes.listen(), self.read_pool.file().clone()))
    }

    fn verify_secret(&self, fingerprint: [u8; 32]) -> BoxFuture<'_, Result<(), StoreError>> {
        let fingerprint = hex::encode(fingerprint);
        Box::pin(
            self.write_queue
                .run("compare the secret", move |it| updates::verify_secret(it, &fingerprint)),
        )
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteStore({})", self.file.display())
    }
}
