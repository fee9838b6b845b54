//! The thread that writes, many writes to a transaction.

use std::thread;

use haft_core::store::StoreError;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::fault::{Cause, Fault};
use super::file::File;
use super::migration::check_version;
use super::options::Synchronous;

/// Hands writes to the thread that has the connection.
pub(super) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    ended: oneshot::Receiver<()>,
}

impl Writer {
    pub(super) fn start(connection: Connection, file: &File) -> Result<Self, StoreError> {
        let queue = file.options.queue.clamp(1, MAX_QUEUE);
        let syncing = Syncing::new(file.options.synchronous);
        let (sender, receiver) = mpsc::channel(queue);
        let (at_end, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("haft-sqlite".to_owned());
        let started = thread.spawn(move || {
            write_all(receiver, &connection, syncing);
            drop(connection);
            // Nobody may wait for it.
            let _ = at_end.send(());
        });
        started.map_err(|error| StoreError::backend("start a thread that writes", error))?;
        Ok(Self { jobs: sender, ended })
    }

    /// Does this in a transaction. What it gives is given back once the transaction is on the disk; if
    /// it fails, nothing of it remains. It may be done again if others in the same transaction have
    /// spoiled that.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(doing, Lasting::PowerLoss, work).await
    }

    /// The same for what a loss of power may undo, because nobody is left then to whom it matters. It
    /// survives the end of the process, and does not wait for the disk unless others do.
    pub(super) async fn run_briefly<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(doing, Lasting::Process, work).await
    }

    async fn queue<T: Send + 'static>(
        &self,
        doing: &'static str,
        lasting: Lasting,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let task = Task { doing, lasting, work, result: None, reply };
        let ended = || StoreError::backend(doing, Cause::new("the thread that writes has ended"));
        self.jobs.send(Box::new(task)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Waits until the thread has done everything and closed its connection.
    pub(super) async fn close(self) {
        drop(self.jobs);
        // The other half is dropped only with the thread.
        let _ = self.ended.await;
    }
}

/// What a write is to survive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    PowerLoss,
    Process,
}

/// Something to be written, and who waits for it.
trait Job: Send {
    fn lasting(&self) -> Lasting;
    /// Does it, and says whether it succeeded.
    fn run(&mut self, connection: &Connection) -> bool;
    /// It came to nothing.
    fn fail(&mut self, fault: Fault);
    /// Tells who waits.
    fn answer(self: Box<Self>);
}

struct Task<T, F> {
    doing: &'static str,
    lasting: Lasting,
    work: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(&Connection) -> Result<T, Fault> + Send,
{
    fn lasting(&self) -> Lasting {
        self.lasting
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let result = (self.work)(connection).map_err(|fault| fault.into_error(self.doing));
        self.result.insert(result).is_ok()
    }

    fn fail(&mut self, fault: Fault) {
        self.result = Some(Err(fault.into_error(self.doing)));
    }

    fn answer(self: Box<Self>) {
        if let Some(result) = self.result {
            // Who does not wait any more does not want to know.
            let _ = self.reply.send(result);
        }
    }
}

/// Whether commits are brought to the disk, where that is asked for.
struct Syncing {
    asked_for: bool,
    on: bool,
}

impl Syncing {
    fn new(synchronous: Synchronous) -> Self {
        let on = synchronous == Synchronous::Full;
        Self { asked_for: on, on }
    }

    /// Prepares for these: one that is to survive a loss of power brings all of them to the disk, and what
    /// was written before them.
    fn suit(&mut self, connection: &Connection, group: &[Box<dyn Job>]) -> Result<(), Cause> {
        let on = self.asked_for && group.iter().any(|job| job.lasting() == Lasting::PowerLoss);
        if on != self.on {
            let level = if on { Synchronous::Full } else { Synchronous::Normal };
            connection.pragma_update(None, "synchronous", level.word())?;
            self.on = on;
        }
        Ok(())
    }
}

fn write_all(
    mut receiver: mpsc::Receiver<Box<dyn Job>>,
    connection: &Connection,
    mut syncing: Syncing,
) {
    let (mut group, mut last) = (Vec::new(), 0);
    while let Some(job) = receiver.blocking_recv() {
        group.push(job);
        gather(&mut receiver, &mut group, last);
        last = group.len();
        match syncing.suit(connection, &group) {
            Ok(()) => write_group(connection, &mut group),
            Err(error) => group.iter_mut().for_each(|job| job.fail(error.clone().into())),
        }
        group.drain(..).for_each(Job::answer);
    }
}

/// Takes what waits into the group.
///
/// Those who were answered together write again together, but the first of them is here before the rest
/// has run: it would pay for a transaction of its own. So they get a moment, as long as fewer are here
/// than the last time.
fn gather(receiver: &mut mpsc::Receiver<Box<dyn Job>>, group: &mut Vec<Box<dyn Job>>, last: usize) {
    for _ in 0..MOMENTS {
        while group.len() < MAX_GROUP
            && let Ok(job) = receiver.try_recv()
        {
            group.push(job);
        }
        if group.len() >= last {
            return;
        }
        thread::yield_now();
    }
}

/// Does all of these in one transaction, in which each succeeds or fails alone.
///
/// Some errors end a whole transaction: then each gets one of its own, so that it cannot fail for what
/// others did.
fn write_group(connection: &Connection, group: &mut [Box<dyn Job>]) {
    if let [job] = group {
        return write_one(connection, &mut **job);
    }
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        // Trying again for each would only wait again.
        return group.iter_mut().for_each(|job| job.fail(error.clone().into()));
    }
    let is_written = check_version(connection).is_ok()
        && group.iter_mut().all(|job| write_part(connection, &mut **job).is_ok())
        && execute(connection, "COMMIT").is_ok();
    if !is_written {
        undo(connection);
        group.iter_mut().for_each(|job| write_one(connection, &mut **job));
    }
}

/// Does one of many. Fails if the whole transaction is lost.
fn write_part(connection: &Connection, job: &mut dyn Job) -> Result<(), Cause> {
    execute(connection, "SAVEPOINT one")?;
    if !job.run(connection) {
        execute(connection, "ROLLBACK TO one")?;
    }
    execute(connection, "RELEASE one")
}

fn write_one(connection: &Connection, job: &mut dyn Job) {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        return job.fail(error.into());
    }
    if let Err(fault) = check_version(connection) {
        undo(connection);
        job.fail(fault);
    } else if job.run(connection) {
        if let Err(error) = execute(connection, "COMMIT") {
            undo(connection);
            job.fail(error.into());
        }
    } else {
        undo(connection);
    }
}

/// Ends a transaction that came to nothing, unless SQLite has done so already. It fails only if there
/// is none, and then there is nothing to do.
fn undo(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = execute(connection, "ROLLBACK");
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Cause> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

const MAX_GROUP: usize = 1024;
/// Enough for others to run, and nothing against the time that a disk takes.
const MOMENTS: usize = 32;
const MAX_QUEUE: usize = 1 << 20;
