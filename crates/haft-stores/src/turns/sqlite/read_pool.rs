//! Read-only connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::store::StoreError;
use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;

use super::busy::retry_while_busy;
use super::database_file::{DatabaseFile, ReadConnection};
use super::error::{SqliteCause, SqliteError};
use super::version::check_version;
use crate::blocking::run_blocking;

/// Runs reads, a few at the same time.
pub(super) struct ReadPool {
    pool: Arc<ConnectionPool>,
    permits: Arc<Semaphore>,
}

struct ConnectionPool {
    file: DatabaseFile,
    /// `None` after the pool was closed.
    idle: Mutex<Option<Vec<ReadConnection>>>,
}

impl ReadPool {
    pub(super) fn new(file: DatabaseFile) -> Self {
        let pool = Arc::new(ConnectionPool { file, idle: Mutex::new(Some(Vec::new())) });
        Self { pool, permits: Arc::new(Semaphore::new(MAX_READERS)) }
    }

    /// Closes the connections. One that is in use is closed after its read.
    pub(super) fn close(&self) {
        drop(self.pool.lock_idle().take());
    }

    /// Runs a read in a transaction on a blocking thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let pool = Arc::clone(&self.pool);
        let done = run_blocking(move || {
            let result = pool.read(work);
            drop((pool, permit));
            Ok(result)
        });
        let result = done.await.map_err(|error| StoreError::backend(doing, error))?;
        result.map_err(|error| error.into_store_error(doing))
    }
}

impl ConnectionPool {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        let idle = self.lock_idle().as_mut().and_then(Vec::pop);
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        // All statements of one read see the same snapshot.
        let transaction = self.begin(&connection.connection)?;
        let result = work(&transaction);
        drop(transaction);
        if let (true, Some(idle)) = (connection.sees_writers, &mut *self.lock_idle()) {
            idle.push(connection);
        }
        result
    }

    fn connect(&self) -> Result<ReadConnection, SqliteError> {
        if self.lock_idle().is_none() {
            return Err(SqliteCause::new("the store was closed").into());
        }
        let timeout = self.file.options.busy_timeout;
        Ok(retry_while_busy(timeout, || self.file.open_read_only())?)
    }

    /// Begins a transaction and reads the version, with which the snapshot is taken. A process that opens or closes the
    /// file can delay this.
    fn begin<'c>(&self, connection: &'c Connection) -> Result<Transaction<'c>, SqliteError> {
        retry_while_busy(self.file.options.busy_timeout, || {
            let transaction = connection.unchecked_transaction()?;
            check_version(&transaction)?;
            Ok(transaction)
        })
    }

    fn lock_idle(&self) -> MutexGuard<'_, Option<Vec<ReadConnection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum number of concurrent reads.
const MAX_READERS: usize = 4;
