//! Turns in an SQLite file.

mod fault;
mod file;
mod migration;
mod options;
mod readers;
mod reads;
mod schema;
mod writer;
mod writes;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateRow, Holder, Lease, NewTurn, Settled, Store, StoreError, StoreFuture, StoredTurn,
    TurnId, TurnQuery, TurnSummary, Write, check_text,
};

use self::file::File;
pub use self::options::{SqliteOptions, Synchronous};
use self::readers::Readers;
use self::writer::Writer;

/// Keeps turns in an SQLite file, where they survive the process and the machine.
///
/// One thread writes. It takes everything that waits into one transaction, so that a thousand turns
/// share the cost of bringing their commits to the disk; each of them still fails or succeeds alone. Its
/// queue is bounded: who writes faster than the disk waits. Reads have connections of their own and see
/// every commit that is done. No method blocks the thread that polls it, if it is one of a Tokio runtime.
///
/// Several processes, and several stores in one process, can use one file. The file system must be a
/// local one. If a newer program migrates the file meanwhile, every later operation of this store fails with
/// [`StoreError::NewerVersion`].
///
/// A store that is dropped finishes what was handed to it in the background; [`SqliteStore::close`]
/// waits for that.
pub struct SqliteStore {
    file: PathBuf,
    // Closed before the writer's connection: the last one that is closed moves the log into the file,
    // and that is to happen on the writer's thread.
    readers: Readers,
    writer: Writer,
}

impl SqliteStore {
    /// The store in a file, which is created if it does not exist. If the path is a folder, the file is
    /// `haft.sqlite` in it. This blocks for as long as the disk takes.
    ///
    /// A file of an older version is migrated in one transaction. Before that it is copied to a file beside it,
    /// named after its version: `haft.sqlite.v1.bak`. The newest two such copies are kept. A migration that fails
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::NewerVersion`] if a newer program has written the file, and [`StoreError::Backend`]
    /// if it cannot be opened and written, is locked, or is no store of turns. Nothing is changed then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// The same, not as usual.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let file = File::at(path.as_ref(), options)?;
        let connection = file.open(schema::MIGRATIONS)?;
        let path = file.path.clone();
        let writer = Writer::start(connection, &file)?;
        Ok(Self { file: path, readers: Readers::new(file), writer })
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Ends the store, and waits until everything that was handed to it is done and the file is closed.
    pub async fn close(self) {
        let Self { readers, writer, .. } = self;
        drop(readers);
        writer.close().await;
    }
}

impl Store for SqliteStore {
    fn create(&self, turn: NewTurn) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            turn.writes.iter().for_each(Write::write_down);
            turn.check()?;
            self.writer.run("begin a turn", move |it| writes::create(it, &turn)).await
        })
    }

    fn claim(&self, turn: TurnId, holder: Holder) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            holder.check()?;
            self.writer.run("take a turn over", move |it| writes::claim(it, &turn, &holder)).await
        })
    }

    fn renew(&self, lease: Lease, now: Timestamp) -> StoreFuture<'_, Lease> {
        // Whoever could mind is on this machine, and gone when its power is.
        Box::pin(self.writer.run_briefly("renew a lease", move |it| writes::renew(it, &lease, now)))
    }

    fn release(&self, lease: Lease) -> StoreFuture<'_, ()> {
        // One that is back after a loss of power runs out.
        Box::pin(
            self.writer.run_briefly("give a lease back", move |it| writes::release(it, &lease)),
        )
    }

    fn commit(&self, lease: Lease, writes: Vec<Write>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            writes.iter().for_each(Write::write_down);
            writes.iter().try_for_each(Write::check)?;
            self.writer.run("commit", move |it| writes::commit(it, &lease, &writes)).await
        })
    }

    fn load(&self, turn: TurnId) -> StoreFuture<'_, Option<StoredTurn>> {
        Box::pin(self.readers.run("load a turn", move |it| reads::load(it, &turn)))
    }

    fn turns(&self, query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>> {
        Box::pin(self.readers.run("list turns", move |it| reads::turns(it, &query)))
    }

    fn remove(&self, turn: TurnId, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(self.writer.run("remove a turn", move |it| writes::remove(it, &turn, now)))
    }

    fn gate(&self, gate: GateId) -> StoreFuture<'_, Option<GateRow>> {
        Box::pin(self.readers.run("read a gate", move |it| reads::gate(it, &gate)))
    }

    fn open_gates(&self, turn: Option<TurnId>) -> StoreFuture<'_, Vec<GateRow>> {
        Box::pin(self.readers.run("list gates", move |it| reads::open_gates(it, turn.as_ref())))
    }

    fn settle(&self, gate: GateId, settlement: String) -> StoreFuture<'_, Settled> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            self.writer.run("settle a gate", move |it| writes::settle(it, &gate, &settlement)).await
        })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteStore({})", self.file.display())
    }
}
