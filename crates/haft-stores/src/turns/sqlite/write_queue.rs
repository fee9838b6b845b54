//! The writer thread, which groups many writes into one transaction, and notices what other processes write.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use haft_core::store::StoreError;
use rusqlite::Connection;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::busy::retry_while_busy;
use super::database_file::{DatabaseFile, OpenFile};
use super::error::{SqliteCause, SqliteError};
use super::options::Synchronous;
use super::version::check_version;
use crate::turns::changes::ChangeHub;

/// Sends writes to the thread that owns the writing connection.
///
/// The thread also looks for commits of other connections while somebody listens to changes. SQLite tells a connection
/// of commits that are not its own, so that the one that writes is the only one that need be asked.
pub(super) struct WriteQueue {
    /// `None` if no writes are accepted.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    is_read_only: bool,
    /// Its sender is dropped when the thread has ended.
    finished: watch::Receiver<()>,
}

impl WriteQueue {
    pub(super) fn start(
        opened: OpenFile,
        file: &DatabaseFile,
        changes: Arc<ChangeHub>,
    ) -> Result<Self, StoreError> {
        let queue = file.options.queue.clamp(1, MAX_QUEUE);
        let sync_level = SyncLevel::new(file.options.synchronous);
        let (sender, receiver) = mpsc::channel(queue);
        let (is_running, finished) = watch::channel(());
        let failed = |error| StoreError::backend("start a thread that writes", error);
        let runtime = Builder::new_current_thread().enable_time().build().map_err(failed)?;
        let thread = thread::Builder::new().name("haft-sqlite".to_owned());
        let started = thread.spawn(move || {
            let mut incoming = IncomingJobs {
                receiver,
                runtime,
                changes,
                seen: read_version(&opened.connection).ok(),
                looked: read_clock(),
            };
            run_writer(&mut incoming, &opened, sync_level);
            opened.close();
            drop(is_running);
        });
        started.map_err(failed)?;
        let jobs = Mutex::new(Some(sender));
        Ok(Self { jobs, is_read_only: false, finished })
    }

    /// A queue that refuses every write with [`StoreError::ReadOnly`].
    pub(super) fn read_only() -> Self {
        Self { jobs: Mutex::new(None), is_read_only: true, finished: watch::channel(()).1 }
    }

    pub(super) const fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Runs a write in a transaction, and returns its result when the transaction is on the disk. A write that fails
    /// is rolled back. It runs again if another write has failed the transaction that both shared.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.enqueue(doing, Durability::PowerFailure, work).await
    }

    /// Runs a write that a power failure may undo. It survives a crash of the process, and waits for an fsync only if
    /// another write of the same group needs one.
    pub(super) async fn run_without_fsync<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.enqueue(doing, Durability::ProcessCrash, work).await
    }

    async fn enqueue<T: Send + 'static>(
        &self,
        doing: &'static str,
        durability: Durability,
        work: impl Fn(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.is_read_only {
            return Err(StoreError::read_only(doing));
        }
        let (send_result, result) = oneshot::channel();
        let task = QueuedWrite { doing, durability, work, result: None, send_result };
        let refused = |reason| StoreError::backend(doing, SqliteCause::new(reason));
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or_else(|| refused("the store was closed"))?;
        let stopped = || refused("the thread that writes has ended");
        jobs.send(Job::Write(Box::new(task))).await.map_err(|_| stopped())?;
        drop(jobs);
        result.await.map_err(|_| stopped())?
    }

    /// Wakes the thread, so that it looks for commits of other connections from now on.
    pub(super) fn look_for_changes(&self) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            // A thread whose queue is full is awake.
            let _ = jobs.try_send(Job::Look);
        }
    }

    /// Accepts no more writes, and waits until the thread has run all queued ones and closed its connection.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut finished = self.finished.clone();
        // Nothing is sent; an error means that the thread has ended.
        while finished.changed().await.is_ok() {}
    }
}

/// What the thread is told.
enum Job {
    Write(Box<dyn WriteJob>),
    /// Somebody listens to changes.
    Look,
}

/// Which failures a write has to survive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    PowerFailure,
    ProcessCrash,
}

/// A queued write together with its caller.
trait WriteJob: Send {
    fn durability(&self) -> Durability;
    /// Runs the write, and returns whether it succeeded.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Records that the write failed.
    fn fail(&mut self, fault: SqliteError);
    /// Sends the result to the caller.
    fn send_result(self: Box<Self>);
}

struct QueuedWrite<T, F> {
    doing: &'static str,
    durability: Durability,
    work: F,
    result: Option<Result<T, StoreError>>,
    send_result: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> WriteJob for QueuedWrite<T, F>
where
    T: Send,
    F: Fn(&Connection) -> Result<T, SqliteError> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let result = (self.work)(connection).map_err(|fault| fault.into_store_error(self.doing));
        self.result.insert(result).is_ok()
    }

    fn fail(&mut self, fault: SqliteError) {
        self.result = Some(Err(fault.into_store_error(self.doing)));
    }

    fn send_result(self: Box<Self>) {
        if let Some(result) = self.result {
            // The caller may have dropped its future.
            let _ = self.send_result.send(result);
        }
    }
}

/// Whether commits of the connection end with an fsync.
struct SyncLevel {
    configured: Synchronous,
    current: Synchronous,
}

impl SyncLevel {
    fn new(synchronous: Synchronous) -> Self {
        Self { configured: synchronous, current: synchronous }
    }

    /// Sets the level for a group of writes. One write that has to survive a power failure flushes the whole group,
    /// and everything that was written before it.
    fn adjust(
        &mut self,
        connection: &Connection,
        group: &[Box<dyn WriteJob>],
    ) -> Result<(), SqliteCause> {
        let needs_fsync = group.iter().any(|job| job.durability() == Durability::PowerFailure);
        let wanted = if needs_fsync { self.configured } else { Synchronous::Normal };
        if wanted != self.current {
            connection.pragma_update(None, "synchronous", wanted.pragma_value())?;
            self.current = wanted;
        }
        Ok(())
    }
}

/// The queue as the thread has it.
struct IncomingJobs {
    receiver: mpsc::Receiver<Job>,
    /// Waits with a deadline.
    runtime: Runtime,
    changes: Arc<ChangeHub>,
    /// The version of the database that was seen last. It changes with commits of other connections.
    seen: Option<i64>,
    looked: Instant,
}

impl IncomingJobs {
    /// Waits for a write. While somebody listens, looks for changes from time to time, also between many writes.
    fn next_write(&mut self, connection: &Connection) -> Option<Box<dyn WriteJob>> {
        loop {
            let rest = LOOK_INTERVAL.saturating_sub(self.looked.elapsed());
            let job = match self.changes.has_listeners() {
                true if rest.is_zero() => Some(Job::Look),
                true => {
                    let next = async { timeout(rest, self.receiver.recv()).await };
                    self.runtime.block_on(next).unwrap_or(Some(Job::Look))
                }
                false => self.receiver.blocking_recv(),
            };
            match job? {
                Job::Write(write) => return Some(write),
                Job::Look => self.look(connection),
            }
        }
    }

    /// A write that waits already.
    fn waiting_write(&mut self, connection: &Connection) -> Option<Box<dyn WriteJob>> {
        loop {
            match self.receiver.try_recv().ok()? {
                Job::Write(write) => return Some(write),
                Job::Look => self.look(connection),
            }
        }
    }

    /// Tells the listeners if another connection has committed since the last look.
    fn look(&mut self, connection: &Connection) {
        self.looked = read_clock();
        // A file that cannot be read now tells nothing.
        let Ok(version) = read_version(connection) else { return };
        if self.seen.replace(version) != Some(version) {
            self.changes.notify_unknown();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes are waited for, not replayed")]
fn read_clock() -> Instant {
    Instant::now()
}

/// The number that changes when another connection commits.
fn read_version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

fn run_writer(incoming: &mut IncomingJobs, opened: &OpenFile, mut sync_level: SyncLevel) {
    let mut group = Vec::new();
    let mut last_size = 0;
    while let Some(job) = incoming.next_write(&opened.connection) {
        group.push(job);
        collect_waiting(incoming, &opened.connection, &mut group, last_size);
        last_size = group.len();
        match sync_level.adjust(&opened.connection, &group) {
            Ok(()) => write_group(opened, &mut group),
            Err(error) => group.iter_mut().for_each(|job| job.fail(error.clone().into())),
        }
        group.drain(..).for_each(WriteJob::send_result);
    }
}

/// Moves the waiting writes into the group.
///
/// Callers whose writes were committed together tend to write again together, but the first of them arrives before
/// the others have run and would get a transaction of its own. So this function yields a few times while the group is
/// smaller than the last one.
fn collect_waiting(
    incoming: &mut IncomingJobs,
    connection: &Connection,
    group: &mut Vec<Box<dyn WriteJob>>,
    last_size: usize,
) {
    for _ in 0..MAX_YIELDS {
        while group.len() < MAX_GROUP
            && let Some(job) = incoming.waiting_write(connection)
        {
            group.push(job);
        }
        if group.len() >= last_size {
            return;
        }
        thread::yield_now();
    }
}

/// Runs a group of writes in one transaction, in which each succeeds or fails on its own.
///
/// Nearly always all of them succeed, so that savepoints are only used if one has failed. Some errors end the whole
/// transaction. Then each write gets its own transaction, so that none fails because of another one.
fn write_group(opened: &OpenFile, group: &mut [Box<dyn WriteJob>]) {
    if let [job] = group {
        return write_one(opened, &mut **job);
    }
    let connection = &opened.connection;
    if let Err(error) = begin(opened) {
        // A retry for each write would only wait for the same lock again.
        return group.iter_mut().for_each(|job| job.fail(error.clone().into()));
    }
    let is_written = check_file(opened).is_ok()
        && group.iter_mut().all(|job| job.run(connection))
        && execute(connection, "COMMIT").is_ok();
    if !is_written {
        roll_back(connection);
        write_in_savepoints(opened, group);
    }
}

/// Repeats the writes of a group after one of them has failed.
fn write_in_savepoints(opened: &OpenFile, group: &mut [Box<dyn WriteJob>]) {
    let connection = &opened.connection;
    let is_written = begin(opened).is_ok()
        && check_file(opened).is_ok()
        && group.iter_mut().all(|job| write_in_savepoint(connection, &mut **job).is_ok())
        && execute(connection, "COMMIT").is_ok();
    if !is_written {
        roll_back(connection);
        group.iter_mut().for_each(|job| write_one(opened, &mut **job));
    }
}

/// Begins a transaction that writes. Waits while another process writes.
fn begin(opened: &OpenFile) -> Result<(), SqliteCause> {
    retry_while_busy(opened.busy_timeout, || execute(&opened.connection, "BEGIN IMMEDIATE"))
}

/// Refuses a file that another program has changed to its version since it was opened, and one that is not at its path any more:
/// what is written to it would be lost.
fn check_file(opened: &OpenFile) -> Result<(), SqliteError> {
    opened.check_path()?;
    check_version(&opened.connection)
}

/// Runs one write of a group. Fails if the whole transaction is lost.
fn write_in_savepoint(connection: &Connection, job: &mut dyn WriteJob) -> Result<(), SqliteCause> {
    execute(connection, "SAVEPOINT one")?;
    if !job.run(connection) {
        execute(connection, "ROLLBACK TO one")?;
    }
    execute(connection, "RELEASE one")
}

fn write_one(opened: &OpenFile, job: &mut dyn WriteJob) {
    let connection = &opened.connection;
    if let Err(error) = begin(opened) {
        return job.fail(error.into());
    }
    if let Err(fault) = check_file(opened) {
        roll_back(connection);
        job.fail(fault);
    } else if job.run(connection) {
        if let Err(error) = execute(connection, "COMMIT") {
            roll_back(connection);
            job.fail(error.into());
        }
    } else {
        roll_back(connection);
    }
}

/// Rolls the transaction back, unless SQLite has done so already.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // It can only fail if there is no transaction any more.
        let _ = execute(connection, "ROLLBACK");
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), SqliteCause> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// How often the thread looks for commits of other connections while it has nothing to write.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
const MAX_GROUP: usize = 1024;
/// Enough for other tasks to run, and short compared to an fsync.
const MAX_YIELDS: usize = 32;
const MAX_QUEUE: usize = 1 << 20;
